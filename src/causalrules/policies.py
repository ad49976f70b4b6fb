"""Segments: what users do with the answer of `for_whom`, as one-line methods over report and exports."""

from __future__ import annotations

from dataclasses import dataclass

from causalrules.policy.segments import SegmentList


@dataclass(frozen=True, repr=False)
class Segments(SegmentList):
    """Groups in which an action works better or worse than elsewhere, with methods to show and export them.

    A sequence of `Segment`, the most certain first: see the attributes of both.
    """
