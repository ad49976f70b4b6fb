"""Results as JSON, schema "causalrules/3"; earlier schemas can be read.

Timings are separate ("run"), so that two results can be compared. Of a rule, the conditions, the counts, the p-value
and the evidence are read back; the other numbers follow from them, and are written for other programs.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from causalrules.alerts import Alert
from causalrules.data.table import default_library
from causalrules.estimators.intervals import Grouped
from causalrules.exceptions import DataError, FileError, GraphError, NoSuchFileError, OptionError, RoleError
from causalrules.graph.admissibility import Admissibility
from causalrules.graph.assumptions import assumptions
from causalrules.graph.graph import CausalGraph
from causalrules.language.kinds import BINARY, KINDS, MEAN
from causalrules.language.missing import MissingControls
from causalrules.language.propositions import Proposition
from causalrules.payload import from_json, to_json
from causalrules.question import OWN_CONTROLS, Question, options
from causalrules.result.declared import Declared
from causalrules.result.evidence import RuleEvidence, SearchEvidence
from causalrules.result.measured import Measured, Modelled, StratumEffect, StratumSums, Sums
from causalrules.result.result import Named, Result, Searched
from causalrules.result.rule import NUMBERS, Criterion, RuleResult
from causalrules.result.steps import Alone, Rung, StepProof
from causalrules.text import shorten
from causalrules.writing import replace_file

if TYPE_CHECKING:
    from causalrules.result.result import Result

Q = TypeVar("Q", bound=Question)
S = TypeVar("S", "_StepProof", "_Effort")

SCHEMA = "causalrules/3"
# In the first schema, a verdict was one word; it is ignored and derived again from the evidence.
_READ = ("causalrules/1", "causalrules/2", SCHEMA)
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
# The types of what a question asks about.
_ROLES: dict[str, Any] = {
    **dict.fromkeys(("target", "outcome", "estimator"), str),
    **dict.fromkeys(("actionable", "control", "context"), tuple[str, ...]),
    **dict.fromkeys(("reference", "baseline"), tuple[str, Any] | None),
    **dict.fromkeys(("weights", "groups"), str | None),
    "holdout": float | None,
    "cost": tuple[tuple[str, float], ...] | None,
}
# Results from before these options used those of the paper.
_OLDER = {
    "missing": "false",
    "control_bins": 4,
    "adjust": "strata",
    "stepwise": False,
    "missing_control": "value",
    "keep_default_na": False,
}
# Kinds that are not named in JSON: the form of the strata (counts or sums) distinguishes them.
_BY_STRATA = (BINARY, MEAN)


@dataclass(frozen=True)
class _StepProof:
    """What is proven by one step, without nodes and seconds."""

    held_fixed: tuple[str, ...]
    strata: int
    predicted: bool
    n_propositions: int
    optimal: bool
    upper_bound: float | None
    gap: float | None
    stopped: str
    margin_scale: float = 1.0


@dataclass(frozen=True)
class _Proof:
    optimal: bool
    upper_bound: float | None
    gap: float | None
    stopped: str
    steps: tuple[_StepProof, ...] = ()


@dataclass(frozen=True)
class _Effort:
    nodes: int
    seconds: float


@dataclass(frozen=True)
class _Run(_Effort):
    steps: tuple[_Effort, ...] = ()


@dataclass(frozen=True)
class _Rung:
    level: float
    n_rows: int


@dataclass(frozen=True)
class _Alone:
    effect: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class _Counts:
    """The fields of a stratum that are read back, for a binary outcome."""

    labels: dict[str, str]
    a: int
    b: int
    c: int
    d: int
    undecided: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class _Scored:
    """The sums of a stratum."""

    covered: tuple[float, ...]
    failing: tuple[float, ...]
    everything: tuple[float, ...]
    span: float

    def sums(self) -> StratumSums:
        """Return the sums, with validated counts."""
        covered, failing, everything = map(_read_sums, (self.covered, self.failing, self.everything))
        return StratumSums(covered, failing, everything, self.span)


@dataclass(frozen=True)
class _Sums(_Scored):
    """The fields of a stratum that are read back, for a mean."""

    labels: dict[str, str]
    scored: _Scored | None = None


@dataclass(frozen=True)
class _Payload:
    """The fields of a result that are read back, except its question, rules and graph."""

    proof: _Proof
    run: _Run
    n_rows: int
    n_dropped: int
    n_strata: int
    n_propositions: int
    notes: tuple[str, ...]
    versions: dict[str, str]
    evidence: SearchEvidence | None = None
    alerts: tuple[Alert, ...] = ()
    declared: tuple[Declared, ...] = ()
    rungs: tuple[_Rung, ...] = ()
    n_incomplete: int = 0


def write(rules: Result, path: str | os.PathLike[str] | None) -> str:
    """Return a Result as JSON, and write it to a file atomically."""
    return dump(as_json(rules), path)


def dump(payload: dict[str, Any], path: str | os.PathLike[str] | None) -> str:
    """Return JSON types as text, and write it to a file atomically."""
    text = json.dumps(payload, indent=1, allow_nan=False)
    if path is not None:
        replace_file(Path(path), text + "\n")
    return text


def as_json(rules: Result, most_strata: int | None = None) -> dict[str, Any]:
    """Return a Result in JSON types, with at most this many strata per rule, the largest."""
    question = rules.question
    calibrated = rules.evidence is not None and rules.evidence.calibration is not None
    return {
        "schema": SCHEMA,
        "question": to_json(
            question.kept() | {"cuts": question.cuts or (), "source": rules.source, "calibrated": calibrated}
        ),
        "rules": [rule_as_json(rule, most_strata) for rule in rules],
        "nearest": None if rules.nearest is None else rule_as_json(rules.nearest, most_strata),
        "rungs": [rung._asdict() for rung in rules.rungs],
        "proof": to_json(
            _Proof(rules.optimal, rules.upper_bound, rules.gap, rules.stopped, _proven(_StepProof, rules.steps))
        ),
        "n_rows": rules.n_rows,
        "n_dropped": rules.n_dropped,
        "n_incomplete": rules.n_incomplete,
        "n_strata": rules.n_strata,
        "n_propositions": rules.n_propositions,
        "alerts": to_json(rules.alerts),
        "declared": to_json(rules.declared),
        "notes": list(rules.notes),
        "claim": rules.claim,
        "assumptions": None
        if rules.admissibility is not None
        else assumptions(question.target, question.actions, question.controls, question.randomised),
        "admissibility": to_json(rules.admissibility),
        "graph": to_json(rules.graph),
        "evidence": to_json(rules.evidence),
        "versions": dict(rules.versions),
        "run": to_json(_Run(rules.nodes, rules.seconds, _proven(_Effort, rules.steps))),
    }


def _proven(kind: type[S], steps: Sequence[StepProof]) -> tuple[S, ...]:
    """Return each step as a dataclass with some of its fields."""
    return tuple(kind(**{item.name: getattr(step, item.name) for item in fields(kind)}) for step in steps)


def parse(source: str | os.PathLike[str], schemas: Sequence[str]) -> dict[str, Any]:
    """Return the object of one of these schemas from a JSON text or file."""
    text, place = _text(source)
    try:
        payload = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place} is not JSON: {error}; pass what to_json() wrote") from error
    if not isinstance(payload, dict) or payload.get("schema") not in schemas:
        found = payload.get("schema") if isinstance(payload, dict) else None
        raise DataError(f"{place} has the schema {found!r:.60}; this version reads {shorten(schemas)}")
    return payload


def read(source: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the arguments of Result from a JSON text or file."""
    payload = parse(source, _READ)
    question, known = read_question(payload.get("question"), Question), from_json(_Payload, payload, "")
    nearest = payload.get("nearest")
    return {
        "rules": tuple(read_rule(rule, question) for rule in from_json(tuple[Any, ...], payload.get("rules"), "rules")),
        "question": question,
        "origin": _read_origin(known.proof, known.run),
        "nearest": None if nearest is None else read_rule(nearest, question),
        "rungs": tuple(Rung(rung.level, rung.n_rows) for rung in known.rungs),
        "admissibility": read_admissibility(payload.get("admissibility")),
        "graph": read_graph(payload.get("graph")),
        "source": from_json(str | None, payload["question"].get("source"), "source"),  # type: ignore[arg-type]
        "library": default_library(),
        **{
            item.name: getattr(known, item.name)
            for item in fields(_Payload)
            if item.name not in ("proof", "run", "rungs")
        },
    }


