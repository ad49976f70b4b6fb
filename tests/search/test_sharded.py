"""Rows on a Dask cluster: the result is that of the same rows in one table."""

from __future__ import annotations

import _thread
import contextlib
import datetime as dt
import itertools
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import causalrules as cr
from causalrules.data import dask as distributed_data
from causalrules.exceptions import DataError
from causalrules.search import remote
from causalrules.search import run as search
from causalrules.search import sharded as cluster
from quiet import QUIET_DASK
from rulesets import rows_of
from strategies import SmallTable, examples, questions, small_tables

dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

pytestmark = QUIET_DASK


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with distributed.Client(
        processes=False, n_workers=2, threads_per_worker=2, dashboard_address=None, set_as_default=False
    ) as client:
        yield client


def test_without_a_client_only_this_machine_can_connect() -> None:
    frame = dd.from_pandas(pd.DataFrame({"y": [0, 1], "x": [0, 1]}), npartitions=1)
    table = distributed_data.read_dask(frame, None, "y", None)
    try:
        sockets = table.client.cluster.scheduler.http_server._sockets.values()
        assert {each.getsockname()[0] for each in sockets} == {"127.0.0.1"}
    finally:
        table.client.close()


def answer(rules: cr.RuleSet) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(rules.to_json())
    found.pop("run")
    if any(rule.n_undecided for rule in rules):  # unknown for remote rows
        found.pop("rungs")
    return found


def frame_of(columns: dict[str, list[Any]], kinds: dict[str, str]) -> pd.DataFrame:
    types = {"number": "Float64", "text": "str", "boolean": "boolean"}
    return pd.DataFrame(
        {name: pd.Series(values, dtype=types[kinds.get(name, "number")]) for name, values in columns.items()}
    )


def parts_of(frame: pd.DataFrame, starts: list[int]) -> Any:
    ends = [*starts[1:], len(frame)]
    return dd.from_delayed(
        [_delayed(frame.iloc[start:end]) for start, end in zip(starts, ends, strict=True)], meta=frame.iloc[:0]
    )


def _delayed(part: pd.DataFrame) -> Any:
    import dask

    return dask.delayed(part)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
    max_examples=examples(4, 8),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
@given(small_tables(), questions(), st.data())
def test_dask_is_local(client: Any, small: SmallTable, question: dict[str, Any], draw: st.DataObject) -> None:
    frame = frame_of(small.columns(), small.actionable | small.control)
    n_rows = len(frame)
    more: dict[str, Any] = {"control": list(small.control), "n_jobs": 1, **question}
    if draw.draw(st.booleans(), label="weighted"):
        frame["n"] = [1, 1, *draw.draw(st.lists(st.integers(0, 3), min_size=n_rows, max_size=n_rows))[2:]]
        more["weights"] = "n"
    expected = answer(cr.discover(frame, "y", 1, **more))
    # Any partition bounds: some partitions may be empty, and some values in only one of them.
    for n_parts in (1, 2, 5):
        cuts = sorted(draw.draw(st.lists(st.integers(0, n_rows), min_size=n_parts - 1, max_size=n_parts - 1)))
        rules = cr.discover(parts_of(frame, [0, *cuts]), "y", 1, client=client, **more)
        assert answer(rules) == expected


def planted(n_rows: int = 400, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"x{index}": rng.normal(size=n_rows) for index in range(6)})
    frame["c"] = rng.choice(["a", "b", "é"], n_rows)
    frame["z"] = rng.choice(["p", "q"], n_rows)
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 50, n_rows), unit="D")
    # Dates as Dask reads them from Parquet.
    frame["when"] = frame["day"].dt.date.astype(pd.ArrowDtype(pa.date32())).where(rng.random(n_rows) < 0.9)
    frame["clock"] = pd.Series([None, *([dt.time(9), dt.time(17)] * n_rows)[: n_rows - 1]], dtype="time64[us][pyarrow]")
    frame["size"] = pd.Categorical(rng.choice(["S", "M", "L"], n_rows), categories=["S", "M", "L"], ordered=True)
    frame["y"] = (frame["c"] == "a") & (frame["x0"] > 0) | (rng.random(n_rows) < 0.2)
    return frame


def test_every_kind_of_column(client: Any) -> None:
    frame = planted()
    expected = cr.discover(frame, "y", control="z", max_length=2)
    rules = cr.discover(dd.from_pandas(frame, npartitions=3), "y", control="z", max_length=2, client=client)
    assert answer(rules) == answer(expected)
    # Accessing the rows fetches them.
    assert rows_of(rules).stratum.tolist() == rows_of(expected).stratum.tolist()
    assert rows_of(rules).outcome.tolist() == rows_of(expected).outcome.tolist()
    for column, other in zip(rows_of(rules).columns, rows_of(expected).columns, strict=True):
        assert column.tolist() == other.tolist()


