"""Which conditions, if we brought them about, would cause the outcome we want, and by how much at the least?

>>> import causalrules as cr
>>> rules = cr.discover(cr.datasets.titanic(), target="survived", actionable=["class", "sex"], k=1)
>>> print(rules[0])
class ≤ 2 ∧ sex = female
"""

from causalrules import datasets
from causalrules.admissibility import InadmissibleError, assumptions, check, identify_rule
from causalrules.discover import discover
from causalrules.estimator import CausalRules
from causalrules.exceptions import (
    CausalRulesError,
    CausalRulesWarning,
    DataError,
    GraphError,
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
    "assumptions",
    "check",
    "datasets",
    "discover",
    "identify_rule",
    "suggest",
]
