"""Groups and policies as JSON, schemas "causalrules/for-whom/1" and "causalrules/policy/1".

A number without end is null. Timings are separate ("run"), so that two answers can be compared. Texts, and numbers that
follow from others, are for other programs and are not read back.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar, get_type_hints

from causalrules.alerts import Alert
from causalrules.data.table import default_library
from causalrules.exceptions import DataError, RoleError
from causalrules.language.kinds import KINDS
from causalrules.language.propositions import Proposition
from causalrules.payload import from_json, to_json
from causalrules.policy.segments import FOR_WHOM, Segment, SegmentList
from causalrules.policy.steps import POLICY, STOPPED, HeldOutValue, PolicyStep, Prescription, Single
from causalrules.question import ESTIMATORS, ContextQuestion, PolicyQuestion, Question
from causalrules.result.json import (
    dump,
    parse,
    read_admissibility,
    read_graph,
    read_question,
    read_rule,
    rule_as_json,
)
from causalrules.result.result import identified
from causalrules.result.rule import Criterion, RuleResult
from causalrules.result.verdict import CLAIMS, Circumstances

T = TypeVar("T")
_LARGEST_FACTOR = 1e6
_CONDITIONS = tuple[Proposition, ...]
# Fields that are not in JSON, or not under their own names.
_ELSEWHERE = {"question", "rule", "library", "source", "seconds"}


@dataclass(frozen=True)
class _ForWhom:
    """The fields of the answer of `for_whom` that are read as they are."""

    effect: float
    low: float
    high: float
    level: float
    level_without: float
    context: tuple[str, ...]
    control: tuple[str, ...]
    n_rows: int
    n_compared: int
    n_no_overlap: int
    n_groups: int
    permutations: int
    by_models: bool
    known_shares: bool
    alerts: tuple[Alert, ...]
    notes: tuple[str, ...]
    versions: dict[str, str]


@dataclass(frozen=True)
class _Policy:
    """The fields of a policy that are read as they are."""

    gain_over_baseline: float | None
    held_out: HeldOutValue | None
    level: float
    cost: float
    context: tuple[str, ...]
    control: tuple[str, ...]
    actionable: tuple[str, ...]
    n_rows: int
    n_pairs: int
    optimal: bool
    stopped: str
    claim: str
    alerts: tuple[Alert, ...]
    notes: tuple[str, ...]
    versions: dict[str, str]


def write_segments(found: SegmentList, path: str | os.PathLike[str] | None = None) -> str:
    """Return the groups as JSON, and write it to a file atomically."""
    rule = found.rule
    payload = {
        "schema": FOR_WHOM,
        "action": found.action_text,
        "question": _question(found.question, found.source),
        "claim": found.claim,
        **_as_json(found),
        "rule": {
            **rule_as_json(rule),
            "criterion": to_json(rule.criterion),
            "circumstances": to_json(rule.circumstances),
        },
    }
    return dump(payload, path)


def read_segments(source: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the arguments of SegmentList from a JSON text or file."""
    payload = parse(source, (FOR_WHOM,))
    question = read_question(payload.get("question"), ContextQuestion)
    known = from_json(_ForWhom, payload, "")
    _require_counts(known)
    segments = _listed(Segment, payload, "segments")
    candidate = _optional(Segment, payload, "candidate")
    for segment in (*segments, *([candidate] if candidate is not None else [])):
        if not 0 <= segment.p_value <= 1:
            raise DataError(f"p_value: {segment.p_value!r:.40} is not between 0 and 1")
        _require_counts(segment)
    graph = read_graph(payload.get("graph"))
    return {
        **{item.name: getattr(known, item.name) for item in fields(known)},
        "segments": segments,
        "candidate": candidate,
        "rule": _read_rule(payload.get("rule"), question, graph),
        "question": question,
        "admissibility": read_admissibility(payload.get("admissibility")),
        "graph": graph,
        "source": _source(payload),
        "library": default_library(),
    }


def write_policy(policy: Prescription, path: str | os.PathLike[str] | None = None) -> str:
    """Return a policy as JSON, and write it to a file atomically."""
    payload = {
        "schema": POLICY,
        "question": _question(policy.question, policy.source),
        **_as_json(policy),
        **{name: to_json(getattr(policy, name)) for name in ("gain", "gain_over_single", "number_needed_to_treat")},
        "kind": policy.kind.name,
        "run": {"seconds": policy.seconds},
    }
    return dump(payload, path)


