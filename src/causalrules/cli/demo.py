"""causalrules demo: two example searches, their results, and how to run them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from causalrules.writing import replace_file

if TYPE_CHECKING:
    from causalrules.rules import RuleSet


FOLDER = Path("cr-demo")


@click.command()
def demo() -> None:
    """Find rules in two example tables, and write one of the tables and its report to cr-demo/."""
    from causalrules import datasets
    from causalrules.exceptions import FileError

    try:
        FOLDER.mkdir(exist_ok=True)
    except OSError as error:
        raise FileError(
            f"cannot make the folder {str(FOLDER)!r} ({error}); change to one where you may write"
        ) from error
    data, report = FOLDER / "titanic.csv", FOLDER / "report.html"
    replace_file(data, Path(datasets.__file__).with_name("titanic.csv").read_bytes())
    rules = _show(
        "891 passengers of the Titanic: who survived far more often, and how much of that is left after a margin for\n"
        "chance? (The margin is for one rule; --trust asks how far to trust the best of many.)",
        "titanic",
        {
            "target": "survived",
            "outcome": 1,
            "actionable": ["class", "sex", "age", "sibsp", "parch", "embarked"],
            "k": 3,
        },
        data,
    )
    rules.to_html(report)
    _show(
        "\n700 patients with kidney stones: did treatment A succeed more often than B? Overall it did not,\n"
        "because it was given the large stones; among stones of the same size it did (adjusted for size).",
        "kidney_stones",
        {"target": "success", "outcome": 1, "control": ["size"], "k": 2},
    )
    click.echo(f"\nA report on the passengers is in {report}: open it in a browser. Their table is in {data}.")


def _show(title: str, dataset: str, question: dict[str, Any], file: Path | None = None) -> RuleSet:
    from causalrules import datasets
    from causalrules.discovery import discover

    arguments = "".join(f"    {name}={value!r},\n" for name, value in question.items())
    click.echo(f"{title}\n\nIn Python:")
    call = f"import causalrules as cr\nrules = cr.discover(\n    cr.datasets.{dataset}(),\n{arguments})\nprint(rules)"
    click.echo(_indented(call))
    if file is not None:
        click.echo(f"On the command line:\n{_indented(_command(file, question))}")
    rules = discover(getattr(datasets, dataset)(library="dict"), **question)
    click.echo(str(rules))
    return rules


def _command(file: Path, question: dict[str, Any]) -> str:
    lines = [shlex.join(["causalrules", "discover", str(file)])]
    for name, value in question.items():
        for each in value if isinstance(value, list) else [value]:
            words = shlex.join([f"--{name}" if len(name) > 1 else f"-{name}", str(each)])
            if len(lines[-1]) + len(words) < 80:
                lines[-1] += f" {words}"
            else:
                lines.append(f"  {words}")
    return " \\\n".join(lines)


def _indented(text: str) -> str:
    return "\n" + "\n".join(f"    {line}" for line in text.splitlines()) + "\n"
