"""Rules as the page edits and compares them: their text, their page, the rows that two share, and cuts to choose."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from causalrules.exceptions import InputError
from causalrules.language.propositions import format_value
from causalrules.payload import to_json
from causalrules.report.view import MOST_STRATA, view
from causalrules.result.json import as_json

if TYPE_CHECKING:
    from causalrules.data.table import Table
    from causalrules.rules import RuleSet

# Cut points that a slider offers.
_MOST_CUTS = 400


def page_of(rules: RuleSet) -> dict[str, Any]:
    """Return a result as the page of a report has it."""
    return {"result": as_json(rules, MOST_STRATA), "view": to_json(view(rules))}


def step_of(rules: RuleSet, place: int) -> RuleSet:
    """Return a result as far as rules need it that are measured like the rule at a place of its list.

    In a list in which each rule adds, the columns of the rules above are held fixed there.
    """
    if not rules.question.is_stepwise or not place < len(rules.ladder):
        return rules
    step = rules.ladder[place]
    return replace(rules, ladder=(step,), question=replace(rules.question, beta=step.question.beta))


def together(measured: Mapping[int, RuleSet], places: Sequence[int]) -> RuleSet:
    """Put rules together that were measured at several places of a list, in this order."""
    following = {place: iter(rules) for place, rules in measured.items()}
    return replace(
        measured[places[0]],
        rules=tuple(next(following[place]) for place in places),
        ladder=tuple(measured[place].ladder[0] for place in places),
    )


def text_of(conditions: Sequence[Mapping[str, Any]]) -> str:
    """Return a rule as text, in which names and values are quoted.

    >>> text_of([{"column": "age", "operator": "<=", "value": "30"}])
    '"age" <= "30"'
    """
    if not conditions:
        raise InputError("a rule has at least one condition")
    written = []
    for each in conditions:
        if each["operator"] not in ("=", "<=", ">="):
            raise InputError(f"no operator {each['operator']!r:.20}; the operators are =, <= and >=")
        written.append(f"{json.dumps(str(each['column']))} {each['operator']} {json.dumps(str(each['value']))}")
    return " and ".join(written)


def shared_rows(rules: RuleSet) -> dict[str, Any]:
    """Count the rows that the first two rules share; they have just been measured."""
    problem = rules.problem
    assert problem is not None, "rules that were measured have their rows"
    packed = problem.pack()
    one, other = (set(problem.language.numbers(rule.conditions)) for rule in rules[:2])
    both, first, second = (int(packed.count(sorted(each))[0].sum()) for each in (one | other, one, other))
    either = first + second - both
    return {"both": both, "one": first, "other": second, "share": both / either if either else 1.0}


def cuts(table: Table, name: str) -> dict[str, Any]:
    """Return the values of a column that conditions can be put on; of many numbers, quantiles."""
    table.require(name)
    known, ordered = table.histogram(name), table.kinds[name].ordered
    places = np.arange(len(known.values))
    if len(places) > _MOST_CUTS and ordered:
        shares = np.cumsum(known.counts) / known.counts.sum()
        places = np.unique(np.searchsorted(shares, np.linspace(0, 1, _MOST_CUTS)).clip(0, len(places) - 1))
    elif len(places) > _MOST_CUTS:
        places = np.sort(np.argsort(-known.counts, kind="stable")[:_MOST_CUTS])
    return {"name": name, "ordered": ordered, "values": [format_value(known.values[int(at)]) for at in places]}
