"""The studio's server: access control, error responses, and shutdown."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from causalrules.studio import server as serving
from causalrules.studio import workspace as workspaces
from causalrules.studio.server import Server
from studios import PATIENCE, idle, request, served, titanic, until

JSON = "application/json"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("studio")
    with served(titanic(folder), folder) as running:
        idle(running.studio)
        yield running


@pytest.mark.parametrize("path", ["/", "/studio.js", "/api/stream", "/api/take/workspace", "/nothing"])
def test_requests_without_the_token_are_rejected(server: Server, path: str) -> None:
    for given in ({}, {"X_Studio_Token": "wrong"}, {"X_Studio_Token": server.token[:-1]}):
        status, text = request(server, "GET", path, **given)
        assert (status, text.split(":")[0]) == (403, "Refused")
        assert server.token not in text
    assert request(server, "POST", "/api/stop", {}, Content_Type=JSON)[0] == 403


def test_other_hosts_and_origins_are_refused(server: Server) -> None:
    token = {"X_Studio_Token": server.token}
    good = f"http://127.0.0.1:{server.port}"
    assert request(server, "POST", "/api/stop", {}, Content_Type=JSON, Origin=good, **token)[0] == 200
    for host in ("example.com", f"example.com:{server.port}", "127.0.0.1", f"127.0.0.1:{server.port + 1}", ""):
        assert request(server, "GET", "/", Host=host, **token)[0] == 403, host
    for origin in ("http://example.com", "null", f"http://127.0.0.1:{server.port + 1}", "https://127.0.0.1"):
        assert request(server, "POST", "/api/stop", {}, Content_Type=JSON, Origin=origin, **token)[0] == 403, origin
    assert request(server, "GET", "/", Sec_Fetch_Site="cross-site", **token)[0] == 403


def test_only_loopback_listens_and_the_page_is_under_a_strict_policy(server: Server) -> None:
    assert server._socket.getsockname()[0] == "127.0.0.1"
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    connection.request("GET", f"/?token={server.token}")
    answer = connection.getresponse()
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    page = answer.read().decode()
    connection.close()
    assert page.count("<script") == 1
    assert "http" not in page.split("<body>")[1]  # no external resources
    assert len(gzip.compress(serving._asset("studio.js") + serving._asset("studio.css"))) < 150_000


def test_commands_are_json_and_errors_are_answers(server: Server) -> None:
    token = {"X_Studio_Token": server.token}

    def post(name: str, body: object, kind: str = JSON) -> tuple[int, str]:
        return request(server, "POST", f"/api/{name}", body, Content_Type=kind, **token)

    assert post("outcome", {"target": "survived"}, "text/plain")[0] == 415
    assert post("nothing", {})[0] == 404
    assert post("outcome", {"wrong": 1})[0] == 400
    assert post("outcome", [1])[0] == 400
    assert post("outcome", b"{")[0] == 400
    assert post("close", {})[0] == 404  # not a command
    status, text = post("outcome", {"target": "survivd"})
    assert (status, json.loads(text)["error"]) == (200, "no column 'survivd'; did you mean 'survived'?")
    assert json.loads(post("open", {"path": "/no/such/table.csv"})[1]) == {}
    assert "no" in idle(server.studio)["table"]["error"]


def test_uploads_are_limited_named_safely_and_gone_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "UPLOAD_LIMIT", 2000)
    table = "x,y\n" + "1,0\n0,1\n" * 20
    with served(None, tmp_path) as server:
        token = {"X_Studio_Token": server.token}
        send = f"/api/upload?token={server.token}&name="
        assert request(server, "PUT", f"{send}..%2F..%2Fevil%20name.csv", table.encode())[1] == "{}"
        found = idle(server.studio)["table"]
        uploaded = Path(found["file"])
        assert (uploaded.name, found["n_rows"]) == ("evil_name.csv", 40)
        assert tmp_path not in uploaded.parents
        assert found["workspace"] == str(tmp_path / "evil_name.studio.json")
        assert "no CSV" in request(server, "PUT", f"{send}run.sh", b"echo", **token)[1]
        assert request(server, "PUT", f"{send}large.csv", b"x" * 3000)[0] == 413
        assert len(list(uploaded.parent.iterdir())) == 2  # the table, and the folder's lock
    del server
    assert not list(tmp_path.glob("*.csv"))


@pytest.mark.skipif(os.name == "nt", reason="signals are sent as on Unix")
def test_the_command_prints_its_address_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "causalrules", "studio", str(titanic(tmp_path)), "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("The studio is at http://127.0.0.1:")
    assert "/?token=" in line
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 0
    process.stdout.close()
    if process.stderr is not None:
        process.stderr.close()


@pytest.mark.skipif(os.name == "nt", reason="signals are sent as on Unix")
def test_a_server_that_is_killed_leaves_the_workspace(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "causalrules", "studio", str(titanic(tmp_path)), "--no-browser"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process,
        contextlib.ExitStack() as end,
    ):
        end.callback(process.kill)  # otherwise a failure would wait for it
        assert process.stdout is not None
        found = re.search(r":(\d+)/\?token=(\S+)", process.stdout.readline())
        assert found is not None
        connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=PATIENCE)
        headers = {"X-Studio-Token": found[2], "Content-Type": JSON}

        def pick() -> bool:
            """Pick the outcome as soon as the table is read."""
            connection.request("POST", "/api/outcome", json.dumps({"target": "survived"}), headers)
            return bool(json.loads(connection.getresponse().read()) == {})

        until(pick)
        connection.close()
    assert workspaces.load(tmp_path / "titanic.studio.json").target == "survived"


def test_a_port_that_is_taken_is_an_error_that_says_so(server: Server) -> None:
    with pytest.raises(OSError, match="choose another with --port"):
        Server(port=server.port)
