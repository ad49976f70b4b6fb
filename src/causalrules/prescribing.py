"""for_whom(): for whom does an action work?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from causalrules.discovery import measure_named
from causalrules.estimators.intervals import beta_of_confidence
from causalrules.policies import Segments
from causalrules.policy.differing import search, shown
from causalrules.policy.scoring import scored_action
from causalrules.question import ContextQuestion, asks_about
from causalrules.search.deadline import Deadline
from causalrules.search.run import threads

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
    return segments(measure_named(data, action, question.about_all(cuts=cuts or None)), 0, question)


def segments(rules: RuleSet, place: int, question: ContextQuestion) -> Segments:
    """Search for the groups in which a rule of a result works better, or worse."""
    deadline = Deadline.after(question.time_limit)
    scored = scored_action(rules, place, question)
    rule, rows = rules[place], scored.rows
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
    clip = rule.kind.clip
    everybody = rows.counts > 0
    effect, error = rows.mean(rows.psi), rows.error(rows.psi, everybody)
    reach = beta_of_confidence(1 - question.error_rate)
    return Segments(
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
        question=question,
        alerts=rules.alerts,
        notes=tuple(dict.fromkeys((*scored.notes, *rules.notes))),
        versions=rules.versions,
        admissibility=rules.admissibility,
        graph=rules.graph,
        source=rules.source,
        library=rules.library,
    )
