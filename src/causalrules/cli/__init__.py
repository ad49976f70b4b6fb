"""The command line. A mistake in the input is one line that names the fix, never a traceback.

Exit codes: 0 done, 1 bad input or interrupted (the best rules so far are printed all the same), 2 wrong usage.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
import shlex
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click
from click.core import ParameterSource

from causalrules.cli.graph import check, suggest
from causalrules.exceptions import CausalRulesError, CausalRulesWarning, DataError, InadmissibleError, OptionError
from causalrules.text import printable
from causalrules.writing import replace_file

if TYPE_CHECKING:
    from causalrules.result.rules import RuleSet

_GO_ON = "  --allow-inadmissible goes on all the same, and the rules are then called associations."
_PARAMETERS = (
    "target outcome control actionable graph latent weights query beta confidence max_length min_coverage max_bins "
    "estimator permutations holdout seed alpha time_limit checkpoint"
)
_OPTIONS = {name: f"--{name.replace('_', '-')}" for name in _PARAMETERS.split()} | {
    "k": "-k",
    "n_jobs": "--jobs",
    "cuts": "--cut",
    "na_values": "--na-value",
}
# Only where a message of ours names a parameter, never in the values it quotes: at its beginning, or as we ask for it.
_BEGINS = re.compile(rf"^({'|'.join(_OPTIONS)})( = |: | is )")
_GIVE = re.compile(r"(?<=Give )(outcome)=")
_REPEAT = re.compile(r"name each, (control|actionable)=\[.*$", re.DOTALL)
_QUESTION, _RULES, _TRUST, _RUN, _OUTPUT = "Question", "Rules", "Trust", "Run", "Output"


class _Commands(click.RichGroup):
    """Commands that speak to people: errors and warnings are one line on standard error."""

    def invoke(self, ctx: click.Context) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("always", CausalRulesWarning)
            warnings.showwarning = _show_warning
            try:
                return super().invoke(ctx)
            except InadmissibleError as error:
                for line in (*error.verdict.summary().splitlines(), _GO_ON):
                    click.echo(printable(line), err=True)
            except OptionError as error:
                _say("Error", _in_options(str(error)), "red")
                ctx.exit(2)
            except CausalRulesError as error:
                _say("Error", _in_options(str(error)), "red")
            except KeyboardInterrupt:
                _say("Interrupted", "nothing was found yet", "red")
            ctx.exit(1)


def _in_options(message: str) -> str:
    """What is said of the parameters of discover(), said of the options: "n_jobs = 0" is "--jobs 0"."""
    message = _REPEAT.sub(r"repeat --\1 for each", message)
    message = _GIVE.sub(lambda found: _OPTIONS[found[1]], message)
    return _BEGINS.sub(lambda found: f"{_OPTIONS[found[1]]}{found[2].replace(' = ', ' ')}", message)


@click.group(cls=_Commands)
@click.version_option(package_name="causalrules", message="%(prog)s %(version)s")
def cli() -> None:
    """Find the conditions with the highest reliable effect on an outcome."""


cli.add_command(check)
cli.add_command(suggest)


def _max_length(ctx: click.Context, param: click.Parameter, given: str) -> int | None:
    if given.lower() in ("none", "0"):
        return None
    try:
        return int(given)
    except ValueError:
        raise click.BadParameter(f"{given!r} is not a whole number; 0 or none is for no limit", ctx, param) from None


def _beta(ctx: click.Context, param: click.Parameter, given: str) -> float | str:
    if given.lower() == "calibrated":
        return "calibrated"
    try:
        return float(given)
    except ValueError:
        raise click.BadParameter(f"{given!r} is neither a number nor the word calibrated", ctx, param) from None


def _holdout(ctx: click.Context, param: click.Parameter, given: str | None) -> float | str | None:
    """Read a share of the rows, or the path of a second table."""
    try:
        return None if given is None else float(given)
    except ValueError:
        return given


def _cuts(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> dict[str, list[str]] | None:
    """Read "age=18,65". A column's name may hold "=", a number or date never does: the last one counts."""
    cuts: dict[str, list[str]] = {}
    for text in given:
        column, equals, points = text.rpartition("=")
        if not equals or not column:
            raise OptionError(f"--cut {text!r}: write the column, =, and its cut points, as in --cut age=18,65")
        cuts.setdefault(column, []).extend(point.strip() for point in points.split(","))
    return cuts or None


