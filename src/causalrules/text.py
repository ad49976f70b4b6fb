"""Text for messages. Names and values are untrusted: they are quoted, shortened and made printable."""

from __future__ import annotations

import ast
import difflib
import html
import math
import re
from collections.abc import Iterable, Sequence

_JOINERS = "\u200c\u200d"  # invisible, but part of how some scripts and emoji are written


def quoted(name: object) -> str:
    """Quote a name for an error message, shortened to 60 characters.

    >>> quoted("sex")
    "'sex'"
    """
    text = name if isinstance(name, str) else str(name)
    return repr(text if len(text) <= 60 else text[:57] + "...")


def plain(name: str) -> str:
    """Return a name unchanged if it is readable in a sentence, else quoted.

    >>> plain("blood pressure"), plain("<b>")
    ('blood pressure', "'<b>'")
    """
    return name if re.fullmatch(r"\w(?:[\w .-]{0,58}\w)?", name) else quoted(name)


def listed(names: Sequence[str], joint: str = "and") -> str:
    """Join names in a sentence; of a long list, the first six.

    >>> listed(["a", "b", "c"], "or")
    'a, b or c'
    >>> listed([str(number) for number in range(100)])
    '0, 1, 2, 3, 4, 5 and 94 others'
    """
    shown = [plain(name) for name in (names if len(names) <= 8 else names[:6])]
    if len(names) > 8:
        shown.append(f"{len(names) - 6:,} others")
    return f" {joint} ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown) or "none"


_ABOUT_COLUMN = re.compile(r"""column ('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*") (.*)""", re.DOTALL)
_LEFT_OUT = "is left out: it "


def together(notes: Iterable[str]) -> tuple[str, ...]:
    """Say once what several notes say of different columns.

    >>> together(["column 'a' has one code", "all is well", "column 'b' has one code", "all is well"])
    ('each of the columns a and b has one code', 'all is well')
    >>> together(["column 'a' is left out: it holds lists", "column 'b' is left out: it holds lists"])
    ('columns a and b are left out: each holds lists',)
    """
    columns: dict[str, list[str]] = {}
    for note in dict.fromkeys(notes):
        found = _ABOUT_COLUMN.fullmatch(note)
        names = columns.setdefault(note if found is None else f"\0{found[2]}", [])
        if found is not None:
            names.append(ast.literal_eval(found[1]))
    together = []
    for said, names in columns.items():
        rest = said.removeprefix("\0")
        if len(names) < 2:
            together.append(f"column {names[0]!r} {rest}" if names else said)
        elif rest.startswith(_LEFT_OUT):
            together.append(f"columns {listed(names)} are left out: each {rest.removeprefix(_LEFT_OUT)}")
        else:
            together.append(f"each of the columns {listed(names)} {rest}")
    return tuple(together)


def shorten(names: Sequence[object], most: int = 10, width: int = 40) -> str:
    """List the reprs of up to ten values, each cut to forty characters.

    >>> shorten(["a", "b"]), shorten(range(1000), most=2)
    ("'a', 'b'", '0, 1, … (1,000 in all)')
    """
    shown = [_repr(name) for name in names[:most]]
    shown = [text if len(text) <= width else f"{text[: width - 2]}…{text[-1]}" for text in shown]
    return ", ".join(shown) + (f", … ({len(names):,} in all)" if len(names) > most else "")


def _repr(value: object) -> str:
    try:
        return repr(value)
    except ValueError:  # Python does not write integers of thousands of digits
        return "an integer of thousands of digits"


