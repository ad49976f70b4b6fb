"""Rules that are edited and compared on the page: their text, view, shared rows, and cuts to choose from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from causalrules.discovery import evaluate, evaluate_like
from causalrules.exceptions import InputError
from causalrules.language.propositions import format_value
from causalrules.payload import to_json
from causalrules.report.view import MOST_STRATA, view
from causalrules.result.json import as_json
from causalrules.studio.workspace import arguments

if TYPE_CHECKING:
    from causalrules.data.table import Table
    from causalrules.rules import RuleSet
    from causalrules.studio.state import State

# Maximum cut points of a slider.
_MOST_CUTS = 400


def page_of(rules: RuleSet) -> dict[str, Any]:
    """Return a result as the view of a report."""
    return {"result": as_json(rules, MOST_STRATA), "view": to_json(view(rules))}


def measured(state: State, texts: Sequence[str], place: int, control: Sequence[str] = ()) -> RuleSet:
    """Measure edited rules with the strata and the margin of the original search.

    `place` is the index of the edited rule in the result. In a list in which each rule adds, the columns of the rules
    above are held fixed. `control` is for rules with their own controls.
    """
    table, source, answer = state.opened(), state.workspace.source, state.derived.answer()
    question = state.workspace.question()
    options = {**arguments(question), "holdout": None, "progress": False}
    if question.own_controls:
        options |= {"control": tuple(control), "allowed_control": None}
    if answer is not None:
        ladder, beta = answer.ladder, answer.question.beta
        if answer.question.is_stepwise and place < len(ladder):
            ladder = (ladder[place],)
            beta = ladder[0].question.beta
        like = replace(answer, ladder=ladder, question=replace(answer.question, beta=beta))
        if (quickly := evaluate_like(like, table, texts)) is not None:
            return replace(quickly, source=source)
        if 0 <= place < len(answer) and (fixed := answer[place].held_fixed):
            options["control"] = (*options["control"], *fixed)
            options["actionable"] = tuple(name for name in question.actions if name not in fixed)
        options["beta"] = beta
    return replace(evaluate(table, list(texts), **options), source=source)


def kept(state: State) -> RuleSet:
    """Measure the edited rules, each at the position of its original rule."""
    texts, made = state.workspace.edited, state.workspace.edited_from
    places = [0 if state.derived.is_stale else made.get(text, 0) for text in texts]
    found = {
        place: measured(state, [text for text, at in zip(texts, places, strict=True) if at == place], place)
        for place in dict.fromkeys(places)
    }
    following = {place: iter(rules) for place, rules in found.items()}
    return replace(
        found[places[0]],
        rules=tuple(next(following[place]) for place in places),
        ladder=tuple(found[place].ladder[0] for place in places),
    )


def text_of(conditions: Sequence[Mapping[str, Any]]) -> str:
    """Return a rule as text, with quoted names and values.

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
    """Count the rows that the first two rules, which have just been measured, share."""
    problem = rules.problem
    assert problem is not None, "rules that were measured have their rows"
    packed = problem.pack()
    one, other = (set(problem.language.numbers(rule.conditions)) for rule in rules[:2])
    both, first, second = (int(packed.count(sorted(each))[0].sum()) for each in (one | other, one, other))
    either = first + second - both
    return {"both": both, "one": first, "other": second, "share": both / either if either else 1.0}


def cuts(table: Table, name: str) -> dict[str, Any]:
    """Return the values to choose from in conditions on a column; of many numbers, quantiles."""
    table.require(name)
    known, ordered = table.histogram(name), table.kinds[name].ordered
    places = np.arange(len(known.values))
    if len(places) > _MOST_CUTS and ordered:
        shares = np.cumsum(known.counts) / known.counts.sum()
        places = np.unique(np.searchsorted(shares, np.linspace(0, 1, _MOST_CUTS)).clip(0, len(places) - 1))
    elif len(places) > _MOST_CUTS:
        places = np.sort(np.argsort(-known.counts, kind="stable")[:_MOST_CUTS])
    return {"name": name, "ordered": ordered, "values": [format_value(known.values[int(at)]) for at in places]}
