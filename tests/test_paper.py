"""The reproduction of the paper at small size: its formulas, search, files and page."""

from __future__ import annotations

import itertools
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

PAPER = Path(__file__).resolve().parents[1] / "paper"
sys.path.insert(0, str(PAPER))

import bands  # noqa: E402
import bounds  # noqa: E402
import checks  # noqa: E402
import finding  # noqa: E402
import keel  # noqa: E402
import page  # noqa: E402
import plain_search  # noqa: E402
import simulation  # noqa: E402
import titanic  # noqa: E402
from results import FULL, Run, read_rows, write_rows  # noqa: E402

import oracle  # noqa: E402
from causalrules.discovery import discover  # noqa: E402
from causalrules.estimators import scores  # noqa: E402
from rulesets import ended, rows_of  # noqa: E402
from strategies import TARGET, SmallTable, small_tables  # noqa: E402

BETAS = st.sampled_from([0.0, 0.5, 1.0, 1.96, 2.0, 2.58, 4.0])


# --- the population


@given(st.integers(1, 60), st.integers(0, 2**32 - 1), st.booleans(), st.integers(0, 727))
@settings(max_examples=60, deadline=None)
def test_values_of_all_rules_at_once_equal_the_formulas(n: int, seed: int, stratified: bool, rule: int) -> None:
    sample = simulation.POPULATION.sample(n, seed, stratified=stratified, library="dict")
    counts = simulation.count(simulation.cells(sample)[None])
    holds = np.ones(n, bool)
    for name, value in simulation.LANGUAGE.conditions[rule]:
        holds &= np.array(sample[name]) == value
    y, z = np.array(sample["y"]) == 1, np.array(sample["z"])
    a, b, c, d = [
        [int((side & outcome & (z == stratum)).sum()) for stratum in sorted(set(sample["z"]))]
        for side in (holds, ~holds)
        for outcome in (y, ~y)
    ]

    def ours(values: Any) -> float:
        return float(values[rule, 0])

    assert ours(simulation.reliable(counts, 1.5)) == pytest.approx(scores.reliable_effect(a, b, c, d, beta=1.5))
    assert ours(simulation.plugin(counts)) == pytest.approx(scores.plugin_effect(a, b, c, d))
    assert ours(simulation.plugin(counts, overlap_only=True)) == pytest.approx(
        np.nan_to_num(scores.effect(a, b, c, d)), abs=1e-12
    )
    assert ours(simulation.wracc(counts)) == pytest.approx(scores.wracc(a, b, c, d, laplace=True), abs=1e-12)
    assert ours(simulation.association(counts)) == pytest.approx(scores.association(a, b, c, d, laplace=True))


def test_discover_finds_the_rule_that_evaluating_all_rules_finds() -> None:
    check = checks.discover_agrees(Run(quick=True))
    assert check.holds, check.numbers


def test_discover_agrees_is_a_check_that_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "reliable", lambda counts: -simulation.plugin(counts))
    assert not checks.discover_agrees(Run(quick=True)).holds


def test_samples_depend_on_nothing_but_their_names() -> None:
    one, again = simulation.draw(50, 3, "a", 0), simulation.draw(50, 3, "a", 0)
    other = simulation.draw(50, 3, "b", 0)
    assert np.array_equal(one.a, again.a)
    assert not np.array_equal(one.a, other.a)


# --- the paper's search


@given(st.integers(0, 30), st.integers(0, 30), BETAS, st.data())
@settings(max_examples=150, deadline=None)
def test_bounds_are_the_maxima_they_claim(n1: int, n0: int, beta: float, data: st.DataObject) -> None:
    a, b = data.draw(st.integers(0, n1)), data.draw(st.integers(0, n0))
    b_core = data.draw(st.integers(0, b))
    strata = np.array([n1]), np.array([n0])
    bound = plain_search.Bounds(*strata, beta)
    here, negatives = np.array([[a]]), np.array([[b]])

    def highest(least: int) -> float:
        pairs = itertools.product(range(a + 1), range(least, b + 1))
        return max(float(plain_search.difference(*map(np.array, pair), n1, n0, beta)) for pair in pairs)

    assert float(bound.repaired(here, negatives)[0, 0]) == pytest.approx(highest(0), abs=1e-12)
    assert float(bound.reachable(here, negatives, np.array([[b_core]]))[0, 0]) >= highest(b_core) - 1e-12
    if beta <= np.sqrt(2):
        assert float(bound.paper(here, negatives)[0, 0]) == pytest.approx(highest(0), abs=1e-12)


