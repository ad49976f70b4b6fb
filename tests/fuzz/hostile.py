"""Hostile tables, options, graphs and command lines, and the requirements on every result."""

from __future__ import annotations

import ast
import datetime as dt
import math
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import assume, event
from hypothesis import strategies as st

import causalrules as cr

# CPU seconds, so independent of the load: more than any result on these small inputs takes.
HANGS = 20


class HangError(BaseException):
    """A call exceeds its time limit."""


@contextmanager
def watched() -> Iterator[None]:
    """Raise a HangError if the block takes too long."""

    def ring(*_: object) -> None:
        raise HangError(f"no answer after {HANGS} s of computing")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, HANGS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def attempt(ask: Callable[[], Any]) -> Any:
    """Return the result, or None if it was rejected with an error of the package; nothing else may happen."""
    try:
        with watched(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = ask()
    except cr.CausalRulesError as error:
        if not str(error):
            raise AssertionError("an error without a message") from error
        event("refused")
        return None
    event("answered")
    return answer


def save(rules: cr.RuleSet) -> None:
    """Write a result in every form; reading it back gives the same."""
    str(rules), repr(rules), rules.to_frame(), rules.to_markdown(), rules.to_latex()
    text = rules.to_json()
    back = cr.RuleSet.from_json(text)
    assert back.to_json() == text
    assert [rule.conditions for rule in back] == [rule.conditions for rule in rules]
    for rule in rules:
        ast.parse(rule.to_python())
        repr(rule), rule.interval, rule.strata, rule.value
        for dialect in ("duckdb", "postgres", "sqlite"):
            try:
                rule.to_sql(dialect)
            except cr.OptionError:  # names and values that no database accepts
                event("no SQL")


# Columns

TEXTS = st.text(max_size=8) | st.sampled_from(
    ["", " ", "nan", "None", "a", "b", "∧", "=", "<b>", "\0", "\x1b[2J", "\ud800", "x" * 300, "'; DROP TABLE data; --"]
)
NUMBERS = st.sampled_from([0, 1, 2, 3, -1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, 10**30, 10**400])
FLOATS = st.floats() | st.sampled_from([0.0, -0.0, 1.0, 2.0, 5e-324, 1e308, math.nan, math.inf, -math.inf])
MOMENTS = (
    st.datetimes()
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.datetimes(timezones=st.just(dt.UTC))
    | st.sampled_from([pd.Timestamp.max, pd.Timestamp.min, pd.NaT, dt.date.min, dt.datetime.max, dt.timedelta.max])
)
DECIMALS = st.sampled_from(
    [Decimal(text) for text in ("0.1", "1", "NaN", "sNaN", "Infinity", "1e999", "0.3333333333333333333333")]
)
ODD = st.sampled_from(
    [None, pd.NA, np.ma.masked, b"x", (1, 2), [1], {"a": 1}, object, Fraction(1, 3), 1j, np.float32(0.5), np.int8(3)]
)
SCALARS = st.one_of(TEXTS, NUMBERS, FLOATS, MOMENTS, DECIMALS, ODD, st.booleans(), st.none())
KINDS = [TEXTS, NUMBERS, FLOATS, MOMENTS, DECIMALS, st.booleans(), SCALARS]
DTYPES = [
    "int8",
    "uint64",
    "float16",
    "float32",
    "longdouble",
    "bool",
    "U3",
    "S3",
    "M8[s]",
    "M8[D]",
    "M8[Y]",
    "m8[ns]",
    "complex64",
]


FORMS = ["list", "list", "object", "array", "masked", "series", "categories", "polars", "cut"]
SERIES = [None, "Int64", "boolean", "string", "category", "float32", "object", "period[M]"]


@st.composite
def columns(draw: st.DrawFn, n: int) -> Any:
    """Draw a column of n rows: few distinct values of some type, in some container."""
    pool = draw(st.lists(draw(st.sampled_from(KINDS)), min_size=1, max_size=4))
    missing = [None] if draw(st.booleans()) else []
    values = draw(st.lists(st.sampled_from([*pool, *missing]), min_size=n, max_size=n))
    form = draw(st.sampled_from(FORMS))
    numbers = draw(st.lists(st.integers(-5, 5) | st.integers(-(2**62), 2**62), min_size=n, max_size=n))
    mask = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    dtype, series = draw(st.sampled_from(DTYPES)), draw(st.sampled_from(SERIES))

    def made() -> Any:
        if form == "object":
            array = np.empty(n, object)
            array[:] = values
            return array
        if form in ("array", "masked"):
            array = np.array(numbers).astype(dtype)
            return np.ma.array(array, mask=mask) if form == "masked" else array
        if form == "series":
            return pd.Series(values, dtype=series)
        if form == "categories":
            categories: Any = list({repr(value): value for value in pool}.values())
            codes = [number % (len(categories) + 1) - 1 for number in numbers]
            return pd.Series(pd.Categorical.from_codes(codes, categories=categories, ordered=mask[0]))
        if form == "polars":
            return pl.Series(values, strict=False)
        if form == "cut":
            return pd.Series(pd.cut([number % 10 for number in numbers], [-np.inf, 3, 6, np.inf]))
        return values

    return _made(made)


def _made(make: Callable[[], Any]) -> Any:
    """Return what a library makes, or reject the example if it fails: not the package's fault."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make()
    except Exception:
        pass
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # Polars
            raise
    return assume(False)


@st.composite
def tables(draw: st.DrawFn) -> Any:
    """Draw a table of hostile columns, most often with a usable target."""
    n = draw(st.integers(1, 12))
    names = draw(st.lists(TEXTS, min_size=1, max_size=3, unique=True))
    table = {name: draw(columns(n)) for name in names}
    if draw(st.integers(0, 9)):
        table["y"] = [number % 2 for number in range(n)]
    frame = draw(st.sampled_from([None, None, pd.DataFrame, pl.DataFrame]))
    return table if frame is None else _made(lambda: frame(table))


# Options

JUNK = st.one_of(
    SCALARS,
    st.sampled_from(
        [
            "",
            "no",
            "y",
            "x",
            "calibrated",
            "increase",
            "pooled",
            "unknown",
            -1,
            0,
            0.5,
            10**5000,
            True,
            np.False_,
            [],
            {},
            (),
        ]
    ),
    st.dictionaries(TEXTS, st.lists(SCALARS, max_size=2), max_size=1),
    st.lists(TEXTS, max_size=2),
)
SENSIBLE: dict[str, st.SearchStrategy[Any]] = {
    "outcome": st.sampled_from([1, 0, ">= 1", "= 1", True, "y = 1"]),
    "direction": st.sampled_from(["increase", "decrease"]),
    "missing": st.sampled_from(["unknown", "false"]),
    "k": st.integers(1, 20) | st.just(10**6),
    "beta": st.floats(0, 1000) | st.just("calibrated"),
    "error_rate": st.floats(0, 1),
    "max_length": st.none() | st.integers(1, 2**64),
    "min_coverage": st.floats(0, 1),
    "max_bins": st.integers(2, 2**40),
    "control_bins": st.none() | st.integers(2, 2**40),
    "estimator": st.sampled_from(["pooled", "reliable", "plugin", "wracc", "association"]),
    "allow_inadmissible": st.booleans() | st.just(np.False_),
    "holdout": st.floats(0, 1),
    "seed": st.integers(0, 2**64),
    "alpha": st.floats(0, 1),
    "adjust": st.sampled_from(["auto", "strata"]),
    "graph": st.sampled_from(["x -> y", "y -> x", ""]),
}
OTHERS = [
    "control",
    "allowed_control",
    "actionable",
    "reference",
    "latent",
    "categorical",
    "weights",
    "na_values",
    "query",
    "cuts",
]


@st.composite
def options(draw: st.DrawFn, names: list[str]) -> dict[str, Any]:
    """Draw some options, most of them valid, with a short time limit."""
    chosen: dict[str, Any] = {}
    for name in draw(st.lists(st.sampled_from([*SENSIBLE, *OTHERS]), max_size=4, unique=True)):
        some = st.sampled_from([*names, "y"])
        sensible = SENSIBLE.get(name, some | st.lists(some, max_size=2))
        if name in ("reference", "cuts"):
            sensible = st.dictionaries(some, SCALARS | st.lists(SCALARS, max_size=3), min_size=1, max_size=1)
        chosen[name] = draw(sensible if draw(st.integers(0, 4)) else JUNK)
    return {**chosen, "time_limit": 2, "n_jobs": 1, "progress": False}


# Graphs

GRAPHS = st.one_of(
    st.lists(
        st.sampled_from(
            [
                *"abcy",
                "->",
                "<-",
                "<->",
                "--",
                "o->",
                ";",
                "{",
                "}",
                "[latent]",
                "dag",
                "digraph",
                '"',
                "\n",
                "//",
                "[",
                "]",
                "=",
                ",",
            ]
        ),
        max_size=30,
    ).map(" ".join),
    st.text(max_size=30),
    st.integers(1, 3000).map(lambda n: "{" * n),
    st.integers(1, 100).map(lambda n: "; ".join(f"a{i} -> a{i + 1}" for i in range(n)) + f"; a{n} -> y"),
)
