"""For whom does an action work, and who should get what: on tables whose truth is known, beside peers, and in seconds.

    python benchmarks/for_whom.py [--quick] [--tables N] [--data FOLDER] [--print] [NAME ...]

NAME is one of the parts, by default all:

- regimes: how often an effect that is the same for all is said to differ, and how often bounds hold
- power: how often a planted group is found, and how well
- bounds: prescribe() on tables without effects and with known ones; bounds of for_whom() under confounding
- acic: the groups chosen on one half of ACIC 2016, measured on the other by the true means, beside CART and a T-learner
- peers: policies beside exact trees (pystreed) on the same row scores, and German Credit in FairCap's roles
- time: seconds on 50,000 rows; also `python3 dev.py bench --only for-whom`

Each prints Markdown and writes benchmarks/results/for-whom-PART.json as it goes; --print only prints what is there.
300 tables of each regime take about two hours on one core; the other parts some minutes to an hour each.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:1] = [str(ROOT)]

from paper.keel import data_folder  # noqa: E402

import causalrules as cr  # noqa: E402
from benchmarks import for_whom_peers as others  # noqa: E402
from benchmarks.differing import (  # noqa: E402
    ACTION,
    REGIMES,
    SKEWED,
    Actionable,
    Drawn,
    actionable,
    in_planted,
    planted,
    wide,
)
from benchmarks.measuring import Goal, Row, Settings, clocked, machine, repeated, say, write  # noqa: E402
from benchmarks.regimes import Columns  # noqa: E402
from benchmarks.wording import duration, integer, spread, table  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
TITLE = "For whom"
ERROR_RATE = 0.05


def quietly(ask: Callable[..., Any], *given: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ask(*given, n_jobs=1, progress=False, **options)


def segments_of(drawn: Drawn, **options: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    found = quietly(cr.for_whom, drawn.columns, ACTION, "y", **{**drawn.asked, **options})
    return found, time.perf_counter() - start


def shown(found: Any) -> list[Any]:
    """Return the segments, or the candidate where none stands out."""
    return list(found) or [each for each in (found.candidate,) if each is not None]


class Bounds(NamedTuple):
    """Whether the lower bounds of everything shown hold, and both bounds."""

    inside: bool
    inside_interval: bool
    contrast: bool
    contrast_interval: bool


def bounds_hold(drawn: Drawn, found: Any) -> Bounds:
    """Compare the bounds of what is shown with the true effects in its rows, each group among the rows left for it."""
    left = np.ones(len(drawn.effect), bool)
    answers = []
    for segment in shown(found):
        rows = left & np.asarray(segment.covers(drawn.columns))
        others = left & ~rows
        inside = drawn.inside(rows)
        contrast = inside - drawn.inside(others)
        low, high = segment.interval
        less, more = segment.contrast_interval
        # The side of the claim: a group that benefits less has its bound above.
        side = inside >= low if segment.contrast > 0 else inside <= high
        apart = contrast >= less if segment.contrast > 0 else contrast <= more
        answers.append((side, low <= inside <= high, apart, less <= contrast <= more))
        left = others
    return Bounds(*(all(column) for column in zip(*answers, strict=True))) if answers else Bounds(*[True] * 4)


# ---------------------------------------------------------------- regimes


def regimes(n_tables: int, data: Path | None) -> Iterator[Row]:
    for name, drawing in (REGIMES | SKEWED).items():
        yield one_regime(name, drawing, n_tables)


def one_regime(name: str, drawing: Callable[[int], Drawn], n_tables: int) -> Row:
    claims, seconds, smallest = 0, [], []
    held: list[Bounds] = []
    for seed in range(n_tables):
        drawn = drawing(seed)
        found, took = segments_of(drawn)
        claims += len(found) > 0
        seconds.append(took)
        smallest += [shown(found)[0].p_value] if shown(found) else []
        held.append(bounds_hold(drawn, found))
    return {
        "regime": name,
        "asked": name in REGIMES,
        "tables": n_tables,
        "claims": claims,
        "below 10 %": sum(p <= 0.1 for p in smallest),
        "inside": sum(each.inside for each in held),
        "inside interval": sum(each.inside_interval for each in held),
        "contrast": sum(each.contrast for each in held),
        "seconds": statistics.median(seconds),
    }


def share(hits: float, n: int) -> str:
    return f"{100 * hits / n:.1f} %"


def regimes_section(rows: Sequence[Row]) -> str:
    return table(
        [
            "effect the same for all",
            "tables",
            "said to differ",
            "p ≤ 10 %",
            "bound inside holds",
            "interval",
            "seconds",
        ],
        [
            [
                row["regime"],
                row["tables"],
                share(row["claims"], row["tables"]),
                share(row["below 10 %"], row["tables"]),
                share(row["inside"], row["tables"]),
                share(row["inside interval"], row["tables"]),
                duration(row["seconds"]),
            ]
            for row in rows
        ],
    )


# ---------------------------------------------------------------- power


def power(n_tables: int, data: Path | None) -> Iterator[Row]:
    for confounded in (False, True):
        for points in (15, 25):
            for n in (2000, 5000):
                yield one_power(points, n, confounded, n_tables)


def jaccard(first: Any, second: Any) -> float:
    return float((first & second).sum() / (first | second).sum())


def effect_inside(drawn: Drawn, rows: Any) -> float:
    """Return the effect in a group of a table by lot without controls, from the table alone.

    The mean of ȳ₁ − ȳ₀ + T (y − ȳ₁)/e − (1 − T) (y − ȳ₀)/(1 − e) over the group, e the share of the treated.
    """
    y, treated = np.asarray(drawn.columns["y"], np.float64), drawn.treated
    share, first, second = treated.mean(), y[treated == 1].mean(), y[treated == 0].mean()
    scores = first - second + treated * (y - first) / share - (1 - treated) * (y - second) / (1 - share)
    return float(scores[rows].mean())


def one_power(points: float, n: int, confounded: bool, n_tables: int) -> Row:
    found_ones, overlaps, differences = 0, [], []
    held: list[Bounds] = []
    for seed in range(n_tables):
        drawn = planted(seed, points, n, confounded)
        found, _ = segments_of(drawn)
        found_ones += len(found) > 0
        held.append(bounds_hold(drawn, found))
        if not shown(found):
            continue
        first = shown(found)[0]
        rows = np.asarray(first.covers(drawn.columns))
        overlaps.append(jaccard(rows, in_planted(drawn)))
        if not found.by_models:
            differences.append(abs(first.effect - effect_inside(drawn, rows)))
    return {
        "points": points,
        "n": n,
        "confounded": confounded,
        "tables": n_tables,
        "found": found_ones,
        "jaccard": statistics.median(overlaps),
        "mean jaccard": statistics.fmean(overlaps),
        "inside": sum(each.inside for each in held),
        "contrast": sum(each.contrast for each in held),
        "largest difference": max(differences, default=None),
    }


def power_section(rows: Sequence[Row]) -> str:
    return table(
        ["planted", "rows", "tables", "found", "Jaccard, median", "mean", "bound inside holds", "of the contrast"],
        [
            [
                f"{row['points']} points" + (", confounded" if row["confounded"] else ""),
                integer(row["n"]),
                row["tables"],
                share(row["found"], row["tables"]),
                f"{row['jaccard']:.2f}",
                f"{row['mean jaccard']:.2f}",
                share(row["inside"], row["tables"]),
                share(row["contrast"], row["tables"]),
            ]
            for row in rows
        ],
    )


# ---------------------------------------------------------------- bounds of policies


def bounds(n_tables: int, data: Path | None) -> Iterator[Row]:
    for effects in (False, True):
        for n in (1000, 4000):
            yield one_policy(effects, n, n_tables)


def true_effects(drawn: Actionable, policy: Any) -> tuple[list[float], float]:
    """Return the true effect of each step over the policy's default, and the policy's gain over today's practice."""
    today, default = drawn.expected(None), drawn.expected(policy.default)
    served = np.asarray(policy.assign(drawn.columns))
    effects, gained = [], np.zeros(len(today))
    for place, step in enumerate(policy):
        rows = served == place
        value = drawn.expected(step.action)
        last = not step.context and policy.default is not None and tuple(step.action) == tuple(policy.default)
        effects.append(float((value - (today if last else default))[rows].mean()) if rows.any() else 0.0)
        gained[rows] = (value - today)[rows]
    return effects, float(gained.mean())


