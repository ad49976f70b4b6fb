"""One limit of time for all that a call does, however many searches that is."""

from __future__ import annotations

import time
from dataclasses import dataclass

from causalrules.search.run import SearchOptions

# No search takes 0 for a limit; one that begins too late ends after its first step.
_LEAST = 1e-6


@dataclass(frozen=True)
class Deadline:
    """So many seconds from when it was made; None for no limit."""

    limit: float | None
    begun: float

    @classmethod
    def after(cls, limit: float | None) -> Deadline:
        """The limit, which begins now."""
        return cls(SearchOptions(time_limit=limit).time_limit, time.monotonic())

    def left(self, share: float = 1.0) -> float | None:
        """This share of the seconds that are left."""
        if self.limit is None:
            return None
        return max(_LEAST, share * (self.limit - (time.monotonic() - self.begun)))

    @property
    def passed(self) -> bool:
        """Whether the time is up."""
        return self.limit is not None and time.monotonic() - self.begun >= self.limit
