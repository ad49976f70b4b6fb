"""Prognostic strata: quantiles of the predicted target, given the controls (Hansen 2008; docs/controls.md).

Strata of ten controls hold about one row each. The predicted target sums up the controls in one number that does not
depend on the rule, so the search runs in its quantiles as in any other strata.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from causalrules.data.bins import Bins
from causalrules.data.reading import read
from causalrules.data.table import Table
from causalrules.exceptions import OptionError
from causalrules.language.features import Feature, Features, Matrix, Vector
from causalrules.language.learning import (
    INSTALL,
    Learner,
    Predictor,
    Watcher,
    cross_fit,
    fold_of,
    is_available,
    predict,
    require_models,
    row_hash,
)
from causalrules.language.outcome import Outcome
from causalrules.language.strata import SCORES, Combined, Strata, default_bins
from causalrules.text import counted, plain

if TYPE_CHECKING:
    from causalrules.data.dask import Observing
    from causalrules.question import Question

# Minimum average rows in exact strata.
THICK = 10
# Minimum rows to fit models of the controls.
FEWEST_ROWS = 200
# Maximum difference of the prediction within exact strata of large tables, in standard deviations of the target.
_LEFT = 0.01
# Maximum rows to fit models to, drawn by a hash of their controls; models are applied to all rows.
MOST_FITTED = 200_000


@dataclass(frozen=True, eq=False)
class ScoreBins:
    """Bins of the predicted target; takes the place of a control's bins in `Strata`.

    Attributes
    ----------
    features, models
        The controls, and one model for each fold of the rows.
    uppers
        Upper ends of all bins but the last.
    seed
        Seed of the folds.
    groups
        Column of groups, whose rows share a fold; None if rows are independent.
    """

    features: Features
    models: tuple[Predictor, ...]
    uppers: Vector
    seed: int
    groups: str | None = None

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return len(self.uppers) + 1

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the prediction needs."""
        return (*self.features.columns, *([] if self.groups is None else [self.groups]))

    def codes(self, table: Table, unseen: bool = False) -> NDArray[np.int32]:
        """Return the bin of each row; every row has one."""
        return self.codes_of(self.features.matrix(table), group_codes(table, self.groups))

    def codes_of(self, matrix: Matrix, groups: NDArray[Any] | None = None) -> NDArray[np.int32]:
        """Return the bins of rows of the controls, by models that were not trained on these rows."""
        scores = predict(self.models, matrix, fold_of(matrix, self.seed, groups))
        return np.searchsorted(self.uppers, scores).astype(np.int32)


def group_codes(table: Table, column: str | None) -> NDArray[np.int32] | None:
    """Return the group number of each row; each row without a group is a group of its own."""
    if column is None or column not in table.names:
        return None
    n_groups = len(table.histogram(column).values)
    codes = table.codes(column, np.arange(n_groups))
    alone = codes < 0
    codes[alone] = n_groups + np.arange(np.count_nonzero(alone))
    return codes