def test_proposition_3_is_no_bound_at_the_papers_own_beta() -> None:
    found = page.proposition_3()
    assert (found["n"], found["b"]) == (200, 86)
    assert round(found["paper"], 3) == round(found["at_none"], 3) == -0.282
    assert round(found["repaired"], 3) == round(found["at_best"], 3) == -0.197


def test_the_papers_bound_loses_the_best_rule_and_ours_does_not() -> None:
    table = plain_search.counterexample()
    rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    kinds = {"A": "text", "B": "text", "C": "text"}
    truth = oracle.top_k(rows, "y", lambda y: y == 1, kinds, {"z": "text"}, k=1, beta=2.0, max_length=None)[0]
    assert truth.text == "A = yes ∧ B = yes"

    found = {row["search"]: row for row in bounds.counterexample()}
    assert found["paper"]["rule"] == "C = yes"
    assert found["paper"]["reliable_effect"] < truth.value - 0.009
    for search in ("repaired", "repaired_ordered", "reachable_ordered", "ours"):
        assert found[search]["rule"] == truth.text
        assert found[search]["reliable_effect"] == pytest.approx(truth.value)


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(2, 40), BETAS)
@settings(max_examples=150, deadline=None)
def test_the_plain_search_finds_the_best_rule(seed: int, n_columns: int, n_rows: int, beta: float) -> None:
    random = np.random.default_rng(seed)
    # Cuts of a column give nested propositions, so that one set of rows has several descriptions.
    columns = random.integers(0, 4, (n_columns, n_rows))
    holds = np.array([column <= cut for column in columns for cut in (0, 1, 2)])
    stratum, outcome = np.unique(random.integers(0, 3, n_rows), return_inverse=True)[1], random.random(n_rows) < 0.5
    rows = plain_search.Rows(holds, stratum, outcome)

    def worth(covered: Any) -> float:
        strata = range(stratum.max() + 1)
        a, b, c, d = [
            [int((side & what & (stratum == z)).sum()) for z in strata]
            for side in (covered, ~covered)
            for what in (outcome, ~outcome)
        ]
        return scores.reliable_effect(a, b, c, d, beta=beta)

    cuts = itertools.product([None, 0, 1, 2], repeat=n_columns)
    extensions = [
        np.all([column <= (3 if cut is None else cut) for column, cut in zip(columns, chosen, strict=True)], axis=0)
        for chosen in cuts
    ]
    highest = max((worth(covered) for covered in extensions if covered.any() and not covered.all()), default=None)
    for bound, ordered in plain_search.VARIANTS[1:]:
        result = plain_search.search(rows, bound, ordered, beta)
        assert result.finished
        if highest is not None:
            assert result.value == pytest.approx(highest, abs=1e-9), (bound, ordered)
            assert worth(holds[list(result.conditions)].all(axis=0)) == pytest.approx(result.value)


@given(small_tables(max_rows=25, max_actionable=3), BETAS)
@settings(max_examples=15, deadline=None)
def test_the_plain_search_reads_the_rule_language(table: SmallTable, beta: float) -> None:
    question: dict[str, Any] = {"k": 1, "beta": beta, "max_length": None, "max_bins": 4}
    truth = oracle.top_k(list(table.rows), TARGET, lambda y: y == 1, table.actionable, table.control, **question)[0]
    problem = rows_of(discover(table.columns(), TARGET, 1, list(table.control), **question, n_jobs=1))
    result = plain_search.search(plain_search.Rows.of(problem), "reachable", True, beta)
    assert result.value == pytest.approx(truth.value, abs=1e-9)


