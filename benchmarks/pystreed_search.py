"""Runs pystreed in an environment of its own: pystreed_search.py TABLE.npz DEPTH LEAST."""

import sys
import time

import numpy as np
from pystreed import STreeDInstanceCostSensitiveClassifier


def main() -> None:
    path, depth, least = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with np.load(path) as table:
        holds, psi, chosen = table["holds"].astype(int), table["psi"], table["chosen"]
    # Costs of not treating, and of treating, are not negative.
    costs = np.column_stack([np.maximum(psi, 0), np.maximum(-psi, 0)])
    tree = STreeDInstanceCostSensitiveClassifier(max_depth=depth, min_leaf_node_size=least, time_limit=600)
    start = time.perf_counter()
    tree.fit(holds[chosen], costs[chosen])
    seconds = time.perf_counter() - start
    np.savez(path, treated=tree.predict(holds), seconds=seconds)


if __name__ == "__main__":
    main()
