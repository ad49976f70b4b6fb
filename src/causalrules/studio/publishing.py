"""The sections of the page's view as JSON, each with the version of its last change."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any


class Sections:
    """Sections of a view, with listeners.

    Parameters
    ----------
    make
        By name, the function that returns a section in JSON types.
    lock
        Held while sections are computed, so that the state does not change.
    """

    def __init__(self, make: Mapping[str, Callable[[], Any]], lock: threading.RLock) -> None:
        self._make, self._lock = make, lock
        self._made: dict[str, tuple[int, str]] = {}
        self._version = 0
        self._listeners: frozenset[Callable[[], None]] = frozenset()

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call a function, from any thread, after each change; returns a function that removes the listener."""
        with self._lock:
            self._listeners |= {listener}

        def end() -> None:
            with self._lock:
                self._listeners -= {listener}

        return end

    def since(self, version: int) -> tuple[int, str]:
        """Return the latest version, and the sections that changed after `version`, as JSON."""
        with self._lock:
            changed = [f"{json.dumps(name)}:{text}" for name, (at, text) in self._made.items() if at > version]
            return self._version, "{" + ",".join(changed) + "}"

    def publish(self, *names: str) -> None:
        """Publish the named sections, or all, if they have changed."""
        with self._lock:
            for name in names or self._make:
                text = json.dumps(self._make[name](), allow_nan=False, separators=(",", ":"))
                if self._made.get(name, (0, ""))[1] != text:
                    self._version += 1
                    self._made[name] = self._version, text
        for listener in self._listeners:
            listener()