def one_policy(effects: bool, n: int, n_tables: int) -> Row:
    listed, held, steps, inside, known, gains, best, seconds = 0, 0, 0, 0, 0, [], [], []
    for seed in range(n_tables):
        drawn = actionable(seed, n, effects)
        start = time.perf_counter()
        policy = quietly(cr.prescribe, drawn.columns, "y", **drawn.asked)
        seconds.append(time.perf_counter() - start)
        truths, gain = true_effects(drawn, policy)
        listed += len(policy) > 0
        steps += len(policy)
        held += all(step.at_least <= truth for step, truth in zip(policy, truths, strict=True))
        gains.append(gain)
        best.append(best_gain(drawn))
        interval = None if policy.held_out is None else policy.held_out.over_today
        if interval is not None and len(policy):
            inside += interval.low <= gain
            known += 1
    return {
        "effects": effects,
        "n": n,
        "tables": n_tables,
        "listed": listed,
        "steps": steps / n_tables,
        "at least": held,
        "gain": statistics.fmean(gains),
        "best": statistics.fmean(best),
        "held-out": inside,
        "of": known,
        "seconds": statistics.median(seconds),
    }


def best_gain(drawn: Actionable) -> float:
    """Return what the best level of every column for each row gains over today's practice."""
    best = sum(column.adds.max(axis=1) for column in drawn.levels)
    return float((best - drawn.expected(None)).mean())


