"""The assumptions behind a causal interpretation of rules, in words (Definition 1, paper §3.1)."""

from __future__ import annotations

from collections.abc import Sequence

from causalrules.text import listed, plain


def assumptions(target: str, actionable: Sequence[str], control: Sequence[str] = ()) -> tuple[str, ...]:
    """State the criteria (a) to (e) for these roles: what acting on a rule assumes if there is no causal graph.

    Parameters
    ----------
    target
        The variable with the outcome.
    actionable
        The variables that rules may contain.
    control
        The variables to adjust for.

    Returns
    -------
    tuple of str
        Criteria without a subject, such as those about controls if there are none, are left out.

    Examples
    --------
    >>> assumptions("survived", ["class", "age"], ["sex"])[3]
    '(d) nothing unobserved is a cause or an effect of class or age'
    """
    x, y, z = listed(actionable, "or"), plain(target), listed(control, "or")
    statements = [f"(a) no effect of {y} on {x}"]
    if control:
        statements.append(f"(b) no effect of {x} on {z}")
    if len(actionable) > 1:
        statements.append(f"(c) no effect of {x} on one another")
    statements.append(f"(d) nothing unobserved is a cause or an effect of {x}")
    if control:
        statements.append(f"(e) no effect of {y} on {z}, direct or indirect")
    return tuple(statements)
