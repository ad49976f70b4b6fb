"""Whole lists of rules that add to each other, against brute force, over all options.

Without hypothesis, and much faster: `python tests/fuzz/test_ladders.py SECONDS [SEED]` tries new seeds, reports the
number of ladders, and prints the seed of each that differs.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1]))

from ladders import check


@pytest.mark.parametrize("part", range(4))
def test_ladders_agree_with_brute_force(part: int, request: pytest.FixtureRequest) -> None:
    seed = request.config.getoption("--hypothesis-seed")
    n, first = (15, 0) if seed is None else (500, Random(str(seed)).randrange(2**40))
    for place in range(n * part, n * (part + 1)):
        check(Random(first + place).choice)
    print(f"{n} problems")  # counted by dev.py fuzz


def main() -> None:
    begun = time.monotonic()
    end = begun + float(sys.argv[1])
    first = seed = int(sys.argv[2]) if len(sys.argv) > 2 else Random().randrange(2**40)
    wrong = 0
    rules: Counter[int] = Counter()
    held: Counter[str] = Counter()
    while time.monotonic() < end:
        try:
            found = check(Random(seed).choice)
            rules[found.listed] += 1
            held.update(strata=found.by_strata, predictions=found.by_prediction)
        except Exception as error:
            wrong += 1
            print(f"seed {seed}: {type(error).__name__} {str(error)[:300]}", flush=True)
            if wrong > 20:
                break
        seed += 1
    print(f"{seed - first:,} ladders from seed {first} in {time.monotonic() - begun:.0f} s, {wrong} differ")
    print(f"by rules: {dict(sorted(rules.items()))}; steps in which columns are held fixed: {dict(held)}")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
