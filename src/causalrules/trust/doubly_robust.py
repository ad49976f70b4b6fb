"""Doubly robust effects: the mean of the scores of rows (`search.row_scores`), cross-fitted on the original controls.

The standard error is that of the mean, and its error the product of the models' errors. Rows on which the rule is
undecided count in the mean, not in the corrections: they are assumed to be like the others, given the controls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from causalrules.estimators import intervals
from causalrules.estimators.sides import side_of, standardised
from causalrules.exceptions import DataError, OptionError
from causalrules.language.features import Vector
from causalrules.language.learning import is_available, require_models
from causalrules.options import Share
from causalrules.result.evidence import DoublyRobust, with_evidence
from causalrules.result.measured import Modelled
from causalrules.search.controls import Controls
from causalrules.search.deadline import Deadline
from causalrules.search.progress import count_bar, watching
from causalrules.search.row_scores import CLIPPED, RowScores, modelled, row_scores
from causalrules.search.run import threads
from causalrules.trust import repeat
from causalrules.trust.balance import balance_of
from causalrules.trust.holdout import compared_rows

if TYPE_CHECKING:
    from causalrules.question import Question
    from causalrules.result.result import R, Result
    from causalrules.result.rule import RuleResult
    from causalrules.search.adjusted import Adjusted

_BINS = 20
# Most rows × controls, over all rules, that are measured with the first answer: some seconds.
_MOST_WORK = 2_000_000
Mask = NDArray[np.bool_]


class Estimate(NamedTuple):
    """The effect with the influence of each row, the same for the rule's own rows, and the rows of both."""

    effect: float
    influence: Vector
    own: float
    own_influence: Vector
    inside: Mask
    clipped: float
    propensity: Vector
    weights: tuple[Vector, Vector]
    levels: tuple[float, float]


class _Rows(NamedTuple):
    """The rows to measure on: how often each counts, and their strata."""

    controls: Controls
    counts: NDArray[np.int64]
    stratum: NDArray[np.int64]
    source: str


def doubly_robust(
    rules: R,
    *,
    confidence: float = 0.95,
    n_jobs: int = -1,
    time_limit: float | None = None,
    progress: bool | repeat.Watcher | None = None,
    due: bool = False,
) -> R:
    """Implement `RuleSet.doubly_robust`; only for rules of which it is `due`, on the rows that were searched."""
    require_models("doubly_robust")
    confidence, deadline = Share()("confidence", confidence), Deadline.after(time_limit)
    problem = repeat.require_problem(rules, "doubly_robust")
    if not rules.question.controls:
        raise OptionError("there are no controls to adjust for")
    if problem.controls is None:
        raise DataError("doubly_robust needs the rows in memory; read the table, or a sample of it, into memory first")
    rows = _searched(problem) if due else _measured_on(problem, rules)
    reach = intervals.beta_of_confidence(confidence)
    measured = list(rules.rules)
    shown = progress if len(rules) else False
    with watching(shown, lambda: count_bar("doubly robust", len(rules))) as watch:
        for place, rule in enumerate(rules):
            if deadline.passed:
                break
            if not due or is_due(rule):
                measured[place] = _measured(rule, rows, rules.question, reach, threads(n_jobs))
            if watch is not None:
                watch(place + 1, len(rules))
    return replace(rules, rules=tuple(measured))


def is_due(rule: RuleResult) -> bool:
    """Whether the word or the effect of a rule waits for models of the controls."""
    if rule.evidence is not None and rule.evidence.doubly_robust is not None:
        return False
    return rule.measured.is_prognostic or (bool(rule.measured.binned) and rule.verdict.found)


def is_quick(rules: Result) -> bool:
    """Whether models of the controls take seconds for all rules of which they are due, and the rows are in memory."""
    due = [rule for rule in rules if is_due(rule)]
    work = 0
    for rule in due:
        controls = rules.problem_of(rule).controls
        if controls is None:
            return False
        work += controls.table.n_records * len(controls.columns)
    return bool(due) and work <= _MOST_WORK and is_available()


