"""Summarise skipped tests, and what would run them: one line for each reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable


def lines(reasons: Iterable[str]) -> list[str]:
    """Return the number of skipped tests by reason, the most frequent first.

    >>> lines(["Skipped: no axe: npm ci in web/", "Skipped: could not import 'a.b': No module named 'a'"] * 2)
    ['2 skipped: no axe: npm ci in web/', "2 skipped: no module 'a': pip install a"]
    """
    plain = (re.sub(r"^Skipped: ", "", reason) for reason in reasons)
    named = (re.sub(r"^could not import '(\w+)[\w.]*'.*", r"no module '\1': pip install \1", each) for each in plain)
    return [f"{n} skipped: {reason}" for reason, n in Counter(named).most_common()]
