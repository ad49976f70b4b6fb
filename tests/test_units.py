"""Invariance to units: the result for y equals that for y + c, 10⁶ y and y/10⁶, for every data source."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import causalrules as cr
from causalrules.data import database, reading
from causalrules.exceptions import RoleError
from causalrules.search import merging
from causalrules.search import streamed as stream
from quiet import QUIET_DASK
from strategies import examples

dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

pytestmark = QUIET_DASK

STORAGES = ("memory", "file", "streamed", "merged", "workers")
slow = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
    max_examples=examples(3, 8),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with distributed.Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None, set_as_default=False
    ) as client:
        yield client


class Table(NamedTuple):
    """Two actionable columns, a control, and a numeric target."""

    x: list[int]
    w: list[int]
    z: list[str]
    y: list[float]

    def columns(self, y: Any) -> dict[str, Any]:
        return {"x": self.x, "w": self.w, "z": self.z, "y": y}


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Draw 40 or 120 rows with few or many distinct values; multiples of 2⁻¹⁰, so that y + c is exact."""
    seed, n, few = draw(st.integers(0, 2**32)), draw(st.sampled_from([40, 120])), draw(st.booleans())
    rng = np.random.default_rng(seed)
    x, w, z = (rng.integers(0, size, n) for size in (3, 2, 3))
    y = np.round(rng.lognormal(0, 1, n) + (x == 1) + z, 0 if few else 3)
    y = np.round(y * 1024) / 1024
    return Table(x.tolist(), w.tolist(), [f"z{each}" for each in z], y.tolist())


def found(source: Any, **options: Any) -> cr.RuleSet:
    return cr.discover(source, "y", None, ["z"], ["x", "w"], k=2, max_length=2, n_jobs=1, **options)


def numbers(rules: cr.RuleSet, scale: float = 1.0) -> list[list[Any]]:
    """Return the numbers of each rule, in units of `scale`."""
    said = []
    for rule in rules:
        own = (rule.effect, rule.marginal_effect, rule.standard_error, *rule.interval)
        scores = (rule.reliable_effect, rule.criterion.margin(rule.measured))
        strata = (stratum.difference for stratum in rule.strata if stratum.overlap)
        said.append([number / scale for number in (*own, *scores, *strata)] + [rule.effective_rows])
    return said


def same(one: list[list[Any]], other: list[list[Any]], tolerance: float = 1e-9) -> bool:
    return len(one) == len(other) and all(
        math.isclose(mine, yours, rel_tol=tolerance, abs_tol=tolerance)
        for left, right in zip(one, other, strict=True)
        for mine, yours in zip(left, right, strict=True)
    )


def stored(storage: str, columns: dict[str, Any], tmp_path: Path, client: Any) -> tuple[Any, dict[str, Any]]:
    """Return the table in a storage, and the options for it."""
    if storage == "memory":
        return columns, {}
    if storage == "workers":
        return dd.from_pandas(pd.DataFrame(columns), npartitions=3), {"client": client}
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({name: pa.array(values) for name, values in columns.items()}), path)
    return path, {}


@pytest.mark.parametrize("storage", STORAGES)
@slow
@given(table=tables(), direction=st.sampled_from(["increase", "decrease"]))
def test_the_answer_does_not_depend_on_the_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: Any, storage: str, table: Table, direction: str
) -> None:
    y = np.array(table.y)
    if len(set(table.y)) < 3:
        return
    exact = numbers(found(table.columns(y), direction=direction))
    shift = float(2 ** round(math.log2(1e6 * y.std())))
    for change, scale in (
        (y, 1.0),
        (y + shift, 1.0),
        (y * 1e6, 1e6),
        (y / 1e6, 1e-6),
        ((y * 1024).astype(np.int64) + 2**60, 1024.0),
    ):
        with monkeypatch.context() as patch:
            if storage in ("streamed", "merged"):
                patch.setattr(reading, "STREAMED_FROM", 0)
                patch.setattr(database, "SLICE", 25)
                patch.setattr(stream, "SLICE", 25)
                patch.setattr(merging, "pays", lambda *_: storage == "merged")
            source, options = stored(storage, table.columns(change), tmp_path, client)
            rules = found(source, direction=direction, **options)
        assert same(numbers(rules, scale), exact), (storage, scale, numbers(rules, scale), exact)


def by_hand(x: Sequence[int], z: Sequence[Any], y: Sequence[int | float]) -> tuple[float, float]:
    """Return the adjusted difference and its textbook standard error, exactly, as fractions."""
    rows = [(int(one), stratum, Fraction(value)) for one, stratum, value in zip(x, z, y, strict=True)]
    effect = variance = Fraction(0)
    for stratum in set(z):
        weight = Fraction(sum(each == stratum for each in z), len(rows))
        means = []
        for side in (1, 0):
            values = [value for one, where, value in rows if (one, where) == (side, stratum)]
            means.append(sum(values, Fraction(0)) / len(values))
            scatter = sum(((value - means[-1]) ** 2 for value in values), Fraction(0))
            variance += weight**2 * scatter / (len(values) - 1) / len(values)
        effect += weight * (means[0] - means[1])
    return float(effect), math.sqrt(variance)