def _searched(problem: Adjusted) -> _Rows:
    assert problem.controls is not None
    stratum = problem.strata.index_of(problem.controls.table)
    return _Rows(problem.controls, problem.searched, stratum, "searched rows")


def _measured_on(problem: Adjusted, rules: Result) -> _Rows:
    """Return the held-out rows, if there are any, else those that were searched."""
    rows = _searched(problem)
    honest = None if rules.evidence is None else rules.evidence.honest
    if problem.second is not None:
        stratum = problem.strata.index_of(problem.second.table)
        return _Rows(problem.second, problem.second.frequencies, stratum, "held-out rows")
    if honest is not None and honest.source == "holdout":
        return rows._replace(counts=rows.controls.frequencies - rows.counts, source="held-out rows")
    return rows


def _measured(rule: RuleResult, rows: _Rows, question: Question, reach: float, n_threads: int) -> RuleResult:
    """Return the rule with its doubly robust effect; in strata of a prediction, that is its effect."""
    known = None if rule.evidence is None else rule.evidence.doubly_robust
    margin = _margin(rule, reach, rows.source)
    if known is not None and known.source == rows.source and _has_reach(known, rule, reach):
        return with_evidence(rule, doubly_robust=replace(known, conservative=_conservative(known, rule, margin)))
    controls, counts, stratum, source = rows
    covered, failing = compared_rows(rule, controls.table, question)
    found = estimate(controls, counts, covered, failing, n_threads)
    evidence = _evidence(rule, controls, counts, covered, failing, stratum, found, reach, source)
    evidence = replace(evidence, conservative=_conservative(evidence, rule, margin))
    table = balance_of(controls, counts, covered, failing, stratum, None if found is None else found.weights)
    if found is not None and rule.measured.is_prognostic and source == "searched rows":
        groups = controls.group
        n_groups = None if groups is None else len(np.unique(groups[counts > 0]))
        error = standard_error(found.influence, counts, groups)
        effect = Modelled(found.effect, error, *found.levels, evidence.overlap, n_groups)
        rule = replace(rule, measured=replace(rule.measured, modelled=effect))
    return with_evidence(rule, doubly_robust=evidence, balance=table)


def _margin(rule: RuleResult, reach: float, source: str) -> float:
    """Return how many standard errors a doubly robust effect is moved towards 0: as many as the search's margin has.

    In strata of a prediction, that for the number of rules: shuffled tables know nothing of what the models miss.
    """
    criterion = rule.criterion
    if not criterion.by_length or criterion.two_sided or source != "searched rows":
        return reach
    if rule.measured.is_prognostic:
        return criterion.beta
    known = None if rule.evidence is None else rule.evidence.simultaneous
    shuffled = math.inf if known is None or known.reach is None else known.reach
    return min(criterion.beta * criterion.margin_scale, shuffled)


def _conservative(found: DoublyRobust, rule: RuleResult, margin: float) -> float | None:
    if found.effect is None or found.standard_error is None:
        return None
    sign = math.copysign(1.0, found.effect) if rule.criterion.two_sided else rule.criterion.sign
    return found.effect - sign * margin * found.standard_error


def _has_reach(found: DoublyRobust, rule: RuleResult, reach: float) -> bool:
    """Whether the interval has this many standard errors."""
    if found.effect is None or found.standard_error is None or found.high is None:
        return True
    return math.isclose(found.high, rule.kind.clip(found.effect + reach * found.standard_error))


def estimate(
    controls: Controls,
    counts: NDArray[np.int64],
    covered: NDArray[np.bool_],
    failing: NDArray[np.bool_],
    n_threads: int = 1,
) -> Estimate | None:
    """Estimate the effect of covered over failing rows; None if a side has too few rows to fit models.

    Parameters
    ----------
    controls
        The rows.
    counts
        The weight of each row; 0 leaves it out.
    covered, failing
        The two sides; rows on neither are predicted but not compared.
    n_threads
        Threads of the models.
    """
    nuisances = modelled(controls, counts, (covered, failing), n_threads)
    scores = None if nuisances is None else row_scores(controls.y, counts, (covered, failing), nuisances)
    return None if scores is None else _estimate(controls.y, counts, (covered, failing), scores)


