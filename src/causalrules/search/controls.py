"""The controls of a problem's rows as they are, read from the table when they are needed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causalrules.data.table import Table
from causalrules.language.features import Features, Matrix
from causalrules.language.learning import fold_of
from causalrules.language.prognostic import group_codes


@dataclass(frozen=True, eq=False)
class Controls:
    """The table behind the coded rows of a problem.

    Attributes
    ----------
    table
        The rows whose target is present.
    columns, categorical
        The controls, and the columns whose numbers are codes.
    model, seed
        The user's model, if any, and the seed of the folds.
    groups
        Column of the rows that belong together, if any.
    """

    table: Table
    columns: tuple[str, ...]
    categorical: tuple[str, ...] = ()
    model: Any = None
    seed: int = 0
    groups: str | None = None

    @cached_property
    def features(self) -> Features:
        """How the controls become numbers."""
        return Features.of(self.table, self.columns, self.categorical)

    @cached_property
    def matrix(self) -> Matrix:
        """The controls of each record of the table."""
        return self.features.matrix(self.table)

    @cached_property
    def group(self) -> NDArray[np.int32] | None:
        """The number of the group of each record, if rows belong together."""
        return group_codes(self.table, self.groups)

    @cached_property
    def fold(self) -> NDArray[np.intp]:
        """The fold of each record."""
        return fold_of(self.matrix, self.seed, self.group)
