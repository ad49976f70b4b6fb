"""Progress bars: shown after a second, on one line, and only on a terminal or in a notebook."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, TypeVar

from causalrules.search.run import Progress
from causalrules.text import counted, printable

if TYPE_CHECKING:
    import rich.progress

# A function that is called with progress.
Watcher = TypeVar("Watcher", bound=Callable[..., None])
_DELAY = 1.0  # seconds before a bar is shown
_MOST_RULE = 60  # characters of the best rule


@contextmanager
def watching(
    progress: bool | Watcher | None, bar: Callable[[], AbstractContextManager[Watcher]]
) -> Iterator[Watcher | None]:
    """Yield the function to call with progress: the caller's, one that draws a bar, or None."""
    if callable(progress):
        yield progress
    elif progress is False or (progress is None and not sys.stderr.isatty() and not _in_notebook()):
        yield None
    else:
        with bar() as watch:
            yield watch


@contextmanager
def search_bar(
    in_words: Callable[[tuple[int, ...]], str], placed: Callable[[Progress], Progress] = lambda progress: progress
) -> Iterator[Callable[[Progress], None]]:
    """Show the progress of a search, with the best rule as `in_words` describes its conditions.

    `placed` is the step of the list, and the seconds of the steps before it.
    """
    bar = _Line(in_words) if _in_notebook() else _Bar(in_words)
    try:
        yield lambda progress: bar.show(placed(progress))
    finally:
        bar.stop()


@contextmanager
def count_bar(label: str, times: int) -> Iterator[Callable[[int, int], None]]:
    """Show how many repetitions are done."""
    from rich.console import Console
    from rich.progress import Progress as Display

    with Display(console=Console(stderr=True), transient=True) as display:
        task = display.add_task(label, total=times)
        yield lambda done, _: display.update(task, completed=done)


def _in_notebook() -> bool:
    """Return whether this runs in a Jupyter notebook, which is no terminal but shows standard error."""
    kernel = sys.modules.get("ipykernel.zmqshell")
    return kernel is not None and bool(kernel.ZMQInteractiveShell.initialized())


class _Line:
    """The numbers on one line, which is overwritten."""

    def __init__(self, in_words: Callable[[tuple[int, ...]], str]) -> None:
        self._in_words, self._width = in_words, 0

    def show(self, progress: Progress) -> None:
        if progress.seconds < _DELAY:
            return
        line = numbers(progress, self._in_words)
        sys.stderr.write(f"\r{line.ljust(self._width)}")
        sys.stderr.flush()
        self._width = len(line)

    def stop(self) -> None:
        if self._width:
            sys.stderr.write(f"\r{' ' * self._width}\r")


class _Bar:
    """A bar that fills as the gap closes, with the numbers behind it."""

    def __init__(self, in_words: Callable[[tuple[int, ...]], str]) -> None:
        self._in_words = in_words
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
            numbers=numbers(progress, self._in_words),
        )
        self._bar.start()
        self._bar.refresh()

    def stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()


def numbers(progress: Progress, in_words: Callable[[tuple[int, ...]], str] = str) -> str:
    """Format the progress of a search. Best and gap add up to the bound; the rest of a list may still be open.

    >>> numbers(Progress(3.21, best=0.5, upper_bound=0.75, gap=0.25, nodes=12345, conditions=(4,)), lambda _: "x ≤ 1")
    '3 s · best 0.5000 · bound 0.7500 · gap 0.2500 · x ≤ 1'
    >>> numbers(Progress(3.21, best=0.5, upper_bound=0.5, gap=0.1, nodes=12345, conditions=(4,)), lambda _: "x ≤ 1")
    '3 s · best 0.5000 · proven best · last of the list open by 0.1000 · x ≤ 1'
    >>> numbers(Progress(3.21, best=0.5, upper_bound=0.75, gap=0.25, nodes=12345, step=2), lambda _: "x ≤ 1")
    '3 s · rule 2 · best 0.5000 · bound 0.7500 · gap 0.2500 · x ≤ 1'
    """
    elapsed = f"{progress.seconds:.0f} s" + (f" · rule {progress.step}" if progress.step > 1 else "")
    if progress.best is None:
        return f"{elapsed} · no rule yet · {counted(progress.nodes, 'node')}"
    said = [elapsed, f"best {progress.best:.4f}"]
    # Round the shown numbers so that they add up.
    gap = round(progress.upper_bound, 4) - round(progress.best, 4)
    if math.isinf(progress.upper_bound):
        said.append("no bound yet")
    elif gap > 0:
        said += [f"bound {progress.upper_bound:.4f}", f"gap {gap:.4f}"]
    else:
        said.append("proven best")
        if progress.gap and not math.isinf(progress.gap):
            said.append(f"last of the list open by {progress.gap:.4f}")
    rule = printable(in_words(progress.conditions))  # last, where a narrow terminal cuts it
    said.append(rule if len(rule) <= _MOST_RULE else rule[: _MOST_RULE - 1] + "…")
    return " · ".join(said)


def _bar() -> rich.progress.Progress:
    # Imported on demand: most searches end before a bar is shown.
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Display

    display = Display(
        BarColumn(bar_width=20),
        TextColumn("{task.fields[numbers]}", markup=False),
        console=Console(stderr=True),
        auto_refresh=False,  # the search refreshes it; a refresh thread would compete with the search
        transient=True,
    )
    display.add_task("", total=None, numbers="")
    return display
