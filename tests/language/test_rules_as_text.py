"""Rules as text: what differs from a value."""

from __future__ import annotations

import pytest

from causalrules.data.reading import read
from causalrules.exceptions import RoleError
from causalrules.language.propositions import describe
from causalrules.language.rules import parse_rule

TABLE = read(
    {"y": [0, 1, 0, 1], "a": ["u", "v", "u", "v"], "b": [1, 2, 1, 2], "c": list("pqrs"), "wow!": ["1", "2"] * 2}
)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a != u", "a = v"),
        ("a <> v", "a = u"),
        ("a ≠ u and b != 1", "a = v ∧ b = 2"),
        ("2 != b", "b = 1"),
        ('"wow!" != 1', "wow! = 2"),
        ("wow! = 1", "wow! = 1"),
    ],
)
def test_other_than_one_of_two_values_is_the_other(text: str, meaning: str) -> None:
    assert describe(parse_rule(text, TABLE)) == meaning


def test_one_of_many_values_cannot_be_excluded() -> None:
    with pytest.raises(RoleError, match=r"cannot exclude one of 4 values; compare by =.*at character 3 of 'c != p'"):
        parse_rule("c != p", TABLE)
    with pytest.raises(RoleError, match="'zz' is not a value of 'a'"):
        parse_rule("a != zz", TABLE)