def adjusting(
    table: Table,
    exact: Callable[[], Combined],
    outcome: Outcome,
    question: Question,
    columns: tuple[str, ...],
    n_threads: int = 1,
    watch: Watcher | None = None,
) -> Strata:
    """Return the strata that the question asks for: exact, prognostic, or whichever suit the table.

    Exact strata suit a table if they hold at least 10 rows on average and bins of the controls leave little behind
    (`left_behind`), or if there are fewer than 200 rows to fit models to. Thin ones are also kept if a control alone
    has categories of fewer rows than that, such as matched pairs or patients of many doctors: no model learns such
    categories, and comparing just their rows is right, unless most rows are alone in their strata. The choice does not
    depend on the rules.
    """
    if not columns or question.adjust == "strata":
        return exact().strata()
    if question.adjust == "prognostic":
        require_models("adjust='prognostic'")
        if _repeats(table):
            raise OptionError(
                f"the {table.n_records:,} weighted rows stand for {table.n_rows:,}, and equal rows must not share a "
                "model's fold; repeat the rows instead of weighting them, or give 'strata'",
                parameter="adjust",
                value="'prognostic'",
            )
        if table.storage == "workers" and table.n_rows >= THICK * (n_strata := exact().n_strata):
            raise OptionError(
                f"the controls have {n_strata:,} combinations of values for {table.n_rows:,} rows, and equal rows on "
                "several workers must not share a model's fold; give 'strata', or compute() the table",
                parameter="adjust",
                value="'prognostic'",
            )
        return prognostic(table, outcome, question, columns, n_threads, watch)
    combined = exact()
    if table.n_rows < FEWEST_ROWS or _repeats(table):
        return combined.strata()
    if table.n_rows >= THICK * combined.n_strata:
        return _unless_coarse(combined, table, outcome, question, columns, n_threads, watch)
    thin = (
        f"{combined.n_strata:,} strata of {counted(len(columns), 'control')} hold fewer than {THICK} of the "
        f"{table.n_rows:,} rows each on average"
    )
    scattered = [part for part in Features.of(table, columns, question.categorical).parts if _is_scattered(part, table)]
    unknown = "".join(
        f"; control {part.column!r} has {part.bins.n_bins:,} values, too few rows of each for a model to learn"
        for part in scattered
        if part.bins is not None
    )
    if scattered and table.n_rows >= 2 * combined.n_strata:
        return combined.strata().noting(
            f"{thin}{unknown}: the strata are kept, each row is compared with the few of its own; adjust='prognostic' "
            "adjusts for what models can learn of the controls instead"
        )
    if not is_available():
        return combined.strata().noting(
            f"{thin}, few to compare; to adjust for what the controls predict instead: {INSTALL}"
        )
    result = prognostic(table, outcome, question, columns, n_threads, watch)
    left = f"{unknown}, so that some of its confounding stays: group its values" if unknown else ""
    return result.noting(f"{thin}: {_instead(result, outcome)}{left}")


def _instead(result: Strata, outcome: Outcome) -> str:
    return (
        f"adjusted for the {_name(outcome)} of the outcome given the controls instead, in {result.n_strata} strata; "
        "adjust='strata' keeps the strata, adjust='prognostic' always does this"
    )


def _unless_coarse(
    combined: Combined,
    table: Table,
    outcome: Outcome,
    question: Question,
    columns: tuple[str, ...],
    n_threads: int,
    watch: Watcher | None,
) -> Strata:
    """Return exact strata, unless bins of the controls leave too much of what the controls predict within them.

    At most half a standard error of a balanced comparison, or 1 % of a standard deviation of the target. Large tables
    have fine bins, and keep them.
    """
    binned = [name for name in combined.binned if name not in (question.cuts or {})]
    if question.control_bins is not None or not binned or table.n_rows > MOST_FITTED or not is_available():
        return combined.strata()
    fitted = _fit(table, outcome, question, columns, n_threads, watch)
    rows = fitted.rows
    deviation = float(np.sqrt(np.cov(rows.y, aweights=rows.weights, ddof=0)))
    share = float(np.corrcoef(fitted.scores, rows.y)[0, 1]) if np.ptp(fitted.scores) and deviation > 0 else 0.0
    # One model for all rows: models of other folds differ by noise, within strata too.
    left = max(share, 0.0) * left_behind(_stratum(combined, fitted), fitted.models[0](rows.matrix), rows.weights)
    most = max(1 / math.sqrt(table.n_rows), _LEFT)
    if left <= most:
        return combined.strata()
    result = _prognostic(fitted, table, outcome, question)
    sizes = ", ".join(f"{plain(name)} in {len(combined.ends[name])}" for name in binned)
    leaves, allowed = (outcome.kind.difference(each * deviation) for each in (left, most))
    return result.noting(
        f"bins of the controls ({sizes}) leave {leaves} of what these predict (at most {allowed}): "
        f"{_instead(result, outcome)}"
    )


def left_behind(stratum: NDArray[np.intp], scores: Vector, weights: Vector) -> float:
    """Return how much a prediction differs within strata, between the rows above its quartiles and those below.

    For each quartile q, over strata z with rows s on both sides, in standard deviations of s; the largest of

        Σ_z n_z/n (mean of s > q − mean of s ≤ q)

    Strata that determine the prediction leave 0, as do those in which all rows are on one side.

    >>> score = np.arange(8.0)
    >>> left_behind(np.arange(8), score, np.ones(8)), round(left_behind(np.zeros(8, int), score, np.ones(8)), 2)
    (0.0, 1.75)
    """
    deviation = float(np.sqrt(np.cov(scores, aweights=weights, ddof=0)))
    if not deviation > 0:
        return 0.0
    n_strata, largest = int(stratum.max()) + 1, 0.0
    for threshold in quantiles(scores, weights, 4):
        above = scores > threshold
        n, total = (
            [np.bincount(stratum[side], each[side], n_strata) for side in (above, ~above)]
            for each in (weights, weights * scores)
        )
        both = (n[0] > 0) & (n[1] > 0)
        apart = total[0][both] / n[0][both] - total[1][both] / n[1][both]
        largest = max(largest, float((n[0] + n[1])[both] @ apart) / float(weights.sum()) / deviation)
    return largest


