"""Temporary files never outlive their process, however it ends; those of running processes are kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from causalrules import temporary
from causalrules.exceptions import FileError
from causalrules.writing import replace_file, require_writable

OWNER = """
import sys
from pathlib import Path
from causalrules import temporary
folder = temporary.Folder()
(folder.path / "rows").write_text("secret")
context = temporary.beside(Path(sys.argv[1]))
context.__enter__()
print(folder.path, flush=True)
sys.stdin.read()
"""


def owner(target: Path) -> tuple[subprocess.Popen[str], Path]:
    command = [sys.executable, "-c", OWNER, str(target)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="locks of POSIX")
def test_only_files_of_killed_processes_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    (tmp_path / "work").mkdir()
    target = tmp_path / "work" / "rules.json"
    other = tmp_path / "causalrules-of-somebody"
    other.mkdir()
    killed, left = owner(target)
    running, alive = owner(target)
    try:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert left.is_dir()
        assert len([*target.parent.iterdir()]) == 2
        temporary.remove_abandoned.cache_clear()
        temporary.Folder().remove()
        assert not left.exists()
        assert (alive / "rows").read_text() == "secret"
        assert other.is_dir()
        replace_file(target, "[]")
        assert len([*target.parent.iterdir()]) == 2  # the target, and the file of the running process
    finally:
        for process in (killed, running):
            process.kill()
            process.communicate()
    replace_file(target, "{}")
    assert [path.name for path in target.parent.iterdir()] == ["rules.json"]
    assert target.read_text() == "{}"


def test_a_path_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    for path, reason in (
        (tmp_path, "is a directory"),
        (tmp_path / "nowhere" / "x", "there is no directory"),
        (tmp_path / ("a" * 300), "File name too long"),
        (f"{tmp_path}/a\0b", "null"),
        (Path("/proc/causalrules"), "cannot be written"),
    ):
        with pytest.raises(FileError, match=reason):
            require_writable(path, "--output")
    assert require_writable(tmp_path / "new", "--output") == tmp_path / "new"
    assert not [*tmp_path.iterdir()]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rules.json"
    replace_file(path, "old")
    path.chmod(0o640)
    replace_file(path, "new")
    assert path.stat().st_mode & 0o777 == 0o640

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="No space left on device"):
        replace_file(path, "newer")
    assert path.read_text() == "new"
    assert [each.name for each in tmp_path.iterdir()] == ["rules.json"]
