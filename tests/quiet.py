"""Marks of tests that use other packages."""

import pytest

# Dask's threads and sockets warn when they are closed, which is not tested here.
QUIET_DASK = pytest.mark.filterwarnings(
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
    "ignore:::distributed",
    "ignore:::dask",
)
