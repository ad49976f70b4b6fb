"""Which conditions, if we brought them about, would cause the outcome we want, and how far can that be trusted?

>>> import causalrules as cr
>>> rules = cr.discover(cr.datasets.titanic(), target="survived", actionable=["class", "sex"], k=1)
>>> print(rules[0])
class ≤ 2 ∧ sex = female
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from causalrules import datasets
    from causalrules.discovery import discover, evaluate
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
    from causalrules.policies import Policy, Segments
    from causalrules.policy.segments import Segment
    from causalrules.policy.steps import PolicyStep
    from causalrules.prescribing import for_whom, prescribe
    from causalrules.result.measured import StratumEffect
    from causalrules.result.rule import RuleResult
    from causalrules.rules import RuleSet
    from causalrules.sklearn import CausalRules

__version__: str

# Public names and their modules, which are imported on first use.
_HOMES = {
    "CausalGraph": "graph.graph",
    "CausalRules": "sklearn",
    "CausalRulesError": "exceptions",
    "CausalRulesWarning": "exceptions",
    "DataError": "exceptions",
    "GraphError": "exceptions",
    "InadmissibleError": "exceptions",
    "InputError": "exceptions",
    "OptionError": "exceptions",
    "Policy": "policies",
    "PolicyStep": "policy.steps",
    "RoleError": "exceptions",
    "RuleResult": "result.rule",
    "RuleSet": "rules",
    "Segment": "policy.segments",
    "Segments": "policies",
    "StratumEffect": "result.measured",
    "assumptions": "graph.assumptions",
    "check": "graph.admissibility",
    "datasets": "datasets",
    "discover": "discovery",
    "evaluate": "discovery",
    "for_whom": "prescribing",
    "identify_rule": "graph.backdoor",
    "prescribe": "prescribing",
    "suggest": "graph.suggestions",
}
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
    "Policy",
    "PolicyStep",
    "RoleError",
    "RuleResult",
    "RuleSet",
    "Segment",
    "Segments",
    "StratumEffect",
    "__version__",
    "assumptions",
    "check",
    "datasets",
    "discover",
    "evaluate",
    "for_whom",
    "identify_rule",
    "prescribe",
    "suggest",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "__version__":
        from causalrules._core import ffi, lib

        return ffi.string(lib.cr_version()).decode()
    if name not in _HOMES:
        raise AttributeError(f"module 'causalrules' has no attribute {name!r}")
    home = import_module(f"causalrules.{_HOMES[name]}")
    return home if name == "datasets" else getattr(home, name)


def __dir__() -> list[str]:
    return list(__all__)
