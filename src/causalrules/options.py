"""Kinds of options: what each accepts, how it is validated, and how its text on a command line is parsed."""

from __future__ import annotations

import math
import numbers
import operator
import os
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from causalrules.exceptions import OptionError
from causalrules.text import shorten

# The largest accepted whole number.
_LARGEST = 2**64 - 1


@dataclass(frozen=True)
class Kind:
    """Accepts anything. Subclasses return the value in its canonical type or raise an OptionError."""

    metavar: str = "VALUE"

    def __call__(self, name: str, value: Any) -> Any:
        """Return the checked value of the option called `name`."""
        return value

    def read(self, text: str) -> Any:
        """Parse a text from the command line; a ValueError says what is expected."""
        return text


@dataclass(frozen=True)
class Column(Kind):
    """The name of a column, or of several; checked later against the table."""

    metavar: str = "COLUMN"


@dataclass(frozen=True)
class Word(Kind):
    """A text, or None where that is allowed."""

    metavar: str = "TEXT"
    optional: bool = True

    def __call__(self, name: str, value: Any) -> Any:
        """Return the text."""
        if isinstance(value, str) or (value is None and self.optional):
            return value
        raise OptionError("give a text", parameter=name, value=shown(value))


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number from `least` to `most`; None is allowed if `none` says what it means."""

    metavar: str = "N"
    least: int = 0
    most: int | None = None
    none: str | None = None

    def __call__(self, name: str, value: Any) -> Any:
        """Return the number as an int; NumPy integers are accepted."""
        if value is None and self.none:
            return None
        number = integer(value)
        most = _LARGEST if self.most is None else self.most
        if number is None or not self.least <= number <= most:
            at_least = self.most is None and (number is None or number <= most)
            allowed = f"of at least {self.least}" if at_least else f"from {self.least} to {most:,}"
            raise OptionError(f"give a whole number {allowed}", parameter=name, value=shown(value))
        return number

    def read(self, text: str) -> int | None:
        """Return the number; 0 and "none" mean None where that is allowed."""
        if self.none and text.lower() in ("none", "0"):
            return None
        try:
            return int(text)
        except ValueError:
            hint = f"; 0 or none: {self.none}" if self.none else ""
            raise ValueError(f"it is not a whole number{hint}") from None


@dataclass(frozen=True)
class Number(Kind):
    """A number from `least` to `most`, or strictly above `least`."""

    metavar: str = "NUMBER"
    least: float = -math.inf
    most: float = math.inf
    above: bool = False
    none: str | None = None

    def __call__(self, name: str, value: Any) -> Any:
        """Return the number as a float; numbers of other libraries are accepted."""
        if value is None and self.none:
            return None
        number = real(value)
        if not ((self.least < number if self.above else self.least <= number) and number <= self.most):
            allowed = f"above {self.least:g}" if self.above else f"of at least {self.least:g}"
            limit = f" and at most {self.most:g}" if self.most < math.inf else ""
            raise OptionError(f"give a number {allowed}{limit}", parameter=name, value=shown(value))
        return number

    def read(self, text: str) -> float | None:
        """Return the number."""
        if self.none and text.lower() == "none":
            return None
        try:
            return float(text)
        except ValueError:
            raise ValueError("it is not a number") from None


@dataclass(frozen=True)
class Share(Kind):
    """A number strictly between 0 and 1."""

    metavar: str = "SHARE"

    def __call__(self, name: str, value: Any) -> Any:
        """Return the share as a float."""
        share = real(value)
        if not 0 < share < 1:
            raise OptionError("give a number between 0 and 1, such as 0.5", parameter=name, value=shown(value))
        return share

    def read(self, text: str) -> float:
        """Return the number."""
        return float(text)


@dataclass(frozen=True)
class NumberOrWord(Kind):
    """A number, or one of some words."""

    number: Number = Number()
    words: tuple[str, ...] = ()

    def __call__(self, name: str, value: Any) -> Any:
        """Return the number or the word; a tuple of numbers is one for each number of conditions."""
        if isinstance(value, tuple) and value:
            return tuple(self.number(name, each) for each in value)
        if isinstance(value, str):
            if value in self.words:
                return value
            words = " or ".join(map(repr, self.words))
            limits = f"from {self.number.least:g} to {self.number.most:g}"
            raise OptionError(f"give a number {limits}, or {words}", parameter=name, value=shown(value))
        return self.number(name, value)

    def read(self, text: str) -> float | str | None:
        """Return the number or the word."""
        if text.lower() in self.words:
            return text.lower()
        try:
            return self.number.read(text)
        except ValueError:
            raise ValueError(f"it is neither a number nor the word {' or '.join(self.words)}") from None


@dataclass(frozen=True)
class Choice(Kind):
    """One of some words."""

    metavar: str = "NAME"
    words: tuple[str, ...] = ()

    def __call__(self, name: str, value: Any) -> Any:
        """Return the word."""
        if isinstance(value, str) and value in self.words:
            return value
        raise OptionError(f"give one of {shorten(self.words)}", parameter=name, value=shown(value))


@dataclass(frozen=True)
class Flag(Kind):
    """True or False; None is allowed if `none` says when it means True."""

    none: str | None = None

    def __call__(self, name: str, value: Any) -> Any:
        """Return the flag as a bool; NumPy's bool is accepted."""
        if value is None and self.none:
            return None
        if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
            return bool(value)
        raise OptionError("give True or False", parameter=name, value=shown(value))


