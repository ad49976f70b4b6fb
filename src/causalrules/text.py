"""Names of variables in sentences: they come from strangers, so they are quoted, cut and listed with care."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

_JOINERS = "\u200c\u200d"  # invisible, but part of how some scripts and emoji are written


def quoted(name: object) -> str:
    """A name as an error message shows it: quoted, on one line, and no longer than a reader can bear.

    >>> quoted("sex")
    "'sex'"
    """
    text = name if isinstance(name, str) else str(name)
    return repr(text if len(text) <= 60 else text[:57] + "...")


def plain(name: str) -> str:
    """A name as a sentence shows it: bare where that can be read, else quoted.

    >>> plain("blood pressure"), plain("<b>")
    ('blood pressure', "'<b>'")
    """
    return name if re.fullmatch(r"\w(?:[\w .-]{0,58}\w)?", name) else quoted(name)


def listed(names: Sequence[str], joint: str = "and") -> str:
    """Names in a sentence, the first few of a long list.

    >>> listed(["a", "b", "c"], "or")
    'a, b or c'
    >>> listed([str(number) for number in range(100)])
    '0, 1, 2, 3, 4, 5 and 94 others'
    """
    shown = [plain(name) for name in (names if len(names) <= 8 else names[:6])]
    if len(names) > 8:
        shown.append(f"{len(names) - 6:,} others")
    return f" {joint} ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown) or "none"


def nearest(name: str, known: Iterable[str]) -> str:
    """What to add to "no variable 'sexx'": the name that was probably meant, or nothing.

    >>> nearest("sexx", ["age", "sex"])
    "; did you mean 'sex'?"
    """
    comparable = [other for other in known if len(other) <= 100][:10_000]
    matches = difflib.get_close_matches(name, comparable, n=1) if len(name) <= 100 else []
    return f"; did you mean {quoted(matches[0])}?" if matches else ""


def printable(words: str) -> str:
    """Spell out what a terminal would obey, such as escape codes and changes of direction."""
    return "".join(
        letter if letter.isprintable() or letter in _JOINERS else letter.encode("unicode_escape").decode("ascii")
        for letter in words
    )
