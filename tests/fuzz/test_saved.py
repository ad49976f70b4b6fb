"""Modified results and checkpoints are read correctly or rejected; never a wrong result."""

from __future__ import annotations

import hashlib
import json
import random
from functools import cache
from pathlib import Path
from typing import Any

from hostile import attempt
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import causalrules as cr
from strategies import examples

QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@cache
def written() -> str:
    rules = cr.discover(cr.datasets.titanic(), "survived", control="embarked", k=3, max_length=2)
    return rules.significance(19, seed=1).to_json()


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path to every part of a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


@settings(max_examples=examples(50, 500), suppress_health_check=QUIET)
@given(st.data())
def test_changed_results(data: st.DataObject) -> None:
    value = json.loads(written())
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from([place for place in places(value) if place]))
        holder = value
        for key in way:
            holder = holder[key]
        if data.draw(st.booleans()):
            holder[last] = data.draw(JSON)
        else:
            del holder[last]
    text = json.dumps(value)
    if data.draw(st.integers(0, 4)) == 0:
        place = data.draw(st.integers(0, len(text)))
        text = data.draw(st.sampled_from([text[:place], text[:place] + "\0" + text[place:], "[" * 5000, text * 2]))
    rules = attempt(lambda: cr.RuleSet.from_json(text))
    if rules is not None:
        str(rules), repr(rules), rules.to_frame(), rules.to_json()


DRAWN = random.Random(1)
TABLE = {f"x{number}": [DRAWN.randrange(9) for _ in range(60)] for number in range(3)}
TABLE["y"] = [number % 2 for number in range(60)]


def ask(path: Path | None) -> cr.RuleSet:
    return cr.discover(TABLE, "y", k=3, max_length=2, n_jobs=1, progress=False, checkpoint=path)


@settings(max_examples=examples(15, 150), suppress_health_check=QUIET)
@given(st.data())
def test_changed_checkpoints(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "search.ckpt"
    path.unlink(missing_ok=True)
    expected = ask(path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] ^= data.draw(st.integers(1, 255))
    if data.draw(st.booleans()):
        # Tampering that knows the format: invalid numbers with a valid checksum.
        _, numbers = bytes(content).split(b"\n", 1)
        original = path.read_bytes().split(b"\n", 1)[0]
        known = json.loads(original)
        numbers = numbers[: len(numbers) // 8 * 8]
        known |= {"bytes": len(numbers), "sha256": hashlib.sha256(numbers).hexdigest()}
        path.write_bytes(json.dumps(known).encode() + b"\n" + numbers)
        attempt(lambda: ask(path))
        event("forged")
        return
    path.write_bytes(bytes(content))
    found = attempt(lambda: ask(path))
    if found is not None:
        assert [rule.text for rule in found] == [rule.text for rule in expected]