@pytest.mark.parametrize("shift", [0.0, 2.0**20, 2.0**40, -(2.0**40)])
def test_effect_and_standard_error_are_those_of_exact_arithmetic(shift: float) -> None:
    rng = np.random.default_rng(3)
    x, z = rng.integers(0, 2, 600), rng.integers(0, 3, 600)
    y = np.round((rng.normal(size=600) + x + z) * 1024) / 1024 + shift
    rule = cr.evaluate({"x": x, "z": z.astype(str), "y": y}, "x = 1", "y", control="z")[0]
    effect, error = by_hand(x.tolist(), z.tolist(), y.tolist())
    assert rule.effect == pytest.approx(effect, rel=1e-9)
    # One extra row on each side, and random strata sizes: about 1 in 100 more.
    assert error * 0.99 <= rule.standard_error <= error * 1.03
    assert rule.p_do_rule - rule.p_do_not_rule == pytest.approx(effect, abs=1e-3)
    assert rule.p_do_rule == pytest.approx(shift + 2.0, abs=0.5)


@pytest.mark.parametrize(
    "values",
    [
        [2**53, 2**53 + 1, 2**53 + 2],
        [-(2**63), 0, 2**63 - 1],
        [0, 2**62, 2**62 + 1],
        [1_700_000_000_000_000_000, 1_700_000_000_000_000_001, 1_700_000_000_000_000_100],
        [2**64 - 3, 2**64 - 2, 2**64 - 1],
    ],
)
def test_integers_that_collide_as_floats_stay_distinct(values: list[int], tmp_path: Path) -> None:
    dtype = np.uint64 if values[-1] >= 2**63 else np.int64
    x = np.array([0, 0, 0, 1, 1, 1] * 20)
    y = np.array(values, dtype)[np.array([0, 0, 1, 1, 2, 2] * 20)]
    expected, _ = by_hand(x.tolist(), [""] * 120, y.tolist())
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"x": x, "y": y}), path)
    for source in ({"x": x, "y": y}, path):
        rule = cr.evaluate(source, "x = 1", "y")[0]
        assert rule.effect == pytest.approx(expected, rel=1e-9)
        assert rule.standard_error > 0
        assert cr.evaluate({"x": x, "y": y.tolist()}, "x = 1", "y")[0].effect == rule.effect


@pytest.mark.parametrize(("factor", "mend"), [(1e-310, "multiply"), (1e200, "divide"), (1.7e308, "divide")])
def test_ranges_whose_squares_overflow_are_rejected_with_a_fix(factor: float, mend: str) -> None:
    y = np.array([-1.0, 0.0, 0.5, 1.0] * 10) * factor
    with pytest.raises(RoleError, match=rf"target 'y' are from .* {mend} it by a constant"):
        cr.evaluate({"x": [0, 1] * 20, "y": y}, "x = 1", "y")


def test_distant_strata_do_not_lose_precision() -> None:
    """One centre for all strata would lose the digits in which values of a stratum differ."""
    rng = np.random.default_rng(1)
    z, x = np.repeat([0, 1], 200), np.tile([0, 1], 200)
    y = rng.normal(size=400)
    near, far = (
        cr.evaluate({"x": x, "z": z.astype(str), "y": y + shift * z}, "x = 1", "y", control="z")[0]
        for shift in (0.0, 2.0**30)
    )
    assert far.effect == pytest.approx(near.effect, abs=1e-6)
    assert far.standard_error == pytest.approx(near.standard_error, rel=1e-6)


def test_results_and_json_are_in_the_users_unit() -> None:
    x = [0, 0, 1, 1] * 10
    y = [1e9 + value for value in (1.0, 2.0, 3.0, 4.0)] * 10
    rules = cr.evaluate({"x": x, "y": y}, "x = 1", "y")
    again = cr.RuleSet.from_json(rules.to_json())
    for rule in (rules[0], again[0]):
        assert rule.p_do_rule == 1e9 + 3.5
        assert rule.strata[0].p_not_rule == 1e9 + 1.5
        assert rule.effect == 2
    assert again[0].interval == rules[0].interval


@pytest.mark.parametrize("groups", [None, "group"])
def test_checks_of_trust_do_not_depend_on_the_unit(groups: str | None) -> None:
    rng = np.random.default_rng(0)
    x, z = rng.integers(0, 3, 300), rng.normal(size=300)
    y = np.round((rng.lognormal(0, 1, 300) + 1.5 * (x == 1) + z) * 1024) / 1024

    def checked(y: Any, scale: float) -> list[float]:
        columns = {"x": x, "z": z, "group": np.arange(300) // 3, "y": y}
        asked = cr.discover(columns, "y", control="z", actionable=["x"], k=1, groups=groups, n_jobs=1)
        rule = asked.trust(permutations=19, replicates=2, splits=2, n_jobs=1)[0]
        known = rule.evidence
        assert known is not None
        assert known.honest is not None
        assert known.sensitivity is not None
        assert known.doubly_robust is not None
        effects = (rule.effect, known.honest.effect, known.honest.standard_error, known.doubly_robust.effect)
        return [
            *(float(number or 0) / scale for number in effects),
            known.sensitivity.gamma or 0.0,
            rule.p_value or 0.0,
        ]

    expected = checked(y, 1.0)
    for change, scale in ((y + 2.0**20, 1.0), (y * 1e6, 1e6), ((y * 1024).astype(np.int64) + 2**60, 1024.0)):
        assert checked(change, scale) == pytest.approx(expected, abs=1e-9)