def _unless_none(number: float | None, otherwise: float = math.inf) -> float:
    return otherwise if number is None else number


def _read_bound(proof: _Proof | _StepProof) -> float:
    """Return the upper bound; null is −inf if it is proven that there is no rule, else inf."""
    return _unless_none(proof.upper_bound, -math.inf if proof.optimal and proof.gap == 0 else math.inf)


def _read_steps(proven: Sequence[_StepProof], efforts: Sequence[_Effort]) -> tuple[StepProof, ...]:
    if len(proven) != len(efforts):
        raise DataError(f"proof has {len(proven)} steps, but run has {len(efforts)}")
    return tuple(
        StepProof(
            **{item.name: getattr(step, item.name) for item in fields(step)}
            | {"upper_bound": _read_bound(step), "gap": _unless_none(step.gap)},
            nodes=effort.nodes,
            seconds=effort.seconds,
        )
        for step, effort in zip(proven, efforts, strict=True)
    )


def _read_origin(proof: _Proof, run: _Run) -> Searched | Named:
    if proof.stopped == Named.stopped:
        return Named()
    bound, gap = _read_bound(proof), _unless_none(proof.gap)
    steps = _read_steps(proof.steps, run.steps)
    return Searched(proof.optimal, bound, gap, proof.stopped, run.nodes, run.seconds, steps)


