"""The studio's server: on loopback only, for one browser with the token.

Every request needs the token, the right Host, and the right Origin if it has one. The page loads only its own script
and style; names and values reach it as JSON and are shown as text.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hmac
import html
import json
import logging
import secrets
import socket
import tempfile
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from causalrules.exceptions import CausalRulesError, FileError

if TYPE_CHECKING:
    from causalrules.studio.session import Studio

_LOG = logging.getLogger(__name__)
_FOLDER = Path(__file__).parent
HOST = "127.0.0.1"
# Larger tables are opened by their path.
UPLOAD_LIMIT = 1 << 30
_BODY_LIMIT = 16 << 20
# Seconds between messages on an idle stream, and minimum seconds between any two.
_ALIVE, _PAUSE = 5.0, 0.03
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_TYPES = {"studio.js": "text/javascript", "studio.css": "text/css"}
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>causalrules studio</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="studio.css?token={token}">
</head>
<body>
<div id="studio">
<p class="starting">Starting…</p>
<noscript>The studio needs JavaScript; causalrules discover does not.</noscript>
</div>
<script src="studio.js?token={token}"></script>
</body>
</html>
"""


class Guard:
    """Reject requests without the token, or from another site."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self.token = app, token
        self.hosts = {f"{name}:{port}" for name in (HOST, "localhost")}
        self.origins = {f"http://{host}" for host in self.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, with security headers, or reject it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                known = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *known]}
            await send(message)

        reason = self._reason(Request(scope))
        answer = self.app if reason is None else PlainTextResponse(f"{reason}\n", 403)
        await answer(scope, receive, send_with_headers)

    def _reason(self, request: Request) -> str | None:
        """Return why a request is rejected, or None."""
        if request.headers.get("host", "").lower() not in self.hosts:
            return "Refused: this server answers to its loopback address only."
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
        if (origin is not None and origin.lower() not in self.origins) or site not in (None, "same-origin", "none"):
            return "Refused: the request comes from another site."
        given = request.headers.get("x-studio-token") or request.query_params.get("token", "")
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode()):
            return "Refused: open the address that the command printed; it holds the token."
        return None


def _answering(handle: Callable[..., Any]) -> Callable[..., Any]:
    """Convert exceptions of the package to JSON responses."""

    @functools.wraps(handle)
    async def answer(request: Request) -> Response:
        try:
            result = await handle(request)
        except CausalRulesError as error:
            # Status 200: the user's input is invalid, not the request.
            return JSONResponse({"error": str(error), "parameter": getattr(error, "parameter", None)})
        except (KeyError, TypeError, ValueError, UnicodeError, RecursionError) as error:
            _LOG.debug("a request that cannot be understood", exc_info=error)
            return JSONResponse({"error": f"the request cannot be understood: {error!r:.200}"}, 400)
        return result if isinstance(result, Response) else JSONResponse(result)

    return answer


def application(
    ready: Callable[[], Studio], token: str, port: int, leaving: Callable[[], bool] = lambda: False
) -> ASGIApp:
    """Return the ASGI application of one studio.

    Parameters
    ----------
    ready
        Returns the state, waiting until it exists: the page is shown before.
    token
        The token that every request must have.
    port
        The port of the server; other Hosts are rejected.
    leaving
        Returns whether the server is shutting down, which ends streams.
    """

    async def page(_: Request) -> Response:
        return Response(_PAGE.format(token=html.escape(token)), media_type="text/html")

    async def asset(request: Request) -> Response:
        name = request.url.path.lstrip("/")
        return Response(_asset(name), media_type=_TYPES[name])

    @_answering
    async def command(request: Request) -> Any:
        name, studio = request.path_params["name"], await run_in_threadpool(ready)
        if name not in studio.commands:
            return JSONResponse({"error": f"no command {name!r:.40}"}, 404)
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return JSONResponse({"error": "send JSON"}, 415)
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _BODY_LIMIT:
                return JSONResponse({"error": "too much at once"}, 413)
        arguments = json.loads(body or b"{}")
        if not isinstance(arguments, dict):
            raise TypeError("the arguments are not an object")
        return await run_in_threadpool(getattr(studio, name), **arguments) or {}

    @_answering
    async def upload(request: Request) -> Any:
        length = int(request.headers.get("content-length") or 0)
        if length > UPLOAD_LIMIT:
            return JSONResponse({"error": _too_large()}, 413)
        studio = await run_in_threadpool(ready)
        with tempfile.NamedTemporaryFile(dir=studio.uploads.path, delete=False) as file:
            path = Path(file.name)
            try:
                async for chunk in request.stream():
                    file.write(chunk)
                    if file.tell() > UPLOAD_LIMIT:
                        path.unlink()
                        return JSONResponse({"error": _too_large()}, 413)
            except (ClientDisconnect, OSError) as error:
                path.unlink(missing_ok=True)
                raise FileError(f"the upload ended early: {error}") from error
        await run_in_threadpool(studio.upload, request.query_params.get("name", ""), path)
        return {}

    @_answering
    async def take(request: Request) -> Response:
        found = await run_in_threadpool((await run_in_threadpool(ready)).take, request.path_params["what"])
        content = found.content.encode("utf-8", "backslashreplace")
        disposition = {
            "content-disposition": f'attachment; filename="{found.name.encode("ascii", "replace").decode()}"'
        }
        return Response(content, media_type=f"{found.media_type}; charset=utf-8", headers=disposition)

    async def stream(_: Request) -> Response:
        return StreamingResponse(_changes(await run_in_threadpool(ready), leaving), media_type="application/x-ndjson")

    app = Starlette(
        routes=[
            Route("/", page),
            *(Route(f"/{name}", asset) for name in _TYPES),
            Route("/api/stream", stream),
            Route("/api/upload", upload, methods=["PUT"]),
            Route("/api/take/{what}", take),
            Route("/api/{name}", command, methods=["POST"]),
        ]
    )
    return Guard(app, token, port)


def _too_large() -> str:
    return f"the file is larger than {UPLOAD_LIMIT >> 20:,} MB: give its path instead"


@functools.cache
def _asset(name: str) -> bytes:
    return (_FOLDER / name).read_bytes()


async def _changes(studio: Studio, leaving: Callable[[], bool]) -> AsyncIterator[bytes]:
    """Yield the changed sections of the view as lines of JSON, at first all sections."""
    loop, changed, version = asyncio.get_running_loop(), asyncio.Event(), 0

    def wake() -> None:
        with contextlib.suppress(RuntimeError):  # the event loop is closed
            loop.call_soon_threadsafe(changed.set)

    end = studio.sections.listen(wake)
    try:
        while not leaving():
            changed.clear()
            latest, text = await run_in_threadpool(studio.sections.since, version)
            if latest != version:
                version = latest
                yield text.encode("utf-8", "backslashreplace") + b"\n"
                await asyncio.sleep(_PAUSE)
            else:
                yield b"\n"
            waited = 0.0
            while not changed.is_set() and waited < _ALIVE and not leaving():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), 0.5)
                waited += 0.5
    finally:
        end()


def _begin(path: str | None, folder: Path | None) -> Studio:
    from causalrules.studio.session import Studio

    return Studio(path, folder)


class Server:
    """The server of a studio.

    Parameters
    ----------
    path
        A table or a workspace; None to choose one on the page.
    port
        Port to listen on; 0 for any free port.
    folder
        Where workspaces of uploaded tables are saved; by default the current one.
    """

    def __init__(self, path: str | None = None, port: int = 0, folder: Path | None = None) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((HOST, port))
            self._socket.listen()  # earlier connections wait in the backlog
        except OSError as error:
            self._socket.close()
            raise FileError(f"cannot listen on port {port}: {error.strerror}; choose another with --port") from error
        self.port: int = self._socket.getsockname()[1]
        self.token = secrets.token_urlsafe(24)
        self.url = f"http://{HOST}:{self.port}/?token={self.token}"
        # The page is served while other modules are imported.
        self._ready: Future[Studio] = ThreadPoolExecutor(1).submit(_begin, path, folder)
        app = application(self._ready.result, self.token, self.port, lambda: self._server.should_exit)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=2,
            ws="none",
            http="h11",
            loop="asyncio",
        )
        self._server = uvicorn.Server(config)

    @property
    def studio(self) -> Studio:
        """The state; waits until it exists."""
        return self._ready.result()

    def run(self) -> None:
        """Serve until Ctrl-C, or until `stop` is called."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self.close()

    def close(self) -> None:
        """End all work."""
        self._socket.close()
        self.studio.close()

    def stop(self) -> None:
        """Make `run` return."""
        self._server.should_exit = True

    @property
    def started(self) -> bool:
        """Whether the server answers requests."""
        return bool(self._server.started)
