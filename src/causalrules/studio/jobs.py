"""Long work in one thread: one job runs, one may wait, and both can be stopped."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from causalrules.exceptions import CausalRulesError

_LOG = logging.getLogger(__name__)


@dataclass(eq=False)
class Job:
    """A piece of work.

    Attributes
    ----------
    kind, title
        Its kind, "read", "search", "check" or "front", and its title for the page.
    work
        The function to run; it is called with the job, and calls `tell` with progress.
    told
        The progress, as shown on the page.
    """

    kind: str
    title: str
    work: Callable[[Job], None]
    changed: Callable[[], None] = lambda: None
    told: dict[str, Any] = field(default_factory=dict)
    begun: float = 0.0
    stopping: threading.Event = field(default_factory=threading.Event)

    def tell(self, **progress: Any) -> None:
        """Publish the progress; raise a KeyboardInterrupt, like Ctrl-C, if the job must stop."""
        self.told = {**self.told, **progress}
        self.changed()
        if self.stopping.is_set():
            raise KeyboardInterrupt


class Worker:
    """The thread that runs the jobs, one after the other."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._ready = threading.Condition()
        self._waiting: Job | None = None
        self._running: Job | None = None
        self._error: dict[str, str] | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._loop, name="causalrules-studio", daemon=True)
        self._thread.start()

    def ask(self, job: Job, *, replace: bool = False) -> None:
        """Run a job next, instead of a waiting one; with `replace`, stop the running one."""
        job.changed = self._changed
        with self._ready:
            self._waiting, self._error = job, None
            if replace and self._running is not None:
                self._running.stopping.set()
            self._ready.notify_all()
        self._changed()

    def stop(self, *, running: bool = True) -> None:
        """Cancel the waiting job and stop the running one, which keeps its results."""
        with self._ready:
            self._waiting = None
            if running and self._running is not None:
                self._running.stopping.set()
        self._changed()

    def close(self) -> None:
        """Stop all jobs and end the thread."""
        with self._ready:
            self._closed = True
            self._ready.notify_all()
        self.stop()
        self._thread.join(5)

    @property
    def busy(self) -> bool:
        """Whether a job runs or waits."""
        with self._ready:
            return self._running is not None or self._waiting is not None

    def view(self) -> dict[str, Any]:
        """Return the running job, the waiting job and the last error, for the page."""
        with self._ready:
            job, waiting, error = self._running, self._waiting, self._error
        return {
            "kind": None if job is None else job.kind,
            "title": "" if job is None else job.title,
            "stopping": job is not None and job.stopping.is_set(),
            "seconds": 0.0 if job is None else round(time.monotonic() - job.begun, 1),
            "told": {} if job is None else job.told,
            "waiting": None if waiting is None else waiting.title,
            "error": error,
        }

    def _loop(self) -> None:
        while True:
            with self._ready:
                while self._waiting is None and not self._closed:
                    self._ready.wait()
                if self._closed:
                    return
                job, self._waiting = self._waiting, None
                assert job is not None, "one waits"
                self._running, job.begun = job, time.monotonic()
            error = self._do(job)
            with self._ready:
                self._running, self._error = None, {"kind": job.kind, "error": error} if error else None
            self._changed()

    def _do(self, job: Job) -> str | None:
        """Run a job; return its error, if any."""
        self._changed()
        try:
            job.work(job)
        except KeyboardInterrupt:  # stopped without a result
            return f"{job.title}: stopped before there was a result"
        except (CausalRulesError, MemoryError) as error:
            return str(error) or "not enough memory"
        except Exception:
            _LOG.exception("the studio could not finish: %s", job.title)
            return f"{job.title}: an internal error; the terminal shows it"
        return None
