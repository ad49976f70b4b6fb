"""Lists in which each rule adds to those above it, against brute force: any data source, stopped or not."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import causalrules as cr
import ladders
import oracle
from causalrules import stepwise
from causalrules.data import database, reading, streaming
from causalrules.exceptions import InadmissibleError, OptionError
from causalrules.search import checkpoint, deadline
from causalrules.search import core as _native
from causalrules.search import run as search
from causalrules.search import streamed as stream
from oracle import Ladder
from quiet import QUIET_DASK
from strategies import examples


@settings(max_examples=examples(40, 150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_each_rule_is_the_best_that_adds_to_those_above(data: st.DataObject) -> None:
    ladders.check(lambda values: data.draw(st.sampled_from(values)))


def asked_of(seed: int, **options: Any) -> Ladder:
    """Draw a random question, usually with more than one rule that stands out."""
    found = ladders.drawn(Random(seed).choice)
    return replace(found, **{"k": 4, "beta": 0.3, "max_length": 2, **options})


def answer(rules: cr.RuleSet) -> dict[str, Any]:
    """Return the JSON without time, source name and kind of table."""
    found: dict[str, Any] = json.loads(rules.to_json())
    for name in ("run", "library", "notes"):
        found.pop(name, None)
    found["question"].pop("source")
    return found


# --- a table worked out by hand


def planted(n: int = 2000, seed: int = 0) -> dict[str, Any]:
    """Draw two causes, a proxy equal to the first in 80 % of the rows, and two columns of noise."""
    rng = np.random.default_rng([7, seed])
    first, second = (rng.integers(0, 4, n) for _ in range(2))
    proxy = np.where(rng.random(n) < 0.8, first, rng.integers(0, 4, n))
    z = rng.integers(0, 2, n)
    y = rng.random(n) < 0.1 + 0.3 * (first >= 2) + 0.25 * (second == 0) + 0.1 * z
    noise = {name: rng.integers(0, 4, n) for name in ("e", "f")}
    return {"first": first, "second": second, "proxy": proxy, **noise, "z": z, "y": y.astype(int)}


def test_two_causes_are_two_rules_and_their_proxy_is_none() -> None:
    rules = cr.discover(planted(), "y", control="z", max_length=1, n_jobs=1)
    assert [rule.text for rule in rules] == ["first ≥ 2", "second ≤ 0"]
    assert [rule.held_fixed for rule in rules] == [(), ("first",)]
    assert [step.held_fixed for step in rules.steps] == [(), ("first",), ("first", "second")]
    assert all(rule.stands_out and rule.alone is not None for rule in rules)
    # Rules that do not stand out are not in the list.
    assert rules.nearest is not None
    assert not rules.nearest.stands_out
    assert rules.nearest.held_fixed == ("first", "second")
    assert rules.findings == rules.rules
    assert rules.optimal
    # None holds, only the first, both.
    assert [rung.level for rung in rules.rungs] == pytest.approx([0.15, 0.45, 0.70], abs=0.06)


def test_on_noise_the_list_has_one_candidate_and_no_findings() -> None:
    rng = np.random.default_rng(1)
    table: dict[str, Any] = {name: rng.integers(0, 3, 500) for name in "abcd"} | {"y": rng.integers(0, 2, 500)}
    rules = cr.discover(table, "y", n_jobs=1)
    assert (len(rules), len(rules.steps), rules.findings, rules.rungs, rules.nearest) == (1, 1, (), (), None)
    assert not rules[0].stands_out
    assert rules[0].alone is None


def test_the_staircase_is_that_of_the_levels_by_hand() -> None:
    # In each stratum: 20 rows of each combination of a and b, with these numbers of outcomes.
    happen = {("p", 0, 0): 2, ("p", 1, 0): 10, ("p", 0, 1): 6, ("p", 1, 1): 16}
    happen |= {("q", 0, 0): 4, ("q", 1, 0): 12, ("q", 0, 1): 8, ("q", 1, 1): 18}
    rows = [
        {"z": z, "a": a, "b": b, "y": int(place < positive)}
        for (z, a, b), positive in happen.items()
        for place in range(20 * (1 + (z == "q")))
    ]
    table = {name: [row[name] for row in rows] for name in rows[0]}
    rules = cr.discover(table, "y", control="z", beta=0.5, max_length=1, n_jobs=1)
    assert [rule.text for rule in rules] == ["a = 1", "b = 1"]
    weights = {"p": 80 / 240, "q": 160 / 240}
    levels = [
        weights["p"] * happen["p", a, b] / 20 + weights["q"] * happen["q", a, b] / 40 for a, b in ((0, 0), (1, 1))
    ]
    first = weights["p"] * 10 / 20 + weights["q"] * 12 / 40
    assert [rung.level for rung in rules.rungs] == pytest.approx([levels[0], first, levels[1]])
    assert [rung.n_rows for rung in rules.rungs] == [60, 60, 60]
    # 20 or 40 rows in each of the eight combinations: a stratum for each.
    assert [(step.strata, step.predicted) for step in rules.steps[:2]] == [(2, False), (4, False)]
    inside = [(16 - 10) / 20, (6 - 2) / 20, (18 - 12) / 40, (8 - 4) / 40]
    assert rules[1].effect == pytest.approx(
        sum(w * d for w, d in zip((1 / 6, 1 / 6, 1 / 3, 1 / 3), inside, strict=True))
    )


@pytest.mark.parametrize(("n_rows", "n_strata"), [(25, 3), (24, 2)])
def test_columns_are_strata_while_these_hold_25_rows_on_average(n_rows: int, n_strata: int) -> None:
    rows = [
        {"a": a, "b": b, "y": int(place < 2 + 8 * (a == "p") + 2 * (b == "p"))}
        for a in ("p", "q", None)
        for b in "pq"
        for place in range(n_rows // 2 + (n_rows % 2 and b == "p"))
    ]
    assert len(rows) == 3 * n_rows
    rules = cr.discover({name: [row[name] for row in rows] for name in rows[0]}, "y", beta=0.0, max_length=1, n_jobs=1)
    assert rules.steps[1].held_fixed == ("a",)
    # If a is q or missing the outcome is equally frequent, so both are predicted alike.
    assert (rules.steps[1].strata, rules.steps[1].predicted) == (n_strata, n_strata == 2)


def test_arms_are_compared_with_the_reference_one_after_the_other() -> None:
    rng = np.random.default_rng(3)
    arm = rng.choice(["placebo", "low", "high"], 900)
    age = rng.integers(0, 3, 900)
    y = rng.random(900) < 0.2 + 0.4 * (arm == "high") + 0.25 * (arm == "low") + 0.1 * age
    table = {"arm": arm, "age": age, "y": y}
    rules = cr.discover(table, "y", reference={"arm": "placebo"}, max_length=1, n_jobs=1)
    assert [rule.text for rule in rules] == ["arm = high", "arm = low"]
    # Other arms are not compared, so nothing is held fixed.
    assert [rule.held_fixed for rule in rules] == [(), ()]
    for rule, name in zip(rules, ("high", "low"), strict=True):
        assert rule.effect == pytest.approx(y[arm == name].mean() - y[arm == "placebo"].mean())


# --- invariances


@settings(max_examples=examples(25, 100), deadline=None)
@given(st.integers(0, 10**6))
def test_one_rule_step_by_step_is_the_best_rule(seed: int) -> None:
    asked = replace(ladders.drawn(Random(seed).choice), k=1)
    first, plain = ladders.discover(asked), ladders.discover(asked, stepwise=False)
    assert [replace(rule, alone=None) for rule in first] == list(plain)
    for rule in first:
        if rule.stands_out:
            assert rule.alone is not None
            assert rule.alone.effect == pytest.approx(rule.effect, nan_ok=True)


@settings(max_examples=examples(25, 100), deadline=None)
@given(st.integers(0, 10**6))
def test_the_order_of_rows_and_columns_and_threads_do_not_matter(seed: int) -> None:
    random = Random(seed)
    asked = asked_of(seed, beta=random.choice([None, 0.3]))
    columns = ladders.columns_of(asked)
    names, order = list(columns), list(range(len(asked.rows)))
    random.shuffle(names)
    random.shuffle(order)
    shuffled = {name: [columns[name][row] for row in order] for name in names}
    options = {"actionable": random.sample([*asked.actionable], len(asked.actionable)), "n_jobs": 2}
    assert answer(ladders.discover(asked, shuffled, **options)) == answer(ladders.discover(asked))


def test_weights_are_repeated_rows() -> None:
    for seed in range(12):
        asked = asked_of(seed, reference=None)
        rows = asked.observed
        if asked.weights is not None and len(rows) > 2:
            expanded = {name: [row[name] for row in rows] for name in rows[0]}
            alike(ladders.discover(asked, expanded, weights=None), ladders.discover(asked))


# --- stopped and resumed


class StopError(Exception):
    pass


@pytest.fixture
def little_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of no time expand at most one node, and each is saved."""
    monkeypatch.setattr(search, "_FIRST_STEP", 0.0)
    monkeypatch.setattr(_native.NativeSearch, "patience", 1e-6)
    monkeypatch.setattr(checkpoint, "_FIRST", 0.0)
    monkeypatch.setattr(checkpoint, "_LATER", 0.0)
    monkeypatch.setattr(checkpoint, "_SHARE", 1e9)


