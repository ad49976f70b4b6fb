"""The examples run, and what they say in words is what the numbers are."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_titanic(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.html"
    found = load("titanic").main(str(report))
    assert str(found["plain"][0]) == "class ≤ 2 ∧ sex = female"
    assert round(found["plain"][0].reliable_effect, 5) == 0.45897
    assert all("sex" not in str(rule) for rule in found["adjusted"])
    assert len(found["ideas"]) == 5
    said = capsys.readouterr().out
    assert 'WHERE "class" <= 2 AND "sex" = \'female\'' in said
    assert str(found["adjusted"][0]) in report.read_text(encoding="utf-8")


def test_simpson(capsys: pytest.CaptureFixture[str]) -> None:
    stones, berkeley = load("simpson").main()
    for rule in (stones, berkeley):
        assert rule.marginal_effect < 0 < rule.effect
    # treatment A is better in both strata
    assert all(stratum.difference > 0 for stratum in stones.strata)
    said = capsys.readouterr().out
    assert f"{stones.marginal_effect:+6.1%}  more often overall" in said
    assert "Admissible" in said


def test_job_training(capsys: pytest.CaptureFixture[str]) -> None:
    example = load("job_training")
    if problem := example.missing():
        pytest.skip(f"the job-training data: {problem}")
    found = example.main()
    experiment, survey, adjusted = (found[name] for name in ("experiment", "survey", "adjusted"))
    assert [sum(map(sum, rule.counts)) for rule in (experiment, survey)] == [445, 185 + 2490]
    assert survey.effect < 0 < adjusted.effect
    # Dehejia and Wahba (1999): 1,794 dollars, with a standard error of 633.
    assert found["dollars"].effect == pytest.approx(1794, abs=1)
    assert found["dollars"].standard_error == pytest.approx(671, abs=1)
    assert found["dollars"].p_value < 0.05
    low, high = experiment.interval
    assert low < adjusted.effect < high
    # "two thirds of the people are in strata where nobody was trained"; "makes no claim"
    untrained = [stratum for stratum in adjusted.strata if not stratum.overlap]
    assert all(stratum.a + stratum.b == 0 for stratum in untrained)
    assert 0.65 < sum(stratum.n for stratum in untrained) / 2675 < 0.7
    assert adjusted.reliable_effect < 0
    assert "makes no claim" in capsys.readouterr().out


def test_job_training_says_what_is_missing(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, str(EXAMPLES / "job_training.py")],
        env={"CAUSALRULES_DATA": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 1
    assert "lalonde_nsw_dw.csv and lalonde_psid_controls.csv not found; set CAUSALRULES_DATA" in ran.stderr
    assert "Traceback" not in ran.stderr