# --- KEEL files


def test_keel_files_are_read_as_declared(tmp_path: Path) -> None:
    (tmp_path / "keel").mkdir()
    (tmp_path / "keel" / "zoo.dat").write_text(
        "@relation zoo\n@attribute 'Body mass' real [0.0,9.0]\n@attribute Legs {4, 2}\n@ATTRIBUTE Eggs integer[0,9]\n"
        "@attribute Aquatic {0,1}\n@attribute Type {mammal, bird}\n@inputs Legs\n@outputs Type\n@data\n"
        "1.5, 4, 0, 1, mammal\n?,2, 7,0,bird\n",
        encoding="utf-8",
    )
    zoo = next(experiment for experiment in keel.EXPERIMENTS if experiment.name == "zoo")
    assert keel.load(zoo, tmp_path).to_pydict() == {
        "Body mass": [1.5, None],
        "Legs": ["4", "2"],
        "Eggs": [0, 7],
        "Aquatic": ["1", "0"],
        "Type": ["mammal", "bird"],
    }
    assert keel.classes(zoo, tmp_path) == ("mammal", "bird")


def test_a_row_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "short.dat"
    path.write_text("@attribute a {x}\n@attribute b {y}\n@data\nx,y\nx\n", encoding="utf-8")
    with pytest.raises(Exception, match=r"(?i)expected number of columns: 2 found: 1"):
        keel.read_keel(path)


def test_experiments_match_the_data_but_for_the_two_misprints() -> None:
    found = page.efficiency(read_rows(FULL / "efficiency.csv"))
    assert len(found) == len(keel.EXPERIMENTS) == 22
    assert {row["paper"].name for row in found if row["misprints"]} == {"nursery", "connect-4"}


# --- results


CELLS = st.integers(-(10**9), 10**9) | st.floats(allow_nan=False) | st.booleans() | st.sampled_from(["a, b", "≤ 2 ∧"])


@given(rows=st.lists(st.fixed_dictionaries({"x": CELLS, "y": CELLS}), min_size=1))
@settings(deadline=None)
def test_rows_come_back_as_they_were_written(rows: list[dict[str, Any]], tmp_path_factory: Any) -> None:
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    write_rows(path, rows)
    assert read_rows(path) == rows


def test_an_interrupted_run_resumes(tmp_path: Path) -> None:
    run = Run(folder=tmp_path)
    made: list[int] = []

    def make(number: int) -> list[dict[str, Any]]:
        if number == 2 and len(made) == 1:
            raise KeyboardInterrupt
        made.append(number)
        return [{"number": number, "third": number / 3}]

    with pytest.raises(KeyboardInterrupt):
        [run.part(f"part-{number}", lambda n=number: make(n)) for number in (1, 2)]
    made.append(0)
    rows = [run.part(f"part-{number}", lambda n=number: make(n)) for number in (1, 2)]
    assert made == [1, 0, 2]
    assert rows == [[{"number": 1, "third": 1 / 3}], [{"number": 2, "third": 2 / 3}]]
    assert Run(folder=tmp_path, seed=1).part("part-1", lambda: [{"number": 9}]) == [{"number": 9}]


def test_a_half_written_part_is_recomputed(tmp_path: Path) -> None:
    run = Run(folder=tmp_path)
    (path,) = _parts_after(run, "whole")
    path.with_name("half.csv.unfinished").write_text("number\n", encoding="utf-8")
    assert run.part("half", lambda: [{"number": 2}]) == [{"number": 2}]
    run.forget_parts()
    assert run.part("whole", lambda: [{"number": 3}]) == [{"number": 3}]


def test_an_interrupted_search_ends_the_run_and_leaves_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = ended(discover(plain_search.counterexample(), "y", 1), stopped="interrupted")
    monkeypatch.setattr(finding, "discover", lambda *given, **options: stopped)
    with pytest.raises(KeyboardInterrupt):
        finding.find({}, "y", 1)


