"""Build a data frame of the requested library."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

from causalrules.exceptions import OptionError

LIBRARIES = ("pandas", "polars", "dict")


def frame(columns: dict[str, list[Any]], library: str | None) -> Any:
    """Return the columns as a data frame; by default of pandas if it is installed, else as a dict."""
    if library is None:
        library = "pandas" if find_spec("pandas") else "dict"
    if library not in LIBRARIES:
        raise OptionError(f"library is {library!r}; it must be one of {', '.join(map(repr, LIBRARIES))}")
    if library == "dict":
        return columns
    if not find_spec(library):
        raise OptionError(f"library is {library!r}, which is not installed; install it or use library='dict'")
    return importlib.import_module(library).DataFrame(columns)