@dataclass(frozen=True)
class Texts(Kind):
    """A text or several."""

    metavar: str = "TEXT"

    def __call__(self, name: str, value: Any) -> Any:
        """Return the texts as a tuple."""
        texts = (value,) if isinstance(value, str) else value
        if not isinstance(texts, Collection) or not all(isinstance(text, str) for text in texts):
            raise OptionError("give a text or a list of texts, as in ['NA', '?']", parameter=name, value=shown(value))
        return tuple(texts)


@dataclass(frozen=True)
class CutPoints(Kind):
    """Cut points by column; checked against the columns later, with the table. A result stores them as texts."""

    metavar: str = "COLUMN=VALUE,…"

    def __call__(self, name: str, value: Any) -> Any:
        """Return the mapping, or pairs of a column and its cut points."""
        if value is None:
            return value
        if isinstance(value, Mapping):
            return {column: _listed(points) for column, points in value.items()}
        match value:
            case tuple() if all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
                return value
        raise OptionError("give the cut points by column, as in {'age': [18, 65]}", parameter=name, value=shown(value))

    def read(self, text: str) -> tuple[str, list[str]]:
        """Return a column and its cut points from "age=18,65"; split at the last "=", because names may contain one."""
        column, equals, points = text.rpartition("=")
        if not equals or not column:
            raise ValueError("write the column, =, and its cut points, as in age=18,65")
        return column, [point.strip() for point in points.split(",")]


def _listed(points: Any) -> Any:
    """Return an array or a series of points as a list; unordered collections unchanged, to be rejected later."""
    unordered = isinstance(points, (str, bytes, Mapping, Set)) or getattr(points, "ndim", 1) != 1
    return points if unordered or not isinstance(points, Collection) else list(points)


