"""Writing a result to a file: as a whole or not at all."""

from __future__ import annotations

import secrets
from pathlib import Path

from causalrules.exceptions import DataError


def replace_file(path: Path, content: str | bytes) -> None:
    """Write beside the file and then move, so that a reader never finds half of it."""
    written = content.encode("utf-8") if isinstance(content, str) else content
    try:
        path = path.resolve()
        if path.exists() and not path.is_file():  # a pipe or a terminal cannot be moved onto
            path.write_bytes(written)
            return
        beside = path.with_name(f".{secrets.token_hex(8)}.partial")
        try:
            beside.write_bytes(written)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"cannot write the result to {str(path)!r:.200}: {error.strerror}") from error
