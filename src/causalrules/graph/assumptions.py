"""What must hold for the effects of rules to be told from data, in words (Definition 1, §3.1)."""

from __future__ import annotations

from collections.abc import Sequence

from causalrules.text import listed, plain


def assumptions(target: str, actionable: Sequence[str], control: Sequence[str] = ()) -> tuple[str, ...]:
    """What the reader of rules assumes where no causal graph was given: criteria (a) to (e), with the names.

    >>> assumptions("survived", ["class", "age"], ["sex"])[3]
    '(d) nothing unobserved is a cause or an effect of class or age'
    """
    x, y, z = listed(actionable, "or"), plain(target), listed(control, "or")
    said = [f"(a) no effect of {y} on {x}"]
    if control:
        said.append(f"(b) no effect of {x} on {z}")
    if len(actionable) > 1:
        said.append(f"(c) no effect of {x} on one another")
    said.append(f"(d) nothing unobserved is a cause or an effect of {x}")
    if control:
        said.append(f"(e) no effect of {y} on {z}, direct or indirect")
    return tuple(said)
