"""Read any input into a `Table`."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from causalrules.data.table import Table
from causalrules.exceptions import OptionError

if TYPE_CHECKING:
    from causalrules.data.database import DuckDBSource

# Files and relations of at least this many rows are streamed: their rows are never in memory all at once.
STREAMED_FROM = 5_000_000


def read(
    data: Any,
    na_values: Sequence[str] = (),
    query: str | None = None,
    time_limit: float | None = None,
    keep_default_na: bool = True,
) -> Table:
    """Read a table.

    Parameters
    ----------
    data
        A dataframe, a dict of columns, a structured array, a DuckDB relation, or a path to CSV, TSV or Parquet files.
        The path may be a pattern that matches many files, such as "year=*/part-*.parquet".
    na_values
        Further texts that mean missing in a text file, in addition to those that pandas reads as missing.
    query
        A SELECT over the file as the table `data`.
    time_limit
        Seconds that the query may take.
    keep_default_na
        Whether texts that pandas reads as missing, such as NA, mean missing in a text file. An empty field always does.
    """
    if isinstance(na_values, str):
        na_values = (na_values,)
    if not isinstance(na_values, Collection) or not all(isinstance(value, str) for value in na_values):
        raise OptionError(
            "give the texts that mean missing, such as NA", parameter="na_values", value=f"{na_values!r:.60}"
        )
    if isinstance(data, Table):
        return data
    if isinstance(data, (str, os.PathLike)):
        from causalrules.data.files import read_path

        source = read_path(data, tuple(na_values), keep_default_na)
        return _table(source if query is None else source.select(query, time_limit))
    if na_values or not keep_default_na:
        raise OptionError(
            "it is for text files; in a dataframe, set those values to missing instead",
            parameter="na_values" if na_values else "keep_default_na",
        )
    if query is not None:
        raise OptionError("it is for files; of a dataframe, pass the rows and columns to use", parameter="query")
    if type(data).__name__ == "DuckDBPyRelation":
        from causalrules.data.database import read_relation

        return _table(read_relation(data))
    from causalrules.data.frames import read_object

    return Table(read_object(data))


def _table(source: DuckDBSource) -> Table:
    if source.n_rows < STREAMED_FROM:
        return Table(source)
    from causalrules.data.streaming import StreamedTable

    return StreamedTable(source)


def is_dask(data: Any) -> bool:
    """Return whether this is a Dask DataFrame, without importing Dask."""
    return type(data).__module__.startswith("dask.") and hasattr(data, "to_delayed")
