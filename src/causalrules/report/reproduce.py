"""The call and the command that repeat a search, with the options that differ from the defaults."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from causalrules.language.kinds import KINDS
from causalrules.language.propositions import format_column
from causalrules.options import CutPoints, Flag, Option, ReferenceRows
from causalrules.question import differing, flag

if TYPE_CHECKING:
    from causalrules.result.result import Result

# The defaults of `RuleSet.trust`.
_DEFAULTS = {"permutations": 999, "replicates": 100, "splits": 5, "seed": 0}


def call(rules: Result) -> str:
    """Return the call of `discover` or `evaluate` in Python."""
    arguments = {name: _argument(known, value) for name, known, value in _asked(rules)}
    if rules.graph is not None:
        arguments["graph"] = rules.graph.to_dagitty()
        if not rules.admissibility:
            arguments["allow_inadmissible"] = True
    lines = "".join(f"    {name}={value!r},\n" for name, value in arguments.items())
    source = "data" if rules.source is None else repr(rules.source)
    what = f"cr.discover(\n    {source},\n"
    if rules.is_named:
        what = f"cr.evaluate(\n    {source},\n    {[rule.text for rule in rules]!r},\n"
    method, options = _trusted(rules)
    given = ", ".join(f"{name}={value!r}" for name, value in options.items())
    return f"import causalrules as cr\n\nrules = {what}{lines})" + (f".{method}({given})" if method else "")


def command(rules: Result) -> str:
    """Return the command for a shell."""
    words = ["causalrules", "discover"]
    if rules.is_named:
        words = ["causalrules", "evaluate", *(f"--rule={rule.text}" for rule in rules)]
    for name, known, value in _asked(rules):
        words += _words(name, known, value)
    if rules.graph is not None:
        words.append(f"--graph={rules.graph.to_dagitty()}")
        words += [] if rules.admissibility else ["--allow-inadmissible"]
    method, options = _trusted(rules)
    words += ["--trust"] if method == "trust" else []
    if "permutations" in options or method == "significance":
        words.append(f"--permutations={options.get('permutations', _DEFAULTS['permutations'])}")
    return shlex.join([*words, "--", rules.source or "data.csv"])


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


def _asked(rules: Result) -> Iterator[tuple[str, Option, Any]]:
    """Yield the options in the form for `discover`: outcome without its column, β as given, means by default."""
    question = rules.question
    calibrated = rules.evidence is not None and rules.evidence.calibration is not None
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
    return list(value) if isinstance(value, tuple) else value


def _words(name: str, known: Option, value: Any) -> list[str]:
    if isinstance(known.kind, Flag):
        return [flag(name)] if value else [flag(f"no_{name}")]
    if isinstance(known.kind, CutPoints):
        value = tuple(f"{column}={','.join(points)}" for column, points in value)
    if isinstance(known.kind, ReferenceRows):
        value = f"{value[0]}={value[1]}"
    option = flag(name)
    joint = "=" if option.startswith("--") else ""
    texts = ["none" if each is None else str(each) for each in (value if isinstance(value, tuple) else (value,))]
    return [f"{option}{joint}{text}" for text in texts]
