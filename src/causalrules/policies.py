"""Segments and Policy: what users do with the answers of `for_whom` and `prescribe`, over report and exports."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

from causalrules.policy.segments import SegmentList
from causalrules.policy.steps import Prescription


@dataclass(frozen=True, repr=False)
class Segments(SegmentList):
    """Groups in which an action works better or worse than elsewhere, with methods to show and export them.

    A sequence of `Segment`, the most certain first: see the attributes of both.
    """

    @classmethod
    def of(cls, found: SegmentList) -> Self:
        """Return the groups with these methods."""
        return cls(**{item.name: getattr(found, item.name) for item in fields(found)})


@dataclass(frozen=True, repr=False)
class Policy(Prescription):
    """Steps that say who should get what, with methods to apply, show and export them.

    A sequence of `PolicyStep`, followed from top to bottom: see the attributes of both.
    """
