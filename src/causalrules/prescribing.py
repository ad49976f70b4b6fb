"""for_whom() and prescribe(): for whom does an action work, and who should get what?"""

from __future__ import annotations

import os
import platform
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from causalrules import __version__
from causalrules.discovery import measure_named
from causalrules.estimators.intervals import beta_of_confidence
from causalrules.policies import Policy, Segments
from causalrules.policy.coding import Coded, coded_rows
from causalrules.policy.finding import find_segments
from causalrules.policy.gain import BASELINE, FoundPolicy, Search, compare
from causalrules.policy.held_out import held_out_value
from causalrules.policy.steps import PolicyStep, Single
from causalrules.question import ContextQuestion, PolicyQuestion, asks, asks_about
from causalrules.result.verdict import CLAIMS, UNCHECKED
from causalrules.search.deadline import Deadline

if TYPE_CHECKING:
    from causalrules.rules import RuleSet


@asks_about(ContextQuestion)
def for_whom(data: Any, action: Any, question: ContextQuestion) -> Segments:
    """Search for the groups of rows in which an action works better, or worse, than on the others.

    Parameters
    ----------
    data
        Whatever `discover` reads.
    action
        The action as a rule, such as "call = yes and discount >= 10", or its conditions.
    {options}

    Returns
    -------
    Segments
        The groups whose effect differs from that on the others, allowing for the search.
    """
    controls = set(question.controls)
    cuts = {column: points for column, points in dict(question.cuts or {}).items() if column in controls}
    rules = measure_named(data, action, question.about_all(cuts=cuts or None))
    return Segments.of(find_segments(rules, 0, question))


@asks(PolicyQuestion)
def prescribe(data: Any, question: PolicyQuestion) -> Policy:
    """Search for a policy: who should get what, so that the outcome, net of costs, is best.

    Step by step, the pair of a context and an action is found that adds the most to what people would get otherwise,
    allowing for the search. Who is in no step gets the default: today's practice, or one action for everybody.

    Parameters
    ----------
    data
        A table in memory, or a file that fits: whatever `discover` reads but Dask.
    {options}

    Returns
    -------
    Policy
        The steps from top to bottom, with their gains over today's practice, also on held-out rows.
    """
    begun, deadline = time.monotonic(), Deadline.after(question.time_limit)
    coded = coded_rows(data, question, deadline)
    search, n = coded.search(question, deadline), coded.rows.n
    found = search.find(n, nearest=True)
    confidence = 1 - question.error_rate
    held_out = (
        held_out_value(search, n, np.random.default_rng([question.seed, 1]), confidence) if found.optimal else None
    )
    steps = _steps(coded, search, found, confidence)
    candidate = None
    if found.nearest is not None and not steps:
        nearest = found._replace(steps=(found.nearest,), otherwise=None)
        candidate = _steps(coded, search, nearest, confidence)[0]
    listed = [step.action for step in steps] or ([candidate.action] if candidate is not None else [])
    rules = None
    if listed:
        asked = question.about_all(control=coded.control, actionable=coded.problem.roles.actionable, cuts=None)
        rules = measure_named(coded.table, list(dict.fromkeys(listed)), asked)
    single = None
    if found.single is not None:
        gain = search.over_today(n, found.single.action).effect
        single = Single(coded.rows.actions.conditions(found.single.action), gain)
    over_baseline = None
    total = sum(step.gain for step in steps)
    if coded.rows.baseline is not None:
        over_baseline = total - search.over_today(n, BASELINE).effect
    roles = coded.problem.roles
    stopped = "optimal" if found.optimal else "time limit" if deadline.passed else "interrupted"
    return Policy(
        steps=steps,
        candidate=candidate,
        default=coded.rows.actions.conditions(found.default),
        single=single,
        gain_over_baseline=over_baseline,
        held_out=held_out,
        level=float(n @ coded.y / n.sum()),
        cost=float(n @ coded.cost / n.sum()),
        context=coded.context,
        control=coded.control,
        actionable=roles.actionable,
        n_rows=int(n.sum()),
        n_pairs=found.n_pairs,
        optimal=found.optimal,
        stopped=stopped,
        seconds=time.monotonic() - begun,
        claim=_claim(rules),
        kind=roles.outcome.kind,
        question=question.answered(
            outcome=roles.outcome.text,
            control=tuple(name for name in roles.control if name in (*question.controls,)),
            actionable=roles.actionable,
            context=coded.context,
        ),
        alerts=tuple(dict.fromkeys((*coded.alerts, *(rules.alerts if rules is not None else ())))),
        notes=coded.notes,
        versions={"causalrules": __version__, "python": platform.python_version()},
        admissibility=coded.admissibility,
        graph=coded.graph,
        source=os.path.basename(os.fspath(data)) if isinstance(data, (str, os.PathLike)) else None,
        library=coded.problem.library,
    )


def _steps(coded: Coded, search: Search, found: FoundPolicy, confidence: float) -> tuple[PolicyStep, ...]:
    """Measure the steps of a policy; a default other than today's practice is the last."""
    rows, total = coded.rows, float(coded.rows.n.sum())
    reach = beta_of_confidence(confidence)
    known = [*found.steps, *([] if found.otherwise is None else [found.otherwise])]
    measured = []
    for step, part in zip(known, search.parts(rows.n, found), strict=True):
        is_default = step is found.otherwise
        share, got = float(part.sum() / total), rows.got(step.action)
        otherwise = rows.got(() if is_default else found.default)
        effect, cost, gain = (compare(rows, each, part, got, otherwise) for each in (coded.y, coded.cost, rows.u))
        measured.append(
            PolicyStep(
                context=rows.contexts.conditions(step.context),
                action=rows.actions.conditions(step.action),
                n_rows=int(part.sum()),
                share=share,
                effect=effect.effect,
                low=effect.effect - reach * effect.error,
                high=effect.effect + reach * effect.error,
                level=effect.level + effect.effect,
                level_without=effect.level,
                cost=cost.level + cost.effect,
                cost_without=cost.level,
                at_least=step.conservative / (1.0 if is_default else share),
                gain=share * search.over_today(part, step.action).effect,
                gain_over_default=share * gain.effect,
                gain_at_least=step.conservative,
                stands_out=step.conservative > 0,
            )
        )
    return tuple(measured)


def _claim(rules: RuleSet | None) -> str:
    """Return the weakest claim of all actions; unchecked without one."""
    claims = [rule.verdict.claim for rule in rules or ()]
    return max(claims, key=CLAIMS.index, default=UNCHECKED)
