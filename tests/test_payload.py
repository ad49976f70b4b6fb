"""Plain data is pickled by its values alone, and its repr shows what is not a default."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import pytest
from hypothesis import given

import causalrules as cr
from causalrules.language.kinds import KINDS, OutcomeKind
from causalrules.payload import Plain
from causalrules.rules import RuleSet
from rulesets import rule_sets


@dataclass(frozen=True, repr=False)
class _Pair(Plain):
    name: str
    numbers: tuple[float, ...] = ()
    other: _Pair | None = None


def parts(value: Any) -> list[Any]:
    """Return the dataclasses in a value."""
    inside = [part for item in value for part in parts(item)] if isinstance(value, tuple) else []
    if is_dataclass(value):
        inside = [value, *(part for item in fields(value) for part in parts(getattr(value, item.name)))]
    return inside


def test_a_repr_shows_what_is_not_a_default_in_little_room() -> None:
    assert repr(_Pair("a")) == "_Pair(name='a')"
    assert repr(_Pair("a", (1 / 3,), _Pair("b"))) == "_Pair(name='a', numbers=(0.3333,), other=_Pair(name='b'))"
    assert len(repr(_Pair("a" * 1000, tuple(map(float, range(1000)))))) < 200


@given(rule_sets())
def test_rules_survive_pickling(rules: RuleSet) -> None:
    for rule in rules:
        again = pickle.loads(pickle.dumps(rule))
        assert again == rule
        assert parts(again) == parts(rule)


@pytest.mark.parametrize("kind", KINDS.values(), ids=repr)
def test_a_kind_stays_the_same_object(kind: OutcomeKind) -> None:
    assert pickle.loads(pickle.dumps(kind)) is kind


def test_a_rule_is_small_and_everything_on_it_is_readable() -> None:
    rules = cr.discover(cr.datasets.titanic(), "survived", actionable=["class", "sex", "age"], k=2)
    tested = rules.trust(permutations=19, replicates=5)
    assert max(len(pickle.dumps(rule)) for rule in rules) <= 1000
    assert len(pickle.dumps(tested[0])) <= 2000
    known = tested[0].evidence
    assert known is not None
    shown: list[Any] = [
        rules[0],
        *tested[0].strata,
        known.honest,
        known.stability,
        *rules.steps,
        *rules[0].conditions,
        KINDS,
    ]
    shown += [tested[0].verdict, rules.question, rules.origin]
    assert all(0 < len(repr(each)) < 700 for each in shown)
    assert not any("=()" in repr(each) or "0x" in repr(each) for each in shown[1:4])


def test_only_what_users_need_is_listed() -> None:
    rules = cr.discover(cr.datasets.titanic(), "survived", actionable=["class", "sex"], k=1)
    listed = {name for name in [*dir(rules), *dir(rules[0])] if not name.startswith("_")}
    assert {"trust", "to_html", "effect", "verdict", "covers"} <= listed
    assert not {"ladder", "origin", "problem", "library", "measured", "criterion", "circumstances"} & listed
    # What is not listed is there nevertheless.
    assert rules.ladder
    assert rules[0].measured
