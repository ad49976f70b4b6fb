"""Progress on the terminal: after a second, on one line, and nothing at all when the output is not a terminal."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, TypeVar

from causalrules.search.run import Progress
from causalrules.text import counted

if TYPE_CHECKING:
    import rich.progress

# What is called with the progress of whatever is watched.
Watcher = TypeVar("Watcher", bound=Callable[..., None])
_PATIENCE = 1.0


@contextmanager
def watching(
    progress: bool | Watcher | None, bar: Callable[[], AbstractContextManager[Watcher]]
) -> Iterator[Watcher | None]:
    """What to call with the progress: the caller's function, a bar on the terminal, or nothing."""
    if callable(progress):
        yield progress
    elif progress is False or (progress is None and not sys.stderr.isatty()):
        yield None
    else:
        with bar() as watch:
            yield watch


@contextmanager
def search_bar() -> Iterator[Callable[[Progress], None]]:
    """What to call with the progress of a search, to see it on the terminal."""
    bar = _Bar()
    try:
        yield bar.show
    finally:
        bar.stop()


class _Bar:
    """A bar that is full when the gap is closed, and the numbers behind it."""

    def __init__(self) -> None:
        self._bar: rich.progress.Progress | None = None

    def show(self, progress: Progress) -> None:
        if progress.seconds < _PATIENCE:
            return
        if self._bar is None:
            self._bar = _bar()
        closed = progress.gap < math.inf and progress.upper_bound > 0
        self._bar.update(
            self._bar.task_ids[0],
            total=progress.upper_bound if closed else None,
            completed=max(0.0, progress.upper_bound - progress.gap) if closed else 0.0,
            numbers=numbers(progress),
        )
        self._bar.start()
        self._bar.refresh()

    def stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()


def numbers(progress: Progress) -> str:
    """How far a search has come, in words.

    >>> numbers(Progress(seconds=3.21, best=0.5, upper_bound=0.75, gap=0.25, nodes=12345))
    'best 0.5000 · at most 0.7500 · gap 0.2500 · 12,345 nodes · 3 s'
    """
    best = "none yet" if progress.best is None else f"{progress.best:.4f}"
    gap = "unknown" if math.isinf(progress.gap) else f"{progress.gap:.4f}"
    return (
        f"best {best} · at most {progress.upper_bound:.4f} · gap {gap} · "
        f"{counted(progress.nodes, 'node')} · {progress.seconds:.0f} s"
    )


def _bar() -> rich.progress.Progress:
    # A search that is over within the second never pays for the import.
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Display

    display = Display(
        BarColumn(bar_width=20),
        TextColumn("{task.fields[numbers]}", markup=False),
        console=Console(stderr=True),
        auto_refresh=False,  # each step of the search refreshes it; a thread would compete with the search
        transient=True,
    )
    display.add_task("", total=None, numbers="")
    return display
