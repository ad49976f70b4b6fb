"""The original controls of a problem's rows, read from the table when needed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules.data.table import Table
from causalrules.language.features import Features, Matrix, Vector
from causalrules.language.learning import fold_of
from causalrules.language.outcome import Outcome
from causalrules.language.prognostic import group_codes, targets


@dataclass(frozen=True, eq=False)
class Controls:
    """The table behind the coded rows of a problem.

    Attributes
    ----------
    table, outcome
        The rows whose target is present, and the desired outcome.
    columns, categorical
        The controls, and the columns whose numbers are codes.
    model, seed
        The user's model, or None, and the seed of the folds.
    groups
        Column of groups, if any.
    """

    table: Table
    outcome: Outcome
    columns: tuple[str, ...]
    categorical: tuple[str, ...] = ()
    model: Any = None
    seed: int = 0
    groups: str | None = None

    @cached_property
    def features(self) -> Features:
        """Conversion of the controls to numbers."""
        return Features.of(self.table, self.columns, self.categorical)

    @cached_property
    def matrix(self) -> Matrix:
        """The controls of each record of the table."""
        return self.features.matrix(self.table)

    @cached_property
    def y(self) -> Vector:
        """The target of each record."""
        return targets(self.table, self.outcome)

    @property
    def frequencies(self) -> NDArray[np.int64]:
        """How often each record counts."""
        weights = self.table.weights
        return np.ones(self.table.n_records, np.int64) if weights is None else weights

    @cached_property
    def group(self) -> NDArray[np.int32] | None:
        """Group number of each record, if there are groups."""
        return group_codes(self.table, self.groups)

    @cached_property
    def fold(self) -> NDArray[np.intp]:
        """The fold of each record."""
        return fold_of(self.matrix, self.seed, self.group)
