"""Write docs/studies.md: published studies, ours beside statsmodels': python docs/studies.py [--data FOLDER].

Needs pandas and statsmodels, and the tables, which are not part of the repository. By default they are looked for in
../shared/data/studies; without them, or without statsmodels, a message says so and nothing is written.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:1] = [str(ROOT)]

import numpy as np  # noqa: E402
from benchmarks.wording import table  # noqa: E402

import causalrules as cr  # noqa: E402

DATA = ROOT.parent / "shared" / "data" / "studies"
PAGE = ROOT / "docs" / "studies.md"
TABLES = ("hillstrom.csv.gz", "star_ecdat.csv", "star_aer.csv.gz", "thornton_hiv.csv")
TABLES += ("nhefs.csv", "cattaneo2.csv", "social_insure.csv")


class Number(NamedTuple):
    """An estimate with its 95 % interval and p-value."""

    effect: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Asked:
    """Rules named in advance, the call that measures them, and statsmodels' answer to the same."""

    what: str
    rules: Sequence[str]
    target: str
    theirs: dict[str, Sequence[Number]]
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Study:
    """A study: what is known about it, what is asked, and how it is searched."""

    title: str
    known: str
    data: Any
    asked: Sequence[Asked]
    searched: dict[str, Any]
    differs: str


def regression(formula: str, data: Any, names: Sequence[str], **fitted: Any) -> list[Number]:
    """Return the coefficients of a linear regression."""
    from statsmodels.formula.api import ols

    model = ols(formula, data).fit(**fitted)
    intervals = model.conf_int()
    return [
        Number(float(model.params[name]), *map(float, intervals.loc[name]), float(model.pvalues[name]))
        for name in names
    ]


def clustered(groups: Any) -> dict[str, Any]:
    """Return the options of a fit with errors by group."""
    return {"cov_type": "cluster", "cov_kwds": {"groups": groups}, "use_t": True}


def differences(data: Any, unit: str, arm: str, target: str, rule: str, reference: str) -> Number:
    """Regress the differences of each unit on a constant, weighted by its rows: each unit is one observation."""
    import statsmodels.api as sm

    data = data[data[target].notna() & data[unit].notna()]
    means = data.pivot_table(index=unit, columns=arm, values=target, aggfunc="mean")
    gaps = (means[rule] - means[reference]).dropna()
    rows = data.groupby(unit).size()[gaps.index].to_numpy()
    model = sm.WLS(gaps.to_numpy(), np.ones(len(gaps)), rows).fit(cov_type="HC1", use_t=True)
    return Number(model.params[0], *model.conf_int()[0], model.pvalues[0])


def treated(data: Any, outcome: str, treatment: str, chosen: str, method: str, link: str = "logit") -> Number:
    """Return the average effect by statsmodels' TreatmentEffect: standardised regression (ra), weighting, or both."""
    import statsmodels.formula.api as smf
    from statsmodels.treatment.treatment_effects import TreatmentEffect

    selection = getattr(smf, link)(f"{treatment} ~ {chosen}", data).fit(disp=0)
    asked = TreatmentEffect(smf.ols(outcome, data), data[treatment].astype(int).to_numpy(), results_select=selection)
    found = getattr(asked, method)()
    return Number(found.effect[0], *found.conf_int(alpha=0.05)[0], found.pvalue[0])


def hillstrom(folder: Path) -> Study:
    """E-mails by lot."""
    import pandas as pd

    data = pd.read_csv(folder / "hillstrom.csv.gz")
    arms = [f"{name} E-Mail" for name in ("Mens", "Womens")]
    ours: dict[str, Any] = {"reference": {"segment": "No E-Mail"}, "randomised": "segment"}

    def asked(target: str) -> Asked:
        names = [f"C(segment, Treatment('No E-Mail'))[T.{arm}]" for arm in arms]
        numbers = regression(f"{target} ~ C(segment, Treatment('No E-Mail'))", data, names, cov_type="HC3")
        return Asked(target, [f"segment = {arm}" for arm in arms], target, {"OLS, HC3": numbers}, ours)

    return Study(
        "E-mails by lot: hillstrom",
        "64,000 customers got an e-mail about men's things, one about women's, or none, by lot (Hillstrom 2008). "
        "Visits within two weeks: 18.3 % and 15.1 % with the e-mails, 10.6 % without.",
        data,
        [asked(target) for target in ("visit", "conversion", "spend")],
        {"target": "visit", "actionable": "segment", **ours},
        "The estimates are the same differences of means. Intervals of shares here have one success and one failure "
        "added for their width, those of means Student's quantile or, where tails are long, their skewness.",
    )


