"""The report: one HTML file that needs no network. Untrusted names and values appear as text only."""

from __future__ import annotations

import base64
import hashlib
import io
import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from causalrules.exceptions import OptionError
from causalrules.graph.assumptions import assumptions
from causalrules.report import drawing, figure, plots, reproduce, sections, trust_plots
from causalrules.report import result_words as wording
from causalrules.result import similarity as grouping
from causalrules.text import amount, counted, number, percent, printable
from causalrules.writing import replace_file

if TYPE_CHECKING:
    from causalrules.question import Question
    from causalrules.result.rule import RuleResult
    from causalrules.result.rules import RuleSet

_FOLDER = Path(__file__).parent
_MOST_STRATA = 30
_MOST_RULES = 300
# Placeholder colours in figures, which become CSS variables for the light and dark themes.
_INK, _LINE, _PAPER = "#010203", "#040506", "#070809"
_COLOURS = {
    _INK: "var(--ink)",
    _LINE: "var(--line)",
    _PAPER: "var(--paper)",
    figure.BLUE.lower(): "var(--blue)",
    figure.ORANGE.lower(): "var(--orange)",
    figure.GREEN.lower(): "var(--green)",
    figure.GREY.lower(): "var(--grey)",
}


def write(rules: RuleSet, path: str | PathLike[str] | None = None) -> str:
    """Return the report, and write it to a file, atomically."""
    page = _page(replace(rules, rules=rules.rules[:_MOST_RULES]), n_left=max(0, len(rules) - _MOST_RULES))
    if path is not None:
        replace_file(Path(path), page)
    return page


