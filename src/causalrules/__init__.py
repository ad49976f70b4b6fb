"""Which conditions, if we brought them about, would cause the outcome we want, and how far can that be trusted?

>>> import causalrules as cr
>>> rules = cr.discover(cr.datasets.titanic(), target="survived", actionable=["class", "sex"], k=1)
>>> print(rules[0])
class ≤ 2 ∧ sex = female
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from causalrules.version import __version__

if TYPE_CHECKING:
    from causalrules import datasets
    from causalrules.admissibility import check
    from causalrules.backdoor import identify_rule
    from causalrules.definition import assumptions
    from causalrules.discovery import discover
    from causalrules.estimator import CausalRules
    from causalrules.exceptions import (
        CausalRulesError,
        CausalRulesWarning,
        DataError,
        GraphError,
        InadmissibleError,
        InputError,
        OptionError,
        RoleError,
    )
    from causalrules.graph import CausalGraph
    from causalrules.result import RuleResult, RuleSet, StratumEffect
    from causalrules.suggestions import suggest

__all__ = [
    "CausalGraph",
    "CausalRules",
    "CausalRulesError",
    "CausalRulesWarning",
    "DataError",
    "GraphError",
    "InadmissibleError",
    "InputError",
    "OptionError",
    "RoleError",
    "RuleResult",
    "RuleSet",
    "StratumEffect",
    "__version__",
    "assumptions",
    "check",
    "datasets",
    "discover",
    "identify_rule",
    "suggest",
]

# Where each name lives. A module is loaded when one of its names is first used: importing the package costs nothing.
_HOMES = {
    "CausalGraph": "graph",
    "CausalRules": "estimator",
    "RuleResult": "result",
    "RuleSet": "result",
    "StratumEffect": "result",
    "assumptions": "definition",
    "check": "admissibility",
    "discover": "discovery",
    "identify_rule": "backdoor",
    "suggest": "suggestions",
}


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return import_module("causalrules.datasets")
    if name not in __all__:
        raise AttributeError(f"module 'causalrules' has no attribute {name!r}")
    return getattr(import_module(f"causalrules.{_HOMES.get(name, 'exceptions')}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
