"""Wait for calls into other languages so that Ctrl-C and other signals take effect at once."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_OFTEN = 0.1


def interruptible(work: Callable[[], T], hurry: Callable[[], None], watch: Callable[[], None] | None = None) -> T:
    """Return what `work` returns; it runs in a thread of its own, because signals reach the main thread only.

    Parameters
    ----------
    work
        The call to wait for.
    hurry
        Asks it to end; called until it does once there is a reason.
    watch
        Called ten times a second; what it raises is a reason to end, as Ctrl-C is.

    Raises
    ------
    BaseException
        What `work` raises, or the reason why it was to end, as soon as it has ended; a second Ctrl-C at once.
    """
    if watch is None and threading.current_thread() is not threading.main_thread():
        return work()
    results: list[T] = []
    errors: list[BaseException] = []
    over: list[bool] = []
    # A lock, and no event: an exception that a signal raises inside wait() may leave the event's own lock taken, so
    # that nobody could set it. Whether the work is over is noted apart.
    bell = threading.Lock()
    bell.acquire()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)
        over.append(True)
        bell.release()

    reason: BaseException | None = None
    try:
        _thread.start_new_thread(run, ())  # Thread.start() would wait for an event, too
    except RuntimeError:  # no more threads are to be had
        return work()
    while not over:
        try:
            bell.acquire(timeout=_OFTEN)
            if reason is not None:
                hurry()
            elif watch is not None:
                watch()
        except BaseException as raised:
            if reason is not None:
                raise
            reason = raised
            hurry()
    if reason is not None:
        raise reason
    if errors:
        raise errors[0]
    return results[0]
