"""Writing a result to a file: as a whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from causalrules.exceptions import DataError


def replace_file(path: Path, content: str | bytes, what: str = "result to") -> None:
    """Write beside the file and then move, so that a reader never finds half of it.

    The new file has the permissions of the one that it replaces; `what` names it where it cannot be written.
    """
    written = content.encode("utf-8") if isinstance(content, str) else content
    try:
        path = path.resolve()
        if path.exists() and not path.is_file():  # a pipe or a terminal cannot be moved onto
            path.write_bytes(written)
            return
        beside = path.with_name(f".{os.urandom(8).hex()}.partial")
        try:
            with beside.open("xb") as file:
                # Before the first byte: what was private must at no time be readable by others.
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
