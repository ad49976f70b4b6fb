"""Speed benchmarks: `python benchmarks/run.py [--quick] [--only NAME,…] [--data FOLDER]`.

The full run takes an hour or two, needs an idle machine, writes benchmarks/results and refreshes docs/benchmarks.md;
the quick run takes about two minutes and writes both into benchmarks/results/quick.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
sys.path[:1] = [str(ROOT)]  # instead of this folder, whose modules are imported as benchmarks.…

from paper.keel import data_folder  # noqa: E402

from benchmarks import cold_start, for_whom, growth, kernel, noise, paper_tables, peers, ten_million  # noqa: E402
from benchmarks.measuring import Settings, machine, say, write  # noqa: E402
from benchmarks.page import page  # noqa: E402

PARTS: dict[str, ModuleType] = {
    "paper-tables": paper_tables,
    "peers": peers,
    "noise": noise,
    "growth": growth,
    "ten-million": ten_million,
    "for-whom": for_whom,
    "kernel": kernel,
    "start": cold_start,
}
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, into benchmarks/results/quick")
    parser.add_argument("--only", metavar="NAME,…", help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--data", type=Path, help="the folder that holds keel/*.dat and titanic.csv")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page from the results")
    given = parser.parse_args(arguments)
    chosen = given.only.split(",") if given.only else list(PARTS)
    if unknown := [name for name in chosen if name not in PARTS]:
        parser.error(f"no part {unknown[0]!r}; the parts are {', '.join(PARTS)}")
    data = data_folder(given.data)
    if given.data and not data:
        parser.error(f"{given.data} has no folder keel; give the one that holds keel/*.dat and titanic.csv")

    settings = Settings(given.quick, data)
    results = RESULTS / "quick" if given.quick else RESULTS
    for number, name in enumerate([] if given.page else chosen, 1):
        say(f"[{number}/{len(chosen)}] {name}")
        start = time.perf_counter()
        about = machine()
        if rows := PARTS[name].run(settings):
            write(results / f"{name}.json", about, rows)
        say(f"  {time.perf_counter() - start:.0f} s")
    target = results / "benchmarks.md" if given.quick else PAGE
    target.write_text(page(PARTS, results, given.quick), encoding="utf-8")
    say(f"written: {target.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