def _estimate(y: Vector, counts: NDArray[np.int64], sides: tuple[Mask, Mask], scores: RowScores) -> Estimate:
    n, inside, psi = counts.astype(np.float64), scores.inside, scores.difference
    means, (first, second) = scores.nuisances
    total = float(n[inside].sum())

    def mean(values: Vector) -> float:
        return float((n * values)[inside].sum()) / total

    effect = mean(psi)
    influence = np.where(inside, psi - effect, 0.0) / total
    # For the effect on the rule's own rows, the other rows are weighted by the odds of the rule.
    used = counts > 0
    shares = [float(n[side & used].sum()) for side in sides]
    odds = np.minimum(first / np.maximum(second, 1e-12), CLIPPED * shares[0] / shares[1])
    members = (sides[0] & inside).astype(np.float64)
    own_psi = (members - (sides[1] & inside) * odds) * (y - means[1])
    n_members = float((n * members).sum())
    own = float((n * own_psi).sum() / n_members)
    own_influence = (own_psi - members * own) / n_members
    clipped = float(n[scores.clipped].sum() / total)
    levels = mean(scores.first), mean(scores.second)
    return Estimate(effect, influence, own, own_influence, inside, clipped, first, scores.weights, levels)


def standard_error(influence: Vector, counts: NDArray[np.int64], groups: NDArray[np.int32] | None) -> float:
    """Return the standard error; with groups, only rows of different groups are independent."""
    if groups is None:
        return float(np.sqrt(np.sum(counts * influence**2)))
    _, members = np.unique(groups[counts > 0], return_inverse=True)
    sums = np.bincount(members, (counts * influence)[counts > 0])
    return float(np.sqrt(len(sums) / max(len(sums) - 1, 1) * np.sum(sums**2)))


def _evidence(
    rule: RuleResult,
    controls: Controls,
    counts: NDArray[np.int64],
    covered: NDArray[np.bool_],
    failing: NDArray[np.bool_],
    stratum: NDArray[np.int64],
    found: Estimate | None,
    reach: float,
    source: str,
) -> DoublyRobust:
    n_rows = int(counts.sum())
    _, place = np.unique(stratum, return_inverse=True)
    everything = np.ones(len(counts), np.bool_)
    sides = [side_of(place, controls.y, counts, each, int(place.max()) + 1) for each in (covered, failing, everything)]
    strata = standardised(sides[0].mean - sides[1].mean, *sides)
    known = None if np.isnan(strata) else float(strata)
    if found is None:
        empty = (0,) * _BINS
        return DoublyRobust(
            source, n_rows, 0.0, 0.0, None, None, None, None, None, known, None, None, None, (empty, empty)
        )
    error = standard_error(found.influence, counts, controls.group)
    own_error = standard_error(found.own_influence, counts, controls.group)
    clip = rule.kind.clip
    low, high = clip(found.effect - reach * error), clip(found.effect + reach * error)
    return DoublyRobust(
        source=source,
        n_rows=n_rows,
        overlap=float(counts[found.inside].sum() / n_rows),
        clipped=found.clipped,
        effect=found.effect,
        standard_error=error,
        low=low,
        high=high,
        conservative=None,
        strata=known,
        own_effect=found.own,
        own_low=clip(found.own - reach * own_error),
        own_high=clip(found.own + reach * own_error),
        propensities=(_histogram(found.propensity, counts * covered), _histogram(found.propensity, counts * failing)),
    )


def _histogram(propensity: Vector, counts: Sequence[int] | NDArray[np.int64]) -> tuple[int, ...]:
    found, _ = np.histogram(propensity, _BINS, (0.0, 1.0), weights=counts)
    return tuple(int(each) for each in found)