def test_without_a_cluster_threads_of_this_process_do() -> None:
    frame = planted()
    found = cr.discover(dd.from_pandas(frame, npartitions=2), "y", max_length=2)
    assert answer(found) == answer(cr.discover(frame, "y", max_length=2))


def test_partitions_of_other_types(client: Any) -> None:
    frame = pd.DataFrame({"y": [0, 1, 1, 0], "x": [1, 2, 3, 4]})
    floats = frame.assign(x=[0.5, 1.5, 2.0, 3.0])
    both = pd.concat([frame, floats], ignore_index=True)
    parts = dd.from_delayed([_delayed(frame), _delayed(floats)], meta=frame.iloc[:0], verify_meta=False)
    assert answer(cr.discover(parts, "y", client=client)) == answer(cr.discover(both, "y"))
    texts = frame.assign(x=list("abcd"))
    parts = dd.from_delayed([_delayed(frame), _delayed(texts)], meta=frame.iloc[:0], verify_meta=False)
    with pytest.raises(DataError, match="'x' holds number values in partition 0 and text values in partition 1"):
        cr.discover(parts, "y", client=client)
    large = frame.assign(x=[2**62 + 1, 2, 3, 4])
    parts = dd.from_delayed([_delayed(large), _delayed(floats)], meta=frame.iloc[:0], verify_meta=False)
    with pytest.raises(DataError, match="'x' is of different number types"):
        cr.discover(parts, "y", client=client)
    missing = frame.drop(columns="x").assign(w=1)
    parts = dd.from_delayed([_delayed(frame), _delayed(missing)], meta=frame.iloc[:0], verify_meta=False)
    with pytest.raises(DataError, match="partition 1 has no column 'x'"):
        cr.discover(parts, "y", client=client)


FORMS = {
    "date": [dt.date(2020, 1, day) for day in (1, 2, 3, 4)],
    "datetime": [dt.datetime(2020, 1, day) for day in (1, 2, 3, 4)],
    "datetime with a time zone": [dt.datetime(2020, 1, day, tzinfo=dt.UTC) for day in (1, 2, 3, 4)],
    "time": [dt.time(hour) for hour in (1, 2, 3, 4)],
    "duration": [dt.timedelta(days=day) for day in (1, 2, 3, 4)],
}


@pytest.mark.parametrize(("form", "other"), list(itertools.combinations(FORMS, 2)))
def test_dates_times_and_durations_are_not_mixed(form: str, other: str) -> None:
    outlines = [
        distributed_data.summarise(
            pd.DataFrame({"y": [0, 1, 1, 0], "x": pd.Series(FORMS[each], dtype=object)}), 0, "y", None, ()
        )
        for each in (form, other)
    ]
    with pytest.raises(DataError, match=f"'x' holds {form} values in partition 0 and {other} values in partition 1"):
        distributed_data.RemoteSource([summary.outline for summary in outlines])


def test_signed_and_unsigned_integers_are_integers(client: Any) -> None:
    frame = pd.DataFrame({"y": [0, 1, 1, 0], "x": pd.Series([1, 2, 3, -4], dtype="int64")})
    other = frame.assign(x=pd.Series([1, 5, 6, 7], dtype="uint64"))
    both = pd.concat([frame, other.astype({"x": "int64"})], ignore_index=True)
    for parts in ([frame, other], [other, frame]):
        table = dd.from_delayed([_delayed(part) for part in parts], meta=frame.iloc[:0], verify_meta=False)
        assert answer(cr.discover(table, "y", client=client)) == answer(cr.discover(both, "y"))
    large = other.assign(x=pd.Series([2**63, 5, 6, 7], dtype="uint64"))
    table = dd.from_delayed([_delayed(frame), _delayed(large)], meta=frame.iloc[:0], verify_meta=False)
    with pytest.raises(DataError, match="'x' is of different number types"):
        cr.discover(table, "y", client=client)