def star(folder: Path) -> Study:
    """Class sizes by lot within schools."""
    import pandas as pd

    data = pd.read_csv(folder / "star_ecdat.csv")
    data["score"] = data.treadssk + data.tmathssk
    pupils = pd.read_csv(folder / "star_aer.csv.gz")
    pupils = pupils[pupils.stark.notna() & pupils.readk.notna()]
    arms = ["small.class", "regular.with.aide"]
    ours: dict[str, Any] = {
        "reference": {"classk": "regular"},
        "control": "schidkn",
        "categorical": "schidkn",
        "groups": "schidkn",
        "randomised": "classk",
    }
    within = [differences(data, "schidkn", "classk", "score", arm, "regular") for arm in arms]
    effects = regression(
        "score ~ C(classk, Treatment('regular')) + C(schidkn)",
        data,
        [f"C(classk, Treatment('regular'))[T.{arm}]" for arm in arms],
        **clustered(data.schidkn),
    )
    plain = regression(
        "score ~ C(classk, Treatment('regular'))",
        data,
        [f"C(classk, Treatment('regular'))[T.{arm}]" for arm in arms],
        **clustered(data.schidkn),
    )
    rules = [f"classk = {arm}" for arm in arms]
    unadjusted = {name: value for name, value in ours.items() if name not in ("control", "categorical")}
    aer: dict[str, Any] = {
        "reference": {"stark": "regular"},
        "control": "schoolidk",
        "categorical": "schoolidk",
        "groups": "schoolidk",
        "randomised": "stark",
    }
    reading = [differences(pupils, "schoolidk", "stark", "readk", arm, "regular") for arm in ("small", "regular+aide")]
    return Study(
        "Small classes by lot within schools: star",
        "Kindergarten pupils of 79 schools in Tennessee were put into small classes, regular ones, or regular ones "
        "with an aide, by lot within each school. Krueger (1999) finds that small classes raise scores by about a "
        "fifth of a standard deviation, and aides do little. The score is reading and mathematics together, whose "
        f"standard deviation is {data.score.std():.0f}; schools are strata, and groups.",
        data,
        [
            Asked(
                "score, within schools",
                rules,
                "score",
                {"WLS of the schools' differences, HC1": within, "OLS with an effect of each school": effects},
                ours,
            ),
            Asked("score, unadjusted", rules, "score", {"OLS, clustered by school": plain}, unadjusted),
            Asked(
                "reading (star_aer), within schools",
                ["stark = small", "stark = regular+aide"],
                "readk",
                {"WLS of the schools' differences, HC1": reading},
                {**aer, "data": pupils},
            ),
        ],
        {"target": "score", "actionable": "classk", **ours},
        "Strata count by their pupils here, so that the answer is the average over pupils, as that of the differences "
        "of schools weighted by pupils; OLS with an effect of each school weights schools by how evenly their pupils "
        "are divided, which is another average of effects that differ between schools.",
    )