def counted(count: int, what: str) -> str:
    """Return a count with its noun, in the plural unless it is one.

    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {what}{'s' * (count != 1)}"


def sentence(words: str) -> str:
    """Return words as a sentence; symbols such as p keep their case.

    >>> sentence("every row is compared"), sentence("p = 0.01"), sentence("")
    ('Every row is compared.', 'p = 0.01.', '')
    """
    first, _, _ = words.partition(" ")
    begun = words if first.rstrip(":,") == "p" else words[:1].upper() + words[1:]
    return begun + "." * bool(words and not words.endswith("."))


def p_number(p_value: float | None, sign: str = "=") -> str:
    """Format a p-value: ≤ if no permutation was as good, ≈ if permutations were stopped early.

    It is rounded up to three decimals, so that it is at most the error rate only if the p-value is.

    >>> p_number(0.263), p_number(0.005, "≤"), p_number(0.0502), p_number(2e-15), p_number(0.263, "≈"), p_number(None)
    ('0.263', '≤ 0.005', '0.051', '< 0.001', '≈ 0.26', '–')
    """
    if p_value is None:
        return "–"
    if sign == "≈":
        return f"≈ {p_value:.2g}"
    if p_value < 0.001:
        return "< 0.001"
    return f"{sign.strip('=')} {math.ceil(p_value * 1000 - 1e-9) / 1000:.3f}".strip()


def p_needed(sign: str, level: float) -> str:
    """State the required p-value, or that permutations were stopped because it cannot be reached.

    >>> p_needed("=", 0.05), p_needed("≈", 0.05)
    ('(at most 0.05 needed)', '(stopped early: already above 0.05)')
    """
    return f"(stopped early: already above {level:g})" if sign == "≈" else f"(at most {level:g} needed)"


def adjusted_p(p_value: float, sign: str = "=", adjusted_for: str = "search") -> str:
    """Name a p-value and what it is adjusted for.

    >>> adjusted_p(0.263)
    'p = 0.263, adjusted for the search'
    >>> adjusted_p(0.005, "≤", adjusted_for="number of rules")
    'p ≤ 0.005, adjusted for the number of rules'
    >>> adjusted_p(0.263, adjusted_for="")
    'p = 0.263'
    """
    shown = p_number(p_value, sign)
    said = f"p {'= ' * shown[0].isdigit()}{shown}"
    return f"{said}, adjusted for the {adjusted_for}" if adjusted_for else said


class Summarised:
    """Something that prints its `summary()`, also in notebooks."""

    def summary(self) -> str:
        """Return it in plain words."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.summary())}</pre>"


def number(value: float | None, places: int = 4) -> str:
    """Format a number with a real minus sign; "–" where it is undefined.

    >>> number(-0.5), number(None), number(-0.001, 1)
    ('−0.5000', '–', '0.0')
    """
    # z: no minus before zeros only
    return "–" if value is None or math.isnan(value) else f"{value:z.{places}f}".replace("-", "−")


def percent(value: float, places: int = 1) -> str:
    """Format a share in percent.

    >>> percent(0.054), percent(0.87, 0)
    ('5.4 %', '87 %')
    """
    return "–" if math.isnan(value) else f"{number(100 * value, places)} %"


def points(value: float | None) -> str:
    """Format a difference of probabilities in percentage points.

    >>> points(-0.054)
    '−5.4 points'
    """
    return "no number" if value is None or math.isnan(value) else f"{number(100 * value, 1)} points"


def amount(value: float | None, *column: float | None) -> str:
    """Format a number in the units of a column, to about four digits: those of the largest number beside it, if any.

    >>> amount(1794.3424), amount(-0.01234), amount(2_000_000)
    ('1,794', '−0.01234', '2,000,000')
    >>> amount(0.6439, 0.6439, 1.39961), amount(1.39961, 0.6439, 1.39961)
    ('0.644', '1.400')
    """
    if value is None or math.isnan(value):
        return "–"
    beside = {abs(each) for each in column if each is not None and math.isfinite(each)}
    largest = max(beside, default=abs(value))
    digits = 4 if largest == 0 else max(0, 3 - math.floor(math.log10(largest)))
    text = f"{value:z,.{min(digits, 10)}f}"
    alone = len(beside) < 2 and "." in text
    return (text.rstrip("0").rstrip(".") if alone else text).replace("-", "−")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint to append to "no variable 'sexx'", or an empty string.

    >>> nearest("sexx", ["age", "sex"])
    "; did you mean 'sex'?"
    """
    comparable = [other for other in known if len(other) <= 100][:10_000]
    matches = difflib.get_close_matches(name, comparable, n=1) if len(name) <= 100 else []
    return f"; did you mean {quoted(matches[0])}?" if matches else ""


def unknown_column(name: object, names: Sequence[str]) -> str:
    """Say that there is no such column, and suggest a similar one.

    >>> unknown_column("Sex", ["age", "sex"])
    "no column 'Sex'; did you mean 'sex'?"
    """
    near = difflib.get_close_matches(str(name), names, n=1) or [
        other for other in names if other.casefold() == str(name).casefold()
    ]
    if near:
        return f"no column {name!r}; did you mean {near[0]!r}?"
    return f"no column {name!r}; the columns are {shorten(names)}"


def printable(words: str) -> str:
    """Escape control characters, which a terminal would interpret."""
    return "".join(
        letter if letter.isprintable() or letter in _JOINERS else letter.encode("unicode_escape").decode("ascii")
        for letter in words
    )


def effective(rows: float) -> str:
    """Describe the effective number of rows of an estimate, in a balanced experiment.

    >>> effective(38.4)
    'effectively 38 rows, half of them on each side'
    """
    return f"effectively {counted(round(rows), 'row')}, half of them on each side"
