"""Other ways to choose groups and policies: CART, a T-learner, exact policy trees (pystreed), FairCap's roles."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
import venv
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from paper.keel import read_keel

import causalrules as cr
from benchmarks.differing import LEVELS, Drawn, planted
from benchmarks.measuring import Row, say
from benchmarks.peers import VENV
from benchmarks.regimes import Columns, Floats

FOLDER = Path(__file__).parent
ACIC = ("acic2016_x.csv.gz", "acic2016_zymu_1-10.csv.gz")
# A group of the other methods has at least this share of the rows, as for_whom() has by default; and a leaf as CART
# would choose it alone.
LEAST, SMALL = 0.05, 0.01
FOLDS = 5


def kept(path: Path) -> list[Row]:
    """Return the rows of a file of results; none if there is no such file."""
    return json.loads(path.read_text(encoding="utf-8"))["rows"] if path.is_file() else []


# ---------------------------------------------------------------- ACIC 2016


@cache
def _acic_files(folder: Path) -> tuple[Columns, Columns]:
    read = [duckdb.read_csv(str(folder / name)).fetchnumpy() for name in ACIC]
    return read[0], read[1]


def acic_table(folder: Path, replication: int) -> Drawn:
    """Return a replication: 4,802 rows, 58 covariates that are contexts and controls, and both true means."""
    covariates, simulated = _acic_files(folder)
    own = simulated["instance"] == replication
    treated, y = simulated["z"][own], np.where(simulated["z"] == 1, simulated["y1"], simulated["y0"])[own]
    columns = {**covariates, "call": np.where(treated == 1, "yes", "no"), "y": y}
    names = list(covariates)
    return Drawn(columns, (simulated["mu1"] - simulated["mu0"])[own], {"context": names, "control": names})


def matrix_of(columns: Columns, names: list[str]) -> Floats:
    """Return columns as numbers; a column of text becomes an indicator for each value."""
    parts = []
    for name in names:
        values = np.asarray(columns[name])
        if values.dtype.kind in "OUT":
            parts += [np.asarray(values == value, np.float64) for value in sorted(set(values.tolist()))]
        else:
            parts.append(values.astype(np.float64))
    return np.stack(parts, axis=1)


def scores_of(matrix: Floats, treated: Floats, y: Floats, seed: int) -> Floats:
    """Return doubly robust scores by boosted trees, fitted to the other folds."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    fold = np.random.default_rng(seed).permutation(len(y)) % FOLDS
    scores = np.empty(len(y))
    for number in range(FOLDS):
        rest, here = fold != number, fold == number
        means = []
        for side in (1, 0):
            rows = rest & (treated == side)
            means.append(HistGradientBoostingRegressor(random_state=0).fit(matrix[rows], y[rows]).predict(matrix[here]))
        chance = HistGradientBoostingClassifier(random_state=0).fit(matrix[rest], treated[rest])
        e = np.clip(chance.predict_proba(matrix[here])[:, 1], 0.05, 0.95)
        t, own = treated[here], y[here]
        corrections = t * (own - means[0]) / e - (1 - t) * (own - means[1]) / (1 - e)
        scores[here] = means[0] - means[1] + corrections
    return scores


