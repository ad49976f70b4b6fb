"""Progress bars: shown after a second, on one line, and only if standard error is a terminal."""

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

# A function that is called with progress.
Watcher = TypeVar("Watcher", bound=Callable[..., None])
_DELAY = 1.0  # seconds before a bar is shown


@contextmanager
def watching(
    progress: bool | Watcher | None, bar: Callable[[], AbstractContextManager[Watcher]]
) -> Iterator[Watcher | None]:
    """Yield the function to call with progress: the caller's, that of a bar on the terminal, or None."""
    if callable(progress):
        yield progress
    elif progress is False or (progress is None and not sys.stderr.isatty()):
        yield None
    else:
        with bar() as watch:
            yield watch


@contextmanager
def search_bar() -> Iterator[Callable[[Progress], None]]:
    """Show the progress of a search."""
    bar = _Bar()
    try:
        yield bar.show
    finally:
        bar.stop()


@contextmanager
def count_bar(label: str, times: int) -> Iterator[Callable[[int, int], None]]:
    """Show how many of a number of repetitions are done."""
    from rich.console import Console
    from rich.progress import Progress as Display

    with Display(console=Console(stderr=True), transient=True) as display:
        task = display.add_task(label, total=times)
        yield lambda done, _: display.update(task, completed=done)


class _Bar:
    """A bar that fills as the gap closes, with the numbers behind it."""

    def __init__(self) -> None:
        self._bar: rich.progress.Progress | None = None

    def show(self, progress: Progress) -> None:
        if progress.seconds < _DELAY:
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
    """Format the progress of a search.

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
    # Imported late: most searches end before a bar is shown.
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Display

    display = Display(
        BarColumn(bar_width=20),
        TextColumn("{task.fields[numbers]}", markup=False),
        console=Console(stderr=True),
        auto_refresh=False,  # the search refreshes it; a thread would compete with the search
        transient=True,
    )
    display.add_task("", total=None, numbers="")
    return display