def read_policy(source: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the arguments of Prescription from a JSON text or file."""
    payload = parse(source, (POLICY,))
    known = from_json(_Policy, payload, "")
    steps, candidate = _listed(PolicyStep, payload, "steps"), _optional(PolicyStep, payload, "candidate")
    for each in (known, *steps, *([candidate] if candidate is not None else [])):
        _require_counts(each)
    name = from_json(str, payload.get("kind"), "kind")
    for place, value, allowed in (
        ("kind", name, KINDS),
        ("claim", known.claim, CLAIMS),
        ("stopped", known.stopped, ("optimal", *STOPPED)),
    ):
        if value not in allowed:
            raise DataError(f"{place}: {value!r:.40} is not one of {', '.join(allowed)}")
    run = from_json(Mapping[str, Any], payload.get("run"), "run")  # type: ignore[type-abstract]
    return {
        **{item.name: getattr(known, item.name) for item in fields(known)},
        "steps": steps,
        "candidate": candidate,
        "default": _conditions(payload.get("default"), "default"),
        "single": _optional(Single, payload, "single"),
        "kind": KINDS[name],
        "seconds": from_json(float, run.get("seconds"), "run.seconds"),
        "question": read_question(payload.get("question"), PolicyQuestion),
        "admissibility": read_admissibility(payload.get("admissibility")),
        "graph": read_graph(payload.get("graph")),
        "source": _source(payload),
        "library": default_library(),
    }


def _question(question: Question, source: str | None) -> Any:
    return to_json(question.kept() | {"cuts": question.cuts or (), "source": source})


def _source(payload: Mapping[str, Any]) -> str | None:
    found: str | None = from_json(str | None, payload["question"].get("source"), "source")  # type: ignore[arg-type]
    return found


def _as_json(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass in JSON types; with its text, if it has one."""
    text = {"text": value.text} if hasattr(value, "text") else {}
    return {
        **text,
        **{
            item.name: _of_field(getattr(value, item.name))
            for item in fields(value)
            if item.name not in _ELSEWHERE | {"kind"}
        },
    }


def _of_field(value: Any) -> Any:
    if isinstance(value, tuple) and all(isinstance(each, Proposition) for each in value):
        return [each.to_dict() for each in value]
    if isinstance(value, (Segment, PolicyStep, Single)):
        return _as_json(value)
    if isinstance(value, tuple) and all(isinstance(each, (Segment, PolicyStep)) for each in value):
        return [_as_json(each) for each in value]
    return to_json(value)


def _listed(kind: type[T], payload: Mapping[str, Any], name: str) -> tuple[T, ...]:
    items = from_json(tuple[Any, ...], payload.get(name), name)
    return tuple(_read(kind, item, f"{name}[{number}]") for number, item in enumerate(items))


def _optional(kind: type[T], payload: Mapping[str, Any], name: str) -> T | None:
    return None if payload.get(name) is None else _read(kind, payload[name], name)


def _read(kind: type[T], payload: Any, place: str) -> T:
    """Read what `_as_json` wrote; where an interval has no end, its number is null."""
    assert is_dataclass(kind)
    known = from_json(dict[str, Any], payload, place)
    hints, values = get_type_hints(kind), dict[str, Any]()
    for item in fields(kind):
        name, value, hint = f"{place}.{item.name}", known.get(item.name), hints[item.name]
        if hint == _CONDITIONS:
            values[item.name] = _conditions(value, name)
        elif hint is float and value is None and item.name in known:
            values[item.name] = _end(item.name)
        else:
            values[item.name] = from_json(hint, value, name)
    return kind(**values)


def _end(name: str) -> float:
    return -math.inf if name.endswith("low") else math.inf if name.endswith("high") else math.nan


def _conditions(payload: Any, place: str) -> tuple[Proposition, ...]:
    return tuple(map(Proposition.from_dict, from_json(tuple[Any, ...], payload, place)))


def _read_rule(payload: Any, question: ContextQuestion, graph: Any) -> RuleResult:
    known = from_json(dict[str, Any], payload, "rule")
    criterion = from_json(Criterion, known.get("criterion"), "rule.criterion")
    if criterion.estimator not in ESTIMATORS:
        raise DataError(f"rule.criterion.estimator: {criterion.estimator!r:.40} is not one of {', '.join(ESTIMATORS)}")
    for name in ("beta", "margin_scale", "joint_scale"):
        if abs(getattr(criterion, name) or 0.0) > _LARGEST_FACTOR:
            raise DataError(f"rule.criterion.{name}: {getattr(criterion, name)!r:.40} is too large")
    rule = replace(
        read_rule(known, question, criterion),
        circumstances=from_json(Circumstances, known.get("circumstances"), "rule.circumstances"),
    )
    try:
        return identified(rule, graph, question.target)
    except RoleError as error:  # the graph lacks these variables
        raise DataError(f"graph: {error}") from error


def _require_counts(known: Any) -> None:
    for item in fields(known):
        value = getattr(known, item.name)
        if type(value) is int and value < 0:
            raise DataError(f"{item.name}: {value!r:.40} is not a count")