@pytest.mark.usefixtures("little_steps")
@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_list_resumes_in_the_middle_of_a_step(tmp_path: Path, step: int) -> None:
    tried = 0
    for seed in range(12):
        asked = asked_of(seed, beta=(None, 0.3)[seed % 2], k=3, max_length=3)
        expected = ladders.discover(asked)
        if len(expected.steps) < step:
            continue
        tried += 1
        path = tmp_path / f"{step} {seed}"
        seen: list[search.Progress] = []

        def stop(progress: search.Progress, seen: list[search.Progress] = seen) -> None:
            seen += [progress] * (progress.step == step)
            if len(seen) > 1:
                raise StopError

        try:
            ladders.discover(asked, checkpoint=path, progress=stop)
        except StopError:
            assert seen[-1].step == step
        again = ladders.discover(asked, checkpoint=path)
        assert answer(again) == answer(expected), seed
        assert again.nodes == expected.nodes
        # The final checkpoint has the whole list.
        assert answer(ladders.discover(asked, checkpoint=path)) == answer(expected)
    assert tried > 3


def test_a_margin_from_permuted_tables_survives_a_checkpoint(tmp_path: Path) -> None:
    # The first rule stands out only with such a margin; the search ends with it, or continues below it.
    for seed in range(200):
        asked = replace(ladders.drawn(Random(seed).choice), k=2, beta=None, max_length=2, reference=None)
        expected = ladders.discover(asked)
        if len(expected.steps) == 2 and expected.steps[0].margin_scale < 1:
            break
    path = tmp_path / "list"
    for _ in range(2):
        again = ladders.discover(asked, checkpoint=path)
        assert answer(again) == answer(expected)
        assert again.evidence == expected.evidence


