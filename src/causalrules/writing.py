"""Atomic writes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from causalrules.exceptions import DataError


def replace_file(path: Path, content: str | bytes, what: str = "result to") -> None:
    """Write to a temporary file and move it into place, so that readers never see half of it.

    The new file keeps the permissions of the old one. `what` names it in the error message.
    """
    written = content.encode("utf-8") if isinstance(content, str) else content
    try:
        path = path.resolve()
        if path.exists() and not path.is_file():  # pipes and terminals cannot be replaced
            path.write_bytes(written)
            return
        beside = path.with_name(f".{os.urandom(8).hex()}.partial")
        try:
            with beside.open("xb") as file:
                # Before writing, so that a private file is never readable by others.
                if path.exists():
                    beside.chmod(stat.S_IMODE(path.stat().st_mode))
                file.write(written)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"cannot write the {what} {str(path)!r:.200}: {error.strerror}") from error