def thornton(folder: Path) -> Study:
    """Incentives by lot."""
    import pandas as pd

    data = pd.read_csv(folder / "thornton_hiv.csv")
    data = data[data.villnum.notna() & data.got.notna()]
    complete = data[data["any"].notna()].copy()
    complete["far"] = (complete.distvct >= 1.5).astype(int)
    known = complete[complete.age.notna() & complete.hiv2004.notna()]
    plain = regression("got ~ Q('any')", complete, ["Q('any')"], **clustered(complete.villnum))
    adjusted = regression(
        "got ~ Q('any') + age + distvct + C(hiv2004)", known, ["Q('any')"], **clustered(known.villnum)
    )
    far = regression("got ~ far", complete, ["far"], **clustered(complete.villnum))
    ours: dict[str, Any] = {"groups": "villnum", "randomised": "any"}
    return Study(
        "Incentives to learn a test result by lot: thornton",
        "In rural Malawi, people who were tested for HIV drew a voucher of nothing to three dollars, to be had where "
        "results were given. Thornton (2008): any incentive doubles the share who come, from 34 % by 43 to 45 points; "
        "distance lowers it a little. Villages are groups.",
        data,
        [
            Asked("got, unadjusted", ["any = 1"], "got", {"OLS, clustered by village": plain}, ours),
            Asked(
                "got, adjusted",
                ["any = 1"],
                "got",
                {"OLS with age, distance and HIV, by village": adjusted},
                {**ours, "control": ["age", "distvct", "hiv2004"], "categorical": "hiv2004"},
            ),
            Asked(
                "got, distance",
                ["distvct >= 1.5"],
                "got",
                {"OLS, clustered by village": far},
                {"groups": "villnum", "data": complete},
            ),
        ],
        {"target": "got", "actionable": ["any", "tinc", "distvct", "age"], **ours},
        "Unadjusted, the same. Adjusted, OLS takes age and distance for straight lines, and rows without a control are "
        "compared in neither.",
    )


def nhefs(folder: Path) -> Study:
    """Quitting and weight."""
    import pandas as pd

    data = pd.read_csv(folder / "nhefs.csv")
    data = data[data.wt82.notna()].reset_index(drop=True)
    squares = " + ".join(f"{name} + I({name} ** 2)" for name in ("age", "smokeintensity", "smokeyrs", "wt71"))
    model = f"C(sex) + C(race) + C(education) + C(exercise) + C(active) + {squares}"
    controls = ["sex", "race", "age", "education", "smokeintensity", "smokeyrs", "exercise", "active", "wt71"]
    ours: dict[str, Any] = {"control": controls, "categorical": ["sex", "race", "education", "exercise", "active"]}
    outcome = f"wt82_71 ~ {model}"
    return Study(
        "Quitting smoking and weight: nhefs",
        "1,566 smokers, of whom a quarter quit; nobody drew lots. Hernán and Robins (*What If*) adjust for nine "
        "columns and find 3.4 to 3.5 kg more (2.4 to 4.5 by weighting, 2.6 to 4.5 by standardisation), 2.5 "
        "unadjusted.",
        data,
        [
            Asked(
                "kg gained, unadjusted",
                ["qsmk = 1"],
                "wt82_71",
                {"OLS, HC3": regression("wt82_71 ~ qsmk", data, ["qsmk"], cov_type="HC3")},
            ),
            Asked(
                "kg gained, nine controls",
                ["qsmk = 1"],
                "wt82_71",
                {
                    "OLS with squares, HC3": regression(f"wt82_71 ~ qsmk + {model}", data, ["qsmk"], cov_type="HC3"),
                    "standardised regression": [treated(data, outcome, "qsmk", model, "ra")],
                    "AIPW": [treated(data, outcome, "qsmk", model, "aipw")],
                },
                ours,
            ),
        ],
        {"target": "wt82_71", "actionable": ["qsmk", "alcoholpy", "birthplace"], **ours},
        "Models differ: squares there, smooth curves and trees here.",
    )


def cattaneo(folder: Path) -> Study:
    """Smoking and birth weight."""
    import pandas as pd

    data = pd.read_csv(folder / "cattaneo2.csv")
    outcome = "bweight ~ prenatal1 + mmarried + mage + fbaby"
    chosen = "mmarried + mage + I(mage ** 2) + fbaby + medu"
    ours: dict[str, Any] = {"control": ["mmarried", "mage", "fbaby", "prenatal1", "medu"]}
    return Study(
        "Smoking and birth weight: cattaneo2",
        "4,642 births; mothers who smoked have children of 275 grams less. Adjusted for five columns, the example of "
        "Stata's manual for treatment effects (after Cattaneo 2010) has −239.6 g by regression and −231.0 g by AIPW.",
        data,
        [
            Asked(
                "grams, unadjusted",
                ["mbsmoke = 1"],
                "bweight",
                {"OLS, HC3": regression("bweight ~ mbsmoke", data, ["mbsmoke"], cov_type="HC3")},
            ),
            Asked(
                "grams, five controls",
                ["mbsmoke = 1"],
                "bweight",
                {
                    name: [treated(data, outcome, "mbsmoke", chosen, method, "probit")]
                    for name, method in (("standardised regression", "ra"), ("AIPW", "aipw"))
                },
                ours,
            ),
        ],
        {"target": "bweight", "direction": "decrease", "actionable": ["mbsmoke", "alcohol", "foreign"], **ours},
        "The models of the outcome and of smoking differ: cross-fitted AIPW with polynomials or forests has "
        "−214 to −229 g.",
    )


