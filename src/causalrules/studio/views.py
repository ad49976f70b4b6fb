"""The sections of the page's view, derived from the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from causalrules.exceptions import InputError
from causalrules.payload import to_json
from causalrules.report.view import lead_of, short
from causalrules.studio import sentences
from causalrules.studio.checks import CHECKS
from causalrules.studio.workspace import describe_options, written

if TYPE_CHECKING:
    from causalrules.studio.state import State

# Fields of the workspace that the page gets.
_OF_QUESTION = (
    *("target", "outcome", "direction", "actionable", "control", "context", "randomised", "categorical"),
    "own_controls",
)


def sections(state: State) -> dict[str, Callable[[], Any]]:
    """Return the function of each section, by name."""
    return {
        "options": describe_options,
        "table": lambda: _table(state),
        "question": lambda: _question(state),
        "graph": lambda: {"drawing": to_json(state.workspace.graph), "verdict": state.derived.judged()[1]},
        "job": lambda: {**state.worker.view(), "points": state.points},
        "rules": lambda: _rules(state),
        "said": lambda: _said(state),
    }


def _table(state: State) -> dict[str, Any]:
    table, workspace = state.table, state.workspace
    return {
        "file": workspace.file,
        "uploaded": workspace.uploaded,
        "n_rows": 0 if table is None else table.n_rows,
        "n_columns": 0 if table is None else len(table.names),
        "streamed": table is not None and table.storage != "memory",
        "columns": [to_json(each) for each in state.columns],
        "unusable": {} if table is None else {name: short(why, 200) for name, why in table.unusable.items()},
        "notes": [] if table is None else [short(note, 500) for note in table.notes],
        "na_values": list(workspace.na_values),
        "error": state.read_error,
        "workspace": None if state.saved is None else str(state.saved),
        "unsaved": state.unsaved,
        "resumed": state.resumed,
    }


def _question(state: State) -> dict[str, Any]:
    asked = state.workspace
    level, error = state.derived.level()
    if not error and state.table is not None and asked.target is not None:
        try:
            asked.question()
        except InputError as problem:
            error = str(problem)
    return {
        **{name: to_json(getattr(asked, name)) for name in _OF_QUESTION},
        "level": level,
        "error": error,
        "options": {
            **{name: written(value) for name, value in asked.options.items()},
            **({} if asked.is_stepwise else {"stepwise": "false"}),
        },
        "questions": sentences.questions(asked),
    }


def _rules(state: State) -> dict[str, Any]:
    rules, derived = state.rules, state.derived
    return {
        "page": derived.page(),
        "front": derived.page("front"),
        "edited": derived.edited(),
        "stale": derived.is_stale,
        "rows": rules is not None and rules.problem is not None,
        "checks": [{"name": each.name, "title": each.title, "about": each.about} for each in CHECKS],
        "checked": [] if rules is None else [each.name for each in CHECKS if each.is_done(rules)],
    }


def _said(state: State) -> dict[str, Any]:
    asked, table, derived = state.workspace, state.table, state.derived
    admissible, rules = derived.judged()[0], derived.answer()
    view: dict[str, Any] = {"sentences": [], "tone": "none", "answers": [], "call": "", "command": ""}
    try:
        if asked.target is not None and table is not None:
            view |= sentences.asked(asked.question(), asked.file, admissible, rules)
    except InputError:
        pass  # the section of the question shows the error
    running = state.worker.view()
    if running["kind"] == "search" and running["told"].get("rules"):
        view["sentences"] = sentences.so_far(running["told"])
    elif rules is None:
        view["sentences"] = sentences.before_search(asked, 0 if table is None else table.n_rows, derived.level()[0])
        if asked.target is not None:
            view["answers"] = [to_json(sentences.claim_of(asked, admissible))]
    else:
        lead = lead_of(rules)
        view["sentences"] = [short(each, 1500) for each in sentences.of_rules(rules, lead)]
        view["tone"] = sentences.tone_of(rules, lead)
        view["answers"] = [to_json(each) for each in sentences.answers_of(rules, lead, asked)]
    return view