def _list(payload: dict[str, Any], name: str) -> tuple[Any, ...]:
    return from_json(tuple[Any, ...], payload.get(name), name)


def read_admissibility(payload: Any) -> Admissibility | None:
    """Read the check of the roles by a causal graph."""
    return None if payload is None else Admissibility.from_dict(payload)


def read_graph(payload: Any) -> CausalGraph | None:
    """Read a causal graph."""
    try:
        graph: CausalGraph | None = from_json(CausalGraph | None, payload, "graph")  # type: ignore[arg-type]
    except (GraphError, RoleError) as error:
        raise DataError(f"graph: {error}") from error
    return graph


def rule_as_json(rule: RuleResult, most_strata: int | None = None) -> dict[str, Any]:
    """Return a rule in JSON types."""
    measured, criterion = rule.measured, rule.criterion
    strata = list(enumerate(rule.strata))
    if most_strata is not None:
        strata = sorted(strata, key=lambda each: -each[1].n)[:most_strata]
    return {
        "rule": rule.text,
        "conditions": [condition.to_dict() for condition in rule.conditions],
        "control": list(rule.control),
        "held_fixed": list(rule.held_fixed),
        **({} if rule.missing_control is None else {"missing_control": to_json(rule.missing_control)}),
        "alone": None if rule.alone is None else to_json(rule.alone._asdict()),
        "beta": criterion.beta,
        **{name: to_json(getattr(rule, name)) for name in (*NUMBERS, "n_undecided", "p_value", "interval")},
        **({"centre": measured.centre} if measured.sums else {}),
        **({} if measured.kind in _BY_STRATA else {"kind": measured.kind.name}),
        "strata": [_stratum(measured, place, stratum) for place, stratum in strata],
        "verdict": {**to_json(rule.verdict), "strong": rule.verdict.strong},
        "evidence": to_json(rule.evidence),
        "identification": to_json(rule.identification),
        **({} if measured.grouped is None else {"grouped": to_json(measured.grouped)}),
        **({} if measured.n_open is None else {"n_open": measured.n_open}),
        **({"binned": list(measured.binned)} if measured.binned else {}),
        **({} if measured.modelled is None else {"modelled": to_json(measured.modelled)}),
        **({} if criterion.n_levels == 2 else {"n_levels": criterion.n_levels}),
        **({} if criterion.margin_scale == 1 else {"margin_scale": criterion.margin_scale}),
        **({} if criterion.joint_scale is None else {"joint_scale": criterion.joint_scale}),
        **({"two_sided": True} if criterion.two_sided else {}),
    }


