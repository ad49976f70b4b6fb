"""Public docstrings follow numpydoc: parameters and return values have their sections."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import causalrules as cr

CLASSES = (cr.RuleSet, cr.RuleResult, cr.Segments, cr.Segment, cr.Policy, cr.PolicyStep, cr.CausalGraph, cr.CausalRules)
# Exemptions, with the reason.
EXCEPTIONS = {
    "InadmissibleError": "is raised by discover(), not made by users",
    "RuleResult.from_counts": "for tests and JSON: its arguments are those of the formulas in estimators/scores.py",
    "RuleSet": "is made by discover(); its attributes are those of Result",
    "RuleSet.problem_of": "for modules that measure rules again",
    "RuleResult.notebook_card": "set by the module that makes lists of rules",
    "Segments": "is made by for_whom(); its attributes are those of SegmentList",
    "Policy": "is made by prescribe(); its attributes are those of Prescription",
    "Segments.of": "for functions that search",
    "CausalRules": "its parameters are those of discover(), to which it refers",
    "CausalRules.fit": "to be documented",
    "CausalRules.transform": "to be documented",
    "CausalRules.fit_transform": "fit and transform in one",
    "CausalRules.predict_effect": "to be documented",
    "CausalRules.score": "to be documented",
    "CausalRules.get_feature_names_out": "the protocol of scikit-learn",
    "CausalRules.get_params": "the protocol of scikit-learn",
    "CausalRules.set_params": "the protocol of scikit-learn",
    "datasets.titanic": "to be documented",
    "datasets.kidney_stones": "to be documented",
    "datasets.berkeley": "to be documented",
    "datasets.paper_population": "to be documented",
}


def callables() -> Iterator[tuple[str, Any]]:
    """Yield the public functions and classes, and the public methods that the package itself defines."""
    for name in cr.__all__:
        found = getattr(cr, name)
        if inspect.isfunction(found) or inspect.isclass(found):
            yield name, found
    for name in cr.datasets.__all__:
        if inspect.isfunction(found := getattr(cr.datasets, name)):
            yield f"datasets.{name}", found
    for owner in CLASSES:
        for name in dir(owner):
            found = inspect.getattr_static(owner, name)
            found = found.__func__ if isinstance(found, (classmethod, staticmethod)) else found
            if not name.startswith("_") and inspect.isfunction(found) and found.__module__.startswith("causalrules"):
                yield f"{owner.__name__}.{name}", found


def sections(docstring: str | None) -> set[str]:
    return set(re.findall(r"^(\w[\w ]*)\n-{3,}$", inspect.cleandoc(docstring or ""), re.MULTILINE))


def documented(found: Any) -> set[str]:
    """Return the sections of a docstring. The parameters of a dataclass are its attributes."""
    has = sections(found.__doc__)
    return has | {"Parameters"} if inspect.isclass(found) and "Attributes" in has else has


def missing(found: Callable[..., Any]) -> list[str]:
    if not found.__doc__:
        return ["docstring"]
    if inspect.isclass(found) and issubclass(found, Exception) and "__init__" not in vars(found):
        return []  # same constructor as its base
    signature, has = inspect.signature(found), documented(found)
    lacks = []
    if set(signature.parameters) - {"self", "cls"} and "Parameters" not in has:
        lacks.append("Parameters")
    returns = None if inspect.isclass(found) else signature.return_annotation
    if returns not in (None, "None", signature.empty) and not has & {"Returns", "Yields"}:
        lacks.append("Returns")
    return lacks


@pytest.mark.parametrize(("name", "found"), [pytest.param(*pair, id=pair[0]) for pair in callables()])
def test_a_public_docstring_has_its_sections(name: str, found: Callable[..., Any]) -> None:
    if name not in EXCEPTIONS:
        assert missing(found) == []


def test_every_exception_is_there() -> None:
    for name in EXCEPTIONS:
        found: Any = cr
        for part in name.split("."):
            found = getattr(found, part)


def test_missing_sections_are_detected() -> None:
    def undocumented(x: int) -> int:
        """Return x."""
        return x

    def half(x: int) -> int:
        """Return x.

        Parameters
        ----------
        x
            A number.
        """
        return x

    assert missing(undocumented) == ["Parameters", "Returns"]
    assert missing(half) == ["Returns"]
