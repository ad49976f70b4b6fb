"""Doubly robust effects: the mean of the scores of rows (`search.row_scores`), cross-fitted on the original controls.

The standard error is that of the mean, and its error the product of the models' errors. Rows on which the rule is
undecided count in the mean, not in the corrections: they are assumed to be like the others, given the controls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from causalrules.estimators import intervals
from causalrules.estimators.sides import side_of, standardised
from causalrules.exceptions import DataError, OptionError
from causalrules.language.features import Vector
from causalrules.language.learning import require_models
from causalrules.options import Share
from causalrules.result.evidence import DoublyRobust, with_evidence
from causalrules.search.controls import Controls
from causalrules.search.deadline import Deadline
from causalrules.search.progress import count_bar, watching
from causalrules.search.row_scores import CLIPPED, RowScores, modelled, row_scores
from causalrules.search.run import threads
from causalrules.trust import repeat
from causalrules.trust.balance import balance_of
from causalrules.trust.holdout import compared_rows

if TYPE_CHECKING:
    from causalrules.result.result import R
    from causalrules.result.rule import RuleResult

_BINS = 20
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


def doubly_robust(
    rules: R,
    *,
    confidence: float = 0.95,
    n_jobs: int = -1,
    time_limit: float | None = None,
    progress: bool | repeat.Watcher | None = None,
) -> R:
    """Implement `RuleSet.doubly_robust`."""
    require_models("doubly_robust")
    confidence, deadline = Share()("confidence", confidence), Deadline.after(time_limit)
    problem = repeat.require_problem(rules, "doubly_robust")
    if not rules.question.controls:
        raise OptionError("there are no controls to adjust for")
    if problem.controls is None:
        raise DataError("doubly_robust needs the rows in memory; read the table, or a sample of it, into memory first")
    controls, counts, source = problem.controls, problem.searched, "searched rows"
    honest = None if rules.evidence is None else rules.evidence.honest
    if problem.second is not None:
        controls, source = problem.second, "held-out rows"
        counts = controls.frequencies
    elif honest is not None and honest.source == "holdout":
        counts, source = controls.frequencies - counts, "held-out rows"
    stratum = problem.strata.index_of(controls.table)
    reach = intervals.beta_of_confidence(confidence)
    measured = list(rules.rules)
    shown = progress if len(rules) else False
    with watching(shown, lambda: count_bar("doubly robust", len(rules))) as watch:
        for place, rule in enumerate(rules):
            if deadline.passed:
                break
            covered, failing = compared_rows(rule, controls.table, rules.question)
            found = estimate(controls, counts, covered, failing, threads(n_jobs))
            searched = rule.criterion.by_length and not rule.criterion.two_sided and source == "searched rows"
            margin = rule.criterion.beta if searched else reach
            evidence = _evidence(rule, controls, counts, covered, failing, stratum, found, reach, margin, source)
            weighted = None if found is None else found.weights
            table = balance_of(controls, counts, covered, failing, stratum, weighted)
            measured[place] = with_evidence(rule, doubly_robust=evidence, balance=table)
            if watch is not None:
                watch(place + 1, len(rules))
    return replace(rules, rules=tuple(measured))


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
    total = n[inside].sum()
    effect = float((n * psi)[inside].sum() / total)
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
    return Estimate(effect, influence, own, own_influence, inside, clipped, first, scores.weights)


def standard_error(influence: Vector, counts: NDArray[np.int64], groups: NDArray[np.int32] | None) -> float:
    """Return the standard error; with groups, only rows of different groups are independent."""
    if groups is None:
        return float(np.sqrt(np.sum(counts * influence**2)))
    return float(np.sqrt(np.sum(np.bincount(groups - groups.min(), counts * influence) ** 2)))


def _evidence(
    rule: RuleResult,
    controls: Controls,
    counts: NDArray[np.int64],
    covered: NDArray[np.bool_],
    failing: NDArray[np.bool_],
    stratum: NDArray[np.int64],
    found: Estimate | None,
    reach: float,
    margin: float,
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
    sign = float(np.sign(found.effect)) if rule.criterion.two_sided else rule.criterion.sign
    return DoublyRobust(
        source=source,
        n_rows=n_rows,
        overlap=float(counts[found.inside].sum() / n_rows),
        clipped=found.clipped,
        effect=found.effect,
        standard_error=error,
        low=low,
        high=high,
        conservative=found.effect - sign * margin * error,
        strata=known,
        own_effect=found.own,
        own_low=clip(found.own - reach * own_error),
        own_high=clip(found.own + reach * own_error),
        propensities=(_histogram(found.propensity, counts * covered), _histogram(found.propensity, counts * failing)),
    )


def _histogram(propensity: Vector, counts: Sequence[int] | NDArray[np.int64]) -> tuple[int, ...]:
    found, _ = np.histogram(propensity, _BINS, (0.0, 1.0), weights=counts)
    return tuple(int(each) for each in found)
