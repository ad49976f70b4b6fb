"""From a measured action to the groups in which it works better, or worse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from causalrules.estimators.intervals import beta_of_confidence
from causalrules.exceptions import InadmissibleError
from causalrules.policy.differing import search, shown
from causalrules.policy.scoring import scored_action
from causalrules.policy.segments import SegmentList
from causalrules.search.deadline import Deadline
from causalrules.search.run import threads
from causalrules.text import counted

if TYPE_CHECKING:
    from causalrules.graph.admissibility import Admissibility
    from causalrules.policy.differing import Search
    from causalrules.question import ContextQuestion
    from causalrules.result.result import Result
    from causalrules.result.rule import RuleResult


def find_segments(rules: Result, place: int, question: ContextQuestion) -> SegmentList:
    """Search for the groups in which the action of a rule of a result works better, or worse."""
    deadline = Deadline.after(question.time_limit)
    scored = scored_action(rules, place, question)
    rule, rows = rules[place], scored.rows
    admissibility = _admitted(rules, rule, scored.context, question)
    found = search(
        rows,
        k=question.k,
        error_rate=question.error_rate,
        min_coverage=question.min_coverage,
        permutations=question.permutations,
        seed=question.seed,
        sign=-1.0 if question.direction == "decrease" else 1.0,
        n_threads=threads(question.n_jobs),
        deadline=deadline,
    )
    concerned = {*scored.context, *scored.control, *(condition.column for condition in rule.conditions)}
    clip = rule.kind.clip
    everybody = rows.counts > 0
    effect, error = rows.mean(rows.psi), rows.error(rows.psi, everybody)
    reach = beta_of_confidence(1 - question.error_rate)
    return SegmentList(
        segments=tuple(shown(each, clip, scored.centre) for each in found.segments),
        candidate=None if found.candidate is None else shown(found.candidate, clip, scored.centre),
        rule=rule,
        effect=effect,
        low=clip(effect - reach * error),
        high=clip(effect + reach * error),
        level=rows.mean(rows.first) + scored.centre,
        level_without=rows.mean(rows.second) + scored.centre,
        context=scored.context,
        control=scored.control,
        n_rows=scored.n_rows,
        n_compared=scored.n_compared,
        n_no_overlap=scored.n_no_overlap,
        n_groups=found.n_groups,
        permutations=found.permutations,
        by_models=scored.by_models,
        known_shares=scored.known_shares,
        question=question.answered(outcome=rules.question.outcome, control=scored.control, context=scored.context),
        alerts=tuple(alert for alert in rules.alerts if not alert.columns or concerned & set(alert.columns)),
        notes=tuple(dict.fromkeys((*_unfinished(found), *scored.notes, *rules.notes))),
        versions=rules.versions,
        admissibility=admissibility,
        graph=rules.graph,
        source=rules.source,
        library=rules.library,
    )


def _admitted(
    rules: Result, rule: RuleResult, context: Sequence[str], question: ContextQuestion
) -> Admissibility | None:
    """Check the context by the causal graph, and raise an InadmissibleError unless that is allowed."""
    if rules.graph is None:
        return None
    from causalrules.graph.admissibility import check

    columns = sorted({condition.column for condition in rule.conditions})
    control = [*rule.control, *rule.held_fixed]
    checked = check(rules.graph, target=rules.question.target, actionable=columns, control=control, context=context)
    if not checked and not checked.identified and not question.allow_inadmissible:
        raise InadmissibleError(checked)
    return checked


def _unfinished(found: Search) -> list[str]:
    if found.finished:
        return []
    return [f"stopped at the time limit after {counted(len(found.segments), 'group')}; others may differ as well"]
