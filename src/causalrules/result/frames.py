"""Rules as columns of a data frame, and as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from causalrules.result.evidence import RuleEvidence
from causalrules.result.rule import NUMBERS

if TYPE_CHECKING:
    from causalrules.result.result import Result

_IDENTIFIED = {True: "yes", False: "no", None: "cannot be told"}


def as_frame(columns: dict[str, list[Any]], library: str) -> Any:
    """Return columns as a data frame of a library; "dict" as they are."""
    if library == "dict":
        return columns
    import narwhals as nw

    return nw.from_dict(columns, backend=library).to_native()  # type: ignore[arg-type]


def columns(rules: Result) -> dict[str, list[Any]]:
    """Return the rules as columns, without columns of evidence that no rule has."""
    found: dict[str, list[Any]] = {
        "rule": [rule.text for rule in rules],
        **{name: [getattr(rule, name) for rule in rules] for name in NUMBERS},
        "interval_low": [rule.interval.low for rule in rules],
        "interval_high": [rule.interval.high for rule in rules],
        "evidence": [rule.verdict.evidence for rule in rules],
        "direction": [rule.verdict.direction for rule in rules],
        "claim": [rule.verdict.claim for rule in rules],
        **_evidence(rules),
    }
    if rules.graph is not None:
        own = [rule.identification for rule in rules]
        found["identified"] = [_IDENTIFIED[None if each is None else each.identified] for each in own]
        found["open_path"] = ["" if each is None else each.path_text for each in own]
    return found


def to_csv(rules: Result) -> str:
    """Return one line per rule, after a header."""
    return csv_of(columns(rules))


def csv_of(found: Mapping[str, list[Any]]) -> str:
    """Return columns as CSV, with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(found)
    writer.writerows(zip(*([_cell(value) for value in column] for column in found.values()), strict=True))
    return text.getvalue().removesuffix("\n")


def _cell(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return ""
    # Column names are untrusted, and a spreadsheet would run text that starts like a formula.
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def _of_rule(known: RuleEvidence) -> RuleEvidence:
    """Return the evidence without held-out rows on which other rules were measured."""
    return known if known.honest is None or known.honest.own else replace(known, honest=None)


def _evidence(rules: Result) -> dict[str, list[Any]]:
    rows = [(rule.p_value, _of_rule(rule.evidence or RuleEvidence())) for rule in rules]
    found: dict[str, list[Any]] = {
        "p_value": [p_value for p_value, _ in rows],
        "simultaneous_bound": [known.simultaneous and known.simultaneous.bound for _, known in rows],
        "honest_effect": [known.honest and known.honest.effect for _, known in rows],
        "honest_low": [known.honest and known.honest.low for _, known in rows],
        "honest_high": [known.honest and known.honest.high for _, known in rows],
        "honest_p_value": [known.honest and known.honest.p_value for _, known in rows],
        "honest_overlap": [known.honest and known.honest.overlap for _, known in rows],
        "doubly_robust": [known.doubly_robust and known.doubly_robust.effect for _, known in rows],
        "doubly_robust_low": [known.doubly_robust and known.doubly_robust.low for _, known in rows],
        "doubly_robust_high": [known.doubly_robust and known.doubly_robust.high for _, known in rows],
        "e_value": [known.sensitivity and known.sensitivity.e_value for _, known in rows],
        "e_value_limit": [known.sensitivity and known.sensitivity.e_value_limit for _, known in rows],
        "returns": [known.stability and known.stability.nearly for _, known in rows],
        "robustness": [rule.verdict.robustness for rule in rules],
        **{
            name: [part and part.cell(rules.kind) for part in (getattr(known, name) for _, known in rows)]
            for name in RuleEvidence.described()
        },
    }
    return {name: values for name, values in found.items() if any(value is not None for value in values)}