def test_other_categories(client: Any) -> None:
    frame = pd.DataFrame({"y": [0, 1, 1, 0], "x": pd.Categorical(list("abab"), ["a", "b"], ordered=True)})
    other = frame.assign(x=pd.Categorical(list("abab"), ["b", "a"], ordered=True))
    parts = dd.from_delayed([_delayed(frame), _delayed(other)], meta=frame.iloc[:0], verify_meta=False)
    with pytest.raises(DataError, match="'x' has the categories 'a', 'b' in one partition and 'b', 'a'"):
        cr.discover(parts, "y", client=client)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 1, 1, -2], "partition 1: weights column 'n' has 1 value .* row 2: -2"),
        ([1, 1, 0.5, 1], "partition 1: .* row 1: 0.5"),
        ([1, 1, 1, None], "partition 1: .* row 2: missing"),
    ],
)
def test_weights_are_checked(client: Any, weights: list[Any], message: str) -> None:
    frame = pd.DataFrame({"y": [0, 1, 1, 0], "x": [1, 2, 3, 4], "n": weights})
    with pytest.raises(DataError, match=message):
        cr.discover(parts_of(frame, [0, 2]), "y", weights="n", client=client)


def test_errors_are_those_of_local_rows(client: Any) -> None:
    frame = dd.from_pandas(planted(), npartitions=2)
    with pytest.raises(cr.exceptions.RoleError, match="no column 'yy'; did you mean 'y'"):
        cr.discover(frame, "yy", client=client)

    def fails(part: pd.DataFrame) -> pd.DataFrame:
        raise OSError("the disk is gone")

    broken = frame.map_partitions(fails, meta=frame._meta)
    with pytest.raises(DataError, match="the cluster could not compute the table: OSError: the disk is gone"):
        cr.discover(broken, "y", client=client)


def noise(n_rows: int = 2000, n_columns: int = 12) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({f"x{index}": rng.normal(size=n_rows) for index in range(n_columns)})
    return frame.assign(y=rng.integers(0, 2, n_rows))


