"""The call and the command in a report ask the same again."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

import causalrules as cr
from causalrules.report import reproduce


def test_the_call_in_the_report_finds_the_same_rules_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    columns = {
        "it's; rm -rf $HOME": ["a b", "c", "a b", "c", "a b", "c", "c", "a b"],
        "--beta": [1, 2, 3, 4, 5, 6, 7, 8],
        'z "quoted"': ["p", "q", "p", "q", "q", "p", "q", "p"],
        "income = now": [10.5, 20, 30, 40, 50, 60, 70, 80],
    }
    import pandas as pd

    pd.DataFrame(columns).to_csv("-data.csv", index=False)
    rules = cr.discover("-data.csv", "income = now", ">= 40", control='z "quoted"', k=4, beta=0.1, max_length=None)
    made: dict[str, Any] = {}
    exec(reproduce.call(rules), made)
    assert list(made["rules"]) == list(rules)
    assert made["rules"].question == rules.question

    from click.testing import CliRunner

    from causalrules.cli import cli

    program, *arguments = shlex.split(reproduce.command(rules))
    assert program == "causalrules"
    done = CliRunner().invoke(cli, [*arguments[:-2], "--format=json", "--quiet", *arguments[-2:]])
    assert done.exit_code == 0, done.output
    again = cr.RuleSet.from_json(done.stdout)
    assert list(again) == list(rules)
    assert again.question == rules.question


def test_the_command_tells_all_that_was_asked(tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    lines = [f"{age},{'?' if age % 7 == 0 else age % 3},{1 + age % 2},{int(age > 40)}" for age in range(18, 80)]
    table.write_text("\n".join(["age,group,n,y", *lines]))
    asked: dict[str, Any] = {
        "weights": "n",
        "na_values": ["?"],
        "cuts": {"age": [30, 50]},
        "query": "SELECT * FROM data WHERE age > 20",
    }
    rules = cr.discover(str(table), target="y", k=2, holdout=0.5, seed=3, **asked)
    document = rules.to_html()
    for words in (
        "--holdout=0.5",
        "--seed=3",
        "--weights=n",
        "--na-value=?",
        "--cut=age=30,50",
        "SELECT * FROM data WHERE age &gt; 20",
    ):
        assert words in document
    assert cr.RuleSet.from_json(rules.to_json()) == rules
