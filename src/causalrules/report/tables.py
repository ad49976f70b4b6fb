"""LaTeX and Markdown tables, with names and values escaped."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from causalrules.language.propositions import describe
from causalrules.report import claim_words, result_words, rule_words
from causalrules.text import p_number, percent

if TYPE_CHECKING:
    from causalrules.result.result import Result
    from causalrules.result.rule import RuleResult


def latex(rules: Result) -> str:
    """Return a LaTeX table with booktabs; its caption explains the numbers."""
    heading = headings(rules)
    body = "".join(
        f"  {' & '.join(map(_latex_text, _cells(place, rule, rules)))} \\\\\n" for place, rule in enumerate(rules, 1)
    )
    return (
        "% needs \\usepackage{booktabs}\n"
        f"\\begin{{table}}\n  \\centering\n  \\begin{{tabular}}{{rl{'r' * (len(heading) - 2)}}}\n  \\toprule\n"
        f"  {' & '.join(map(_latex_text, heading))} \\\\\n  \\midrule\n{body}"
        f"  \\bottomrule\n  \\end{{tabular}}\n  \\caption{{{_latex_text(_caption(rules))}}}\n\\end{{table}}\n"
    )


def markdown(rules: Result) -> str:
    """Return a Markdown table, and an explanation of the numbers below it."""
    heading = headings(rules)
    lines = ["| " + " | ".join(heading) + " |", "|---:|:---|" + "---:|" * (len(heading) - 2)]
    for place, rule in enumerate(rules, 1):
        lines.append("| " + " | ".join(map(_markdown_text, _cells(place, rule, rules))) + " |")
    return "\n".join([*lines, "", _markdown_text(_caption(rules))]) + "\n"


def headings(rules: Result) -> tuple[str, ...]:
    """Return the headings: the interval of rules named in advance, else their bounds after the search."""
    return (
        "#",
        "rule",
        *["value"] * bool(result_words.ranking(rules)),
        result_words.quantity(rules),
        "95 % interval" if rules.is_named else _bounds(rules),
        "unadjusted",
        "coverage",
        "rows",
        "evidence",
        *["adjusted p"] * _tested(rules),
    )


def _bounds(rules: Result) -> str:
    return rule_words.least(rules) if result_words.has_bounds(rules) else f"conservative {rules.noun}"


def _tested(rules: Result) -> bool:
    return any(rule.p_value is not None for rule in rules)


def _cells(place: int, rule: RuleResult, rules: Result) -> tuple[str, ...]:
    low, high = rule.interval
    figure = rule.kind.precise
    between = "–" if math.isnan(low) else f"{figure(low)} to {figure(high)}"
    if not rules.is_named:
        bounded = result_words.has_bounds(rules)
        between = rule_words.bound(rule, figure) if bounded else figure(rule.conservative)
    effect, unadjusted = map(figure, (rule.effect, rule.marginal_effect))
    coverage, rows = percent(rule.coverage), f"{rule.n_covered:,}"
    value = [figure(rule.value)] if result_words.ranking(rules) else []
    tested = [p_number(rule.p_value, rule.p_sign)] if _tested(rules) else []
    first = (str(place), describe(rule.conditions), *value)
    return (*first, effect, between, unadjusted, coverage, rows, rule.verdict.evidence, *tested)


def _caption(rules: Result) -> str:
    said = [
        result_words.meaning(rules),
        *result_words.bound_lines(rules),
        result_words.ranking(rules),
        result_words.proof(rules),
        result_words.warning(rules),
    ]
    said += [result_words.ending(rules)]
    said += claim_words.verdict_lines(rules)
    return " ".join(part[0].upper() + part[1:] + "." * (not part.endswith(".")) for part in said if part)


_LATEX = {
    **{sign: "\\" + sign for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    '"': r"\symbol{34}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "|": r"\textbar{}",
    "-": "{-}",
    "–": "--",
    "−": "$-$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "≠": r"$\ne$",
    "∧": r"$\wedge$",
    "β": r"$\beta$",
}


def _latex_text(text: str) -> str:
    return _escaped(text, _LATEX.get)


def _markdown_text(text: str) -> str:
    return _escaped(text, {"<": "&lt;", ">": "&gt;", "&": "&amp;", **{s: "\\" + s for s in "\\`*_[]#|~$!"}}.get)


def _escaped(text: str, spelling: Callable[[str], str | None]) -> str:
    return "".join(
        spelling(letter) or (letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii"))
        for letter in text
    )