def bounds_section(rows: Sequence[Row]) -> str:
    return table(
        ["prescribe()", "rows", "tables", "any step", "steps", "at least holds", "true gain", "best", "held-out bound"],
        [
            [
                "effects" if row["effects"] else "no effect",
                integer(row["n"]),
                row["tables"],
                share(row["listed"], row["tables"]),
                f"{row['steps']:.2f}",
                share(row["at least"], row["tables"]),
                f"{100 * row['gain']:.2f}",
                f"{100 * row['best']:.2f}",
                share(row["held-out"], row["of"]) if row["of"] else "–",
            ]
            for row in rows
        ],
    )


# ---------------------------------------------------------------- ACIC 2016


def acic(n_tables: int, data: Path | None) -> Iterator[Row]:
    folder = None if data is None else data / "studies"
    if folder is None or not (folder / others.ACIC[0]).is_file():
        say("  acic skipped: no folder with studies/acic2016_x.csv.gz; give it by --data or CAUSALRULES_DATA")
        return
    for replication in range(1, 11):
        for split in range(max(1, n_tables // 100)):
            yield from one_acic(others.acic_table(folder, replication), replication, split)


def one_acic(drawn: Drawn, replication: int, split: int) -> Iterator[Row]:
    """Choose a group on one half by each method, and measure it on the other half by the true means."""
    n = len(drawn.effect)
    chosen = np.random.default_rng([replication, split]).permutation(n) < n // 2
    half = {name: values[chosen] for name, values in drawn.columns.items()}
    start = time.perf_counter()
    found = quietly(cr.for_whom, half, ACTION, "y", **drawn.asked)
    took = time.perf_counter() - start
    about = {"replication": replication, "split": split}

    def measured(method: str, rows: Any, claim: float | None = None, low: float | None = None) -> Row:
        held_out = rows & ~chosen
        inside = drawn.inside(held_out) if held_out.any() else drawn.inside(~chosen)
        share = float(held_out.sum() / (~chosen).sum())
        gain = share * (inside - drawn.inside(~chosen))
        return {**about, "method": method, "gain": gain, "share": share, "true": inside, "claim": claim, "low": low}

    first = shown(found)[0]
    rows = np.asarray(first.covers(drawn.columns))
    more = first.contrast > 0
    claim, low = (first.effect, first.low) if more else (first.outside, None)
    ours = measured("for_whom", rows if more else ~rows, claim, low)
    yield ours | {"p": first.p_value, "seconds": took, "text": first.text, "n_groups": found.n_groups}
    for method, group, told, bound in others.groups(drawn, chosen, seed=split):
        yield measured(method, group, told, bound)
    yield measured("the true effects", drawn.effect > drawn.inside(chosen))


def acic_section(rows: Sequence[Row]) -> str:
    methods = list(dict.fromkeys(row["method"] for row in rows))
    lines = []
    for method in methods:
        own = [row for row in rows if row["method"] == method]
        bounded = [row for row in own if row["low"] is not None]
        claimed = [row for row in own if row["claim"] is not None]
        by_replication = [
            statistics.fmean(row["gain"] for row in own if row["replication"] == number)
            for number in dict.fromkeys(row["replication"] for row in own)
        ]
        lines.append(
            [
                method,
                f"{statistics.fmean(by_replication):.2f}",
                ", ".join(f"{gain:.2f}" for gain in by_replication),
                f"{100 * statistics.median(row['share'] for row in own):.0f} %",
                f"{sum(row['claim'] > row['true'] for row in claimed)} of {len(claimed)}" if claimed else "–",
                f"{sum(row['low'] <= row['true'] for row in bounded)} of {len(bounded)}" if bounded else "–",
            ]
        )
    head = ["group by", "true gain per person", "each replication", "share", "claim too high", "bound below the truth"]
    return table(head, lines)


# ---------------------------------------------------------------- peers


def peers(n_tables: int, data: Path | None) -> Iterator[Row]:
    yield from others.against_trees(data, max(1, n_tables // 100))
    if data is not None:
        yield from others.german_credit(data)


def peers_section(rows: Sequence[Row]) -> str:
    trees = [row for row in rows if row["part"] == "trees"]
    german = [row for row in rows if row["part"] == "german"]
    parts = []
    if trees:
        head = ["table", "rows", "policy", "value, same scores", "value, held out", "true value", "seconds"]
        lines = [
            [
                row["table"],
                integer(row["n"]),
                row["method"],
                f"{row['value']:.4f}",
                f"{row['held out']:.4f}",
                "–" if row["true"] is None else f"{row['true']:.4f}",
                duration(row["seconds"]),
            ]
            for row in trees
        ]
        parts.append(table(head, lines))
    if german:
        head = ["German Credit, FairCap's roles", "share", "adjusted effect", "at least", "difference of means"]
        lines = [
            [
                row["text"],
                f"{100 * row['share']:.0f} %",
                f"{100 * row['effect']:.1f}",
                f"{100 * row['at least']:.1f}",
                f"{100 * row['raw']:.1f}",
            ]
            for row in german
        ]
        parts.append(table(head, lines) + f"\n\n{duration(german[0]['seconds'])}, {german[0]['pairs']:,} pairs.")
    return "\n\n".join(parts)


# ---------------------------------------------------------------- time, a part of `dev.py bench`


def run(settings: Settings) -> list[Row]:
    rows = []
    for n in (5_000,) if settings.quick else (5_000, 50_000):
        columns = wide(n)
        rows += [one_time(name, columns, n, settings.repeats) for name in LIMITS]
    return rows


# Seconds with 50,000 rows.
LIMITS = {"for_whom": 5.0, "prescribe": 30.0}


def one_time(call: str, columns: Columns, n: int, repeats: int) -> Row:
    asked: dict[str, Any] = {"outcome": 1, "context": [name for name in columns if name[0] == "c" and name != "call"]}
    acted = [name for name in columns if name[0] == "a"]
    answers: list[Any] = []

    def ask() -> None:
        if call == "for_whom":
            answers.append(cr.for_whom(columns, ACTION, "y", randomised="call", progress=False, **asked))
        else:
            answers.append(cr.prescribe(columns, "y", actionable=acted, progress=False, **asked))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        timing = repeated(lambda: clocked(ask), repeats, patience=60)
    tried, optimal = (
        (answers[0].n_groups, True) if call == "for_whom" else (answers[0].n_pairs, bool(answers[0].optimal))
    )
    say(f"  {call}, {n:,} rows: {duration(timing.seconds)}")
    return {"call": call, "n": n, "tried": tried, "optimal": optimal} | asdict(timing)


def section(rows: Sequence[Row]) -> str:
    head = "20 numeric contexts and 10 actionable columns of two to eight levels, two conditions of each; all cores."
    body = [
        [
            f"`{row['call']}`",
            integer(row["n"]),
            integer(row["tried"]),
            duration(row["seconds"]) + ("" if row["optimal"] else " (not proven)"),
            spread(row),
        ]
        for row in rows
    ]
    return f"{head}\n\n" + table(["call", "rows", "groups or pairs", "seconds", "spread"], body)


def goals(rows: Sequence[Row]) -> list[Goal]:
    return [
        Goal(
            f"`{row['call']}` on 50,000 rows, 20 context and 10 actionable columns, in {LIMITS[row['call']]:.0f} s",
            duration(row["seconds"]),
            bool(row["optimal"] and row["seconds"] <= LIMITS[row["call"]]),
        )
        for row in rows
        if row["n"] == 50_000
    ]


def timed(n_tables: int, data: Path | None) -> Iterator[Row]:
    yield from run(Settings(n_tables < 10, data))


PARTS: Mapping[str, tuple[Callable[[int, Path | None], Iterator[Row]], Callable[[Sequence[Row]], str]]] = {
    "regimes": (regimes, regimes_section),
    "power": (power, power_section),
    "bounds": (bounds, bounds_section),
    "acic": (acic, acic_section),
    "peers": (peers, peers_section),
    "time": (timed, section),
}


def plain(row: Row) -> Row:
    """Return a row with Python's numbers: sums of NumPy's truth values are NumPy's, which JSON cannot write."""
    return {key: value.item() if isinstance(value, np.generic) else value for key, value in row.items()}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(PARTS)}; by default all")
    parser.add_argument("--quick", action="store_true", help="3 tables each, and nothing is written")
    parser.add_argument("--tables", type=int, default=300, help="tables of each kind")
    parser.add_argument("--data", type=Path, help="the folder that holds keel/ and studies/")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--print", action="store_true", dest="only_print", help="print the results that are there")
    given = parser.parse_args(arguments)
    if unknown := [name for name in given.names if name not in PARTS]:
        parser.error(f"no part {unknown[0]!r}; they are {', '.join(PARTS)}")
    for name in given.names or PARTS:
        ask, written = PARTS[name]
        # The times belong to `dev.py bench`, which keeps them beside those of the other searches.
        path = given.results / ("for-whom.json" if name == "time" else f"for-whom-{name}.json")
        if given.only_print:
            rows = others.kept(path)
        else:
            about, rows = machine(), []
            for row in ask(3 if given.quick else given.tables, data_folder(given.data)):
                rows.append(plain(row))
                say("  " + ", ".join(f"{key} {value}" for key, value in row.items()))
                if not given.quick:
                    write(path, about, rows)
        if rows:
            print(f"## {name}\n\n{written(rows)}\n", flush=True)


if __name__ == "__main__":
    main()
