"""A report as a file: how it is written, how large it is, and that odd results have one too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import causalrules as cr
from causalrules.report import html, view
from reports import ladder_rules, passengers, ten_rules
from rulesets import rule_set


def test_the_command_line_writes_the_report(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from causalrules.cli import cli

    data, report = tmp_path / "data.csv", tmp_path / "report.html"
    passengers().to_csv(data, index=False)
    arguments = ["discover", str(data), "--target=survived", "-k", "2", "--quiet"]
    done = CliRunner().invoke(cli, [*arguments, "--report", str(report)])
    assert done.exit_code == 0
    assert "class ≤ 2 ∧ sex = female" in report.read_text(encoding="utf-8")
    assert "sex = female" in done.stdout
    failed = CliRunner().invoke(cli, [*arguments, "--report", str(data)])
    assert failed.exit_code == 1
    assert "--report" in failed.stderr
    assert "is the data itself" in failed.stderr


def test_a_report_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    rules = rule_set()
    with pytest.raises(cr.DataError, match="cannot write"):
        rules.to_html(tmp_path / "no such folder" / "report.html")
    rules.to_html(tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == rules.to_html()


def test_a_report_is_the_same_each_time() -> None:
    page = ten_rules().to_html()
    assert ten_rules().to_html() == page


def test_a_report_of_ten_rules_is_small() -> None:
    assert len(ten_rules().to_html().encode()) < 400_000
    adult = {f"x{place}": [(row * (place + 3)) % 11 for row in range(500)] for place in range(6)}
    adult |= {"z": [row % 97 for row in range(500)], "y": [int(row % 3 == 0) for row in range(500)]}
    rules = cr.discover(adult, "y", control="z", k=10, max_bins=100, max_length=2, adjust="strata")
    page = rules.to_html()
    assert rules.n_strata == 97
    assert "67 smaller ones" in page
    assert len(page.encode()) < 1_000_000


def test_a_very_long_list_is_cut_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = ten_rules()
    assert "Only the best" not in rules.to_html()
    monkeypatch.setattr(html, "_MOST_RULES", 4)
    page = rules.to_html()
    assert "Only the best 4 rules of 10 are shown." in page
    assert page.count('<tr class="head">') == 4


def test_results_without_rules_or_rows_have_a_report_too() -> None:
    assert "No rule satisfies the options" in rule_set().to_html()
    for rules in (ten_rules(), ladder_rules()):
        read = view.view(cr.RuleSet.from_json(rules.to_json()))
        assert [rule.text for rule in read.rules] == [rule.text for rule in rules]
        assert read.staircase == view.view(rules).staircase


def test_a_report_needs_no_matplotlib() -> None:
    code = (
        "import sys, causalrules as cr\n"
        "cr.discover(cr.datasets.kidney_stones(), 'success', control='size', k=2).to_html()\n"
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