def _parts_after(run: Run, name: str) -> list[Path]:
    run.part(name, lambda: [{"number": 1}])
    return list((run.folder / "parts").rglob("*.csv"))


# --- bands and checks


@given(st.integers(1, 200), st.data())
@settings(deadline=None)
def test_a_share_lies_in_its_interval(n: int, data: st.DataObject) -> None:
    share = data.draw(st.integers(0, n)) / n
    low, high = bands.wilson(share, n)
    assert 0 <= low <= share + 1e-12
    assert share - 1e-12 <= high <= 1
    assert low < high
    mirrored = bands.wilson(1 - share, n)
    assert (1 - high, 1 - low) == pytest.approx(mirrored)


def test_bands_are_those_of_the_textbooks() -> None:
    assert bands.wilson(0.0, 10) == pytest.approx((0, 0.2775), abs=1e-4)
    assert bands.simultaneous(1) == pytest.approx(1.96, abs=1e-3)
    assert bands.simultaneous(10) == pytest.approx(2.807, abs=1e-3)


def test_titanic_gives_the_papers_table(tmp_path: Path) -> None:
    run = Run(folder=tmp_path)
    titanic.make(run)
    assert checks.titanic_rules(run).holds
    assert checks.titanic_digits(run).holds
    rows = run.read("titanic")
    for name, wrong in (("coverage", 0.1912), ("reliable_effect", 0.58), ("rule", "sex = female"), ("optimal", False)):
        run.write("titanic", [{**rows[0], name: wrong}, *rows[1:]])
        assert not checks.titanic_rules(run).holds


@cache
def of_the_paper() -> list[tuple[Any, Any]]:
    """Return the checks of the stored results, except the last, which is slow."""
    return [(one, one(Run(folder=FULL))) for one in checks.CHECKS[:-1]]


@pytest.mark.parametrize(
    ("check", "table", "spoil"),
    [
        ("varies less", "variance", lambda row: {"reliable_sd": 2 * row["plugin_sd"]}),
        ("MSE of the reliable estimator is below", "recovery_paired", lambda row: {"difference": -0.001}),
        ("MSE of the reliable estimator falls", "recovery", lambda row: {"mse": row["n"] / 3000}),
        ("recovered by reliable", "recovery_paired", lambda row: {"difference": -0.5}),
        ("recovered by WRAcc", "recovery_paired", lambda row: {"difference": -0.5}),
        ("approaches 1", "recovery", lambda row: {"recovered": 0.9}),
        ("falls with n at 99%", "beta", lambda row: {"mse": row["n"] / 3000}),
        ("higher confidence", "beta_paired", lambda row: {"difference": -0.01}),
        ("first declared class", "efficiency", lambda row: {"optimal": row["data"] != "kddcup"}),
        ("plain search", "bounds", lambda row: {"reachable_ordered_value": row["ours_value"] + 0.01}),
    ],
)
def test_checks_can_fail(tmp_path: Path, check: str, table: str, spoil: Any) -> None:
    for path in FULL.glob("*.csv"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    asked = [one for one, made in of_the_paper() if check in made.claim]
    assert asked
    assert all(made.holds for one, made in of_the_paper() if one in asked)
    run = Run(folder=tmp_path)
    run.write(table, [{**row, **spoil(row)} for row in run.read(table)])
    assert not any(one(run).holds for one in asked)


def test_an_unexpected_outcome_of_a_claim_fails_the_run(tmp_path: Path) -> None:
    run = Run(folder=tmp_path)
    row = {"where": "§1", "claim": "two and two are four", "holds": True, "expected": True, "numbers": "4"}
    run.write("checks", [row])
    assert checks.report(run) == 0
    run.write("checks", [row, {**row, "holds": False}])
    assert checks.report(run) == 1


def test_the_results_are_as_expected_and_the_page_is_theirs() -> None:
    assert checks.report(Run()) == 0
    assert page.PAGE.read_text(encoding="utf-8") == page.render(FULL, "../paper/results")
