"""The cells of `benchmarks/verdicts.py`: a regime, what is asked of the package in it, and what must come out.

Only the public interface is used, as a user would. A cell's `ask` takes the number of a table and says what happened
there; None leaves the table out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import causalrules as cr
from benchmarks import regimes
from benchmarks.regimes import Columns, Floats

Answer = Mapping[str, bool | str]
# The number of searches in trust(), where a cell asks it.
TRUST: dict[str, Any] = {"permutations": 999, "replicates": 10, "splits": 2}
SEEDS = 10


@dataclass(frozen=True)
class Cell:
    """What is drawn and asked, and the share of tables in which each thing must happen, at most or at least."""

    row: str
    what: str
    ask: Callable[[int], Answer | None]
    at_most: Mapping[str, float] = field(default_factory=dict)
    at_least: Mapping[str, float] = field(default_factory=dict)
    times: int = 1


def quietly(ask: Callable[..., Any], *given: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ask(*given, **options)


def discover(columns: Columns, **options: Any) -> cr.RuleSet:
    options = {"max_length": 2, "n_jobs": 1, "progress": False} | options
    found = quietly(cr.discover, columns, "y", **options)
    assert isinstance(found, cr.RuleSet)
    return found


def evaluate(columns: Columns, rule: str = "x = 1", **options: Any) -> cr.RuleResult:
    found = quietly(cr.evaluate, columns, rule, "y", n_jobs=1, **options)[0]
    assert isinstance(found, cr.RuleResult)
    return found


def alerts(rules: cr.RuleSet) -> str:
    return " ".join(map(str, rules.alerts))


def unexplained(rule: cr.RuleResult) -> bool:
    """Return whether the word is another than supported and no reason is given."""
    return rule.verdict.evidence != "supported" and not rule.verdict.reasons


def words(rule: cr.RuleResult) -> dict[str, bool | str]:
    """Return what every cell of a search or of a named rule counts."""
    verdict = rule.verdict
    return {
        "word": verdict.evidence,
        "supported": verdict.evidence == "supported",
        "strong": verdict.strong,
        "no reason": unexplained(rule),
    }


NULL = {"supported": 0.05, "strong": 0.05, "no reason": 0.0}
POWER = {"supported": 0.95}


def searched(draw: Callable[[int], Columns], **options: Any) -> Callable[[int], Answer]:
    """Ask for the best rule."""
    return lambda seed: words(discover(draw(seed), k=1, **options)[0])


def measured(
    draw: Callable[[int], Columns], truth: float, rule: str = "x = 1", **options: Any
) -> Callable[[int], Answer]:
    """Ask for a rule named in advance, and whether its interval covers the truth."""
    named = rule

    def ask(seed: int) -> Answer:
        rule = evaluate(draw(seed), named, **options)
        low, high = rule.interval
        return {**words(rule), "covers": low <= truth <= high, "truth above": high < truth}

    return ask


def tested(draw: Callable[[int], Columns], **options: Any) -> Callable[[int], Answer]:
    """Ask for the best rule, before and after its p-value."""

    def ask(seed: int) -> Answer:
        rules = discover(draw(seed), k=1, **options)
        after = quietly(rules.significance, seed=seed, n_jobs=1)[0]
        return {**words(rules[0]), "supported, by p": after.verdict.evidence == "supported"}

    return ask


def controls(columns: Columns) -> list[str]:
    return [name for name in columns if name.startswith("z")]


def many(draw: Callable[[int], Columns], named: bool = False, truth: float = 0.0) -> Callable[[int], Answer]:
    """Ask with all columns z0, z1, … as controls."""

    def ask(seed: int) -> Answer:
        columns = draw(seed)
        asked = measured if named else searched
        given: dict[str, Any] = {"truth": truth} if named else {}
        return asked(lambda _: columns, control=controls(columns), **given)(seed)

    return ask


def second(seed: int) -> Answer:
    columns, _ = regimes.causes(seed, (0.3, 0.12), 2000)
    texts = [rule.text for rule in discover(columns, control="z").findings]
    true = {"x0 = 1", "x1 = 1"}
    return {"second listed": "x1 = 1" in texts, "other listed": not set(texts) <= true}


def after_search(effect: float) -> Callable[[int], Answer]:
    """Ask whether the numbers of the first rule contain its truth, which is known for any rule."""

    def ask(seed: int) -> Answer:
        columns, mean = regimes.causes(seed, (effect,), 1000)
        rule = discover(columns, control="z", k=1)[0]
        covered, z = rule.covers(columns), columns["z"]
        truth = float(
            np.average([gap(mean, covered, z == value) for value in (0, 1)], weights=np.bincount(z, minlength=2))
        )
        low, high = rule.interval
        found: dict[str, bool | str] = {**words(rule), "interval covers": low <= truth <= high}
        return found | {
            "at least shown": rule.at_least is not None,
            "at least too high": rule.at_least is not None and rule.at_least > truth + 1e-9,
        }

    return ask


def gap(mean: Floats, covered: Any, here: Any) -> float:
    return float(mean[here & covered].mean() - mean[here & ~covered].mean())


def lowers(seed: int) -> Answer:
    columns = regimes.confounded(0.3, "strong", seed)
    rule = evaluate(columns | {"y": 1 - columns["y"]}, control="z")
    return {**words(rule), "lowers": rule.verdict.direction == "lowers"}


def held_out(seed: int) -> Answer | None:
    """Ask whether the number on held-out rows beside a rule is about that rule; two causes are nearly as strong."""
    columns, _ = regimes.causes(seed, (0.22, 0.2), 1000)
    rules = quietly(discover(columns, control="z").cross_fit, 5, seed, n_jobs=1)
    for rule in rules:
        honest = rule.evidence.honest if rule.evidence else None
        truth = {"x0 = 1": 0.22, "x1 = 1": 0.2}.get(rule.text)
        if truth is not None and honest is not None and honest.low is not None:
            return {"covers": honest.low <= truth <= honest.high, "shown": True}
    return None


def unbalanced(seed: int, lot: bool, control: str | None, context: str | None) -> Answer:
    actionable = ["owner", *([context] if context else [])]
    rules = discover(regimes.owners(seed, lot), control=control, actionable=actionable, randomised="owner", k=3)
    strong = any(rule.verdict.strong for rule in rules if "owner" in rule.text)
    return {
        "strong": strong,
        "alert": "owner" in alerts(rules),
        "strong without alert": strong and "owner" not in alerts(rules),
        "says that balance was not checked": "not checked" in str(rules),
    }


def suspicious(seed: int, kind: str, column: str | None) -> Answer:
    rules = discover(regimes.suspects(seed, kind), k=3)
    used = any(column in rule.text for rule in rules.findings) if column else False
    return {"alert": bool(alerts(rules)), "listed without alert": used and str(column) not in alerts(rules)}


EDGE = (0.0, 0.1, 0.15, 0.3)


def same(change: str) -> Callable[[int], Answer]:
    """Ask whether the word is the same after a change that means nothing, right after the search and by p."""

    def ask(seed: int) -> Answer:
        columns = regimes.confounded(EDGE[seed % 4], "strong", seed)
        asked: dict[str, Any] = {"control": ["z"], "actionable": ["x", "w0", "w1", "w2"], "k": 1}
        other, other_asked = columns, asked
        if change == "turned":
            other, other_asked = columns | {"y": 1 - columns["y"]}, asked | {"direction": "decrease"}
        if change == "control":
            coin = regimes.draw(seed, 99).integers(0, 2, len(columns["y"]))
            other, other_asked = columns | {"coin": coin}, asked | {"control": ["z", "coin"]}
        one, two = discover(columns, **asked), discover(other, **other_asked)
        by_p = [quietly(each.significance, seed=0, n_jobs=1)[0].verdict.evidence for each in (one, two)]
        return {
            "same word": one[0].verdict.evidence == two[0].verdict.evidence,
            "same word by p": by_p[0] == by_p[1],
        }

    return ask


def same_seeds(seed: int) -> Answer | None:
    """Ask ten seeds, where p lies between 0.01 and 0.2."""
    columns = regimes.confounded(0.1, "strong", seed)
    asked: dict[str, Any] = {"control": ["z"], "k": 1}
    first = discover(columns, **asked)
    p_value = quietly(first.significance, seed=0, n_jobs=1)[0].p_value
    if p_value is None or not 0.01 <= p_value <= 0.2:
        return None
    searches = [discover(columns, seed=each, **asked) for each in range(SEEDS)]
    found = {each[0].verdict.evidence for each in searches}
    by_p = {quietly(each.significance, seed=s, n_jobs=1)[0].verdict.evidence for s, each in enumerate(searches)}
    return {"same word": len(found) == 1, "same word by p": len(by_p) == 1}


def same_trust(draw: Callable[[int], Columns]) -> Callable[[int], Answer]:
    """Ask whether the word falls after trust() although the doubly robust check agrees."""

    def ask(seed: int) -> Answer:
        columns = draw(seed)
        before = discover(columns, control=controls(columns), k=1)
        after = quietly(before.trust, seed=seed, n_jobs=1, progress=False, **TRUST)[0]
        robust = after.evidence.doubly_robust if after.evidence else None
        agrees = robust is None or robust.agrees
        ranks = ("cannot tell", "not supported", "suggestive", "supported")
        one, two = (ranks.index(rule.verdict.evidence) for rule in (before[0], after))
        return {
            "word": f"{before[0].verdict.evidence} → {after.verdict.evidence}",
            "same word": one == two,
            "falls unexplained": two < one and agrees,
        }

    return ask


MISSING = {"control": "z", "graph": regimes.GRAPH}
HALF_MISSING = "a confounder of three values, 20 % of them missing at random, right graph, n = 5,000"
BINNED = "numeric confounders, 3 idle columns, n = 5,000"
COVERS = {"covers": 0.93}


def cells() -> dict[str, Cell]:
    """Return all cells by name."""
    found = {
        f"uncompared-{share}": Cell(
            "1",
            f"30 points, n = 3,000, {share} % of the rows without a comparison group",
            searched(partial(regimes.uncompared, share / 100), control="z"),
            {"no reason": 0.0},
            POWER,
        )
        for share in (20, 30, 45)
    }
    found["missing-null"] = Cell(
        "2", f"no effect, {HALF_MISSING}", searched(partial(regimes.missing, truth=0.0), **MISSING), NULL
    )
    found["missing-value"] = Cell(
        "2",
        f'the same, missing_control="value": {HALF_MISSING}',
        searched(partial(regimes.missing, truth=0.0), missing_control="value", **MISSING),
        {"strong": 0.05},  # of other columns, which need no control
    )
    found["missing-30"] = Cell(
        "2", f"30 points, {HALF_MISSING}", searched(partial(regimes.missing, truth=0.3), **MISSING), {}, POWER
    )
    for count, strength in ((3, 1.0), (4, 1.0), (4, 2.0)):
        draw = partial(regimes.numeric, count=count, truth=0.0, strength=strength)
        strong = " and strong" if strength > 1 else ""
        name = f"numeric-{count}{'-strong' if strong else ''}"
        found[name] = Cell("3", f"no effect, {count}{strong} {BINNED}", many(draw), NULL)
        found[f"{name}-interval"] = Cell(
            "3", f"no effect, {count}{strong} {BINNED}; x named in advance", many(draw, named=True), NULL, COVERS
        )
    found["second"] = Cell(
        "4", "30 and 12 points, eight columns, n = 2,000", second, {"other listed": 0.05}, {"second listed": 0.95}
    )
    for points in (0, 5, 10, 15):
        found[f"search-{points}"] = Cell(
            "5",
            f"{points} points, eight columns, n = 1,000: the first rule",
            after_search(points / 100),
            {"at least too high": 0.05} | ({} if points else {"supported": 0.05}),
        )
    for shape in ("linear", "product", "steps"):
        draw = partial(regimes.predicted, shape=shape, truth=0.0)
        ten = f"ten controls, {shape}, n = 2,000"
        found[f"prognostic-{shape}"] = Cell("6", f"no effect, {ten}", many(draw), NULL)
        draw = partial(regimes.predicted, shape=shape, truth=0.15)
        found[f"prognostic-{shape}-interval"] = Cell(
            "6", f"15 points, {ten}; x named in advance", many(draw, named=True, truth=0.15), {}, COVERS
        )
    found["lowers"] = Cell("7", "−30 points, named, n = 1,000", lowers, {}, {"supported": 0.95, "lowers": 0.95})
    found["named-null"] = Cell(
        "7",
        "no effect, strong confounder, n = 1,000, named",
        measured(partial(regimes.confounded, 0.0, "strong"), 0.0, control="z"),
        NULL,
        COVERS,
        times=4,
    )
    for truth, arm in ((0.0, "letter"), (-0.4, "call")):
        found[f"arms-{arm}"] = Cell(
            "7",
            f"{'−0.4' if truth else 'no effect'} on a mean, three arms, n = 1,500, named, compared with one",
            measured(partial(regimes.arms, truth=truth), truth, f"arm = {arm}", control="z", reference={"arm": "none"}),
            {} if truth else NULL,
            COVERS | (POWER if truth else {}),
            times=10,
        )
    for confounder in regimes.CONFOUNDERS:
        for points in (0, 30):
            draw = partial(regimes.confounded, points / 100, confounder)
            found[f"confounder-{confounder}-{points}"] = Cell(
                "verdict",
                f"{'30 points' if points else 'no effect'}, {confounder} confounder, graph, n = 1,000",
                tested(draw, control="z", graph=regimes.GRAPH),
                NULL | {"supported, by p": 0.05} if not points else {"no reason": 0.0},
                {} if not points else POWER,
            )
    for within, points in ((True, 0), (False, 0), (True, 30), (False, 30)):
        level = "rows" if within else "whole groups"
        draw = partial(regimes.clustered, truth=points / 100, within=within)
        name = f"groups-{'rows' if within else 'whole'}-{points}"
        what = f"{'30 points' if points else 'no effect'}, 80 groups of 10 rows, x drawn for {level}"
        null = {"supported": 0.05, "no reason": 0.0}
        found[name] = Cell(
            "8", what, searched(draw, groups="group"), null if not points else {}, POWER if points else {}
        )
        found[f"{name}-named"] = Cell(
            "8",
            f"{what}, named",
            measured(draw, points / 100, groups="group"),
            null if not points else {},
            COVERS | (POWER if points else {}),
            times=4,
        )
    found["groups-strata"] = Cell(
        "8",
        "no effect, 80 groups of 10 rows that are also the control, named",
        measured(
            partial(regimes.clustered, truth=0.0, within=True), 0.0, groups="group", control="group", adjust="strata"
        ),
        {"supported": 0.05, "covers": 0.985},
        COVERS,
        times=4,
    )
    found["held-out"] = Cell("9", "22 and 20 points, n = 1,000, five blocks", held_out, {}, COVERS)
    for name, shares in (
        ("0.5", np.array([0.005, 0.5])),
        ("1", np.array([0.01, 0.5])),
        ("60", np.geomspace(0.01, 0.6, 10)),
    ):
        text = "strata of 1–60 %" if name == "60" else f"half of the rows at a propensity of {name} %"
        found[f"overlap-{name}"] = Cell(
            "10",
            f"20 points, {text}, n = 4,000, named",
            measured(
                partial(regimes.propensities, shares=shares, base=0.3, truth=0.2, n=4000),
                0.2,
                control="z",
                adjust="strata",
            ),
            {},
            COVERS,
            times=4,
        )
    means = dict(
        zip(regimes.TAILS, ("skewed-lognormal", "skewed-lognormal-2", "skewed-zeros", "skewed-spread"), strict=True)
    )
    for tail, name in means.items():
        found[name] = Cell(
            "11",
            f"no effect on a mean, {tail}, x covers 10 % of 1,000 rows, named",
            measured(partial(regimes.tailed, tail=tail), 0.0),
            {"supported": 0.05},
            COVERS,
            times=4,
        )
    found["skewed-spread-search"] = Cell(
        "11",
        "no effect on a mean, spread × 8 where x holds, searched",
        searched(partial(regimes.tailed, tail="spread × 8")),
        {"supported": 0.05},
    )
    found["population"] = Cell(
        "12",
        "−20 to 40 points in five strata, n = 1,000, named",
        measured(regimes.unequal, 0.1, control="z"),
        {},
        COVERS,
        times=4,
    )
    lots: tuple[tuple[str, str, bool, str | None, str | None, dict[str, float], dict[str, float]], ...] = (
        ("unbalanced-control", "a control", False, "income", None, {"strong without alert": 0.0}, {"alert": 0.95}),
        ("unbalanced-context", "another column", False, "age", "income", {"strong without alert": 0.05}, {}),
        ("unbalanced-nothing", "not named", False, None, None, {}, {"says that balance was not checked": 1.0}),
        ("lot-control", "a control", True, "income", None, {"alert": 0.05}, {"strong": 0.95}),
    )
    for name, where, lot, control, context, at_most, at_least in lots:
        how = "drawn by lot" if lot else "following income, declared randomised"
        asked = partial(unbalanced, lot=lot, control=control, context=context)
        found[name] = Cell("13", f"home ownership {how}; income is {where}", asked, at_most, at_least)
    for kind, column in (("nothing", None), ("id", "pidnum"), ("follow-up", "days"), ("consequence", "bill")):
        found[f"suspect-{kind}"] = Cell(
            "14",
            f"{kind}{f' ({column})' if column else ''} among the columns, n = 2,000",
            partial(suspicious, kind=kind, column=column),
            {"listed without alert": 0.0} if column else {"alert": 0.05},
        )
    for n in (1000, 5000):
        for points in (5, 10, 15):
            draw = partial(regimes.confounded, points / 100, "strong", n=n)
            found[f"power-{points}-{n}"] = Cell(
                "15", f"{points} points, strong confounder, n = {n:,}", tested(draw, control="z")
            )
    found["same-seeds"] = Cell(
        "word", "ten seeds, p between 0.01 and 0.2", same_seeds, {}, {"same word": 0.98, "same word by p": 0.98}
    )
    found["same-turned"] = Cell("word", "the outcome turned round", same("turned"), {}, {"same word": 0.98})
    found["same-control"] = Cell("word", "a random control added", same("control"), {}, {"same word": 0.9})
    found["same-trust"] = Cell(
        "word",
        "after trust(), one binary control",
        same_trust(lambda seed: regimes.confounded(EDGE[seed % 4], "strong", seed)),
        {"falls unexplained": 0.0},
    )
    found["same-trust-prognostic"] = Cell(
        "word",
        "after trust(), ten controls",
        same_trust(lambda seed: regimes.predicted(seed, "linear", EDGE[seed % 4])),
        {"falls unexplained": 0.0},
    )
    return found