def _stratum(measured: Measured, place: int, stratum: StratumEffect) -> dict[str, Any]:
    left_out = ("a", "b", "c", "d", "reliable_difference") if measured.sums else ()
    numbers = {name: to_json(getattr(stratum, name)) for name in _STRATUM_NUMBERS if name not in left_out}
    if measured.sums:
        numbers |= to_json(stratum.sums._asdict())
        if measured.scored:
            numbers["scored"] = to_json(measured.scored[place]._asdict())
    elif measured.undecided:
        numbers["undecided"] = list(measured.undecided[place])
    return {"labels": dict(stratum.labels), **numbers}


def read_rule(payload: Any, question: Question, criterion: Criterion | None = None) -> RuleResult:
    """Read what `rule_as_json` wrote; the question has the options of its search, unless the criterion is known."""
    if not isinstance(payload, dict):
        raise DataError(f"a rule must be an object, not {type(payload).__name__}")
    conditions = tuple(map(Proposition.from_dict, _list(payload, "conditions")))
    criterion = criterion or _read_criterion(payload, question, len(conditions))
    return RuleResult(
        conditions,
        _read_measured(payload, 0 if question.reference is not None else None),
        criterion,
        p_value=_read_p(payload.get("p_value")),
        evidence=from_json(RuleEvidence | None, payload.get("evidence"), "evidence"),  # type: ignore[arg-type]
        control=from_json(tuple[str, ...], payload.get("control", list(question.controls)), "control"),
        held_fixed=from_json(tuple[str, ...], payload.get("held_fixed", []), "held_fixed"),
        missing_control=_read_missing(payload.get("missing_control")),
        alone=_read_alone(payload.get("alone")),
    )


def _read_p(payload: Any) -> float | None:
    p_value: float | None = from_json(float | None, payload, "p_value")  # type: ignore[arg-type]
    if p_value is not None and not 0 <= p_value <= 1:
        raise DataError(f"p_value: {p_value!r:.40} is not between 0 and 1")
    return p_value


def _read_criterion(payload: dict[str, Any], question: Question, length: int) -> Criterion:
    return Criterion(
        estimator=question.estimator,
        # Older results have only the controls of the question.
        beta=from_json(float, payload.get("beta", _beta(question, length)), "beta"),
        by_length=isinstance(question.beta, tuple),
        margin_scale=from_json(float, payload.get("margin_scale", 1.0), "margin_scale"),
        joint_scale=from_json(float | None, payload.get("joint_scale"), "joint_scale"),  # type: ignore[arg-type]
        n_levels=from_json(int, payload.get("n_levels", 2), "n_levels"),
        decrease=question.direction == "decrease",
        two_sided=from_json(bool, payload.get("two_sided", False), "two_sided"),
    )


def _read_measured(payload: dict[str, Any], n_open: int | None) -> Measured:
    grouped, strata = _read_grouped(payload.get("grouped")), _list(payload, "strata")
    n_open = from_json(int | None, payload.get("n_open", n_open), "n_open")  # type: ignore[arg-type]
    binned = from_json(tuple[str, ...], payload.get("binned", []), "binned")
    modelled = from_json(Modelled | None, payload.get("modelled"), "modelled")  # type: ignore[arg-type]
    summed = any(isinstance(stratum, dict) and "covered" in stratum for stratum in strata)
    name = from_json(str, payload.get("kind", (MEAN if summed else BINARY).name), "kind")
    if name not in KINDS:
        raise DataError(f"kind: {name!r:.40} is not one of {', '.join(KINDS)}")
    if summed:
        read = [from_json(_Sums, stratum, "strata") for stratum in strata]
        sums = tuple(stratum.sums() for stratum in read)
        _check_rows(sum(stratum.everything.n for stratum in sums))
        return Measured(
            tuple(stratum.labels for stratum in read),
            sums=sums,
            scored=tuple(stratum.scored.sums() for stratum in read if stratum.scored is not None),
            centre=from_json(float, payload.get("centre", 0.0), "centre"),
            grouped=grouped,
            kind=KINDS[name],
            n_open=n_open,
            binned=binned,
            modelled=modelled,
        )
    counted = [from_json(_Counts, stratum, "strata") for stratum in strata]
    counts = tuple((stratum.a, stratum.b, stratum.c, stratum.d) for stratum in counted)
    undecided = tuple(stratum.undecided for stratum in counted)
    _check_counts([count for table in (*counts, *undecided) for count in table])
    _check_rows(sum(map(sum, counts)))
    return Measured(
        tuple(stratum.labels for stratum in counted),
        counts,
        undecided if any(map(any, undecided)) else (),
        grouped=grouped,
        kind=KINDS[name],
        n_open=n_open,
        binned=binned,
        modelled=modelled,
    )


