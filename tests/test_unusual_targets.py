"""Ten unusual targets, end to end from a file: measured in their own units, or rejected with a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import causalrules as cr
from causalrules.cli import cli

N = 400
RNG = np.random.default_rng(11)
TREATED = np.arange(N) % 2
SITE = np.arange(N) // 2 % 4


def written(folder: Path, target: Any, **more: Any) -> Path:
    columns = {"treated": TREATED, "site": SITE.astype(str), "y": target, **more}
    path = folder / "data.csv"
    rows = zip(*(map(str, column) for column in columns.values()), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(row) for row in rows)]) + "\n", encoding="utf-8")
    return path


def asked(path: Path, *more: str) -> tuple[int, str]:
    words = ["discover", str(path), "--target", "y", "--control", "site", "-k", "1", *more]
    result = CliRunner().invoke(cli, words)
    return result.exit_code, " ".join((result.stdout + result.stderr).split())


def test_money_with_many_zeros(tmp_path: Path) -> None:
    earned = np.where(RNG.random(N) < 0.6, 0, np.round(RNG.lognormal(8, 1, N), 2)) + 5000 * TREATED
    path = written(tmp_path, earned)
    code, said = asked(path)
    assert code == 0
    assert "treated = 1" in said
    assert "how much higher the mean of y is" in said
    rule = cr.discover(path, "y", control="site", k=1)[0]
    by_site = [
        earned[(TREATED == 1) & (z == SITE)].mean() - earned[(TREATED == 0) & (z == SITE)].mean() for z in range(4)
    ]
    assert rule.effect == pytest.approx(np.mean(by_site))
    assert f"{rule.effect:,.0f}" in said


def test_counts(tmp_path: Path) -> None:
    visits = RNG.poisson(1 + 2 * TREATED)
    rule = cr.discover(written(tmp_path, visits), "y", control="site", k=1)[0]
    assert (rule.text, not rule.kind.binary, rule.measured.scored) == ("treated = 1", True, ())
    assert rule.value > 0


def test_dates_are_rejected_with_a_reason(tmp_path: Path) -> None:
    days = [f"2020-01-{1 + day % 28:02}" for day in range(N)]
    code, said = asked(written(tmp_path, days))
    assert code == 1
    assert "dates have no mean" in said
    assert asked(written(tmp_path, days), "--outcome", ">= 2020-01-15")[0] == 0


def test_two_values_that_are_not_0_and_1(tmp_path: Path) -> None:
    code, said = asked(written(tmp_path, 1 + TREATED * (RNG.random(N) < 0.7)))
    assert code == 0
    assert "has the values 1, 2, and its mean is what counts" in said


def test_decimals(tmp_path: Path) -> None:
    from decimal import Decimal

    prices = [Decimal(int(100 * value)) / 100 for value in 3 + 2 * TREATED + RNG.random(N)]
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"treated": TREATED, "site": SITE.astype(str), "y": prices}), path)
    code, said = asked(path)
    assert code == 0
    assert "treated = 1" in said


def test_percentages_as_text_are_rejected_with_a_hint(tmp_path: Path) -> None:
    code, said = asked(written(tmp_path, [f"{value} %" for value in RNG.integers(0, 100, N)]))
    assert code == 1
    assert "percentages as text" in said


def test_constant_in_a_stratum(tmp_path: Path) -> None:
    scores = np.where(SITE == 0, 7, RNG.integers(0, 10, N) + 8 * TREATED)
    rule = cr.discover(written(tmp_path, scores), "y", control="site", k=1)[0]
    assert rule.text == "treated = 1"
    assert rule.strata[0].difference == 0
    assert rule.value > 0


def test_one_row_per_stratum(tmp_path: Path) -> None:
    path = written(tmp_path, RNG.random(N), person=[f"p{row}" for row in range(N)])
    words = ["discover", str(path), "--target", "y", "--control", "person", "--actionable", "treated"]
    result = CliRunner().invoke(cli, [*words, "--adjust", "strata"])
    assert result.exit_code == 0
    assert "No rule can be compared" in " ".join(result.stdout.split())
    assert "little can be learned" in " ".join(result.stdout.split())


def test_extreme_outliers_are_pointed_out(tmp_path: Path) -> None:
    values = RNG.random(N)
    values[17] = 1e6
    code, said = asked(written(tmp_path, values))
    assert code == 0
    assert "of the variance of the target 'y' is due to 1 extreme row" in said
    assert "No rule stands out from chance" in said


def test_infinite_values_are_rejected(tmp_path: Path) -> None:
    values = RNG.random(N)
    values[3] = np.inf
    code, said = asked(written(tmp_path, values))
    assert code == 1
    assert "infinite value" in said


def test_values_whose_squares_overflow_are_rejected(tmp_path: Path) -> None:
    code, said = asked(written(tmp_path, RNG.random(N) * 1e300))
    assert code == 1
    assert "a range that floats cannot square; divide it by a constant" in said