def _output(ctx: click.Context, param: click.Parameter, given: str | None) -> Path | None:
    """Refuse what cannot be written before the search, not after it."""
    if given is None:
        return None
    folder, data, option = os.path.dirname(given) or os.curdir, ctx.params["file"], param.opts[0]
    if os.path.isdir(given):
        raise DataError(f"{option} {given!r} is a directory; name a file in it")
    if not os.path.isdir(folder):
        raise DataError(f"{option} {given!r}: there is no directory {folder!r}; make it first")
    if os.path.exists(given) and os.path.exists(data) and os.path.samefile(given, data):
        raise DataError(f"{option} {given!r} is the data itself; name another file")
    if option == "--report" and not given.lower().endswith((".html", ".htm")):
        raise OptionError(f"--report {given!r}: a report is an HTML file; name one that ends in .html")
    return Path(given)


# The names of the parameters are those of discover(), so that they can be handed on as they are.
@cli.command()
@click.argument("file", is_eager=True)
@click.option("--target", required=True, metavar="COLUMN", panel=_QUESTION, help="The column with the outcome.")
@click.option(
    "--outcome",
    metavar="VALUE",
    panel=_QUESTION,
    help="The outcome that is wanted: a value of the target, or a condition such as '>= 50000'. "
    "May be left out for a boolean or 0/1 target.",
)
@click.option(
    "--control",
    multiple=True,
    metavar="COLUMN",
    panel=_QUESTION,
    help="A column to adjust for: one that may influence both the target and the actionable columns. Repeat for more.",
)
@click.option(
    "--actionable",
    multiple=True,
    metavar="COLUMN",
    panel=_QUESTION,
    help="A column to put conditions on. Repeat for more; every other column by default.",
)
@click.option(
    "--graph",
    metavar="FILE|TEXT",
    panel=_QUESTION,
    help="The causal graph, checked before the search: a DOT, GML or dagitty file, or text such as "
    "'size -> treatment -> success'.",
)
@click.option(
    "--latent",
    multiple=True,
    metavar="NAME",
    panel=_QUESTION,
    help="A variable of the graph that is not observed. Repeat for more.",
)
@click.option(
    "--allow-inadmissible",
    is_flag=True,
    panel=_QUESTION,
    help="Search although the graph does not allow it, and call the rules associations.",
)
@click.option("--weights", metavar="COLUMN", panel=_QUESTION, help="A column that says how often each row counts.")
@click.option(
    "--na-value",
    "na_values",
    multiple=True,
    metavar="TEXT",
    panel=_QUESTION,
    help="What else stands for a missing value in a text file, such as '?'. Repeat for more.",
)
@click.option(
    "--query",
    metavar="SELECT",
    panel=_QUESTION,
    help="Search the result of this query over FILE, which it knows as the table data.",
)
@click.option("-k", "k", type=int, default=10, show_default=True, panel=_RULES, help="How many rules.")
@click.option(
    "--beta",
    metavar="NUMBER|calibrated",
    default="2.0",
    show_default=True,
    callback=_beta,
    panel=_RULES,
    help="How conservative the reliable effect is; 0 takes no account of chance, calibrated is the least for which "
    "the best rule of noise is at most 0 in 95 of 100 cases.",
)
@click.option(
    "--confidence",
    type=float,
    panel=_RULES,
    help="The two-sided confidence level instead of beta; 0.9545 is beta = 2.",
)
@click.option(
    "--max-length",
    metavar="N|none",
    default="4",
    show_default=True,
    callback=_max_length,
    panel=_RULES,
    help="The most conditions a rule may have (an interval is two); 0 or none for no limit.",
)
@click.option(
    "--min-coverage",
    type=float,
    default=0.0,
    show_default=True,
    metavar="SHARE",
    panel=_RULES,
    help="The least share of the rows that a rule must cover.",
)
@click.option(
    "--max-bins",
    type=int,
    default=8,
    show_default=True,
    panel=_RULES,
    help="The most bins of a column with an order.",
)
@click.option(
    "--cut",
    "cuts",
    multiple=True,
    metavar="COLUMN=VALUE,…",
    callback=_cuts,
    panel=_RULES,
    help="The cut points of a column, as in --cut age=18,65. Repeat for more columns.",
)
@click.option(
    "--estimator",
    default="reliable",
    show_default=True,
    panel=_RULES,
    help="What is maximised: reliable, plugin, wracc or association.",
)
@click.option(
    "--no-redundant",
    "redundant",
    is_flag=True,
    flag_value=False,
    default=True,
    panel=_RULES,
    help="Only rules that are better than each of their generalisations.",
)
@click.option(
    "--permutations",
    type=int,
    metavar="N",
    panel=_TRUST,
    help="Give each rule a p-value, adjusted for the search, from N searches on permuted outcomes (999 with --trust).",
)
@click.option(
    "--holdout",
    metavar="SHARE|FILE",
    callback=_holdout,
    panel=_TRUST,
    help="Measure the effects on rows that were not searched: a share of them such as 0.5, or a second table.",
)
@click.option(
    "--trust",
    is_flag=True,
    panel=_TRUST,
    help="How far can each rule be trusted? p-values, effects on unseen rows, stability, unmeasured confounding, "
    "overlap, and one word for all of it.",
)
@click.option("--seed", type=int, default=0, show_default=True, panel=_TRUST, help="The seed of all that is random.")
@click.option(
    "--alpha",
    type=float,
    default=1.0,
    show_default=True,
    panel=_RUN,
    help="Below 1, the search is faster and the best rule may be missed by the gap that is printed.",
)
@click.option(
    "--jobs", "n_jobs", type=int, default=-1, show_default=True, panel=_RUN, help="Threads; -1 for all cores."
)
@click.option(
    "--time-limit",
    type=float,
    metavar="SECONDS",
    panel=_RUN,
    help="After this long, print the best rules so far; --trust or --permutations may take as long again.",
)
@click.option(
    "--checkpoint",
    metavar="FILE",
    panel=_RUN,
    help="Where the search is written now and then, and goes on from if it was stopped or killed before.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "csv"]),
    default="table",
    show_default=True,
    panel=_OUTPUT,
    help="How the rules are written.",
)
@click.option(
    "--output",
    metavar="FILE",
    callback=_output,
    panel=_OUTPUT,
    help="Where the rules are written instead of the terminal.",
)
@click.option(
    "--report",
    metavar="FILE",
    callback=_output,
    panel=_OUTPUT,
    help="Where a report is written as well: one HTML file with plots, to open in a browser without a network.",
)
@click.option("--quiet", is_flag=True, panel=_OUTPUT, help="No progress and no remarks, only the rules and errors.")
@click.pass_context
def discover(
    ctx: click.RichContext,
    /,
    file: str,
    form: str,
    output: Path | None,
    report: Path | None,
    quiet: bool,
    permutations: int | None,
    trust: bool,
    **question: Any,
) -> None:
    """Find the rules with the highest reliable effect in FILE (CSV, TSV or Parquet, also gzipped).

    Ctrl-C ends the search and prints the best rules so far. Exit codes: 0 done, 1 bad input or interrupted, 2 wrong
    usage.
    """
    beta_given = ctx.get_parameter_source("beta") is ParameterSource.COMMANDLINE
    if question["confidence"] is not None:
        if beta_given:
            raise click.UsageError("--beta and --confidence say the same thing: give one of them")
        del question["beta"]
    if output is not None and report is not None and os.path.realpath(output) == os.path.realpath(report):
        raise OptionError(f"--output and --report are the same file, {str(output)!r}; name two")
    question["actionable"] = question["actionable"] or None  # none named means every other column

    from causalrules.discovery import discover as find

    progress = False if quiet else None
    rules = find(file, **question, progress=progress)
    interrupted = rules.stopped == "interrupted"
    if not interrupted and (trust or permutations is not None):
        run = {name: question[name] for name in ("seed", "n_jobs", "time_limit")} | {"progress": progress}
        try:
            if trust:
                rules = rules.trust(999 if permutations is None else permutations, **run)
            elif permutations is not None:
                rules = rules.significance(permutations, **run)
        except KeyboardInterrupt:
            _say("Interrupted", "the rules are found, but how far they can be trusted is not", "red")
            interrupted = True
    text = rules.to_json() if form == "json" else _csv(rules) if form == "csv" else str(rules)
    if output is None:
        click.echo(text)
    else:
        replace_file(output, text + "\n")
    if report is not None:
        rules.to_html(report)
    if not quiet and (output is not None or form != "table"):
        for remark in _remarks(rules, output):
            click.echo(printable(remark), err=True)
    if interrupted:
        ctx.exit(1)


