"""The calls and the commands that repeat a search, with the options that differ from the defaults."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from causalrules.language.kinds import KINDS
from causalrules.language.propositions import format_column
from causalrules.options import Costs, CutPoints, Flag, Option, ReferenceRows
from causalrules.question import differing, flag

if TYPE_CHECKING:
    from causalrules.policy.segments import SegmentList
    from causalrules.policy.steps import Prescription
    from causalrules.question import Question
    from causalrules.result.result import Result

Answer: TypeAlias = "Result | SegmentList | Prescription"
# The defaults of `RuleSet.trust`.
_DEFAULTS = {"permutations": 999, "replicates": 100, "splits": 5, "seed": 0}


def call(rules: Result) -> str:
    """Return the call of `discover` or `evaluate` in Python."""
    method, options = _trusted(rules)
    given = ", ".join(f"{name}={value!r}" for name, value in options.items())
    if rules.is_named:
        said = _call("rules = cr.evaluate", rules, [[rule.text for rule in rules]], _is_calibrated(rules))
    else:
        said = _call("rules = cr.discover", rules, calibrated=_is_calibrated(rules))
    return said + (f".{method}({given})" if method else "")


def call_of_segments(found: SegmentList) -> str:
    """Return the call of `for_whom` in Python."""
    return _call("groups = cr.for_whom", found, [found.action_text])


def call_of_policy(policy: Prescription) -> str:
    """Return the call of `prescribe` in Python."""
    return _call("policy = cr.prescribe", policy)


def _call(what: str, answer: Answer, named: Sequence[object] = (), calibrated: bool = False) -> str:
    """Return a call with the data, other arguments in their places, and the options that differ from the defaults."""
    arguments = {name: _argument(known, value) for name, known, value in _asked(answer.question, calibrated)}
    if answer.graph is not None:
        arguments["graph"] = answer.graph.to_dagitty()
        if not answer.admissibility:
            arguments["allow_inadmissible"] = True
    source = "data" if answer.source is None else repr(answer.source)
    lines = [source, *map(repr, named), *(f"{name}={value!r}" for name, value in arguments.items())]
    return f"import causalrules as cr\n\n{what}(\n" + "".join(f"    {line},\n" for line in lines) + ")"


def command(rules: Result) -> str:
    """Return the command for a shell."""
    words = ["causalrules", "discover"]
    if rules.is_named:
        words = ["causalrules", "evaluate", *(f"--rule={rule.text}" for rule in rules)]
    method, options = _trusted(rules)
    trusted = ["--trust"] if method == "trust" else []
    if "permutations" in options or method == "significance":
        trusted.append(f"--permutations={options.get('permutations', _DEFAULTS['permutations'])}")
    return _command(words, rules, trusted, _is_calibrated(rules))


def command_of_segments(found: SegmentList) -> str:
    """Return the command for a shell that asks for whom an action works."""
    return _command(["causalrules", "for-whom", f"--action={found.action_text}"], found)


def command_of_policy(policy: Prescription) -> str:
    """Return the command for a shell that asks who should get what."""
    return _command(["causalrules", "prescribe"], policy)


def _command(words: Sequence[str], answer: Answer, more: Sequence[str] = (), calibrated: bool = False) -> str:
    """Return a command with the options that differ from the defaults, further words, and the file."""
    asked = [word for name, known, value in _asked(answer.question, calibrated) for word in _words(name, known, value)]
    if answer.graph is not None:
        asked.append(f"--graph={answer.graph.to_dagitty()}")
        asked += [] if answer.admissibility else ["--allow-inadmissible"]
    return shlex.join([*words, *asked, *more, "--", answer.source or "data.csv"])


def _trusted(rules: Result) -> tuple[str, dict[str, int]]:
    """Return the method that computed the evidence, and its arguments that differ from the defaults."""
    evidence = rules.evidence
    if evidence is None or evidence.permutation is None:
        return "", {}
    run, stability, honest = evidence.permutation, evidence.stability, evidence.honest
    asked = {"permutations": run.asked, "seed": run.seed}
    if stability is not None:
        asked["replicates"] = stability.asked
    if honest is not None and honest.source == "forward chaining":
        asked["splits"] = honest.asked
    complete = stability is not None or (rules.is_named and _has_sensitivity(rules))
    return "trust" if complete else "significance", {
        name: value for name, value in asked.items() if value != _DEFAULTS[name]
    }


def _has_sensitivity(rules: Result) -> bool:
    return any(rule.evidence is not None and rule.evidence.sensitivity is not None for rule in rules)


def _is_calibrated(rules: Result) -> bool:
    return rules.evidence is not None and rules.evidence.calibration is not None


def _asked(question: Question, calibrated: bool) -> Iterator[tuple[str, Option, Any]]:
    """Yield the options in the form for `discover`: outcome without its column, β as given, means by default."""
    column = format_column(question.target)
    means = {kind.text(column): kind.asked for kind in KINDS.values() if not kind.binary}
    for name, known, value in differing(question):
        if name == "beta" and isinstance(value, tuple):
            continue  # by length, as is the default
        if name == "outcome" and value in means:
            if means[value] is None:
                continue
            value = means[value]
        elif name == "outcome":
            value = value.removeprefix(f"{column} ").removeprefix("= ")
        elif name == "beta" and calibrated:
            value = "calibrated"
        if value != ():
            yield name, known, value


def _argument(known: Option, value: Any) -> Any:
    if isinstance(known.kind, CutPoints):
        return {column: list(points) for column, points in value}
    if isinstance(known.kind, ReferenceRows):
        return dict([value])
    if isinstance(known.kind, Costs):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


def _words(name: str, known: Option, value: Any) -> list[str]:
    if isinstance(known.kind, Flag):
        return [flag(name)] if value else [flag(f"no_{name}")]
    if isinstance(known.kind, CutPoints):
        value = tuple(f"{column}={','.join(points)}" for column, points in value)
    if isinstance(known.kind, ReferenceRows):
        value = f"{value[0]}={value[1]}"
    if isinstance(known.kind, Costs):
        value = tuple(f"{condition}: {cost!r}" for condition, cost in value)
    option = flag(name)
    joint = "=" if option.startswith("--") else ""
    texts = ["none" if each is None else str(each) for each in (value if isinstance(value, tuple) else (value,))]
    return [f"{option}{joint}{text}" for text in texts]
