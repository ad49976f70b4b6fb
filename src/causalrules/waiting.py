"""Wait for calls of native code while signals such as Ctrl-C take effect at once."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_INTERVAL = 0.1


def interruptible(work: Callable[[], T], interrupt: Callable[[], None], watch: Callable[[], None] | None = None) -> T:
    """Return what `work` returns; it runs in another thread, because only the main thread receives signals.

    Parameters
    ----------
    work
        The call to wait for.
    interrupt
        Asks `work` to end; called repeatedly after an interrupt until it ends.
    watch
        Called ten times a second; an exception in it interrupts `work`, like Ctrl-C.

    Raises
    ------
    BaseException
        The exception of `work`, or the first interrupt once `work` has ended; a second Ctrl-C is raised at once.
    """
    if watch is None and threading.current_thread() is not threading.main_thread():
        return work()
    results: list[T] = []
    errors: list[BaseException] = []
    finished: list[bool] = []
    # A lock instead of an event: an exception that a signal raises inside wait() may leave the event's internal lock
    # locked, so that it cannot be set. `finished` says whether the work has ended.
    lock = threading.Lock()
    lock.acquire()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)
        finished.append(True)
        lock.release()

    reason: BaseException | None = None
    try:
        _thread.start_new_thread(run, ())  # Thread.start() would also wait for an event
    except RuntimeError:  # no more threads available
        return work()
    while not finished:
        try:
            lock.acquire(timeout=_INTERVAL)
            if reason is not None:
                interrupt()
            elif watch is not None:
                watch()
        except BaseException as raised:
            if reason is not None:
                raise
            reason = raised
            interrupt()
    if reason is not None:
        raise reason
    if errors:
        raise errors[0]
    return results[0]