def _read_sums(numbers: Sequence[float]) -> Sums:
    if len(numbers) not in (3, 4) or int(numbers[0]) != numbers[0]:
        raise DataError(f"strata: {list(numbers)!r:.60} are not the number of rows of a side and three sums")
    n, total, *rest = numbers
    _check_counts([int(n)])
    if len(rest) == 1:  # schema 2: the sum of the squares themselves
        rest = [max(rest[0] - total**2 / max(n, 1), 0.0), 0.0]
    return Sums(int(n), total, *rest)


def _read_grouped(payload: Any) -> Grouped | None:
    if payload is None:
        return None
    error, degrees, n_groups = from_json(tuple[float, float, int], payload, "grouped")
    return Grouped(error, degrees, n_groups)


def _read_missing(payload: Any) -> MissingControls | None:
    found: MissingControls | None = from_json(MissingControls | None, payload, "missing_control")  # type: ignore[arg-type]
    if found is not None and not found.columns:
        raise DataError("missing_control: columns is empty")
    return found


def _read_alone(payload: Any) -> Alone | None:
    if payload is None:
        return None
    known = from_json(_Alone, payload, "alone")
    return Alone(known.effect, _unless_none(known.low, -math.inf), _unless_none(known.high))


def _beta(question: Question, length: int) -> float:
    beta: Any = question.beta
    return float(beta[min(length, len(beta) - 1)] if isinstance(beta, tuple) else beta)


def _check_counts(counts: Sequence[int]) -> None:
    for count in counts:
        if not 0 <= count < _LARGEST_COUNT:
            raise DataError(f"strata: {count!r:.40} is not a count of rows")


def _check_rows(n_rows: int) -> None:
    if not n_rows:
        raise DataError("strata: a rule has no rows")


def read_question(payload: Any, kind: type[Q]) -> Q:
    """Read what `Question.kept` wrote for a question of this kind; the options validate it."""
    if not isinstance(payload, dict):
        raise DataError(f"question must be an object, not {type(payload).__name__}")
    names = {name for name, _ in options(kind)}
    known = {name: value for name, value in {**_OLDER, **payload}.items() if name in names}
    for name, expected in _ROLES.items():
        if name in names and (name, known.get(name)) != ("control", OWN_CONTROLS):
            known[name] = from_json(expected, known.get(name), f"question.{name}")
    if "beta" in names:
        by_length = isinstance(known.get("beta"), list)
        known["beta"] = from_json(tuple[float, ...] if by_length else float, known.get("beta"), "question.beta")
    known["cuts"] = from_json(tuple[tuple[str, tuple[str, ...]], ...], known.get("cuts") or [], "question.cuts") or None
    try:
        return kind(**known)
    except OptionError as error:
        raise DataError(f"question: {error}") from error


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


def _text(source: str | os.PathLike[str]) -> tuple[str, str]:
    if isinstance(source, str) and source.lstrip().startswith(("{", "[")):
        return source, "the text"
    try:
        return Path(source).read_text(encoding="utf-8"), f"the file {os.fspath(source)!r:.200}"
    except (OSError, ValueError) as error:
        kind = NoSuchFileError if isinstance(error, FileNotFoundError) else FileError
        raise kind(
            f"cannot read a result from {os.fspath(source)!r:.200} ({error}); pass JSON text or a file's path"
        ) from error
