"""Every number of a result, recomputed by pandas and by SQL in DuckDB, SQLite and PostgreSQL."""

from __future__ import annotations

import math
import operator
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import causalrules as cr
from strategies import LONG, TARGET, SmallTable, examples, small_tables

TYPES = {"number": "DOUBLE PRECISION", "text": "TEXT", "boolean": "BOOLEAN"}
BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))


class Postgres:
    """A temporary PostgreSQL server for one test run."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.binaries = folder, BINARIES[-1].parent
        # It refuses to run as root.
        self.user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        self.environment = {**os.environ, "PGHOST": str(folder), "PGUSER": "fuzz", "PGDATABASE": "postgres"}
        if self.user:
            shutil.chown(folder, "postgres")
        self.run("initdb", "-D", folder / "data", "-U", "fuzz", "--no-sync", "-E", "UTF8", "--locale=C")
        self.run("pg_ctl", "-D", folder / "data", "-w", "-l", folder / "log", "-o", f"-k {folder} -h ''", "start")

    def run(self, program: str, *arguments: object, text: str | None = None) -> str:
        command = [*self.user, str(self.binaries / program), *map(str, arguments)]
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, env=self.environment, check=True, cwd="/"
        )
        return done.stdout

    def counts(self, statements: str) -> list[int]:
        found = self.run("psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", text=statements)
        return [int(line) for line in found.split()]


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres | None]:
    if not LONG or not BINARIES or (os.getuid() == 0 and shutil.which("runuser") is None):
        yield None
        return
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        server = Postgres(Path(folder))
        yield server
        server.run("pg_ctl", "-D", Path(folder) / "data", "-m", "immediate", "stop")


def literal(value: Any) -> str:
    if value is None:
        return "NULL"
    return (
        str(value).upper()
        if isinstance(value, bool)
        else f"'{value}'"
        if isinstance(value, str)
        else repr(float(value))
    )


def statements(small: SmallTable, rules: cr.RuleSet, dialect: str, boolean: str) -> tuple[list[str], list[str]]:
    """Return the statements that make the table, and for each rule one that counts its rows."""
    kinds = {**small.actionable, **small.control, TARGET: "number"}
    types = {**TYPES, "boolean": boolean}
    columns = ", ".join(f'"{name}" {types[kinds[name]]}' for name in small.rows[0])
    make = ["DROP TABLE IF EXISTS data", f"CREATE TABLE data ({columns})"]
    for row in small.rows:
        make.append(f"INSERT INTO data VALUES ({', '.join(literal(value) for value in row.values())})")
    mark = "`" if dialect == "sqlite" else '"'
    known = " AND ".join(f"{mark}{name}{mark} IS NOT NULL" for name in (TARGET, *small.control))
    return make, [f"SELECT count(*) FROM data WHERE {known} AND ({rule.to_sql(dialect)})" for rule in rules]


def again(small: SmallTable, rule: cr.RuleResult, unknown: bool) -> dict[str, float]:
    """Recompute the numbers of a rule from its conditions, with pandas alone."""
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in small.columns().items()})
    frame = frame[frame[[TARGET, *small.control]].notna().all(axis=1)]
    covered = pd.Series(True, frame.index)
    possible = covered.copy()
    for condition in rule.conditions:
        column = frame[condition.column]
        present = column.notna()
        compare = {"=": operator.eq, "<=": operator.le, ">=": operator.ge}[condition.operator]
        satisfied = [
            bool(known and compare(value, condition.value)) for value, known in zip(column, present, strict=True)
        ]
        holds = pd.Series(satisfied, frame.index)
        covered &= holds
        possible &= holds | ~present
    failing = ~(possible if unknown else covered)
    y = frame[TARGET].astype(float)
    numbers = {
        "n_covered": float(covered.sum()),
        "n_failing": float(failing.sum()),
        "coverage": covered.mean(),
        "marginal_effect": y[covered].mean() - y[failing].mean(),
    }
    return {name: float(value) for name, value in numbers.items()}


@settings(
    max_examples=examples(12, 60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(
    small_tables(max_rows=30), st.sampled_from(["unknown", "false"]), st.sampled_from(["pooled", "reliable", "plugin"])
)
def test_numbers_again(postgres: Postgres | None, small: SmallTable, missing: str, estimator: str) -> None:
    asked: dict[str, Any] = {"missing": missing, "estimator": estimator, "k": 10, "n_jobs": 1, "progress": False}
    rules = cr.discover(
        small.columns(), TARGET, 1, actionable=[*small.actionable][:1], control=[*small.control], **asked
    )
    wider = cr.discover(small.columns(), TARGET, 1, control=[*small.control], **asked)
    for found in (rules, wider):
        for rule in found:
            numbers = again(small, rule, missing == "unknown")
            for name, value in numbers.items():
                said = float(getattr(rule, name))
                assert said == pytest.approx(value, abs=1e-12) or (math.isnan(said) and math.isnan(value)), (
                    str(rule),
                    name,
                )
            assert np.count_nonzero(rule.covers(small.columns())) >= rule.n_covered
    expected = [rule.n_covered for rule in wider]
    for dialect in ("duckdb", "sqlite"):
        make, count = statements(small, wider, dialect, "BOOLEAN" if dialect == "duckdb" else "INTEGER")
        connection: Any = duckdb.connect() if dialect == "duckdb" else sqlite3.connect(":memory:")
        for statement in make:
            connection.execute(statement)
        assert [connection.execute(each).fetchall()[0][0] for each in count] == expected, dialect
        connection.close()
        event(dialect)
    if postgres is not None:
        make, count = statements(small, wider, "postgres", "BOOLEAN")
        assert postgres.counts(";\n".join([*make, *count]) + ";") == expected
        event("postgres")
