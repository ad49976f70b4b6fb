"""Exceptions, by kind. Every message says which value is wrong, where, and how to fix it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from causalrules.graph.admissibility import Admissibility


class CausalRulesError(Exception):
    """Base class of all exceptions raised by causalrules."""

    def __str__(self) -> str:
        # Some subclasses also derive from KeyError, which would show the message in quotes.
        return str(self.args[0]) if self.args else ""


class InputError(CausalRulesError, ValueError):
    """An argument is invalid.

    Parameters
    ----------
    message
        What is wrong and how to fix it.
    parameter
        The parameter of `discover` that the message is about.
    value
        The value of that parameter, as text, if the message does not show it.
    """

    def __init__(self, message: str, *, parameter: str | None = None, value: str | None = None) -> None:
        self.message, self.parameter, self.value = message, parameter, value
        super().__init__(message if parameter is None else self.about(parameter, " = "))

    def about(self, name: str, equals: str) -> str:
        """Return the message with the parameter under another name, such as "--max-bins 1: …"."""
        return f"{name}: {self.message}" if self.value is None else f"{name}{equals}{self.value}: {self.message}"


class DataError(InputError):
    """The table cannot be read or used."""


class FileError(DataError, OSError):
    """A file cannot be read or written."""


class NoSuchFileError(FileError, FileNotFoundError):
    """The file does not exist."""


class RoleError(InputError):
    """The target, outcome, actionable or control variables do not match the table or each other."""


class UnknownColumnError(RoleError, DataError, KeyError):
    """The table has no column of that name."""


class InadmissibleError(RoleError):
    """The roles are not admissible by the causal graph, or the graph leaves it open; `verdict` says why."""

    def __init__(self, admissibility: Admissibility) -> None:
        if admissibility.adjustments is not None:
            fix = "Observe a variable of each path, allow more controls, or name other actionable columns."
        else:
            fix = "Change the roles or the graph" if admissibility.violations else "Answer these questions in the graph"
            fix += (
                "; control='auto' looks for controls of each rule's own. allow_inadmissible=True searches anyway, and "
                "calls the rules associations; each rule says whether its own effect is identified."
            )
        super().__init__(f"{admissibility.summary()}\n  {fix}")
        self.verdict = admissibility

    def __reduce__(self) -> tuple[type[InadmissibleError], tuple[Admissibility]]:
        return type(self), (self.verdict,)


class OptionError(InputError):
    """An option is outside its range."""


class GraphError(InputError):
    """A causal graph cannot be read, or is not a causal graph."""


class GraphFileError(GraphError, FileError):
    """The file of a causal graph cannot be read."""


class NoSuchGraphFileError(GraphFileError, NoSuchFileError):
    """The file of a causal graph does not exist."""


class MissingPackageError(CausalRulesError, ImportError):
    """An optional package is not installed; the message names the extra that has it."""


class CausalRulesWarning(UserWarning):
    """The result is valid, but the input has a problem that may matter."""


class UnsavedWarning(CausalRulesWarning):
    """The result is valid, but a requested file could not be written."""
