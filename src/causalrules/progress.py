"""Progress on the terminal: after a second, on one line, and nothing at all when the output is not a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from causalrules.search import Progress

_PATIENCE = 1.0


@contextmanager
def watching(
    progress: bool | Callable[[Progress], None] | None,
) -> Iterator[Callable[[Progress], None] | None]:
    """What to call with the progress of a search: the caller's function, a line on the terminal, or nothing."""
    if callable(progress):
        yield progress
        return
    if progress is False or (progress is None and not sys.stderr.isatty()):
        yield None
        return
    line = _Line()
    try:
        yield line.show
    finally:
        line.clear()


class _Line:
    """One line on the terminal that is overwritten."""

    def __init__(self) -> None:
        self._width = 0

    def show(self, progress: Progress) -> None:
        if progress.seconds < _PATIENCE:
            return
        best = "none yet" if progress.best is None else f"{progress.best:.4f}"
        text = (
            f"{progress.seconds:6.1f} s  best {best}  at most {progress.upper_bound:.4f}  "
            f"gap {progress.gap:.4f}  {progress.nodes:,} nodes"
        )
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)

    def clear(self) -> None:
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