@pytest.fixture
def during_a_question(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """Run actions once during the next request to the workers, from another thread."""
    waiting: list[Callable[[], None]] = []
    deliver = cluster.Messenger.deliver

    def disturbed(messenger: cluster.Messenger, queries: Any) -> Any:
        with contextlib.suppress(IndexError):
            waiting.pop()()
        return deliver(messenger, queries)

    monkeypatch.setattr(cluster.Messenger, "deliver", disturbed)
    return waiting


def test_time_limits_stop_the_search(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote.RemoteSearch, "patience", 0.2)
    clock = [0.0]
    monkeypatch.setattr(search, "time", SimpleNamespace(perf_counter=lambda: clock[0]))

    def pass_time(progress: Any) -> None:
        clock[0] += 3600 * (len(progress.rules) == 10)

    frame = dd.from_pandas(noise(), npartitions=2)
    asked: dict[str, Any] = {"k": 10, "max_length": 4, "stepwise": False}
    stopped = cr.discover(frame, "y", **asked, time_limit=60, client=client, progress=pass_time)
    assert stopped.stopped == "time limit"
    assert len(stopped) == 10


def test_interrupts_stop_the_search(
    client: Any, monkeypatch: pytest.MonkeyPatch, during_a_question: list[Callable[[], None]]
) -> None:
    monkeypatch.setattr(remote.RemoteSearch, "patience", 0.2)
    interrupted: list[bool] = []

    def interrupt(progress: Any) -> None:
        if len(progress.rules) == 10 and not interrupted:
            interrupted.append(True)
            during_a_question.append(_thread.interrupt_main)

    frame = dd.from_pandas(noise(), npartitions=2)
    asked: dict[str, Any] = {"k": 10, "max_length": 4, "stepwise": False}
    stopped = cr.discover(frame, "y", **asked, progress=interrupt, client=client)
    assert stopped.stopped == "interrupted"
    assert len(stopped) == 10
    assert not stopped.optimal


def test_checkpoints_are_exchanged_between_local_and_remote_rows(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = noise(300, 4)
    path = tmp_path / "search.ckpt"
    frame = dd.from_pandas(local, npartitions=3)

    def interrupt(progress: Any) -> None:
        if progress.nodes:
            raise KeyboardInterrupt

    with monkeypatch.context() as hurried:
        hurried.setattr(search, "_FIRST_STEP", 0.0)
        hurried.setattr(remote.RemoteSearch, "patience", 1e-6)
        cut = cr.discover(frame, "y", client=client, checkpoint=path, max_length=2, progress=interrupt)
    assert cut.stopped == "interrupted"
    expected = answer(cr.discover(local, "y", max_length=2))
    assert answer(cr.discover(local, "y", checkpoint=path, max_length=2)) == expected
    other = dd.from_pandas(local, npartitions=2)
    assert answer(cr.discover(other, "y", client=client, checkpoint=path, max_length=2)) == expected


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL")
def test_a_worker_that_is_killed_does_not_change_the_result(
    monkeypatch: pytest.MonkeyPatch, during_a_question: list[Callable[[], None]]
) -> None:
    monkeypatch.setattr(search, "_FIRST_STEP", 0.0)
    local = noise(300, 3)
    killed: list[int] = []
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as workers,
        distributed.Client(workers, set_as_default=False) as client,
    ):
        first = next(iter(client.run(os.getpid).values()))

        def kill() -> None:
            os.kill(first, signal.SIGKILL)
            killed.append(first)

        def watch(progress: Any) -> None:
            if not killed and not during_a_question:
                during_a_question.append(kill)

        rules = cr.discover(dd.from_pandas(local, npartitions=4), "y", client=client, progress=watch, max_length=2)
    assert killed == [first]
    assert answer(rules) == answer(cr.discover(local, "y", max_length=2))


def scale_down(workers: Any, client: Any) -> None:
    workers.scale(0)
    while workers.scheduler.workers:
        time.sleep(0.01)


def scale_down_and_interrupt(workers: Any, client: Any) -> None:
    scale_down(workers, client)
    _thread.interrupt_main()


def close_cluster(workers: Any, client: Any) -> None:
    workers.close()


def close_client(workers: Any, client: Any) -> None:
    client.close()


@pytest.mark.parametrize(
    ("take_down", "patience", "message"),
    [
        (scale_down, 0.3, "has lost all its workers"),
        # It stops waiting once the user interrupts it.
        (scale_down_and_interrupt, 600.0, "has lost all its workers"),
        (close_cluster, 600.0, "was closed"),
        (close_client, 600.0, "was closed"),
    ],
)
def test_a_cluster_that_is_gone_is_an_error_and_the_search_is_kept(
    take_down: Any,
    patience: float,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    during_a_question: list[Callable[[], None]],
) -> None:
    monkeypatch.setattr(cluster, "_WITHOUT_WORKERS", patience)
    monkeypatch.setattr(cluster, "_POLL", 0.1)
    # Short steps, so that much is left of the search after the first that visits a rule, on a fast machine too.
    monkeypatch.setattr(search, "_FIRST_STEP", 0.0)
    monkeypatch.setattr(remote.RemoteSearch, "patience", 0.02)
    local = noise(500, 10)
    path = tmp_path / "search.ckpt"
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as workers,
        distributed.Client(workers, set_as_default=False) as client,
    ):
        seen: list[Any] = []
        taken_down: list[bool] = []

        def watch(progress: Any) -> None:
            seen.append(progress)
            if progress.nodes and not taken_down:
                # Once there is something to save.
                taken_down.append(True)
                during_a_question.append(lambda: take_down(workers, client))

        frame = dd.from_pandas(local, npartitions=3)
        with pytest.raises(
            DataError, match=f"the cluster {message}; start it and run the search again, from a checkpoint"
        ):
            cr.discover(frame, "y", client=client, progress=watch, checkpoint=path)
    assert "panicked" not in capfd.readouterr().err
    rules = cr.discover(local, "y", checkpoint=path)
    assert rules.history[0].nodes >= seen[-1].nodes > 0
    assert answer(rules) == answer(cr.discover(local, "y"))


def test_prognostic_strata_are_those_of_rows_in_memory(client: Any) -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    controls = {f"z{number}": rng.normal(size=400) for number in range(5)}
    risk = 1 / (1 + np.exp(-sum(controls.values())))
    frame = pd.DataFrame({**controls, "x": rng.random(400) < risk, "y": (rng.random(400) < risk).astype(int)})
    options: dict[str, Any] = {"control": list(controls), "k": 2, "adjust_model": LogisticRegression()}
    expected = cr.discover(frame, "y", **options)
    assert "predicted probability" in expected[0].strata[0].labels
    found = cr.discover(dd.from_pandas(frame, npartitions=3), "y", client=client, **options)
    # Models of the controls for a doubly robust effect need the rows in memory.
    assert [rule.text for rule in found] == [rule.text for rule in expected]
    assert [rule.measured for rule in found] == [rule.measured.in_strata for rule in expected]
    repeated = frame.assign(**{name: np.round(values, 0) > 0 for name, values in controls.items()})
    with pytest.raises(cr.OptionError, match="on several workers"):
        cr.discover(dd.from_pandas(repeated, npartitions=3), "y", client=client, adjust="prognostic", **options)
