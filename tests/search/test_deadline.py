"""Time limits: one for the whole call, and the result at its end is valid."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import causalrules as cr
from causalrules import stepwise
from causalrules.exceptions import OptionError
from causalrules.question import Question
from causalrules.result.evidence import Calibration
from causalrules.rules import RuleSet
from causalrules.search import deadline
from causalrules.search import run as search
from causalrules.search.deadline import Deadline
from causalrules.search.problem import Problem
from causalrules.trust import calibration, registry, repeat, resample
from causalrules.trust.calibration import calibrate
from causalrules.trust.resample import folds, halves
from rulesets import rows_of
from strategies import RELIABLE, noise

LIMIT = 60.0


@pytest.fixture
def rules() -> RuleSet:
    return cr.discover(noise(4, n=200), "y", control="z", k=2, beta=1.0, max_length=2, stepwise=False)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Return a clock that stands still unless it is set."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(deadline, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


@pytest.fixture
def ends_after(monkeypatch: pytest.MonkeyPatch, clock: SimpleNamespace) -> Callable[[int], None]:
    """Let the time end during the search after `searches` others."""
    run, lock, left = search.run, threading.Lock(), [0]

    def limited(table: Any, options: Any, n_rows: int, **how: Any) -> Any:
        assert options.time_limit is None or options.time_limit <= LIMIT
        found = run(table, dataclasses.replace(options, time_limit=None), n_rows, **how)
        with lock:
            left[0] -= 1
            if left[0] < 0 and options.time_limit is not None:
                clock.now += LIMIT
                return dataclasses.replace(found, rules=(), stopped="time limit")
        return found

    def after(searches: int) -> None:
        left[0] = searches

    monkeypatch.setattr(search, "run", limited)
    return after


def test_a_deadline_is_shared(clock: SimpleNamespace) -> None:
    assert Deadline.after(None).left() is None
    assert not Deadline.after(None).passed
    ends = Deadline.after(10)
    clock.now += 4
    assert (ends.left(), ends.left(0.5), ends.passed) == (6, 3, False)
    clock.now += 6
    assert ends.passed
    assert 0 < (ends.left() or 0) < 1e-3  # 0 is no valid limit
    with pytest.raises(OptionError, match="time_limit = -1"):
        Deadline.after(-1)


def test_p_values_count_started_searches(rules: RuleSet, ends_after: Callable[[int], None]) -> None:
    full = rules.significance(7, stop_early=False, n_jobs=1)
    ends_after(7)
    cut = rules.significance(50, stop_early=False, n_jobs=1, time_limit=LIMIT)
    assert cut.evidence is not None
    run = cut.evidence.permutation
    assert run is not None
    assert (run.permutations, run.asked, run.cut_short, run.exact) == (8, 50, 1, False)
    for mine, other in zip(cut, full, strict=True):
        assert mine.p_value is not None
        assert other.p_value is not None
        # (1 + count)/(1 + 7) over the searches that ended; the unfinished one counts as good.
        assert mine.p_value == pytest.approx((8 * other.p_value + 1) / 9)
    said = " ".join(str(cut).split())
    assert "8 of at most 50 permutations" in said
    assert "the time limit ended 1 of them early, which count as as good" in said
    assert cr.RuleSet.from_json(cut.to_json()) == cut


def test_enumerated_arrangements_that_are_cut_short_are_a_random_sample(ends_after: Callable[[int], None]) -> None:
    columns = {"x": [0, 0, 0, 1, 1, 1], "y": [0, 0, 0, 1, 1, 1]}
    rules = cr.discover(columns, "y", k=1, **RELIABLE)
    every = rules.significance(20, n_jobs=1)
    assert every[0].p_value == pytest.approx(2 / 20)
    exceedances = []
    for seed in range(12):
        ends_after(5)
        cut = rules.significance(20, seed, n_jobs=1, time_limit=LIMIT)
        assert cut.evidence is not None
        assert cut.evidence.permutation is not None
        assert not cut.evidence.permutation.exact
        assert cut[0].evidence is not None
        assert cut[0].evidence.significance is not None
        exceedances.append(cut[0].evidence.significance.exceedances)
        assert cut[0].p_value == pytest.approx((1 + exceedances[-1]) / (1 + 6))
    # In enumeration order, the same five would be tried every time.
    assert len(set(exceedances)) > 1


@pytest.mark.parametrize("ask", ["significance", "cross_fit", "stability"])
def test_no_time_at_all_is_an_error(rules: RuleSet, ends_after: Callable[[int], None], ask: str) -> None:
    ends_after(0)
    with pytest.raises(OptionError, match=r"time_limit = 60.*(no|none of the) .* (searched|ended); raise it"):
        getattr(rules, ask)(9, n_jobs=1, time_limit=LIMIT)


def test_only_searched_samples_count(rules: RuleSet, ends_after: Callable[[int], None]) -> None:
    full = rules.stability(4, n_jobs=1)
    ends_after(4)
    cut = rules.stability(30, n_jobs=1, time_limit=LIMIT)
    assert [rule.evidence for rule in cut] == [rule.evidence for rule in full]
    assert cut.evidence is not None
    assert cut.evidence.stability is not None
    assert (cut.evidence.stability.replicates, cut.evidence.stability.asked) == (4, 30)
    assert "4 of 30 subsamples (the time limit ended the rest)" in " ".join(str(cut).split())


def test_only_searched_splits_are_measured(rules: RuleSet, ends_after: Callable[[int], None]) -> None:
    ends_after(2)
    cut = rules.cross_fit(4, seed=3, n_jobs=1, time_limit=LIMIT)
    assert rules.problem is not None
    rng = repeat.generator(3, "split")
    _, later = halves(rows_of(rules), rng)
    parts = folds(rows_of(rules), 4, rng, later)
    for rule in cut:
        honest = rule.evidence.honest  # type: ignore[union-attr]
        assert honest is not None
        assert (honest.splits, honest.n_rows) == (2, sum(part.sum() for part in parts[:2]))
        assert honest.overlap > 0.5  # of the held-out rows, not of all
    assert cut.evidence is not None
    assert cut.evidence.honest is not None
    assert (cut.evidence.honest.splits, cut.evidence.honest.asked) == (2, 4)
    assert "2 of 4 blocks (the time limit ended the rest)" in " ".join(str(cut).split())


def test_a_calibration_cut_short_stays_valid(
    ends_after: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = rows_of(cr.discover(noise(4), "y", control="z", k=1, max_length=2))
    options = Question("y", beta=2.0, max_length=2, n_jobs=1, estimator="reliable")
    # Of ten, the sixth smallest at 50 %; if one counts as the largest, the sixth of the nine others.
    sixth = calibrate(Problem((problem,)), options, confidence=0.6, permutations=9)
    done = 0
    shuffling = resample.shuffling

    def counting(*given: Any) -> Any:
        shuffle = shuffling(*given)

        def counted(*arguments: Any) -> Any:
            nonlocal done
            ends_after(0 if done == 9 else 10**6)
            done += 1
            return shuffle(*arguments)

        return counted

    monkeypatch.setattr(calibration, "shuffling", counting)
    cut = calibrate(Problem((problem,)), options, confidence=0.5, permutations=19, time_limit=LIMIT)
    assert (cut.permutations, cut.asked, cut.cut_short, cut.value) == (10, 19, 1, None)
    assert cut.beta == sixth.beta
    done = 0
    with pytest.raises(
        OptionError, match="β cannot be calibrated in 60 s: 9 of 199 permutations were searched, too few"
    ):
        calibrate(Problem((problem,)), options, permutations=199, time_limit=LIMIT)


def test_an_interrupted_search_is_not_taken_for_the_best(rules: RuleSet, monkeypatch: pytest.MonkeyPatch) -> None:
    run = search.run
    monkeypatch.setattr(
        search, "run", lambda *given, **how: dataclasses.replace(run(*given, **how), stopped="interrupted")
    )
    assert rules.problem is not None
    with pytest.raises(KeyboardInterrupt):
        repeat.Searcher()(rules.problem, Question("y", beta=2.0))


def test_reading_calibrating_and_searching_share_the_time(
    clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from causalrules.data import reading
    from causalrules.search import intake

    read, run = reading.read, search.run
    limits: list[Any] = []

    def slow_read(*given: Any) -> Any:
        clock.now += 20
        return read(*given)

    def calibrated(*_: Any, **how: Any) -> Calibration:
        limits.append((how["time_limit"], how["progress"]))
        clock.now += 10
        return Calibration(3.0, 0.95, 199, 199, 0, 0, 0.1, 2.0, 0.2)

    def searched(table: Any, options: Any, *given: Any, **how: Any) -> Any:
        limits.append(options.time_limit)
        return run(table, options, *given, **how)

    monkeypatch.setattr(intake, "read", slow_read)
    monkeypatch.setattr(stepwise, "calibrate", calibrated)
    monkeypatch.setattr(search, "run", searched)
    asked: dict[str, Any] = {"control": "z", "beta": "calibrated", "stepwise": False}
    cr.discover(noise(0), "y", **asked, time_limit=60, progress=False)
    assert limits == [(20, False), 30]
    limits.clear()
    cr.discover(noise(0), "y", **asked, progress=lambda _: None)
    assert limits == [(None, False), None]  # a progress function for searches gets no permutations
    limits.clear()
    # Each step of a ladder gets the remaining time.
    columns = noise(0, n=400)
    columns["y"] = columns["y"] | (np.array(columns["x0"]) > 0.9)
    ladder = cr.discover(columns, "y", **asked | {"stepwise": None}, max_length=1, time_limit=60, progress=False)
    assert len(ladder) == 1
    assert limits == [(20, False), 30, (15, False), 20]


@pytest.mark.parametrize("k", [1, 3])
def test_trust_without_time_reports_what_is_unknown(k: int) -> None:
    columns = noise(0)
    columns["y"] = columns["y"] | (np.array(columns["x0"]) > 0.9)
    rules = cr.discover(columns, "y", control="z", k=k, max_length=1)
    for rule in rules.trust(time_limit=1e-9):
        assert rule.evidence is not None
        assert rule.evidence.sensitivity is not None
        # Then the verdict rests on the margin.
        assert (rule.p_value, rule.evidence.honest, rule.evidence.stability) == (None, None, None)
        assert rule.verdict.basis == "margin"
        assert rule.verdict.evidence == ("supported" if rule.value > 0 else "not supported")


def test_trust_shares_its_time(rules: RuleSet, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []

    def part(rules: RuleSet, *_: Any, time_limit: float, **__: Any) -> RuleSet:
        limits.append(time_limit)
        clock.now += 10
        return rules

    timed = ("significance", "honest", "stability", "conditions")
    checks = (replace(check, measure=part) if check.name in timed else check for check in registry.CHECKS)
    monkeypatch.setattr(registry, "CHECKS", tuple(checks))
    rules.trust(time_limit=60)
    assert limits == [30, 25, 28, 30]
