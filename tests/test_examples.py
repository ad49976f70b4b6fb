"""The examples run, their pages show their output, and their text agrees with the numbers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pages import ROOT, is_current, page_of, page_path, refreshed, same_on_any_machine

SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


def test_every_script_has_a_page_and_every_page_a_script():
    pages = {path.stem for path in (ROOT / "docs" / "examples").glob("*.md")} - {"index"}
    assert pages == {script.stem for script in SCRIPTS}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_page_of_a_script_shows_it_and_what_it_prints_today(script):
    pytest.importorskip("matplotlib")
    page, names, stale = page_path(script), dict[str, Any](), []

    def compare(name: str, figure: Any) -> None:
        if not is_current(page.parent / name, figure):
            stale.append(name)

    try:
        today = refreshed(page_of(script), compare, names)
    except SystemExit as missing:
        pytest.skip(str(missing))
    # To accept the current output: python tests/pages.py examples/NAME.py
    assert same_on_any_machine(today) == same_on_any_machine(page.read_text(encoding="utf-8"))
    assert not stale
    FACTS[script.stem](names)


def titanic(found: dict[str, Any]) -> None:
    # "The first rule is women of the better classes, the second children"; "the better classes helped both sexes"
    assert [str(rule) for rule in found["rules"]] == ["class ≤ 2 ∧ sex = female", "age ≤ 15 ∧ sibsp ≤ 2"]
    assert str(found["adjusted"][1]) == "age ≤ 15 ∧ sibsp ≤ 2"
    assert all(stratum.difference > 0 for stratum in found["best"].strata)


def simpson(found: dict[str, Any]) -> None:
    for (rule,) in (found["stones"], found["berkeley"]):
        assert rule.marginal_effect < 0 < rule.effect
    assert all(stratum.difference > 0 for stratum in found["stones"][0].strata)


def job_training(found: dict[str, Any]) -> None:
    # Dehejia and Wahba (1999): 1,794 dollars
    (experiment,), robust = found["drawn"], found["robust"]
    assert experiment.effect == pytest.approx(1794, abs=1)
    assert experiment.verdict.strong
    assert found["naive"][0].effect < -15_000
    assert robust.own_low < experiment.effect < robust.own_high
    assert not robust.low < experiment.effect < robust.high


def smoking(found: dict[str, Any]) -> None:
    effects = {rule.text: rule.interval for rule in found["rules"]}
    for rule, truth in {"smoking = 1": 0.29, "tar = 1": 0.20, "pressure = 1": 0.15}.items():
        assert effects[rule].low < truth < effects[rule].high


def classes(found: dict[str, Any]) -> None:
    (book_alone, _), (book, tutoring) = found["alone"], found["together"]
    assert [rule.verdict.evidence for rule in (book_alone, book, tutoring)] == [
        "supported",
        "not supported",
        "supported",
    ]
    width = book.interval.high - book.interval.low
    assert 1.9 < width / (book_alone.interval.high - book_alone.interval.low) < 2.3  # "twice as wide"
    assert tutoring.interval.low < 0.15 < tutoring.interval.high


def large(found: dict[str, Any]) -> None:
    assert found["same"].n_rows == found["rules"].n_rows == 1_000_000
    assert str(found["rules"][0]) == "express = True"
    assert found["rules"][0].effect == pytest.approx(-0.04, abs=0.002)


FACTS = {each.__name__: each for each in (titanic, simpson, job_training, smoking, classes, large)}


def test_a_script_says_which_data_are_missing(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "job_training.py")],
        env={**os.environ, "CAUSALRULES_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 1
    assert "lalonde_nsw_dw.csv and lalonde_psid_controls.csv not found; set CAUSALRULES_DATA" in ran.stderr
    assert "Traceback" not in ran.stderr