@pytest.mark.usefixtures("little_steps")
@pytest.mark.parametrize("end", ["Ctrl-C", "time limit"])
def test_a_list_stopped_early_has_the_rules_so_far(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = cr.discover(planted(), "y", control="z", max_length=1, n_jobs=1)
    clock = SimpleNamespace(now=100.0)
    if end == "time limit":
        monkeypatch.setattr(deadline, "time", SimpleNamespace(monotonic=lambda: clock.now))
        monkeypatch.setattr(search, "time", SimpleNamespace(perf_counter=lambda: clock.now))

    def stop(progress: search.Progress) -> None:
        if progress.step == 2:
            if end == "Ctrl-C":
                raise KeyboardInterrupt
            clock.now += 3600

    limit = 60.0 if end == "time limit" else None
    rules = cr.discover(planted(), "y", control="z", max_length=1, n_jobs=1, progress=stop, time_limit=limit)
    assert rules.stopped == ("interrupted" if end == "Ctrl-C" else end)
    assert not rules.optimal
    assert [step.optimal for step in rules.steps] == [True, False]
    assert rules[0] == replace(whole[0], circumstances=rules[0].circumstances)
    assert all(rule.held_fixed == ("first",) for rule in rules[1:])
    assert rules.steps[1].upper_bound >= whole[1].value
    assert len(rules) <= 2


# --- remote rows


def alike(rules: cr.RuleSet, expected: cr.RuleSet) -> None:
    """Compare lists up to rounding, since values may be added in another order."""
    assert [step.held_fixed for step in rules.steps] == [step.held_fixed for step in expected.steps]
    assert [(step.strata, step.predicted) for step in rules.steps] == [
        (step.strata, step.predicted) for step in expected.steps
    ]
    assert (rules.nearest is None) == (expected.nearest is None)
    if rules.rungs or not any(rule.n_undecided for rule in expected):  # else unknown for remote rows
        assert [rung.n_rows for rung in rules.rungs] == [rung.n_rows for rung in expected.rungs]
        assert [rung.level for rung in rules.rungs] == pytest.approx([rung.level for rung in expected.rungs])
    pairs = [*zip(rules, expected, strict=True)]
    if rules.nearest is not None and expected.nearest is not None:
        pairs.append((rules.nearest, expected.nearest))
    for one, other in pairs:
        assert (one.text, one.held_fixed, one.measured.counts) == (other.text, other.held_fixed, other.measured.counts)
        assert one.value == pytest.approx(other.value, abs=1e-12)
        assert [one.effect, *one.interval] == pytest.approx([other.effect, *other.interval], nan_ok=True)
        assert (one.alone is None) == (other.alone is None)
        if one.alone is not None and other.alone is not None:
            assert list(one.alone) == pytest.approx(list(other.alone), nan_ok=True)


@pytest.mark.parametrize(("suffix", "seeds"), [("parquet", range(100, 106)), ("csv", (101, 109))])
def test_a_file_larger_than_memory_gives_the_same_list(
    suffix: str, seeds: Iterable[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = predicted = 0
    for seed in seeds:
        asked = asked_of(seed, reference=None)
        table = pa.table({name: pa.array(values) for name, values in ladders.columns_of(asked).items()})
        path = tmp_path / f"{seed}.{suffix}"
        if suffix == "parquet":
            pq.write_table(table, path)
        else:
            table.to_pandas().to_csv(path, index=False)
        expected = ladders.discover(asked, path)
        with monkeypatch.context() as sliced:
            sliced.setattr(reading, "STREAMED_FROM", 0)
            sliced.setattr(database, "SLICE", 5)
            sliced.setattr(stream, "SLICE", 5)
            assert type(reading.read(path)) is streaming.StreamedTable
            rules = ladders.discover(asked, path)
        alike(rules, expected)
        listed, predicted = max(listed, len(rules)), predicted + rules.steps[-1].predicted
    assert listed >= 3
    assert predicted


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None, set_as_default=False
    ) as client:
        yield client


@QUIET_DASK
def test_workers_give_the_same_list(client: Any) -> None:
    dd = pytest.importorskip("dask.dataframe")
    types = {"number": "Float64", "text": "str", "boolean": "boolean"}
    listed = 0
    for seed in range(200, 206):
        asked = asked_of(seed, reference=None)
        kinds = {**asked.actionable, **asked.control}
        frame = pd.DataFrame(
            {
                name: pd.Series(values, dtype=types[kinds.get(name, "number")])
                for name, values in ladders.columns_of(asked).items()
            }
        )
        rules = ladders.discover(asked, dd.from_pandas(frame, npartitions=3), client=client)
        alike(rules, ladders.discover(asked, frame))
        listed = max(listed, len(rules))
    assert listed >= 2


# --- groups, and measured again


def test_groups_change_standard_errors_and_not_the_list() -> None:
    table = planted(600)
    table |= {"person": np.repeat(np.arange(150), 4), "first": table["first"].astype(str)}
    table["second"] = table["second"].astype(str)
    options: dict[str, Any] = {
        "actionable": ["first", "second", "e"],
        "beta": 0.5,
        "k": 3,
        "max_length": 1,
        "n_jobs": 1,
    }
    rules = cr.discover(table, "y", control="z", groups="person", **options)
    plain = cr.discover(table, "y", control="z", **options)
    assert [(rule.text, rule.value, rule.effect) for rule in rules] == [
        (rule.text, rule.value, rule.effect) for rule in plain
    ]
    assert rules.steps[1].held_fixed
    assert not rules.steps[1].predicted
    assert rules[1].standard_error != plain[1].standard_error
    # As if the column above were a control.
    ((named,)) = cr.evaluate(table, [rules[1].text], "y", control=["z", *rules[1].held_fixed], groups="person")
    assert rules[1].effect == pytest.approx(named.effect)
    assert rules[1].standard_error == pytest.approx(named.standard_error)
    assert list(rules[1].interval) == pytest.approx(list(named.interval))


def drawn_again(asked: Ladder, random: Random) -> list[dict[str, Any]]:
    """Draw other rows of the same values: each column is permuted within parts of the table."""
    rows = [dict(random.choice(asked.observed)) for _ in range(100)]
    for name in rows[0]:
        chosen = [row for row in rows if random.random() < 0.5]
        values = [row[name] for row in chosen]
        random.shuffle(values)
        for row, value in zip(chosen, values, strict=True):
            row[name] = value
    return rows


@settings(max_examples=examples(25, 100), deadline=None)
@given(st.integers(0, 10**6))
def test_new_rows_are_measured_in_the_strata_of_each_step(seed: int) -> None:
    asked = asked_of(seed)
    rules = ladders.discover(asked)
    new = replace(asked, rows=drawn_again(asked, Random(seed)))
    if len({row["y"] for row in new.observed}) < 2 or not rules[0].stands_out:
        return
    confirmed = rules.confirm(ladders.columns_of(new))
    rows = new.observed
    known = {
        name: {row[name]: key[place] for row, key in zip(asked.observed, asked.of_controls, strict=True)}
        for place, name in enumerate(asked.control)
    }
    for rule, (step, own, _) in zip(confirmed, asked.climb(), strict=False):
        assert own is not None
        assert rule.evidence is not None
        assert rule.evidence.honest is not None
        strata = [(*(known[name][row[name]] for name in known), step.stratum_of(row)) for row in rows]
        conditions = [{**each._asdict(), "parts": asked.bins_of[each.column]} for each in step.named(own)]
        codes = [[oracle._bin(row[each["column"]], each["parts"]) for each in conditions] for row in rows]
        holds = [
            [each["low"] <= code <= each["high"] for each, code in zip(conditions, row, strict=True)] for row in codes
        ]
        covered = frozenset(i for i, row in enumerate(holds) if all(row))
        if asked.unknown:
            open_ = [
                [a or code < 0 for a, code in zip(row, line, strict=True)]
                for row, line in zip(holds, codes, strict=True)
            ]
            failing = frozenset(i for i, row in enumerate(open_) if not all(row))
        else:
            failing = frozenset(range(len(rows))) - covered
        if asked.reference is not None:
            arm, value = asked.reference
            failing = frozenset(i for i, row in enumerate(rows) if row[arm] == value)
            covered -= failing
        effect = oracle.adjusted([float(row["y"]) for row in rows], covered, failing, strata)
        assert rule.evidence.honest.n_rows == len(rows)
        if math.isnan(effect):
            assert rule.evidence.honest.effect is None
        else:
            assert rule.evidence.honest.effect == pytest.approx(effect, abs=1e-9)


def test_rules_are_confirmed_one_sided_with_holms_correction() -> None:
    rules = cr.discover(planted(), "y", control="z", max_length=1, n_jobs=1)
    again = rules.confirm(planted(seed=1))
    assert again.confirmed == (True, True)
    assert rules.confirmed == (None, None)
    honest = [rule.evidence.honest for rule in again if rule.evidence is not None]
    single = [
        0.5 * math.erfc(each.effect / each.standard_error / math.sqrt(2))
        for each in honest
        if each is not None and each.effect is not None and each.standard_error
    ]
    low, high = sorted(single)
    found = sorted(each.p_value for each in honest if each is not None and each.p_value is not None)
    assert found == pytest.approx([2 * low, max(2 * low, high)])
    # If the second cause has no effect, it is not confirmed.
    without = planted(seed=2)
    without["second"] = np.random.default_rng(5).permutation(without["second"])
    assert rules.confirm(without).confirmed == (True, False)


# --- own controls for each rule

COLUMNS = {"a": "text", "b": "text", "c": "number", "d": "text"}


def graph_and_rows(seed: int) -> tuple[list[dict[str, Any]], nx.DiGraph]:
    random = Random(seed)
    order = [*COLUMNS, "u", "y"]
    random.shuffle(order)
    graph = nx.DiGraph([pair for pair in itertools.combinations(order, 2) if random.random() < 0.4])
    graph.add_nodes_from(order)
    rows = []
    for _ in range(random.choice([20, 60, 200])):
        a = random.choice("pq")
        b = a if random.random() < 0.5 else random.choice("pqr")
        c = random.randint(0, 3) if random.random() < 0.5 else int(a == "p")
        d = b if random.random() < 0.3 else random.choice("pq")
        y = int(random.random() < 0.1 + 0.3 * (a == "p") + 0.2 * (c > 1) + 0.3 * (d == "q"))
        rows.append({"a": a, "b": b, "c": c, "d": d, "y": y})
    return rows, graph


def is_valid(graph: nx.DiGraph, columns: set[str], control: set[str]) -> bool:
    """Return whether the condition of Theorem 1 holds, by networkx."""
    if any(nx.descendants(graph, name) & control for name in columns):
        return False
    without = graph.copy()
    without.remove_edges_from(list(graph.out_edges(columns)))
    return bool(nx.is_d_separator(without, columns, {"y"}, control))


def subsets(names: Any) -> list[frozenset[str]]:
    names = sorted(names)
    return [frozenset(each) for size in range(len(names) + 1) for each in itertools.combinations(names, size)]


def own_controls(seed: int) -> int:
    """Compare one list with brute force; return the number of its rules with columns above them."""
    rows, graph = graph_and_rows(seed)
    random = Random(seed + 1)
    if len({row["y"] for row in rows}) < 2 or any(len({row[name] for row in rows}) < 2 for name in COLUMNS):
        return 0
    base = Ladder(
        rows, "y", COLUMNS, {}, k=3, beta=random.choice([None, 0.0, 0.3, 0.7]), max_length=random.choice([1, 2])
    )
    graph_of = cr.CausalGraph(tuple(graph.nodes), tuple(graph.edges), latent=frozenset({"u"}))
    options = ladders.options_of(base) | {"control": "auto", "graph": graph_of}
    try:
        rules = cr.discover(ladders.columns_of(base), **options)
    except InadmissibleError:
        return 0
    above: list[tuple[oracle.Condition, ...]] = []
    listed = [*rules, *([] if rules.nearest is None else [rules.nearest])]
    sizes = {name: len({row[name] for row in rows}) for name in COLUMNS}
    for place, rule in enumerate(listed):
        held = {each.column for conditions in above for each in conditions}
        assert set(rule.held_fixed) == held
        # A set of columns is offered if it has valid controls together with the columns above; of these, the controls
        # with the fewest combinations are used.
        offered: dict[frozenset[str], tuple[str, ...]] = {}
        for problem in rules.ladder[place].problem.adjustments:
            every = (
                subsets(COLUMNS)
                if problem.language.allowed_columns is None
                else map(frozenset, problem.language.allowed_columns)
            )
            offered |= dict.fromkeys(
                (each for each in every if 0 < len(each) <= (base.max_length or 9)), problem.roles.control
            )
        for columns in subsets(set(COLUMNS) - held):
            if not 0 < len(columns) <= (base.max_length or 9):
                continue
            valid = [z for z in subsets(set(COLUMNS) - held - columns) if is_valid(graph, {*columns}, {*z, *held})]
            assert (columns in offered) == bool(valid), (seed, columns, held)
            if valid:
                own = frozenset(offered[columns])
                assert own in valid
                fewest = min(math.prod(sizes[name] for name in z) for z in valid)
                assert math.prod(sizes[name] for name in own) == fewest
        values = {}
        for control in set(offered.values()):
            step = replace(base, control={name: COLUMNS[name] for name in control}).step(above)
            assert step is not None
            beta = base.betas(step.conditions, offered) if base.beta is None else base.beta
            for length in range(1, (base.max_length or 9) + 1):
                for numbers in itertools.combinations(range(len(step.conditions)), length):
                    conditions = tuple(step.conditions[number] for number in numbers)
                    if offered.get(frozenset(each.column for each in conditions)) != control:
                        continue
                    sets = [step.table.sets(step.table.conditions[number]) for number in numbers]
                    covered, possible = (frozenset.intersection(*(each[side] for each in sets)) for side in (0, 1))
                    failing = step.table.everything - possible
                    if covered and failing:
                        sides = step.table.sides(covered, failing, step.n_strata)
                        values[conditions] = oracle.pooled(sides, beta, length)
        mine = next(each for each in values if ladders.text(each) == [condition.text for condition in rule.conditions])
        assert rule.value == pytest.approx(values[mine], abs=1e-9)
        assert rule.control == offered[frozenset(each.column for each in mine)]
        best = max(values.values())
        # With β by length, the fallback is the rule with the largest ratio of effect to margin.
        assert rule.value == pytest.approx(best, abs=1e-9) or (base.beta is None and best <= 1e-9)
        above.append(mine)
    return len(rules) - 1


@settings(max_examples=examples(10, 200), deadline=None)
@given(st.integers(0, 2**32))
def test_controls_are_valid_together_with_the_columns_above(seed: int) -> None:
    own_controls(seed)


def test_with_controls_of_their_own_lists_have_several_rules() -> None:
    assert sum(own_controls(seed) > 0 for seed in range(40)) > 3


def test_holding_a_mediator_fixed_excludes_its_causes() -> None:
    rng = np.random.default_rng(0)
    a, c = (rng.integers(0, 2, 1500) for _ in range(2))
    b = np.where(rng.random(1500) < 0.7, a, 1 - a)
    table = {"a": a, "b": b, "c": c, "y": (rng.random(1500) < 0.1 + 0.5 * b + 0.25 * c).astype(int)}
    rules = cr.discover(table, "y", control="auto", graph="a -> {b y}; {b c} -> y", max_length=1, n_jobs=1)
    assert [rule.text for rule in rules] == ["b = 1", "c = 1"]
    assert [rule.control for rule in rules] == [("a",), ()]
    assert any("rule 2: 1 set of columns left out" in note for note in rules.notes)


@pytest.mark.parametrize("error", [OptionError("time_limit = 1: no permutation ended"), KeyboardInterrupt()])
def test_a_step_whose_beta_cannot_be_calibrated_in_time_ends_the_list(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, known = stepwise.with_beta, []

    def calibrated(*arguments: Any) -> Any:
        known.append(arguments)
        if len(known) > 1:
            raise error
        return asked(*arguments)

    monkeypatch.setattr(stepwise, "with_beta", calibrated)
    rules = cr.discover(planted(), "y", control="z", max_length=1, n_jobs=1)
    assert [rule.text for rule in rules] == ["first ≥ 2"]
    assert not rules.optimal
    assert rules.stopped == ("interrupted" if isinstance(error, KeyboardInterrupt) else "time limit")
    assert f"{rules.stopped.replace('time limit', 'stopped at the time limit')} in step 2: nothing is proven" in str(
        rules
    )
    assert cr.RuleSet.from_json(rules.to_json()) == rules
