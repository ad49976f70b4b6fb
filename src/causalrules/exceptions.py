"""What can go wrong, by kind. Every message names the value, the place and the fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from causalrules.graph.admissibility import Verdict


class CausalRulesError(Exception):
    """The base of every error this package raises on purpose."""


class InputError(CausalRulesError, ValueError):
    """Something that was passed in cannot be used as it is."""


class DataError(InputError):
    """The table cannot be read or used."""


class RoleError(InputError):
    """Target, outcome, actionable and control variables do not fit the table or each other."""


class InadmissibleError(RoleError):
    """The input is not admissible, or it cannot be told; `verdict` says why and what would mend it."""

    def __init__(self, verdict: Verdict) -> None:
        mend = "Change the roles or the graph" if verdict.violations else "Say in the graph what is asked above"
        go_on = "allow_inadmissible=True goes on all the same, and the rules are then called associations"
        super().__init__(f"{verdict.summary()}\n  {mend}. {go_on}; those that are identified on their own say so.")
        self.verdict = verdict


class OptionError(InputError):
    """An option is outside its range."""


class GraphError(InputError):
    """A causal graph cannot be read or is not a causal graph."""


class CausalRulesWarning(UserWarning):
    """The result stands, but the reader should know something about the input."""
