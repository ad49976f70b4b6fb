"""The comparison of golden results tolerates differences in the last digits only."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from comparing import differences

GOLDEN = Path(__file__).parent / "golden"


def leaves(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every leaf of a nested value: its container, and its key or index there."""
    if isinstance(value, (dict, list)):
        for key, each in [*value.items()] if isinstance(value, dict) else [*enumerate(value)]:
            if isinstance(each, (dict, list)):
                yield from leaves(each)
            else:
                yield value, key


def changed(value: Any) -> Any:
    """Return a value that a comparison must distinguish from the given one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * (1 + 1e-6) if value else 1e-300
    return f"{value}." if isinstance(value, str) else "none"


@pytest.mark.parametrize("case", ["titanic_trust", "kidney_graph"])
def test_any_change_of_a_kept_answer_is_seen(case: str) -> None:
    kept = json.loads((GOLDEN / f"{case}.json").read_text(encoding="utf-8"))
    found = copy.deepcopy(kept)
    places = [*leaves(found)]
    assert len(places) > 100
    for inside, key in places:
        before = inside[key]
        inside[key] = changed(before)
        assert len(differences(found, kept)) == 1, (key, before)
        if isinstance(before, float):
            inside[key] = before * (1 + 1e-12)
            assert not differences(found, kept), (key, before)
        inside[key] = before
    assert not differences(found, kept)


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        (1, 1.0),
        (1, True),
        (0, None),
        (0.0, 1e-17),
        (0.25, 0.25 + 1e-9),
        (math.inf, 1e308),
        (math.nan, 0.0),
        (-0.5, 0.5),
        ("0.5", 0.5),
        ([1], [1, 2]),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, {"a": 1, "b": None}),
    ],
)
def test_different_values_differ(found: Any, kept: Any) -> None:
    assert len(differences(found, kept)) == 1
    assert len(differences(kept, found)) == 1


def test_equal_values_do_not_differ() -> None:
    for found, kept in ((0.1 + 0.2, 0.3), (1e-20 * (1 + 1e-12), 1e-20), (math.inf, math.inf), (math.nan, math.nan)):
        assert not differences([found], [kept])
