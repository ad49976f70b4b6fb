"""Results as JSON, schema "causalrules/1".

What a search found is apart from how long it took ("run"), so that two results can be compared. Of a rule,
only the conditions, the counts and the p-value are read back: the other numbers follow from them and are
there for readers in other languages; so does what the graph says of a rule. A number that is undefined or infinite is
null: JSON has no other way.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

from causalrules.estimators import ESTIMATORS
from causalrules.exceptions import DataError, GraphError, RoleError
from causalrules.graph.assumptions import assumptions
from causalrules.graph.graph import CausalGraph
from causalrules.language.propositions import Proposition
from causalrules.report.words import claim
from causalrules.result.rules import NUMBERS, Question, RuleResult, RuleSet, StratumEffect
from causalrules.trust.evidence import RuleEvidence, SearchEvidence, from_dict, to_dict
from causalrules.writing import replace_file

SCHEMA = "causalrules/1"
_STRATUM_NUMBERS = (
    "n",
    "a",
    "b",
    "c",
    "d",
    "p_rule",
    "p_not_rule",
    "difference",
    "reliable_difference",
    "weight",
    "overlap",
)
_LARGEST_COUNT = 2**53

T = TypeVar("T")


def write(rules: RuleSet, path: str | os.PathLike[str] | None) -> str:
    """Return a RuleSet as JSON; a file is replaced as a whole or not at all."""
    roles = (rules.question.target, rules.question.actionable, rules.question.control)
    payload = {
        "schema": SCHEMA,
        "question": asdict(rules.question),
        "rules": [_rule(rule) for rule in rules],
        "proof": {
            "optimal": rules.optimal,
            "upper_bound": _finite(rules.upper_bound),
            "gap": _finite(rules.gap),
            "stopped": rules.stopped,
        },
        "n_rows": rules.n_rows,
        "n_dropped": rules.n_dropped,
        "n_strata": rules.n_strata,
        "n_propositions": rules.n_propositions,
        "notes": list(rules.notes),
        "claim": claim(rules),
        "assumptions": assumptions(*roles) if rules.admissibility is None else None,
        "admissibility": None if rules.admissibility is None else dict(rules.admissibility),
        "graph": None if rules.graph is None else _write_graph(rules.graph),
        "evidence": to_dict(rules.evidence),
        "versions": dict(rules.versions),
        "run": {"nodes": rules.nodes, "seconds": rules.seconds},
    }
    text = json.dumps(payload, indent=1, allow_nan=False)
    if path is not None:
        replace_file(Path(path), text + "\n")
    return text


def read(source: str | os.PathLike[str]) -> RuleSet:
    """Return the RuleSet of a JSON text or file."""
    text, place = _text(source)
    try:
        payload = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place} is not JSON: {error}; pass what to_json() wrote") from error
    if not isinstance(payload, dict) or payload.get("schema") != SCHEMA:
        found = payload.get("schema") if isinstance(payload, dict) else None
        raise DataError(f"{place} has the schema {found!r}; this version reads {SCHEMA!r}")
    question = _question(_take(payload, "question", dict))
    proof, run = _take(payload, "proof", dict), _take(payload, "run", dict)
    admissibility = payload.get("admissibility")
    rules = RuleSet(
        rules=tuple(_read_rule(rule, question) for rule in _take(payload, "rules", list)),
        question=question,
        optimal=_take(proof, "optimal", bool),
        upper_bound=_unbounded(proof, "upper_bound"),
        gap=_unbounded(proof, "gap"),
        stopped=_take(proof, "stopped", str),
        n_rows=_take(payload, "n_rows", int),
        n_dropped=_take(payload, "n_dropped", int),
        n_strata=_take(payload, "n_strata", int),
        n_propositions=_take(payload, "n_propositions", int),
        nodes=_take(run, "nodes", int),
        seconds=_number(run, "seconds"),
        notes=_strings(payload, "notes"),
        versions={str(key): str(value) for key, value in _take(payload, "versions", dict).items()},
        admissibility=None if admissibility is None else _take(payload, "admissibility", dict),
        evidence=None if payload.get("evidence") is None else from_dict(SearchEvidence, payload["evidence"]),
    )
    if payload.get("graph") is None:
        return rules
    try:
        return replace(rules, graph=_read_graph(_take(payload, "graph", dict)))
    except (GraphError, RoleError) as error:
        raise DataError(f"the result's 'graph' does not fit: {error}") from error


def _write_graph(graph: CausalGraph) -> dict[str, Any]:
    """The graph's parts: text in one of the formats of graphs might, when read, be taken for the name of a file."""
    return {**asdict(graph), "latent": sorted(graph.latent)}


def _read_graph(payload: dict[str, Any]) -> CausalGraph:
    def edges(kind: str) -> tuple[tuple[str, str], ...]:
        pairs = _take(payload, kind, list)
        if not all(isinstance(pair, list) and [str, str] == [type(name) for name in pair] for pair in pairs):
            raise DataError(f"the result's graph has something in {kind!r} that is not a pair of names")
        return tuple((a, b) for a, b in pairs)

    latent = frozenset(_strings(payload, "latent"))
    return CausalGraph(_strings(payload, "nodes"), edges("directed"), edges("bidirected"), edges("unknown"), latent)


