"""Run in the peers' environment: pysubgroup on propositions that are handed over as columns of true and false.

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

# Candidates by the million are kept at once; the machine is not to go down with them.
resource.setrlimit(resource.RLIMIT_AS, (8_000_000_000, 8_000_000_000))
OUT_OF_MEMORY = 3

path, depth, k, algorithm, repeats = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], int(sys.argv[5])
table = np.load(path)
columns = {str(number): holds for number, holds in enumerate(table["holds"])}
data = pd.DataFrame({**columns, "y": table["outcome"].astype(bool)})
warnings.simplefilter("ignore")  # it divides by the size of empty subgroups
# Without this, Apriori compiles its candidates' loop where numba is installed: not in this environment.
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
