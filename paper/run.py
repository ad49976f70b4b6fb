"""Every figure and table of the paper: `python paper/run.py [--quick] [--data FOLDER] [NAME …]`.

If interrupted, rerun to resume. The full run writes paper/results and docs/paper.md; the quick run takes a few
minutes at small size and writes paper/results/quick.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from types import ModuleType

import beta
import bounds
import checks
import efficiency
import keel
import page
import recovery
import scalability
import titanic
import variance
from results import FULL, QUICK, Run

EXPERIMENTS: dict[str, ModuleType] = {
    module.__name__: module for module in (titanic, variance, recovery, beta, bounds, efficiency, scalability, checks)
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, into paper/results/quick")
    parser.add_argument("--data", type=Path, help="the folder that holds keel/*.dat and titanic.csv")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"only some of {', '.join(EXPERIMENTS)} (the page needs checks, and checks need the rest)",
    )
    given = parser.parse_args(arguments)
    if unknown := set(given.names) - set(EXPERIMENTS):
        parser.error(f"no experiment {min(unknown)!r}; there are {', '.join(EXPERIMENTS)}")
    data = keel.data_folder(given.data)
    if given.data and not data:
        parser.error(f"{given.data} has no folder keel; give the one that holds keel/*.dat and titanic.csv")

    run = Run(given.quick, data, given.seed, QUICK if given.quick else FULL)
    chosen = [name for name in EXPERIMENTS if not given.names or name in given.names]
    for number, name in enumerate(chosen, 1):
        run.say(f"[{number}/{len(chosen)}] {name}")
        start = time.perf_counter()
        EXPERIMENTS[name].make(run)
        run.say(f"  done in {time.perf_counter() - start:.0f} s")
    if "checks" not in chosen:
        return 0
    page.write(run)
    if not given.names:
        run.forget_parts()
    return checks.report(run)


if __name__ == "__main__":
    sys.exit(main())
