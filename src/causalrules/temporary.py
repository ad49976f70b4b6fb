"""Temporary files and folders that are removed even if their process is killed.

Each is locked by its process, and the system releases the lock when the process ends: files that can be locked were
left by a kill, and the next run removes them. Without such locks (Windows), files of killed processes stay.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from functools import cache
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PREFIX = "causalrules-"
_LOCK = "lock"


class Folder:
    """A private folder that is removed with this object, or at the end of the program."""

    def __init__(self) -> None:
        remove_abandoned(tempfile.gettempdir())
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        # A folder without a file of this name does not count as abandoned: the file is renamed after it is locked.
        new = self.path / "new"
        lock = os.open(new, os.O_RDWR | os.O_CREAT, 0o600)
        _locked(lock)
        new.rename(self.path / _LOCK)
        self.remove = weakref.finalize(self, _remove, self.path, lock)


def _remove(path: Path, lock: int) -> None:
    shutil.rmtree(path, ignore_errors=True)
    os.close(lock)


@cache
def remove_abandoned(parent: str) -> None:
    """Remove the folders of processes that were killed, once in each process."""
    with contextlib.suppress(OSError):
        for path in Path(parent).glob(f"{_PREFIX}*"):
            if _is_own(path) and _is_abandoned(path / _LOCK):
                shutil.rmtree(path, ignore_errors=True)


def _is_own(path: Path) -> bool:
    return not path.is_symlink() and path.is_dir() and (not hasattr(os, "getuid") or path.stat().st_uid == os.getuid())


def _is_abandoned(path: Path) -> bool:
    """Return whether a file exists and is not locked."""
    try:
        file = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return False
    try:
        return fcntl is not None and _locked(file)
    finally:
        os.close(file)


def _locked(file: int) -> bool:
    """Lock an open file, unless another process has locked it; return whether it is locked."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def beside(path: Path) -> Iterator[tuple[Path, int]]:
    """Open a new file in the folder of the file that it will replace; remove new files left there by a kill.

    Yields its path and its open descriptor. If it is still there at the end, it is removed.
    """
    stem = f".{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:12]}"
    for left in path.parent.glob(f"{stem}-*.partial"):
        if _is_abandoned(left):
            left.unlink(missing_ok=True)
    while True:
        new = path.with_name(f"{stem}-{os.urandom(6).hex()}.partial")
        file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        # Before the lock, another process may have removed the file as abandoned.
        if _locked(file) and new.exists():
            break
        os.close(file)
    try:
        yield new, file
    finally:
        with contextlib.suppress(OSError):  # closed already
            os.close(file)
        new.unlink(missing_ok=True)
