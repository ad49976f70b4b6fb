"""Kinds of outcomes. Each kind defines its unit, estimate, wording and rounding.

To add a kind of a numeric target, add an object here; `asked` selects it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from causalrules.estimators import intervals
from causalrules.estimators.sides import standardised
from causalrules.text import amount, number

if TYPE_CHECKING:
    from causalrules.estimators.intervals import Estimate, Grouped
    from causalrules.estimators.sides import Side


@dataclass(frozen=True, repr=False)
class OutcomeKind:
    """A kind of outcome, whose effect is a difference of two means in the units of the target.

    Attributes
    ----------
    name
        Its name in JSON, and of the constant below.
    binary
        Whether the outcome is binary, so that odds and propensities are defined.
    asked
        The option `outcome` that selects it for a numeric target; None for the default.
    unit, sign
        The unit of a difference, and the sign after a level; empty for the target's own.
    scale, places
        The factor of displayed numbers, and their decimals; None for about four digits.
    farthest
        The largest possible effect, in absolute value.
    highest
        The upper end of the axis of levels; None for the largest level.
    """

    name: str = "mean"
    binary: bool = False
    asked: str | None = None
    unit: str = ""
    sign: str = ""
    scale: float = 1.0
    places: int | None = None
    farthest: float = math.inf
    highest: float | None = None

    def __repr__(self) -> str:
        return self.name.upper()

    __reduce__ = __repr__

    def clip(self, effect: float) -> float:
        """Clip an effect to the range of effects.

        >>> BINARY.clip(-1.2), MEAN.clip(-1.2)
        (-1.0, -1.2)
        """
        return min(self.farthest, max(-self.farthest, effect))

    def estimate(
        self, sides: tuple[Side, Side, Side], confidence: float = 0.95, grouped: Grouped | None = None
    ) -> Estimate:
        """Return the effect with its standard error and interval; with `grouped`, for grouped rows."""
        if grouped is None:
            return intervals.estimate(*sides, confidence, binary=self.binary)
        effect = standardised(sides[0].mean - sides[1].mean, *sides)
        return intervals.grouped_estimate(effect, grouped, confidence, binary=self.binary)

    # Formats of numbers. The pages (web/src/format.ts) format by the same attributes.

    def level(self, value: float) -> str:
        """Format a level of the outcome.

        >>> BINARY.level(0.947), MEAN.level(1794.34)
        ('94.7 %', '1,794')
        """
        return f"{self._number(value, self.places)}{'' if math.isnan(value) else self.sign}"

    def levels(self, fails: float, holds: float, *effects: float | None) -> tuple[str, str]:
        """Format the two levels between which an effect lies, with the decimals of it, or of the effects of a column.

        >>> BINARY.levels(0.106, 0.183), BINARY.levels(0.0057, 0.0125), MEAN.levels(0.6439, 1.39961)
        (('10.6 %', '18.3 %'), ('0.57 %', '1.25 %'), ('0.644', '1.400'))
        """
        places = None if self.places is None else self.places + self._are_small(*(effects or (holds - fails,)))
        first, second = (
            f"{self._number(each, places, fails, holds)}{'' if math.isnan(each) else self.sign}"
            for each in (fails, holds)
        )
        return first, second

    def figure(self, value: float | None, *column: float | None) -> str:
        """Format a difference without its unit: with one more decimal below 1, as all numbers of its column.

        >>> BINARY.figure(-0.054), BINARY.figure(0.0042), BINARY.figure(-0.054, 0.0042), MEAN.figure(0.054)
        ('−5.4', '0.42', '−5.40', '0.054')
        """
        places = None if self.places is None else self.places + self._are_small(*(column or (value,)))
        return self._number(value, places, *column)

    def _are_small(self, *values: float | None) -> bool:
        """Return whether one of these differences is below 1 as it is written, and not 0."""
        return any(
            each is not None and 0 < abs(each) * self.scale < 1 - 0.5 * 10.0 ** -(self.places or 0) for each in values
        )

    def _number(self, value: float | None, places: int | None, *column: float | None) -> str:
        scaled = math.nan if value is None else self.scale * value
        return amount(scaled, *column) if places is None else number(scaled, places)

    def difference(self, value: float | None) -> str:
        """Format a difference.

        >>> BINARY.difference(-0.054), MEAN.difference(0.054)
        ('−5.4 points', '0.054')
        """
        if self.unit and (value is None or math.isnan(value)):
            return "no number"
        return f"{self.figure(value)} {self.unit}".rstrip()

    def with_interval(self, effect: float | None, low: float | None, high: float | None) -> str:
        """Format a difference with its interval.

        >>> BINARY.with_interval(0.054, -0.021, 0.13)
        '5.4 points (−2.1 to 13.0)'
        >>> MEAN.with_interval(1794, 521, 3067)
        '1,794 (521 to 3,067)'
        """
        return self._between(effect, low, high, self.unit)

    def figures(self, effect: float | None, low: float | None, high: float | None, *column: float | None) -> str:
        """Format a difference with its interval, without the unit, like all differences of its column.

        >>> BINARY.figures(0.054, -0.021, 0.13), BINARY.figures(0.054, -0.021, 0.13, 0.054, 0.0042)
        ('5.4 (−2.1 to 13.0)', '5.40 (−2.10 to 13.00)')
        """
        return self._between(effect, low, high, "", *column)

    def _between(
        self, effect: float | None, low: float | None, high: float | None, unit: str = "", *column: float | None
    ) -> str:
        if effect is None or low is None or high is None or math.isnan(effect):
            return "not measurable"
        column = column or (effect,)
        return f"{f'{self.figure(effect, *column)} {unit}'.rstrip()} ({self.between(low, high, *column)})"

    def between(self, low: float, high: float, *column: float | None) -> str:
        """Format an interval without the unit.

        >>> BINARY.between(-0.021, 0.13)
        '−2.1 to 13.0'
        """
        column = column or (low, high)
        return "unknown" if math.isnan(low) else f"{self.figure(low, *column)} to {self.figure(high, *column)}"

    def precise(self, value: float) -> str:
        """Format a difference with many digits, for tables in papers.

        >>> BINARY.precise(0.05412), MEAN.precise(1794.34)
        ('0.0541', '1,794')
        """
        return amount(value)

    @property
    def in_units(self) -> str:
        """The unit as a suffix of a column's name."""
        return f", {self.unit}" if self.unit else ""

    def largest(self, levels: list[float]) -> float:
        """Return the upper end of the axis of a bar chart of levels."""
        return self.highest or max((abs(level) for level in levels if math.isfinite(level)), default=0.0)

    # Wording.

    def text(self, column: str) -> str:
        """Name the outcome: the mean of a column."""
        return f"mean of {column}"

    def of(self, outcome: str) -> str:
        """Name what changes: the mean of earnings, the probability of survived = 1."""
        return outcome

    def level_of(self, outcome: str) -> str:
        """Name the level: the mean of earnings, the share with survived = 1."""
        return outcome

    def on_axis(self, outcome: str) -> str:
        """Name the level under an axis."""
        return outcome

    def differs(self, outcome: str) -> str:
        """Describe a difference, before "where the rule holds"."""
        return f"how much higher the {outcome} is"

    def differs_by(self, outcome: str, effect: float) -> str:
        """Say by how much two levels differ.

        >>> BINARY.differs_by("survived = 1", -0.2), MEAN.differs_by("mean of age", 3)
        ('survived = 1 occurs 20.0 points less often', 'the mean of age is 3 higher')
        """
        return f"the {outcome} is {self.difference(abs(effect))} {'lower' if effect < 0 else 'higher'}"

    def over_all(self, outcome: str, level: float) -> str:
        """Say the level over all rows.

        >>> BINARY.over_all("survived = 1", 0.384), MEAN.over_all("mean of age", 29.7)
        ('survived = 1 (38.4 % of rows)', 'mean of age (29.7 over all rows)')
        """
        return f"{outcome} ({self.level(level)} over all rows)"

    @property
    def of_a_stratum(self) -> str:
        """Name the level of a stratum."""
        return "mean of the target"

    @property
    def difference_of(self) -> str:
        """Name the difference on an axis."""
        return "difference in the mean"


class _Binary(OutcomeKind):
    """A binary outcome: effects are differences of probabilities, in points."""

    def precise(self, value: float) -> str:
        return number(value)

    def of(self, outcome: str) -> str:
        return f"probability of {outcome}"

    def level_of(self, outcome: str) -> str:
        return f"share with {outcome}"

    def on_axis(self, outcome: str) -> str:
        return f"% with {outcome}"

    def differs(self, outcome: str) -> str:
        return f"how much more often {outcome} occurs"

    def differs_by(self, outcome: str, effect: float) -> str:
        return f"{outcome} occurs {self.difference(abs(effect))} {'less' if effect < 0 else 'more'} often"

    def over_all(self, outcome: str, level: float) -> str:
        return f"{outcome} ({self.level(level)} of rows)"

    @property
    def of_a_stratum(self) -> str:
        return "share of the rows with the outcome"

    @property
    def difference_of(self) -> str:
        return "difference in probability"


BINARY = _Binary("binary", True, unit="points", sign=" %", scale=100.0, places=1, farthest=1.0, highest=1.0)
MEAN = OutcomeKind()
KINDS = {kind.name: kind for kind in (BINARY, MEAN)}
