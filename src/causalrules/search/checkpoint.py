"""Save a search to a file and resume it.

The file is a line of JSON that identifies the question and the rows, with the finished steps of a ladder, then the
saved state of the core for the current search.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from causalrules import __version__
from causalrules.exceptions import CausalRulesError, DataError, FileError, UnsavedWarning
from causalrules.writing import replace_file, require_writable

if TYPE_CHECKING:
    from causalrules.question import Question
    from causalrules.search.core import Search
    from causalrules.search.problem import Problem

_FORMAT = "causalrules checkpoint"
_LONGEST_HEADER = 10_000_000
# The first save is early, to detect soon that a path cannot be written.
_FIRST, _LATER = 1.0, 10.0
# Maximum share of the time for saving: a large search is saved less often.
_SHARE = 0.02


class Checkpoint:
    """The file of one search, identified by fingerprints of its data and options.

    Attributes
    ----------
    finished
        The finished steps of a ladder, in JSON types; in the end all but the last.
    saved
        Number of finished steps in the file.
    """

    def __init__(self, path: str | os.PathLike[str], problem: Problem, question: Question) -> None:
        self._path = _usable(path)
        self._of = _fingerprints(problem, question)
        self._due = time.monotonic() + _FIRST
        self._warned = False
        self.finished: list[Any] = []
        self._numbers = self._read() if self._path.exists() else None
        self.saved = len(self.finished)

    def resume(self, search: Search) -> None:
        """Resume from the file, if there is one; a DataError says why it cannot be used."""
        numbers, self._numbers = self._numbers, None
        if numbers is None:
            return
        try:
            search.restore(numbers)
        except CausalRulesError as error:
            raise self.damaged(str(error)) from error

    def damaged(self, why: str) -> DataError:
        """Return the error for a file with invalid content."""
        return DataError(f"checkpoint {str(self._path)!r}: {why}; delete it to start over")

    def save(self, search: Search, at_once: bool = False) -> None:
        """Write the file atomically, if a save is due; if that fails, the search continues."""
        if not at_once and time.monotonic() < self._due:
            return
        begun = time.monotonic()
        numbers = search.save().astype("<u8", copy=False).tobytes()
        header = {"format": _FORMAT, "version": __version__, "of": self._of, "bytes": len(numbers)}
        header["steps"] = self.finished
        header["sha256"] = _sum_of(numbers, self.finished)
        try:
            replace_file(self._path, json.dumps(header).encode("ascii") + b"\n" + numbers, "checkpoint")
        except FileError as error:
            if not self._warned:
                warnings.warn(f"{error}; the search continues without it", UnsavedWarning, stacklevel=2)
            self._warned = True
        now = time.monotonic()
        self._due = now + max(_LATER, (now - begun) / _SHARE)

    def _read(self) -> NDArray[np.uint64]:
        place = f"checkpoint {str(self._path)!r}"
        try:
            with self._path.open("rb") as file:
                line = file.readline(_LONGEST_HEADER)
                header = _header(line)
                if header is None:
                    raise DataError(f"{place} is not a checkpoint; name another file")
                if header.get("version") != __version__:
                    raise DataError(
                        f"{place} was written by causalrules {str(header.get('version'))[:20]}, this is "
                        f"{__version__}; resume with that version, or delete it to start over"
                    )
                self._compare(place, header.get("of"))
                numbers = file.read()
        except OSError as error:
            raise DataError(f"cannot read {place}: {error.strerror}") from error
        is_whole = len(numbers) % 8 == 0 and len(numbers) == header.get("bytes")
        steps = header.get("steps")
        if not is_whole or not isinstance(steps, list) or _sum_of(numbers, steps) != header.get("sha256"):
            raise DataError(f"{place} is damaged or truncated; delete it to start over")
        self.finished = steps
        return np.frombuffer(numbers, "<u8").astype(np.uint64)

    def _compare(self, place: str, of: Any) -> None:
        found = of if isinstance(of, Mapping) else {}
        for what, fingerprint in self._of.items():
            if found.get(what) != fingerprint:
                raise DataError(
                    f"{place} was made with other {what}; ask the same question of the same data, "
                    "or delete it to start over"
                )


def _sum_of(numbers: bytes, steps: list[Any]) -> str:
    return hashlib.sha256(numbers + json.dumps(steps).encode("ascii")).hexdigest()


def _usable(path: str | os.PathLike[str]) -> Path:
    place = require_writable(path, "checkpoint").resolve()
    if place.exists() and not place.is_file():
        raise FileError(f"checkpoint {str(place)!r} is not a regular file; name another file")
    return place


def _header(line: bytes) -> dict[str, Any] | None:
    try:
        header = json.loads(line) if line.endswith(b"\n") else None
    except (ValueError, RecursionError):
        return None
    return header if isinstance(header, dict) and header.get("format") == _FORMAT else None


def _fingerprints(problem: Problem, question: Question) -> dict[str, str]:
    def fingerprint(*parts: Any) -> str:
        return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]

    return {
        "columns, values or cut points": fingerprint(
            [proposition.to_dict() for proposition in problem.language.propositions],
            problem.strata_labels,
            problem.roles.outcome.text,
        ),
        "rows": fingerprint(problem.digest(), problem.n_rows),
        "options": fingerprint(sorted(question.searched().items())),
    }
