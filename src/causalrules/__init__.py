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
    from causalrules.discovery import discover
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
    from causalrules.graph.admissibility import check
    from causalrules.graph.assumptions import assumptions
    from causalrules.graph.backdoor import identify_rule
    from causalrules.graph.graph import CausalGraph
    from causalrules.graph.suggestions import suggest
    from causalrules.result.rules import RuleResult, RuleSet, StratumEffect
    from causalrules.sklearn import CausalRules

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
    "CausalGraph": "graph.graph",
    "CausalRules": "sklearn",
    "RuleResult": "result.rules",
    "RuleSet": "result.rules",
    "StratumEffect": "result.rules",
    "assumptions": "graph.assumptions",
    "check": "graph.admissibility",
    "discover": "discovery",
    "identify_rule": "graph.backdoor",
    "suggest": "graph.suggestions",
}


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return import_module("causalrules.datasets")
    if name not in __all__:
        raise AttributeError(f"module 'causalrules' has no attribute {name!r}")
    return getattr(import_module(f"causalrules.{_HOMES.get(name, 'exceptions')}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
