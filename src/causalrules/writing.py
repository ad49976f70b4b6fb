"""Atomic writes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from causalrules.exceptions import FileError
from causalrules.temporary import beside


def replace_file(path: Path, content: str | bytes, what: str = "result to") -> None:
    """Write to a temporary file and move it into place, so that readers never see a partial file.

    The new file keeps the permissions of the old one. `what` names it in the error message.
    """
    written = content.encode("utf-8") if isinstance(content, str) else content
    try:
        path = path.resolve()
        if _is_special(path):  # pipes and terminals cannot be replaced
            path.write_bytes(written)
            return
        with beside(path) as (new, file):
            # Before writing, so that a private file is never readable by others.
            if path.exists():
                new.chmod(stat.S_IMODE(path.stat().st_mode))
            # Windows cannot rename an open file; elsewhere it stays open, and locked, until it is renamed.
            with open(file, "wb", closefd=os.name == "nt") as stream:
                stream.write(written)
                stream.flush()
                os.fsync(file)
            new.replace(path)
    except (OSError, ValueError) as error:
        raise FileError(f"cannot write the {what} {str(path)!r:.200}: {_reason(error)}") from error


def require_writable(given: str | os.PathLike[str], what: str) -> Path:
    """Return the path of a file to write, or raise a FileError before the work starts.

    `what` names it in the message: "checkpoint", "--output".
    """
    place, path = f"{what} {os.fspath(given)!r:.200}", Path(given)
    try:
        if path.is_dir():
            raise FileError(f"{place} is a directory; name a file in it")
        if not path.parent.is_dir():
            raise FileError(f"{place}: there is no directory {str(path.parent)!r:.200}; make it first")
        if not _is_special(path.resolve()):
            with beside(path.resolve()):
                pass
        elif not os.access(path, os.W_OK):
            raise FileError(f"{place} cannot be written: permission denied; name another file")
    except FileError:
        raise
    except (OSError, ValueError) as error:  # read-only, too long, or with a NUL in its name
        raise FileError(f"{place} cannot be written: {_reason(error)}; name another file") from error
    return path


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _reason(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)
