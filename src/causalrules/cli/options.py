"""Options of commands, derived from the fields of `Question`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import rich_click as click

from causalrules.exceptions import OptionError
from causalrules.options import Costs, CutPoints, Flag, Kind, Number, Option, Whole, shown
from causalrules.question import OWN_CONTROLS, Question, default, flag, options

F = TypeVar("F", bound=Callable[..., Any])


class Text(click.ParamType):  # type: ignore[type-arg]
    """A click type that parses the text of an option by its kind."""

    def __init__(self, kind: Kind) -> None:
        self.kind, self.name = kind, kind.metavar

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse the text; an error says what is expected."""
        try:
            return self.kind.read(value) if isinstance(value, str) else value
        except ValueError as error:
            raise OptionError(str(error), parameter=param.name if param else None, value=shown(value)) from None


def of_question(command: F) -> F:
    """Add an option for every option of a question, under the same name, in the panel where it belongs."""
    return of(Question)(command)


def of(kind: type[Question]) -> Callable[[F], F]:
    """Return a decorator that does the same for a kind of question."""

    def add(command: F) -> F:
        for name, known in reversed(options(kind)):
            if known.panel is not None:
                value = default(name, kind)
                command = click.option(*_spelling(name, known, value), **_settings(name, known, value))(command)
        return command

    return add


def given(values: dict[str, Any], kind: type[Question] = Question) -> dict[str, Any]:
    """Return the given options as arguments of a kind of question."""
    repeated = {name for name, known in options(kind) if known.repeated}
    question = {name: list(value) if name in repeated else value for name, value in values.items()}
    if "cuts" in question:
        cuts: dict[str, list[str]] = {}
        for column, points in question["cuts"]:
            cuts.setdefault(column, []).extend(points)
        question["cuts"] = cuts
    if question.get("control") == [OWN_CONTROLS] and question.get("graph") is not None:
        question["control"] = OWN_CONTROLS
    if "cost" in question:
        question["cost"] = dict(question["cost"])
    # Omitted options keep their defaults; None is a value of its own where it is not the default.
    return {
        name: value
        for name, value in question.items()
        if value not in ([], {}, None) or (value is None and default(name, kind) not in (None, ()))
    }


def _spelling(name: str, known: Option, value: Any) -> tuple[str, str]:
    negated = isinstance(known.kind, Flag) and (value or known.kind.none)
    return flag(f"no_{name}" if negated else name), name


def _settings(name: str, known: Option, value: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {"panel": known.panel, "help": _help(known, value)}
    if isinstance(known.kind, Flag):
        # A flag that is on by default, or where its kind says so, is turned off by its negation.
        return settings | {"is_flag": True, "flag_value": not value and not known.kind.none, "default": value}
    if name == "target":
        settings["required"] = True
    elif not known.repeated and value is not None:
        settings |= {"default": value, "show_default": True}
    return settings | {"type": Text(known.kind), "metavar": known.kind.metavar, "multiple": known.repeated}


def _help(known: Option, value: Any) -> str:
    said = [known.negated or known.doc]
    if isinstance(known.kind, Whole) and known.kind.none:
        said.append(f"0 or none: {known.kind.none}.")
    if isinstance(known.kind, Number) and known.kind.none and value is not None:
        said.append(f"none: {known.kind.none}.")
    if isinstance(known.kind, CutPoints):
        said.append("As in --cut age=18,65.")
    if isinstance(known.kind, Costs):
        said.append("As in --cost 'call = yes: 0.02'.")
    if known.repeated:
        said.append("Repeat for more.")
    return " ".join(said)
