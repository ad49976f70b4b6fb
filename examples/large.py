"""Large data with DuckDB: files, a query, and counts instead of rows

A shop has a million orders in Parquet files, one folder a year. The same three steps work for files that are larger
than memory: the search only ever asks for counts.
"""

import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

import causalrules as cr

rng = np.random.default_rng(0)
n = 1_000_000
weekend = rng.random(n) < 2 / 7
region = rng.choice(["north", "south", "east", "west"], n)
express = rng.random(n) < np.where(weekend, 0.6, 0.3)
packed = rng.choice(["box", "bag"], n)
returned = rng.random(n) < 0.10 + 0.10 * weekend - 0.04 * express + 0.06 * ((packed == "bag") & (region == "west"))
orders = pa.table(
    {
        "year": rng.choice([2023, 2024, 2025], n),
        "weekend": weekend,
        "region": region,
        "express": express,
        "packed": packed,
        "returned": returned,
    }
)
temporary = tempfile.TemporaryDirectory()
folder = Path(temporary.name)
duckdb.sql(f"COPY orders TO '{folder}/orders' (FORMAT parquet, PARTITION_BY (year))")
print(*sorted(path.relative_to(folder).as_posix() for path in folder.glob("orders/*")), sep="\n")

# %%
# ## Files, by a pattern
#
# Orders of a weekend are sent by express and returned more often; so the day is a control. Which conditions lower the
# share of returned orders?

actions = ["express", "packed", "region"]
pattern = f"{folder}/orders/*/*.parquet"
rules = cr.discover(pattern, "returned", control="weekend", actionable=actions, direction="decrease", k=3)
print(rules)

# %%
# ## A query before the search
#
# The query sees the files as the table `data`, and nothing else: no other file, no network.

west = cr.discover(
    pattern,
    "returned",
    control="weekend",
    actionable=["express", "packed"],
    query="SELECT * FROM data WHERE region = 'west'",
    direction="decrease",
    k=1,
)
print(f"{west[0]}: {100 * west[0].effect:.1f} points, {west.n_rows:,} rows")

# %%
# ## Counts instead of rows
#
# A million orders have only 64 different combinations of these columns. Let the database count them, and search the
# counts: `weights` is the column with them. The answer is the same to the last digit.

counted = duckdb.sql(
    f"SELECT weekend, express, packed, region, returned, count(*) AS n FROM '{pattern}' GROUP BY ALL ORDER BY ALL"
)
same = cr.discover(counted, "returned", control="weekend", actionable=actions, weights="n", direction="decrease", k=3)
print(f"{len(counted)} counted rows stand for {same.n_rows:,}")
assert [(str(rule), rule.effect) for rule in same] == [(str(rule), rule.effect) for rule in rules]
temporary.cleanup()

# %%
# What a hundred million rows cost is in [Large data: what it costs](../scale.md); a cluster is [another
# page](../howto/dask.md).