def _page(rules: RuleSet, n_left: int) -> str:
    import jinja2
    from markupsafe import Markup, escape

    def code(text: str) -> Markup:
        # Browsers turn a carriage return into a line feed, which would change copied code. Lone surrogates cannot be
        # encoded.
        written = text.encode("utf-8", "backslashreplace").decode("utf-8")
        return Markup(str(escape(written)).replace("\r", "&#13;"))

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= {
        "plain": printable,
        "short": _short,
        "number": amount if wording.is_mean(rules) else number,
        "level": amount if wording.is_mean(rules) else percent,
        "percent": percent,
        "code": code,
    }
    style, script = ((_FOLDER / name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    less = _less(rules)
    return environment.get_template("report.html.j2").render(
        rules=rules,
        question=rules.question,
        cards=_cards(rules, less),
        style=Markup(style),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        status=_status(rules),
        verdict=wording.verdict(rules),
        noun=rules.noun,
        ranking=_sentence(ranking) if (ranking := wording.ranking(rules)) else None,
        adjusted="adjusted" if rules.question.controls else rules.noun,
        proof=_sentence(wording.proof(rules)),
        warning=wording.warning(rules),
        hidden=_hidden(less, n_left),
        n_redundant=sum(place.why == "redundant" for place in less),
        n_variants=sum(place.why == "variant" for place in less),
        scale=tuple(amount(end) if wording.is_mean(rules) else number(end, 2) for end in _scale(rules)),
        facts=_facts(rules),
        sections=sections.of_result(rules),
        figures=[(caption, Markup(figure)) for caption, figure in _figures(rules)],
        asked=_asked(rules),
        assumed=_assumed(rules),
        assumptions=_assumptions(rules),
        command=reproduce.command(rules),
        call=reproduce.call(rules),
    )


@dataclass(frozen=True)
class _Less:
    """Why a rule is hidden at first ("redundant", or "variant" of a stronger one), or its own variants."""

    why: str | None = None
    variants: tuple[tuple[str, float, float], ...] = ()


def _less(rules: RuleSet) -> list[_Less]:
    if rules.problem is not None and not rules.problem.rows.is_local:
        rules = replace(rules, problem=None)  # remote rows are not fetched for a report
    if rules.question.similarity is not None:
        # A list of different rules has its near-duplicates with each rule, once they have been looked for.
        near = [[(each.rule.text, each.shared, each.rule.value) for each in rule.near or ()] for rule in rules]
        return [_Less(None, tuple(variants)) for variants in near]
    redundant = grouping.redundant(rules)
    result = [_Less("redundant") if one else _Less() for one in redundant]
    if rules.problem is None:
        return result
    place = {rule.text: index for index, rule in enumerate(rules)}
    listed = tuple(rule for rule, one in zip(rules, redundant, strict=True) if not one)
    for group in grouping.groups(replace(rules, rules=listed)):
        pairs = zip(group.variants, group.shared, strict=True)
        variants = tuple((rule.text, shared, rule.value) for rule, shared in pairs)
        result[place[group.leader.text]] = _Less(None, variants)
        for rule in group.variants:
            result[place[rule.text]] = _Less("variant")
    return result


def _hidden(less: list[_Less], n_left: int) -> list[str]:
    redundant, variants = (sum(place.why == why for place in less) for why in ("redundant", "variant"))
    said = [f"Only the best {counted(len(less), 'rule')} of {len(less) + n_left:,} are shown."] if n_left else []
    if redundant:
        said.append(
            f"{counted(redundant, 'redundant rule')} hidden: a more general rule in the list is at least as good. "
            "Search with redundant=False for other rules in their place."
        )
    if variants:
        said.append(
            f"{counted(variants, 'near-duplicate')} hidden: a stronger rule in the list shares at least half the rows."
        )
    return said


def _cards(rules: RuleSet, less: list[_Less]) -> list[dict[str, Any]]:
    low, high = _scale(rules)

    def x(value: float) -> float | None:
        inside = min(max(value, low), high)
        return None if math.isnan(value) else round(10 + 180 * (inside - low) / (high - low), 1)

    return [
        {
            "rule": rule,
            "less": place.why,
            "variants": place.variants,
            "verdict": rule.verdict,
            "reading": wording.reading(rule, rules),
            "sections": sections.of_rule(rule, rules),
            "chart": _chart(rule, rules, x),
            **_strata(rule),
            "code": _code(rule),
        }
        for rule, place in zip(rules, less, strict=True)
    ]


def _status(rules: RuleSet) -> str:
    if rules.admissibility is None:
        return "admissible" if rules.claim == "effect" else "unchecked"
    return rules.admissibility.status


def _scale(rules: RuleSet) -> tuple[float, float]:
    """Return the range of the axis that all rules share, which includes 0."""
    values = [
        value
        for rule in rules
        for value in (rule.conservative, rule.marginal_effect, rule.effect, *rule.interval)
        if not math.isnan(value)
    ]
    return min(0.0, *values, 0.0), max(0.0, *values, 0.01)


def _chart(rule: RuleResult, rules: RuleSet, x: Callable[[float], float | None]) -> dict[str, Any]:
    low, high = rule.interval
    controlled = bool(rules.question.controls)
    figure = amount if rule.is_mean else number
    said = [
        f"conservative {figure(rule.conservative)}",
        f"{'adjusted' if controlled else rules.noun} {figure(rule.effect)}, from {figure(low)} to {figure(high)}",
        *([f"unadjusted {figure(rule.marginal_effect)}"] if controlled else []),
    ]
    return {
        "zero": x(0.0),
        "low": x(low),
        "high": x(high),
        "effect": x(rule.effect),
        "marginal": x(rule.marginal_effect) if controlled else None,
        "reliable": x(rule.conservative),
        "words": "; ".join(said),
    }


def _strata(rule: RuleResult) -> dict[str, Any]:
    ordered = sorted(rule.strata, key=lambda stratum: -stratum.n)
    shown, rest = ordered[:_MOST_STRATA], ordered[_MOST_STRATA:]
    largest = max(shown[0].n, 1)

    means = [mean for each in shown for mean in (each.p_rule, each.p_not_rule) if not math.isnan(mean)]
    low, high = (min(means, default=0.0), max(means, default=1.0)) if rule.is_mean else (0.0, 1.0)

    def x(mean: float) -> float | None:
        return None if math.isnan(mean) else round(10 + 180 * (mean - low) / ((high - low) or 1.0), 1)

    def of(n_rows: int) -> str:
        return f" of {n_rows:,}" if n_rows else ""

    return {
        "strata": [
            {
                "name": plots.stratum_name(stratum.labels),
                "n": stratum.n,
                "p_rule": stratum.p_rule,
                "p_not_rule": stratum.p_not_rule,
                "n_rule": of(stratum.sums.covered.n),
                "n_not_rule": of(stratum.sums.failing.n),
                "difference": stratum.difference,
                "overlap": stratum.overlap,
                "x": x(stratum.p_rule),
                "x_not": x(stratum.p_not_rule),
                "alone": next((end for end in map(x, (stratum.p_rule, stratum.p_not_rule)) if end is not None), 10.0),
                "size": round(2.5 + 4.5 * math.sqrt(stratum.n / largest), 1),
            }
            for stratum in shown
        ],
        "more_strata": f"The {len(shown)} largest strata; {len(rest):,} smaller ones with "
        f"{counted(sum(stratum.n for stratum in rest), 'row')} are not listed."
        if rest
        else "",
    }


def _code(rule: RuleResult) -> list[tuple[str, str]]:
    """Return the rule in each language, or why it cannot be written."""
    written: list[tuple[str, Callable[[], str]]] = [
        ("SQL, DuckDB", lambda: rule.to_sql("duckdb")),
        ("SQL, PostgreSQL", lambda: rule.to_sql("postgres")),
        ("SQL, SQLite", lambda: rule.to_sql("sqlite")),
        ("Python", rule.to_python),
    ]
    result = []
    for name, make in written:
        try:
            result.append((name, make()))
        except OptionError as error:
            result.append((name, f"not possible: {error}"))
    return result


def _facts(rules: RuleSet) -> list[tuple[str, str]]:
    return [
        ("rows", f"{rules.n_rows:,}"),
        ("rows without a target", f"{rules.n_dropped:,}"),
        ("strata", f"{rules.n_strata:,}"),
        ("conditions", f"{rules.n_propositions:,}"),
        ("rules", f"{len(rules):,}"),
        ("proven optimal", "yes" if rules.optimal else "no"),
    ]


def _asked(rules: RuleSet) -> list[tuple[str, str]]:
    question = rules.question
    return [
        ("Outcome", question.outcome),
        ("Actionable", ", ".join(question.actions)),
        ("Adjusted for", ", ".join(question.controls) or "nothing"),
        ("Maximised", wording.maximised(question)),
        ("β", _beta(rules)),
        ("Rules", _which(question)),
        ("Conditions per rule", "any number" if question.max_length is None else f"at most {question.max_length}"),
        ("Minimum coverage", percent(question.min_coverage)),
        ("Bins per column", f"at most {question.max_bins}"),
    ]


def _which(question: Question) -> str:
    said = f"the best {question.k:,}{'' if question.redundant else ' that beat all of their generalisations'}"
    if question.similarity is None:
        return said
    return f"{said} above 0 that share less than {percent(question.similarity, 0)} of their rows with a stronger one"


def _beta(rules: RuleSet) -> str:
    calibration = None if rules.evidence is None else rules.evidence.calibration
    beta = rules.question.beta
    said = ", ".join(f"{each:.3g}" for each in beta[1:]) if isinstance(beta, tuple) else f"{beta:g}"
    if isinstance(beta, tuple):
        return f"{said} for rules of 1, 2, … conditions, for an error rate of {percent(rules.question.error_rate, 0)}"
    return said if calibration is None else f"{said}, {wording.calibrated(calibration)}"


def _assumed(rules: RuleSet) -> str:
    if rules.admissibility:
        return "The causal graph is assumed to be right. For these roles it says:"
    if rules.admissibility is None:
        return "Nothing is assumed about causes. Acting on a rule assumes:"
    return "Nothing is assumed about causes. By the graph, these problems keep the numbers from being effects:"


def _assumptions(rules: RuleSet) -> tuple[str, ...]:
    question, verdict = rules.question, rules.admissibility
    if verdict is None or verdict:
        return assumptions(question.target, question.actions, question.controls)
    said = []
    for violation in verdict.violations:
        remedies = "; ".join(violation.remedies)
        said.append(f"({violation.criterion}) {violation.reason}" + (f" Fix: {remedies}." * bool(remedies)))
    return (*said, *(unknown.question for unknown in verdict.unknowns))


def _figures(rules: RuleSet) -> list[tuple[str, str]]:
    if not rules or not figure.is_available():
        return []
    figures = [("The rules with their 95 % intervals.", plots.effects)]
    if len(rules) > 1:
        figures.append(("Coverage and strength of the rules.", plots.coverage))
        if rules.problem is not None and rules.problem.rows.is_local and len(rules) <= 40:
            figures.append(("Which rules hold for the same rows.", plots.shared_rows))
    if len(rules.history) > 2:
        figures.append(("The search: the best value and the upper bound over time.", plots.convergence))
    if rules.graph is not None and drawing.can_be_drawn(rules.graph):
        figures.append(("The causal graph with the roles; letters mark violated criteria.", plots.graph))
    figures += trust_plots.of_report(rules)
    return [(caption, _svg(draw, rules)) for caption, draw in figures]


def _svg(draw: Callable[..., Any], rules: RuleSet) -> str:
    """Draw a figure as SVG, with text as text and the colours of the page."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    heights = {
        plots.effects: 1.2 + 0.3 * len(rules),
        plots.shared_rows: 0.8 + 0.3 * max(len(rules), 4),
        trust_plots.honest: 1.2 + 0.36 * len(rules),
    }
    height = heights.get(draw, 3.4)
    settings: dict[Any, Any] = {
        "text.color": _INK,
        "axes.labelcolor": _INK,
        "xtick.labelcolor": _INK,
        "ytick.labelcolor": _INK,
        "xtick.color": _LINE,
        "ytick.color": _LINE,
        "axes.edgecolor": _LINE,
        "axes.facecolor": "none",
        "figure.facecolor": _PAPER,
        "svg.fonttype": "none",
        "svg.hashsalt": draw.__name__,
    }
    text = io.StringIO()
    with mpl.rc_context(settings), warnings.catch_warnings():
        # The browser has glyphs that the font for measuring may lack.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        size = drawing.size(rules.graph) if draw is plots.graph and rules.graph else (7.2, min(height, 40.0))
        canvas = Figure(figsize=size, layout="constrained")
        draw(rules, canvas.add_subplot())
        canvas.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r' id="[a-z]+_\d+"', "", re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL))
    colour = re.compile(rf"((?:fill|stroke): )({'|'.join(_COLOURS)})")
    return colour.sub(lambda found: found[1] + _COLOURS[found[2]], svg)


def _short(text: str, most: int) -> str:
    """Escape control characters, and cut text that is far too long."""
    plain = printable(text)
    return plain if len(plain) <= most else f"{plain[: most - 1]}… ({len(plain):,} characters)"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."