def _stratum(combined: Combined, fitted: _Fitted) -> NDArray[np.intp]:
    """Return the exact stratum of each row that models were fitted to."""
    stratum = np.zeros(len(fitted.scores), np.intp)
    for part, column in zip(fitted.features.parts, fitted.rows.matrix.T, strict=True):
        ends, values = combined.ends[part.column], combined.table.histogram(part.column).values
        known = column
        if len(ends) < len(values):
            uppers = values.sortable[ends[:-1]].astype(np.float64) if part.bins is None else ends[:-1]
            known = np.searchsorted(uppers, column).astype(np.float64)
        # Missing comes last.
        codes = np.unique(np.where(np.isnan(column), np.inf, known), return_inverse=True)[1]
        stratum = np.unique(stratum * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
    return stratum


def prognostic(
    table: Table,
    outcome: Outcome,
    question: Question,
    columns: tuple[str, ...],
    n_threads: int = 1,
    watch: Watcher | None = None,
) -> Strata:
    """Form strata of quantiles of the predicted target, as many as the bins of a single control.

    Models are fitted to all rows, or to about 200,000 of them, and applied to all. The order of the rows matters only
    for rows with equal controls, which are assigned to folds in the order of the table, or of their slice or partition.
    """
    return _prognostic(_fit(table, outcome, question, columns, n_threads, watch), table, outcome, question)


class _Fitted(NamedTuple):
    """Models of the controls, one for each fold, the rows that they were fitted to, and the predictions for these."""

    features: Features
    models: list[Predictor]
    rows: _Rows
    scores: Vector


def _fit(
    table: Table,
    outcome: Outcome,
    question: Question,
    columns: tuple[str, ...],
    n_threads: int,
    watch: Watcher | None,
) -> _Fitted:
    features = Features.of(table, columns, question.categorical)
    rows = _to_fit(table, features, outcome, question.seed, question.groups)
    learner = Learner(features, outcome.kind.binary, question.adjust_model, question.seed)
    models = cross_fit(learner, rows.matrix, rows.y, rows.weights, rows.fold, n_threads, watch)
    return _Fitted(features, models, rows, predict(models, rows.matrix, rows.fold))


def _prognostic(fitted: _Fitted, table: Table, outcome: Outcome, question: Question) -> Strata:
    features, models, rows, scores = fitted
    n_bins = default_bins(table.n_rows, 1) if question.control_bins is None else question.control_bins
    uppers = quantiles(scores, rows.weights, n_bins)
    return score_strata(ScoreBins(features, tuple(models), uppers, question.seed, question.groups), scores, outcome)


class _Rows(NamedTuple):
    """Rows that models are fitted to."""

    matrix: Matrix
    y: Vector
    weights: Vector
    fold: NDArray[np.intp]

    def sampled(self, share: float, seed: int) -> _Rows:
        """Draw a share of the rows by a hash of their controls."""
        if share >= 1:
            return self
        drawn = row_hash(self.matrix, seed + 1) < np.uint64(share * 2**64)
        return _Rows(self.matrix[drawn], self.y[drawn], self.weights[drawn], self.fold[drawn])


def _to_fit(table: Table, features: Features, outcome: Outcome, seed: int, groups: str | None) -> _Rows:
    """Return the rows to fit models to, from memory, files or workers."""
    share = MOST_FITTED / table.n_records
    if table.storage == "memory":
        return _read(table, features, targets(table, outcome), seed, groups).sampled(share, seed)
    last = np.flatnonzero(np.append(outcome.level[1:] != outcome.level[:-1], True))
    if table.storage == "files":
        from causalrules.data.streaming import StreamedTable

        assert isinstance(table, StreamedTable)
        by_level = table.code(outcome.column, last)
        target = table.quantity(outcome.column, outcome.centre) if not outcome.kind.binary else by_level
        parts = []
        for matrix, (y, weights) in features.batches(table, target, table.weight):
            y = y if not outcome.kind.binary else outcome.level[last][np.asarray(y)]
            rows = _Rows(matrix, np.asarray(y, np.float64), np.asarray(weights, np.float64), fold_of(matrix, seed))
            parts.append(rows.sampled(share, seed))
    else:
        from causalrules.data.dask import DistributedTable

        assert isinstance(table, DistributedTable)
        bins = None if not outcome.kind.binary else Bins.of(table, outcome.column, last)
        used = {*features.columns, *table.columns, groups}
        found = table.map(
            _read_part,
            table.observing,
            features,
            outcome.centre if bins is None else bins,
            outcome.level[last],
            share,
            seed,
            groups,
            columns=used,
        )
        parts = table.gather(found)
    matrix, y, weights, fold = (np.concatenate(each) for each in zip(*parts, strict=True))
    return _Rows(matrix, y, weights, fold)


def _read(table: Table, features: Features, y: Vector, seed: int, groups: str | None) -> _Rows:
    matrix = features.matrix(table)
    weights = np.ones(len(y)) if table.weights is None else table.weights.astype(np.float64)
    return _Rows(matrix, y, weights, fold_of(matrix, seed, group_codes(table, groups)))


def _read_part(
    part: Any,
    observing: Observing,
    features: Features,
    bins: Bins | int | float,
    level: NDArray[np.uint8],
    share: float,
    seed: int,
    groups: str | None,
) -> _Rows:
    """Read the rows to fit of one partition, on its worker; `bins` are those of the target, or the centre of a mean."""
    table = read(part).observed(*observing)
    y = level[bins.codes(table)].astype(np.float64) if isinstance(bins, Bins) else table.quantities(observing[0], bins)
    return _read(table, features, y, seed, groups).sampled(share, seed)


def score_strata(bins: ScoreBins, scores: Vector, outcome: Outcome) -> Strata:
    """Return the strata of bins of the predicted target."""
    name = _name(outcome)
    texts = ranges([float(scores.min()), *bins.uppers.tolist(), float(scores.max())], float(outcome.centre))
    return Strata(
        columns=(name,),
        ends={name: np.arange(bins.n_bins, dtype=np.intp)},
        bins={name: bins},
        labels=tuple({name: text} for text in texts),
        notes=bins.features.notes,
        _levels=(np.arange(bins.n_bins, dtype=np.int64),),
    )


def targets(table: Table, outcome: Outcome) -> Vector:
    """Return the target of each row: 1 if a binary outcome happens, or its value minus the centre."""
    positions = table.codes(outcome.column, np.arange(len(outcome.level), dtype=np.intp))
    if outcome.kind.binary:
        return outcome.level.astype(np.float64)[positions]
    return outcome.centred(table.histogram(outcome.column).values.sortable)[positions]


def quantiles(scores: Vector, weights: Vector, n_bins: int) -> Vector:
    """Return the upper ends of all bins but the last, of about equal numbers of rows; equal scores share a bin."""
    values, place = np.unique(scores, return_inverse=True)
    before = np.cumsum(np.bincount(place, weights))
    wanted = before[-1] * np.arange(1, n_bins) / n_bins
    cuts = np.unique(np.searchsorted(before, wanted * (1 - 1e-12)))
    return np.asarray(values[cuts[cuts < len(values) - 1]])


def _is_scattered(part: Feature, table: Table) -> bool:
    """Whether a control has categories with too few rows each for a model to learn."""
    return part.n_categories > 0 and part.bins is not None and table.n_rows < THICK * part.bins.n_bins


def _repeats(table: Table) -> bool:
    """Whether the weights stand for more than two rows per record on average."""
    return table.n_rows > 2 * table.n_records


def _name(outcome: Outcome) -> str:
    return SCORES[not outcome.kind.binary]


def ranges(ends: list[float], centre: float) -> list[str]:
    """Format the ranges of centred predictions with as few digits as distinguish them."""
    if len({centre + end for end in ends}) < len(set(ends)):
        return [f"{centre:.17g} + ({each})" for each in ranges(ends, 0.0)]
    ends = [centre + end for end in ends]
    for digits in range(2, 18):
        texts = [f"{end:.{digits}g}" for end in ends]
        if len(set(texts)) == len(set(ends)):
            break
    return [f"{low} to {high}" for low, high in itertools.pairwise(texts)]
