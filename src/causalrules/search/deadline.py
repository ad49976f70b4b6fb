"""One time limit for all searches of a call."""

from __future__ import annotations

import time
from dataclasses import dataclass

from causalrules.options import Number

# A search does not accept 0 as a limit; one that starts too late ends after its first step.
_LEAST = 1e-6
_LIMIT = Number(least=0, above=True, none="no limit")


@dataclass(frozen=True)
class Deadline:
    """Time budget in seconds starting at creation; None for no limit."""

    limit: float | None
    begun: float

    @classmethod
    def after(cls, limit: float | None) -> Deadline:
        """Return a budget that starts now."""
        return cls(_LIMIT("time_limit", limit), time.monotonic())

    def left(self, share: float = 1.0) -> float | None:
        """Return a share of the remaining seconds."""
        if self.limit is None:
            return None
        return max(_LEAST, share * (self.limit - (time.monotonic() - self.begun)))

    @property
    def passed(self) -> bool:
        """Whether the time is up."""
        return self.limit is not None and time.monotonic() - self.begun >= self.limit