def groups(drawn: Drawn, chosen: Any, seed: int) -> list[tuple[str, Any, float, float | None]]:
    """Return the groups of other methods, chosen on some rows: the method, its rows, the claimed effect and bound.

    A leaf's bound is the usual one of its mean, which knows nothing of the search.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # the trees' threads wait for each other on a busy machine
        return list(_groups(drawn, chosen, seed))


def _groups(drawn: Drawn, chosen: Any, seed: int) -> Iterator[tuple[str, Any, float, float | None]]:
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.tree import DecisionTreeRegressor

    matrix = matrix_of(drawn.columns, list(drawn.asked["context"]))
    treated, y = drawn.treated, np.asarray(drawn.columns["y"], np.float64)
    psi = scores_of(matrix[chosen], treated[chosen], y[chosen], seed)
    trees = {
        "CART, leaves of 1 %": DecisionTreeRegressor(min_samples_leaf=SMALL, random_state=0),
        "CART, leaves of 5 %": DecisionTreeRegressor(min_samples_leaf=LEAST, random_state=0),
        "CART, leaves of 5 %, depth 2": DecisionTreeRegressor(min_samples_leaf=LEAST, max_depth=2, random_state=0),
    }
    for name, tree in trees.items():
        leaf = tree.fit(matrix[chosen], psi).apply(matrix)
        own = leaf[chosen]
        effect = {number: psi[own == number].mean() for number in np.unique(own)}
        gain = {number: (own == number).mean() * (effect[number] - psi.mean()) for number in effect}
        for what, value in (("largest effect", effect), ("best gain", gain)):
            best = max(value, key=lambda number: value[number])
            inside = psi[own == best]
            low = inside.mean() - 1.96 * inside.std() / np.sqrt(len(inside))
            yield f"{name}, {what}", leaf == best, float(inside.mean()), float(low)
    sides = [HistGradientBoostingRegressor(random_state=0) for _ in range(2)]
    for side, model in enumerate(sides):
        rows = chosen & (treated == side)
        model.fit(matrix[rows], y[rows])
    predicted = sides[1].predict(matrix) - sides[0].predict(matrix)
    group = predicted > predicted[chosen].mean()
    yield "T-learner, above its mean", group, float(predicted[group & chosen].mean()), None


# ---------------------------------------------------------------- policy trees

TREES = VENV.with_name(".venv-trees")
PYTHON = TREES / "bin" / "python"
REQUIREMENTS = FOLDER / "for_whom_peers.txt"


def has_trees(install: bool = False) -> bool:
    """Return whether the environment of pystreed exists; create it first if `install`."""
    complete, wanted = TREES / "installed-from", REQUIREMENTS.read_text()
    if complete.is_file() and complete.read_text() == wanted:
        return True
    if not install:
        return False
    say("  installing pystreed into an environment of its own")
    venv.create(TREES, with_pip=True)
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(REQUIREMENTS)]
    if subprocess.run(pip).returncode:
        return False
    complete.write_text(wanted)
    return True


def exact_tree(holds: Any, psi: Floats, chosen: Any, depth: int) -> tuple[Floats, float] | None:
    """Return whom the tree that is best for the chosen rows treats, and the seconds of its search."""
    if not has_trees(install=True):
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npz"
        np.savez(path, holds=holds, psi=psi, chosen=chosen)
        script = FOLDER / "pystreed_search.py"
        least = str(round(LEAST * chosen.sum()))
        subprocess.run([str(PYTHON), "-I", str(script), str(path), str(depth), least], check=True)
        with np.load(path) as answer:
            return answer["treated"].astype(np.float64), float(answer["seconds"])


def thresholds(columns: Columns, names: list[str], bins: int = LEVELS) -> Any:
    """Return which conditions column ≥ value hold, for the values that part a column into bins of equal numbers."""
    holds = []
    for name in names:
        values = np.asarray(columns[name])
        if values.dtype.kind in "OUT":
            holds += [values == value for value in sorted(set(values.tolist()))]
            continue
        cuts = np.unique(np.quantile(values, np.arange(1, bins) / bins, method="higher"))
        holds += [values >= cut for cut in cuts[cuts > values.min()]]
    return np.array(holds)


def against_trees(data: Path | None, n_tables: int) -> Iterator[Row]:
    """Choose policies on one half, by us and by exact trees of depth 2, and value them by scores of the same rows."""
    for seed in range(n_tables):
        yield from _both("planted, 25 points", planted(seed, 25, 20_000, base=-0.1), seed)
    if data is not None and (data / "studies" / "hillstrom.csv.gz").is_file():
        for arm in ("Mens E-Mail", "Womens E-Mail"):
            yield from _both(f"Hillstrom, {arm.split()[0].lower()}", hillstrom(data, arm), 0)
    else:
        say("  hillstrom skipped: no folder with studies/hillstrom.csv.gz")


def hillstrom(data: Path, arm: str) -> Drawn:
    """Return customers who got this e-mail or none; nobody knows the true effects."""
    read = duckdb.read_csv(str(data / "studies" / "hillstrom.csv.gz")).fetchnumpy()
    rows = np.isin(read["segment"], [arm, "No E-Mail"])
    names = ["recency", "history", "mens", "womens", "zip_code", "newbie", "channel"]
    columns: Columns = {name: np.asarray(read[name])[rows] for name in names}
    columns["call"] = np.where(read["segment"][rows] == arm, "yes", "no")
    columns["y"] = np.asarray(read["visit"])[rows]
    asked = {"outcome": 1, "context": names, "randomised": ["call"]}
    return Drawn(columns, np.full(int(rows.sum()), np.nan), asked)


def _both(name: str, drawn: Drawn, seed: int) -> Iterator[Row]:
    """Value policies over "nobody" by the scores of the rows that they were chosen on, of the others, and in truth.

    The target is net of a cost that makes the mean effect 0, so that the question is whom to treat.
    """
    n = len(drawn.effect)
    chosen = np.random.default_rng(seed).permutation(n) < n // 2
    y, treated = np.asarray(drawn.columns["y"], np.float64), drawn.treated
    share = treated.mean()
    cost = max(0.0, y[treated == 1].mean() - y[treated == 0].mean())
    psi = (treated / share - (1 - treated) / (1 - share)) * (y - y.mean()) - cost
    half = {key: values[chosen] for key, values in drawn.columns.items()}
    asked = {key: value for key, value in drawn.asked.items() if key != "randomised"}
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        policy = cr.prescribe(
            half,
            "y",
            **asked,
            actionable=["call"],
            randomised=["call"],
            cost={"call = yes": cost},
            baseline={"call": "no"},
            progress=False,
        )
    seconds = time.perf_counter() - start
    served = np.asarray(policy.assign(drawn.columns))
    # A step treats all, none; without a step, today's practice treats the same share of everybody.
    treats = np.full(n, share)
    for place, step in enumerate(policy):
        treats[served == place] = float(str(step.action[0]) == "call = yes")

    def row(method: str, policy: Floats, took: float) -> Row:
        truth = None if np.isnan(drawn.effect).any() else float((policy * (drawn.effect - cost)).mean())
        return {
            "part": "trees",
            "table": name,
            "n": n // 2,
            "seed": seed,
            "method": method,
            "value": float((policy * psi)[chosen].mean()),
            "held out": float((policy * psi)[~chosen].mean()),
            "true": truth,
            "treated": float(policy.mean()),
            "seconds": took,
        }

    yield row("prescribe", treats, seconds) | {"text": " / ".join(str(step) for step in policy)}
    holds = thresholds(drawn.columns, list(drawn.asked["context"]))
    answer = exact_tree(holds.T, psi, chosen, depth=2)
    if answer is not None:
        yield row("pystreed, depth 2", *answer)


# ---------------------------------------------------------------- FairCap

# The roles of FairCap (Li, Levy, Youngmann, Galhotra & Roy 2025) as released with its code, in the names of the file.
IMMUTABLE = [
    "Age",
    "StatusAndSex",
    "ForeignWorker",
    "CreditHistory",
    "EmploymentSince",
    "Property",
    "InstallmentRate",
    "Purpose",
    "NPeopleMain",
    "DurationMonth",
    "CreditAmount",
]
MUTABLE = [
    "StatusAccount",
    "SavingsAccount",
    "Guarantors",
    "ResidenceSince",
    "InstallmentPlans",
    "Housing",
    "NCredits",
    "Job",
    "Telephone",
]


def german_credit(data: Path) -> Iterator[Row]:
    """Prescribe what raises good credit, in FairCap's roles, adjusted for all that it holds immutable."""
    path = data / "keel" / "german.dat"
    if not path.is_file():
        say("  german credit skipped: no keel/german.dat")
        return
    columns = {name: np.array(values) for name, values in read_keel(path).to_pydict().items()}
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        policy = cr.prescribe(
            columns,
            "Customer",
            outcome=1,
            actionable=MUTABLE,
            context=IMMUTABLE,
            control=IMMUTABLE,
            progress=False,
        )
    seconds = time.perf_counter() - start
    good = columns["Customer"].astype(str) == "1"
    left = np.ones(len(good), bool)
    listed = list(policy) or [each for each in (policy.candidate,) if each is not None]
    for step in listed:
        served = left & np.asarray(step.covers(columns))
        acted = served & holding(columns, step.action)
        yield {
            "part": "german",
            "text": step.text,
            "stands out": len(policy) > 0,
            "share": step.share,
            "effect": step.effect,
            "at least": step.at_least,
            "raw": float(good[acted].mean() - good[served & ~acted].mean()),
            "pairs": policy.n_pairs,
            "optimal": policy.optimal,
            "seconds": seconds,
        }
        left &= ~served


def holding(columns: Columns, conditions: Any) -> Any:
    """Return on which rows all conditions hold."""
    rows = np.ones(len(next(iter(columns.values()))), bool)
    for each in conditions:
        values = columns[each.column]
        if each.operator == "=":
            rows &= values.astype(str) == str(each.value)
        else:
            rows &= values >= each.value if each.operator == ">=" else values <= each.value
    return rows