def _remarks(rules: RuleSet, output: Path | None) -> list[str]:
    """What a reader of the bare rules would miss."""
    from causalrules.report.terminal import sentences

    written = [] if output is None else [f"{len(rules)} rule{'s' * (len(rules) != 1)} written to {str(output)!r}"]
    return [*written, *sentences(rules)]


def _csv(rules: RuleSet) -> str:
    columns = replace(rules, library="dict").to_frame()  # no data frame library is loaded for this
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*([_cell(value) for value in column] for column in columns.values()), strict=True))
    return text.getvalue().removesuffix("\n")


def _cell(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return ""
    # A spreadsheet would run a text that begins like a formula, and column names come from strangers.
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


@cli.command()
def demo() -> None:
    """Find rules in two tables that come with the package, and show how to ask for them."""
    from causalrules import datasets

    titanic = Path(datasets.__file__).with_name("titanic.csv")
    _show(
        "891 passengers of the Titanic: who survived far more often, and how much of it is left after an\n"
        "allowance for chance? (It is made for one rule on its own; --trust asks how far to trust the best of many.)",
        "titanic",
        {
            "target": "survived",
            "outcome": 1,
            "actionable": ["class", "sex", "age", "sibsp", "parch", "embarked"],
            "k": 3,
        },
        titanic,
    )
    _show(
        "\n700 patients with kidney stones: did treatment A succeed more often than B? Overall it did not (marginal),\n"
        "because the large stones were left to it; among stones of a size it did (difference, adjusted for size).",
        "kidney_stones",
        {"target": "success", "outcome": 1, "control": ["size"], "k": 2},
    )


def _show(title: str, dataset: str, question: dict[str, Any], file: Path | None = None) -> None:
    from causalrules import datasets
    from causalrules.discovery import discover as find

    arguments = "".join(f"    {name}={value!r},\n" for name, value in question.items())
    click.echo(f"{title}\n\nIn Python:")
    call = f"import causalrules as cr\nrules = cr.discover(\n    cr.datasets.{dataset}(),\n{arguments})\nprint(rules)"
    click.echo(_indented(call))
    if file is not None:
        click.echo(f"On the command line:\n{_indented(_command(file, question))}")
    click.echo(str(find(getattr(datasets, dataset)(library="dict"), **question)))


def _command(file: Path, question: dict[str, Any]) -> str:
    place = file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
    lines = [shlex.join(["causalrules", "discover", str(place)])]
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


def _say(label: str, message: str, colour: str) -> None:
    click.secho(f"{label}: {printable(message)}", fg=colour, err=True)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    _say("Warning", str(message), "yellow")


def main() -> None:
    """Run the command line, on terminals of any encoding."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    cli(prog_name="causalrules")
