"""What can go wrong, by kind. Every message names the value, the place and the fix."""


class CausalRulesError(Exception):
    """The base of every error this package raises on purpose."""


class InputError(CausalRulesError, ValueError):
    """Something that was passed in cannot be used as it is."""


class DataError(InputError):
    """The table cannot be read or used."""


class RoleError(InputError):
    """Target, outcome, actionable and control variables do not fit the table or each other."""


class OptionError(InputError):
    """An option is outside its range."""


class GraphError(InputError):
    """A causal graph cannot be read or is not a causal graph."""


class CausalRulesWarning(UserWarning):
    """The result stands, but the reader should know something about the input."""
