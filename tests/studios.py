"""A studio served to a real browser or to plain requests, and checks that nothing fails meanwhile."""

from __future__ import annotations

import http.client
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from browsers import PATIENCE as PATIENCE
from browsers import limited
from causalrules import datasets
from causalrules.studio.server import Server
from causalrules.studio.session import Studio


def titanic(folder: Path) -> Path:
    """Copy a table next to which a workspace may be saved."""
    return Path(shutil.copy(Path(datasets.__file__).with_name("titanic.csv"), folder / "titanic.csv"))


def kidney_stones(folder: Path) -> Path:
    path = folder / "kidney.csv"
    columns = datasets.kidney_stones(library="dict")
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def renewals(folder: Path) -> Path:
    """Write a table with three rules that add to each other."""
    path = folder / "renewals.csv"
    columns = datasets.renewals(library="dict")
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def slow_table(folder: Path) -> Path:
    """Write a table of noise whose search takes minutes."""
    draw = np.random.default_rng(0)
    columns = draw.normal(size=(3000, 40)).round(3)
    target = draw.integers(0, 2, (3000, 1))
    names = ",".join([*(f"x{number}" for number in range(40)), "y"])
    path = folder / "noise.csv"
    np.savetxt(path, np.hstack([columns, target]), "%g", ",", header=names, comments="")
    return path


def until(condition: Callable[[], Any]) -> Any:
    """Wait until the condition is true, and return its value."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.01)
    return found


def state(studio: Studio) -> dict[str, Any]:
    """Return all sections of the view."""
    found: dict[str, Any] = json.loads(studio.sections.since(0)[1])
    return found


def idle(studio: Studio) -> dict[str, Any]:
    """Return all sections of the view once all jobs are finished."""
    until(lambda: not studio.busy)
    return state(studio)


@contextmanager
def served(path: Path | None, folder: Path) -> Iterator[Server]:
    """Serve a studio until the end of the block."""
    server = Server(None if path is None else str(path), folder=folder)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started)
        yield server
    finally:
        server.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def request(server: Server, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
    """Send a request with the given headers only."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    sent = {"Host": f"127.0.0.1:{server.port}", **{name.replace("_", "-"): value for name, value in headers.items()}}
    content = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, content, sent)
    answer = connection.getresponse()
    text = answer.read(1 << 20).decode("utf-8", "replace")
    connection.close()
    return answer.status, text


class Browser:
    """Pages on studios; at the end, none of them may have had an error."""

    def __init__(self, chromium: Any) -> None:
        self._chromium = chromium
        self._contexts: list[Any] = []
        self.trouble: list[str] = []

    @contextmanager
    def on(self, path: Path | None, folder: Path) -> Iterator[Server]:
        """Serve a studio; its pages are closed first, since they would report a lost connection."""
        with served(path, folder) as server, limited(self._chromium):
            try:
                yield server
            except Exception as error:
                error.add_note(f"the studio: {state(server.studio)['job']}\nits pages: {self.trouble}")
                raise
            finally:
                self.close()

    def open(self, server: Server, **options: Any) -> Any:
        """Open a studio's page, and record all errors."""
        context = self._chromium.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True, **options)
        self._contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(1000 * PATIENCE)
        page.on("console", lambda message: self.trouble.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self.trouble.append(f"dialog: {dialog.message}"))
        page.on("request", self._note(f"http://127.0.0.1:{server.port}/"))
        page.goto(server.url)
        page.locator("nav.rail").wait_for()
        return page

    def _note(self, origin: str) -> Callable[[Any], None]:
        def note(sent: Any) -> None:
            if not sent.url.startswith((origin, "data:,", "blob:")):
                self.trouble.append(f"request: {sent.url[:200]}")

        return note

    def close(self) -> None:
        while self._contexts:
            self._contexts.pop().close()