def _rule(rule: RuleResult) -> dict[str, Any]:
    return {
        "rule": rule.text,
        "conditions": [condition.to_dict() for condition in rule.conditions],
        **{name: _finite(getattr(rule, name)) for name in (*NUMBERS, "p_value")},
        "interval": [_finite(end) for end in rule.interval()],
        "strata": [_stratum(stratum) for stratum in rule.strata],
        "evidence": to_dict(rule.evidence),
        "identification": to_dict(rule.identification),
    }


def _stratum(stratum: StratumEffect) -> dict[str, Any]:
    numbers = {name: _finite(getattr(stratum, name)) for name in _STRATUM_NUMBERS}
    return {"labels": dict(stratum.labels), **numbers}


def _read_rule(payload: Any, question: Question) -> RuleResult:
    if not isinstance(payload, dict):
        raise DataError(f"a rule of the result is {type(payload).__name__}, not an object")
    strata = _take(payload, "strata", list)
    labels, counts = [], []
    for stratum in strata:
        if not isinstance(stratum, dict):
            raise DataError(f"a stratum of the result is {type(stratum).__name__}, not an object")
        labels.append({str(key): str(value) for key, value in _take(stratum, "labels", dict).items()})
        a, b, c, d = (_count(stratum, name) for name in "abcd")
        counts.append((a, b, c, d))
    if not sum(map(sum, counts)):
        raise DataError("a rule of the result has no rows in its strata")
    return RuleResult(
        conditions=tuple(map(Proposition.from_dict, _take(payload, "conditions", list))),
        labels=tuple(labels),
        counts=tuple(counts),
        beta=question.beta,
        estimator=question.estimator,
        p_value=None if payload.get("p_value") is None else _number(payload, "p_value"),
        evidence=None if payload.get("evidence") is None else from_dict(RuleEvidence, payload["evidence"]),
    )


def _question(payload: dict[str, Any]) -> Question:
    if payload.get("estimator") not in ESTIMATORS:
        raise DataError(f"the result's 'estimator' is {payload.get('estimator')!r:.40}, which is not known here")
    return Question(
        target=_take(payload, "target", str),
        outcome=_take(payload, "outcome", str),
        actionable=_strings(payload, "actionable"),
        control=_strings(payload, "control"),
        k=_take(payload, "k", int),
        beta=_number(payload, "beta"),
        alpha=_number(payload, "alpha"),
        max_length=None if payload.get("max_length") is None else _take(payload, "max_length", int),
        min_coverage=_number(payload, "min_coverage"),
        max_bins=_take(payload, "max_bins", int),
        estimator=_take(payload, "estimator", str),
        redundant=_take(payload, "redundant", bool),
        source=_optional(payload, "source"),
        query=_optional(payload, "query"),
        weights=_optional(payload, "weights"),
        na_values=_strings(payload, "na_values") if "na_values" in payload else (),
        cuts=tuple(_cut(cut) for cut in _take(payload, "cuts", list)) if "cuts" in payload else (),
        holdout=None if payload.get("holdout") is None else _number(payload, "holdout"),
        calibrated=_take(payload, "calibrated", bool) if "calibrated" in payload else False,
        seed=_take(payload, "seed", int) if "seed" in payload else 0,
        similarity=None if payload.get("similarity") is None else _number(payload, "similarity"),
    )


def _optional(payload: Mapping[str, Any], key: str) -> str | None:
    return None if payload.get(key) is None else _take(payload, key, str)


def _cut(cut: Any) -> tuple[str, tuple[str, ...]]:
    match cut:
        case [str(column), [*points]] if all(isinstance(point, str) for point in points):
            return column, tuple(points)
    raise DataError(f"the result's 'cuts' hold {cut!r:.60}, not a column and its cut points")


def _take(payload: Mapping[str, Any], key: str, kind: type[T]) -> T:
    value = payload.get(key)
    # a bool is an int in Python, but not in a result
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise DataError(f"the result's {key!r} is {type(value).__name__}, not {kind.__name__}")
    return value


def _number(payload: Mapping[str, Any], key: str) -> float:
    value = payload.get(key)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST_COUNT:
        value = float(value)
    if not isinstance(value, float) or not math.isfinite(value):
        raise DataError(f"the result's {key!r} is {value!r:.40}, not a finite number")
    return value


def _unbounded(payload: Mapping[str, Any], key: str) -> float:
    return math.inf if payload.get(key) is None else _number(payload, key)


def _count(payload: Mapping[str, Any], key: str) -> int:
    count = _take(payload, key, int)
    if not 0 <= count < _LARGEST_COUNT:
        raise DataError(f"the result counts {key!r} as {count!r:.40}; a count is 0 or more")
    return count


def _strings(payload: Mapping[str, Any], key: str) -> tuple[str, ...]:
    values = _take(payload, key, list)
    if not all(isinstance(value, str) for value in values):
        raise DataError(f"the result's {key!r} holds something that is not text")
    return tuple(values)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


def _text(source: str | os.PathLike[str]) -> tuple[str, str]:
    if isinstance(source, str) and source.lstrip().startswith(("{", "[")):
        return source, "the text"
    try:
        return Path(source).read_text(encoding="utf-8"), f"the file {os.fspath(source)!r:.200}"
    except (OSError, ValueError) as error:
        raise DataError(
            f"cannot read a result from {os.fspath(source)!r:.200} ({error}); pass JSON text or a file's path"
        ) from error