@dataclass(frozen=True)
class Costs(Kind):
    """Costs by condition; the conditions are checked later, with the table. A result stores them as pairs."""

    metavar: str = "CONDITION:COST"

    def __call__(self, name: str, value: Any) -> Any:
        """Return pairs of a condition and its cost."""
        pairs = tuple(value.items()) if isinstance(value, Mapping) else value
        if value is None or pairs == ():
            return None
        if isinstance(pairs, tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
            costs = tuple((text, real(cost)) for text, cost in pairs)
            if all(isinstance(text, str) and math.isfinite(cost) for text, cost in costs):
                return costs
        raise OptionError(
            "give a number for each condition, as in {'call = yes': 2}", parameter=name, value=shown(value)
        )

    def read(self, text: str) -> tuple[str, float]:
        """Return a condition and its cost from "call = yes: 2"; split at the last ":"."""
        condition, colon, cost = text.rpartition(":")
        if not colon or not condition.strip():
            raise ValueError("write the condition, a colon and its cost, as in 'call = yes: 2'")
        try:
            return condition.strip(), float(cost)
        except ValueError:
            raise ValueError(f"{cost.strip()!r} is not a number; write the cost behind the colon") from None


@dataclass(frozen=True)
class ReferenceRows(Kind):
    """A column and the value of its reference rows."""

    metavar: str = "COLUMN=VALUE"

    def __call__(self, name: str, value: Any) -> Any:
        """Return a pair of column and value."""
        if value is None or (isinstance(value, tuple) and len(value) == 2):
            return value
        if isinstance(value, Mapping) and len(value) == 1:
            return next(iter(value.items()))
        raise OptionError("give one column and its value, as in {'arm': 'placebo'}", parameter=name, value=shown(value))

    def read(self, text: str) -> tuple[str, str]:
        """Return a column and a value from "arm=placebo"; split at the first "=", because values may contain one."""
        column, equals, value = text.partition("=")
        if not equals or not column:
            raise ValueError("write the column, =, and the value of the reference rows, as in arm=placebo")
        return column, value


@dataclass(frozen=True)
class ShareOrTable(Kind):
    """A share of the rows, or a second table."""

    metavar: str = "SHARE|FILE"

    def __call__(self, name: str, value: Any) -> Any:
        """Return the share as a float, or the table unchanged."""
        return Share()(name, value) if is_number(value) or isinstance(value, bool) else value

    def read(self, text: str) -> float | str:
        """Return the share, or the path of the table."""
        try:
            return float(text)
        except ValueError:
            return text


@dataclass(frozen=True)
class File(Kind):
    """The path of a file."""

    metavar: str = "FILE"

    def __call__(self, name: str, value: Any) -> Any:
        """Return the path unchanged."""
        if value is None or isinstance(value, (str, os.PathLike)):
            return value
        raise OptionError("give the path of a file", parameter=name, value=shown(value))


@dataclass(frozen=True)
class Threads(Kind):
    """A number of threads: −1 is all cores, −2 all but one."""

    metavar: str = "N"

    def __call__(self, name: str, value: Any) -> Any:
        """Return the number as an int."""
        threads = integer(value)
        if not threads or abs(threads) > _LARGEST:
            raise OptionError("give a number of threads, or -1 for all cores", parameter=name, value=shown(value))
        return threads

    def read(self, text: str) -> int:
        """Return the number."""
        return int(Whole().read(text) or 0)


@dataclass(frozen=True)
class Option:
    """One option of a question: accepted values, documentation, and where it appears.

    Attributes
    ----------
    kind
        The accepted values.
    doc
        Its documentation, for `help(discover)` and the command line.
    panel
        The panel of the command line's help; None if it is not on the command line.
    flag
        Its flag on the command line, if that is not --name.
    repeated
        Whether the flag is repeated on the command line for several values.
    negated
        The help of the flag that turns it off.
    kept
        Whether it is stored in a result and its JSON; options on how to run the search are not.
    searched
        Whether the search depends on it, so that a checkpoint made with another value is invalid.
    fitted
        Whether it is a parameter of the scikit-learn estimator.
    """

    kind: Kind
    doc: str
    panel: str | None = None
    flag: str | None = None
    repeated: bool = False
    negated: str | None = None
    kept: bool = True
    searched: bool = False
    fitted: bool = True


def option(default: Any, kind: Kind, doc: str, **where: Any) -> Any:
    """Return a dataclass field for an option; `where` has further attributes of `Option`."""
    return field(default=default, metadata={"option": Option(kind, doc, **where)})


def integer(value: Any) -> int | None:
    """Return the value as an int if it is an integer of any library, else None."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def is_number(value: Any) -> bool:
    """Whether this is a number of any type."""
    return isinstance(value, (numbers.Real, Decimal)) and not isinstance(value, bool)


def real(value: Any) -> float:
    """Return the value as a float, nan if it is not a number."""
    try:
        return float(value) if is_number(value) else math.nan
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except ValueError:  # Decimal has a NaN that cannot be converted
        return math.nan


def shown(value: Any) -> str:
    """Format a value for an error message."""
    return shorten([value])
