"""Runs in the peers' environment: pysubgroup on propositions given as Boolean columns.

usage: pysubgroup_search.py FILE.npz DEPTH K ALGORITHM REPEATS
"""

import json
import resource
import sys
import time
import warnings

import numpy as np
import pandas as pd
import pysubgroup as ps

# Millions of candidates are kept in memory; limit it, so that the machine survives.
resource.setrlimit(resource.RLIMIT_AS, (8_000_000_000, 8_000_000_000))
OUT_OF_MEMORY = 3

path, depth, k, algorithm, repeats = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], int(sys.argv[5])
table = np.load(path)
columns = {str(number): holds for number, holds in enumerate(table["holds"])}
data = pd.DataFrame({**columns, "y": table["outcome"].astype(bool)})
warnings.simplefilter("ignore")  # it divides by the size of empty subgroups
# Otherwise Apriori compiles its candidate loop if numba is installed, which this environment lacks.
algorithms = {
    "Apriori": lambda: ps.Apriori(use_numba=False),
    "DFS": lambda: ps.DFS(ps.BitSetRepresentation),
    "SimpleDFS": ps.SimpleDFS,
}
seconds = []
for _ in range(repeats):
    selectors = [ps.EqualitySelector(name, True) for name in columns]
    task = ps.SubgroupDiscoveryTask(
        data, ps.BinaryTarget("y", True), selectors, result_set_size=k, depth=depth, qf=ps.WRAccQF()
    )
    start = time.perf_counter()
    try:
        result = algorithms[algorithm]().execute(task)
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)
    seconds.append(time.perf_counter() - start)
rules = [
    (float(value), [int(selector.attribute_name) for selector in description.selectors])
    for value, description, _ in result.results
]
print(json.dumps({"seconds": seconds, "rules": rules}))