def insurance(folder: Path) -> Study:
    """Insurance."""
    import pandas as pd

    data = pd.read_csv(folder / "social_insure.csv")
    rules = ["default = 1", "intensive = 1"]

    def theirs(formula: str, groups: str) -> list[Number]:
        return regression(formula, data, ["Q('default')", "intensive"], **clustered(data[groups]))

    declared: dict[str, Any] = {"randomised": ["default", "intensive"]}
    alone = [
        regression(f"takeup_survey ~ {name}", data, [name], **clustered(data["village"]))[0]
        for name in ("Q('default')", "intensive")
    ]
    fixed = theirs("takeup_survey ~ Q('default') + intensive + C(village)", "address")
    return Study(
        "Rice insurance in villages: social_insure",
        "Households of 44 administrative villages were offered weather insurance (Cai, de Janvry and Sadoulet 2015). "
        "Whether buying was the default in the first round was drawn for natural villages (`address`), and what their "
        "neighbours then bought moves those of the second round, who are the rows here.",
        data,
        [
            Asked(
                "take-up, unadjusted",
                rules,
                "takeup_survey",
                {"OLS, clustered by village": alone},
                {**declared, "groups": "village"},
            ),
            Asked(
                "take-up, within villages",
                rules,
                "takeup_survey",
                {"OLS with an effect of each village, by natural village": fixed},
                {**declared, "groups": "address", "control": "village"},
            ),
        ],
        {"target": "takeup_survey", "actionable": ["default", "intensive"], "groups": "village", **declared},
        "Unadjusted, the same. Within villages, those without both sides are not compared here, each village counts by "
        "its rows, and the spread between its few natural villages is corrected for their number, which makes the "
        "interval wider.",
    )


STUDIES: tuple[Callable[[Path], Study], ...] = (hillstrom, star, thornton, nhefs, cattaneo, insurance)


def decimals(share: bool, effects: Sequence[float]) -> int:
    """Return how many decimals a table shows: points one, or two where all are below a point; means three digits."""
    largest = max(abs(each) for each in effects)
    if share:
        return 1 if largest >= 1 else 2
    return 0 if largest >= 100 else 1 if largest >= 10 else 2


def signed(value: float, places: int) -> str:
    """Format with a real minus sign, and none before a zero."""
    text = f"{value:.{places}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def chance(p: float, sign: str = "=") -> str:
    """Format a p-value with three decimals; where none of the shuffled tables was as good, with the bound."""
    if sign == "≤":
        return f"≤ {max(p, 0.001):.3f}"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def measured(study: Study, asked: Asked) -> cr.RuleSet:
    """Measure the rules with this package; permutations give p where it is not there at once."""
    options = dict(asked.options)
    data = options.pop("data", study.data)
    rules = cr.evaluate(data, list(asked.rules), asked.target, **options)
    return rules if rules[0].p_value is not None else rules.significance(seed=0)


def holm(numbers: Sequence[Number]) -> list[float]:
    """Return p-values adjusted for the rules named together."""
    from statsmodels.stats.multitest import multipletests

    return [float(p) for p in multipletests([number.p for number in numbers], method="holm")[1]]


@dataclass
class Written:
    """What has been written, and what the words and numbers of all studies come to."""

    rows: list[list[str]] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)
    apart: list[float] = field(default_factory=list)


