"""The assumptions behind a causal interpretation of rules, in words (Definition 1, paper §3.1)."""

from __future__ import annotations

from collections.abc import Sequence

from causalrules.text import listed, plain


def assumptions(
    target: str,
    actionable: Sequence[str],
    control: Sequence[str] = (),
    randomised: Sequence[str] = (),
    context: Sequence[str] = (),
) -> tuple[str, ...]:
    """State the criteria (a) to (g) for these roles: what acting on a rule assumes if there is no causal graph.

    A randomised column has no cause but its draw, so what it could share with the outcome is not assumed away: (r)
    takes the place of (a), (c) and (d). It may have effects that nobody observed.

    Parameters
    ----------
    target
        The variable with the outcome.
    actionable
        The variables that rules may contain.
    control
        The variables to adjust for.
    randomised
        Those of the actionable variables that were assigned at random, given the controls.
    context
        The variables that describe groups.

    Returns
    -------
    tuple of str
        Criteria without a subject, such as those about controls if there are none, are left out.

    Examples
    --------
    >>> assumptions("survived", ["class", "age"], ["sex"])[3]
    '(d) nothing unobserved is a cause or an effect of class or age'
    >>> assumptions("recovered", ["drug"], ["sex"], randomised=["drug"])[0]
    '(r) drug was assigned at random, given sex: nothing else decided it'
    >>> assumptions("recovered", ["drug"], ["sex"], context=["sex", "age"])[-2:]
    ('(f) no effect of drug on age', '(g) no effect of recovered on age, direct or indirect')
    """
    drawn = [name for name in actionable if name in randomised]
    others = [name for name in actionable if name not in drawn]
    groups = [name for name in context if name not in control]
    every, x, y, z = listed(actionable, "or"), listed(others, "or"), plain(target), listed(control, "or")
    statements = []
    if drawn:
        verb, given = "was" if len(drawn) == 1 else "were", f", given {listed(control)}" * bool(control)
        statements.append(f"(r) {listed(drawn)} {verb} assigned at random{given}: nothing else decided it")
    if others:
        statements.append(f"(a) no effect of {y} on {x}")
    if control:
        statements.append(f"(b) no effect of {every} on {z}")
    if others and len(actionable) > 1:
        statements.append(f"(c) no effect of {every} on one another")
    if others:
        neither = f", and neither {'is' if len(groups) == 1 else 'are'} {listed(groups)}" * bool(groups)
        statements.append(f"(d) nothing unobserved is a cause or an effect of {x}{neither}")
    if control:
        statements.append(f"(e) no effect of {y} on {z}, direct or indirect")
    if groups:
        statements.append(f"(f) no effect of {every} on {listed(groups, 'or')}")
        statements.append(f"(g) no effect of {y} on {listed(groups, 'or')}, direct or indirect")
    return tuple(statements)