def compared(study: Study, summary: Written) -> str:
    """Return the table of a study: ours beside theirs."""
    rows: list[list[str]] = []
    for asked in study.asked:
        rules = measured(study, asked)
        share = set(asked.options.get("data", study.data)[asked.target].dropna().unique()) <= {0, 1}
        scale = 100.0 if share else 1.0
        places = decimals(share, [scale * rule.effect for rule in rules])
        adjusted = {name: holm(numbers) for name, numbers in asked.theirs.items()}

        def shown(number: Sequence[float], scale: float = scale, places: int = places) -> list[str]:
            effect, low, high = (signed(scale * each, places) for each in number)
            return [effect, f"{low} to {high}"]

        for place, rule in enumerate(rules):
            ours = shown((rule.effect, *rule.interval))
            said = rule.verdict
            p = chance(rule.p_value, rule.p_sign) if rule.p_value is not None else "–"
            rows.append([f"{asked.what}: {rule.text}", "causalrules", *ours, p, said.evidence, said.claim])
            against: list[str] = []
            for name, numbers in asked.theirs.items():
                number, their_p = numbers[place], adjusted[name][place]
                rows.append(["", name, *shown(number[:3]), chance(their_p), "", ""])
                summary.apart.append(abs(rule.effect - number.effect) / ((number.high - number.low) / 3.92))
                if (said.evidence == "supported") != (their_p <= 0.05):
                    against.append(f"{chance(their_p)} by {name}")
            if against:
                summary.contradictions.append(
                    f"{study.title.split(': ')[1]}, {asked.what}: {rule.text} is *{said.evidence}* "
                    f"({'; '.join(said.reasons) or 'no reason given'}), beside {ours[0]} ({ours[1]}); p "
                    + ", ".join(against)
                )
    lines = table(["rule", "by", "effect", "95 % interval", "p", "evidence", "claim"], rows, text_columns=2)
    return lines.replace("---: | ---: | ---: | ---: | ---: |", "---: | ---: | ---: | --- | --- |", 1)


def call(searched: dict[str, Any]) -> str:
    """Return the call of the search as text."""
    given = dict(searched)
    target = given.pop("target")
    return f'cr.discover(data, "{target}", ' + ", ".join(f"{name}={value!r}" for name, value in given.items()) + ")"


def section(study: Study, summary: Written) -> str:
    """Return the section of a study."""
    given = dict(study.searched)
    rules = cr.discover(study.data, given.pop("target"), progress=False, **given)
    return "\n\n".join(
        [
            f"## {study.title}",
            fill(study.known, 118),
            compared(study, summary),
            fill(study.differs, 118),
            f"Searched: `{call(study.searched)}`",
            f"```text\n{without_times(str(rules))}\n```",
        ]
    )


def without_times(printed: str) -> str:
    """Leave out how long the search took, so that the page changes only with its answers."""
    return re.sub(r", [\d,]+ nodes? in [\d.,]+ (?:s|ms)", "", printed)


INTRODUCTION = """<!-- Written by docs/studies.py: change that. -->
# Published studies, beside statsmodels

Six studies whose answers are published or well known, asked of this package and of statsmodels: the same rows, and the
same columns to adjust for. The named rules are measured with `evaluate`; the lists are those of `discover`. Effects on
an outcome are in points, others in the unit of the target; p-values are two-sided and adjusted for the rules named
together (Holm). What the lists print is what a user sees, except for the time of the search."""


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the tables")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page to write")
    given = parser.parse_args()
    missing = [name for name in TABLES if not (given.data / name).is_file()]
    if missing:
        print(f"nothing written: {', '.join(missing)} not found in the folder; see --data", file=sys.stderr)
        return
    if importlib.util.find_spec("statsmodels") is None:
        print("nothing written: statsmodels is not installed (pip install statsmodels)", file=sys.stderr)
        return
    warnings.simplefilter("ignore")
    summary = Written()
    sections = [section(study(given.data), summary) for study in STUDIES]
    near = sum(each <= 0.5 for each in summary.apart)
    others = " Except:" if summary.contradictions else ""
    overview = fill(
        f"Of {len(summary.apart)} comparisons, {near} estimates lie within half a standard error of each other. The "
        f"word is *supported* exactly where statsmodels' p is at most 0.05.{others}",
        118,
    )
    overview += "".join(f"\n\n- {each}" for each in summary.contradictions)
    given.out.write_text("\n\n".join([INTRODUCTION, overview, *sections]) + "\n", encoding="utf-8")
    print(f"{given.out.name}: {len(sections)} studies, {len(summary.contradictions)} words to explain")


if __name__ == "__main__":
    main()
