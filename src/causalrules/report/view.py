"""The view of a report as data, rendered by both the plain page and the script.

A view has the words; numbers are in the result's JSON, which accompanies it. All texts are printable and of bounded
length, except code to copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from causalrules.exceptions import OptionError
from causalrules.graph.assumptions import assumptions
from causalrules.report import (
    adjustment_words,
    alerts,
    claim_words,
    layout,
    numbers,
    reproduce,
    result_words,
    rule_words,
    sections,
)
from causalrules.report.answers import Answer, answers, weakest
from causalrules.report.numbers import NumberView
from causalrules.report.sections import Section
from causalrules.text import (
    counted,
    listed,
    percent,
    printable,
    sentence,
)

if TYPE_CHECKING:
    from causalrules.alerts import Alert
    from causalrules.language.kinds import OutcomeKind
    from causalrules.question import Question
    from causalrules.result.result import Result
    from causalrules.result.rule import RuleResult

MOST_STRATA = 30
# Maximum reasons for leaving out sets of columns.
_MOST_REASONS = 20
# A staircase has more than this many rungs; a level on fewer rows is rough.
_FEWEST, _FEW_ROWS = 2, 30


@dataclass(frozen=True)
class AlertView:
    """An alert: its title and a sentence."""

    title: str
    text: str


@dataclass(frozen=True)
class RuleView:
    """One rule: its conditions in words, two answers, alerts and details.

    Attributes
    ----------
    conditions
        The column, comparison and value of each condition.
    holds, fails
        The two compared levels, formatted.
    estimate
        The effect, formatted; with its interval if the rule was named in advance.
    measured
        The effect in a sentence, with its bound or interval.
    at_least
        Its bound after the search, formatted.
    unfound
        Whether the rule was searched for and is no finding.
    sides, mix
        The names of the two levels, with their rows, and the mix of the controls that they are adjusted to.
    numbers
        The numbers beside the effect, for the table and the card.
    strata
        The names of the strata in the JSON; `strata_left` describes the others.
    code
        Pairs of a language and the rule in it.
    control
        What the rule is adjusted for.
    held_fixed
        The columns of the rules above that are held fixed, in a sentence; empty if there are none.
    estimated
        The name of the estimate.
    blocked
        The edges (from, arrow, to) of the spurious paths that the controls block.
    """

    text: str
    conditions: tuple[tuple[str, str, str], ...]
    evidence: Answer
    claim: Answer
    holds: str
    fails: str
    estimate: str
    at_least: str
    conservative: str
    measured: str
    unfound: bool
    sides: tuple[str, str]
    mix: str
    numbers: tuple[NumberView, ...]
    covered: str
    stands_out: bool
    reading: tuple[str, ...]
    alerts: tuple[AlertView, ...]
    strata: tuple[str, ...]
    strata_left: str
    sections: tuple[Section, ...]
    code: tuple[tuple[str, str], ...]
    control: tuple[str, ...]
    held_fixed: str
    estimated: str
    blocked: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class RungView:
    """The rows where the first rules of a list hold together.

    Attributes
    ----------
    name, short
        Which rules hold, in words, and in short for the figure.
    rule
        The rule that holds here in addition to the rung before; empty on the first.
    level, value
        The adjusted level of the outcome, formatted and as a number.
    step, change
        The difference from the rung before, formatted and as a number; empty and None on the first.
    rows
        Number of rows.
    few
        Whether there are too few rows for an accurate level.
    """

    name: str
    short: str
    rule: str
    level: str
    value: float
    step: str
    change: float | None
    rows: str
    few: bool


@dataclass(frozen=True)
class Staircase:
    """The rungs of a list whose rules add, with the title, sentence and step label of the figure."""

    title: str
    says: str
    step: str
    rungs: tuple[RungView, ...]


@dataclass(frozen=True)
class View:
    """A whole report.

    Attributes
    ----------
    tone
        Tone of the weakest answer: "good", "caution", "bad" or "none".
    lead
        Index of the rule on the first screen; None if no rule stands out from chance.
    least
        The name of the bounds after the search; empty if the rules have none.
    named
        Whether the rules were named in advance.
    p, list
        What p-values are adjusted for; the title of the list of rules.
    adds, ending
        That rules add to those above, and why the list ends; empty otherwise.
    kind
        How the page formats numbers of the outcome.
    staircase
        The levels where the first rules hold; None for fewer than two rules.
    headline
        The words before and after the rule on the first screen.
    """

    title: str
    outcome: str
    source: str
    table: str
    noun: str
    estimate: str
    least: str
    named: bool
    p: str
    list: str
    adds: str
    ending: str
    staircase: Staircase | None
    kind: OutcomeKind
    tone: str
    lead: int | None
    headline: tuple[str, str]
    alerts: tuple[AlertView, ...]
    meaning: str
    proof: str
    warning: str
    ranking: str
    rules_left: str
    rules: tuple[RuleView, ...]
    sections: tuple[Section, ...]
    graph: dict[str, Any] | None
    asked: tuple[tuple[str, str], ...]
    graph_says: str
    assumed: str
    assumptions: tuple[str, ...]
    command: str
    call: str
    versions: str


def view(rules: Result, n_left: int = 0) -> View:
    """Return the view of a result; `n_left` rules were left out of it."""
    shown = tuple(_rule(rule, rules) for rule in rules)
    lead, named = lead_of(rules), rules.is_named
    return View(
        title=short(f"{rules.question.outcome} – rules", 90),
        outcome=short(rules.question.outcome, 300),
        source=short(rules.source or "", 200),
        table=_table(rules),
        noun=rules.noun,
        estimate="adds" if adjustment_words.adds(rules) else _estimated(rules),
        least=rule_words.least(rules) if result_words.has_bounds(rules) else "",
        named=named,
        p=f"p: adjusted for the {'number of rules' if named else 'search'}",
        list="Rules" if named or lead is not None else "Closest candidates, not findings",
        adds=f"Each rule adds to those above: its {rules.noun} is with their columns held fixed."
        if adjustment_words.adds(rules)
        else "",
        ending=short(sentence(result_words.ending(rules)), 1500),
        staircase=_staircase(rules),
        kind=rules.kind,
        tone="none" if lead is None else weakest(shown[lead].evidence, shown[lead].claim),
        lead=lead,
        headline=_headline(rules, lead),
        alerts=_alerts(rules, shown, lead),
        meaning=short(" ".join(map(sentence, (result_words.meaning(rules), *result_words.bound_lines(rules)))), 1500),
        proof=short(sentence(result_words.proof(rules)), 1500),
        warning=_warning(rules, lead),
        ranking=short(sentence(result_words.ranking(rules) or ""), 1500),
        rules_left=f"Only the best {counted(len(shown), 'rule')} of {len(shown) + n_left:,} are shown."
        if n_left
        else "",
        rules=shown,
        sections=tuple(map(_printable, sections.of_result(rules))),
        graph=None if rules.graph is None else _graph(rules),
        asked=tuple((name, short(value, 2000)) for name, value in _asked(rules)),
        graph_says=claim_words.verdict(rules),
        assumed=_assumed(rules),
        assumptions=tuple(short(each, 1500) for each in _assumptions(rules)),
        command=reproduce.command(rules),
        call=reproduce.call(rules),
        versions=", ".join(f"{short(name, 40)} {short(text, 40)}" for name, text in sorted(rules.versions.items())),
    )


def _alerts(rules: Result, shown: Sequence[RuleView], lead: int | None) -> tuple[AlertView, ...]:
    """Return the alerts of the first screen: of the result, and of its rule or a single rule that is no finding."""
    known = tuple(map(alert_view, rules.alerts))
    if lead is None and len(shown) != 1:
        return known
    only = shown[lead or 0]
    own = [alert for alert in only.alerts if alert not in known]
    if lead is None:
        own = [replace(alert, text=f"{only.text}: {alert.text}") for alert in own]
    return (*known, *own)


def alert_view(alert: Alert) -> AlertView:
    """Return an alert as the page gets it."""
    return AlertView(short(alert.title, 100), short(sentence(alert.sentence), 600))


def short(text: str, most: int) -> str:
    """Escape control characters, and cut text that is far too long."""
    plain = printable(text)
    return plain if len(plain) <= most else f"{plain[: most - 1]}… ({len(plain):,} characters)"


def lead_of(rules: Result) -> int | None:
    """Return the index of the rule for the first screen: the first with evidence, or that could not be judged."""
    verdicts = [rule.verdict for rule in rules]
    found = [place for place, verdict in enumerate(verdicts) if verdict.found]
    # If no searched rule stands out, rules that could not be judged are candidates like the others.
    named = rules.is_named
    unknown = [
        place
        for place, (rule, verdict) in enumerate(zip(rules, verdicts, strict=True))
        if verdict.evidence == "cannot tell" and (named or rule.stands_out or verdict.basis == "nothing")
    ]
    return next(iter([*found, *unknown]), None)


def _rule(rule: RuleResult, rules: Result) -> RuleView:
    fails, holds = rule.kind.levels(rule.p_do_not_rule, rule.p_do_rule)
    evidence, claim = answers(rule)
    ordered = sorted(rule.strata, key=lambda stratum: -stratum.n)
    return RuleView(
        text=short(rule.text, 500),
        conditions=tuple(
            (short(column, 200), verb, short(value, 200)) for column, verb, value in rule_words.conditions(rule)
        ),
        evidence=evidence,
        claim=claim,
        holds=holds,
        fails=fails,
        estimate=rule.kind.with_interval(rule.effect, *rule.interval)
        if rules.is_named
        else rule.kind.difference(rule.effect),
        at_least=rule_words.bound(rule),
        conservative=rule_words.conservative(rule),
        measured=short(rule_words.measured(rule, rules), 600),
        unfound=not (rule.verdict.found or rules.is_named),
        sides=rule_words.sides(rule),
        mix=short(adjustment_words.same_mix((*adjustment_words.control_of(rule, rules), *rule.held_fixed)), 300),
        numbers=numbers.of_rule(rule, rules),
        covered=f"{rule.n_covered:,} of {counted(rules.n_rows, 'row')}",
        stands_out=rule.stands_out,
        reading=tuple(short(each, 1500) for each in rule_words.reading(rule, rules)),
        alerts=tuple(map(alert_view, alerts.of_rule(rule, rules))),
        strata=tuple(short(rule_words.stratum_name(stratum.labels), 300) for stratum in ordered[:MOST_STRATA]),
        strata_left=_left(len(ordered), sum(stratum.n for stratum in ordered[MOST_STRATA:])),
        sections=tuple(map(_printable, sections.of_rule(rule, rules))),
        code=_code(rule),
        control=(*rule.control, *rule.held_fixed) if rules.graph is not None else (),
        held_fixed=short(f"Held fixed: {listed(rule.held_fixed)}.", 600) if rule.held_fixed else "",
        estimated="adds" if rule.held_fixed else _estimated(rules),
        blocked=() if rule.identification is None else _edges(rule.identification.blocked_paths),
    )


def _estimated(rules: Result) -> str:
    return f"adjusted {rules.noun}" if rules.question.adjusts else rules.noun


def _staircase(rules: Result) -> Staircase | None:
    """Return the levels where the first rules hold, if known for at least two rules."""
    if len(rules.rungs) <= _FEWEST:
        return None
    kind = rules.kind
    shown: list[RungView] = []
    for place, rung in enumerate(rules.rungs):
        change = rung.level - rules.rungs[place - 1].level if place else None
        shown.append(
            RungView(
                name=_together(place),
                short=_together(place).removeprefix("rules ").removesuffix(" of the rules"),
                rule=short(rules[place - 1].text, 300) if place else "",
                level=kind.level(rung.level),
                value=rung.level,
                step="" if change is None else f"{'+' * (change > 0)}{kind.figure(change)}",
                change=change,
                rows=f"{rung.n_rows:,}",
                few=rung.n_rows < _FEW_ROWS,
            )
        )
    of_what = kind.level_of(rules.question.outcome)
    of_what = f"{of_what[:1].upper()}{of_what[1:]}"
    adjusted = f", {adjustment_words.adjustment(rules.question.controls)}" if rules.question.controls else ""
    rough = f" On fewer than {_FEW_ROWS} rows (dashed) a level is rough." if any(rung.few for rung in shown) else ""
    says = f"{of_what} where none of the rules holds, only the first, only the first two, and so on{adjusted}.{rough}"
    title, step = "Where the rules hold together", f"step{kind.in_units}"
    return Staircase(title, short(says, 600), step, tuple(shown))


def _together(place: int) -> str:
    """Name the first rules of a list.

    >>> [_together(place) for place in range(4)]
    ['none of the rules', 'rule 1', 'rules 1 and 2', 'rules 1 to 3']
    """
    names = ("none of the rules", "rule 1", "rules 1 and 2")
    return names[place] if place < len(names) else f"rules 1 to {place}"


def _edges(paths: Sequence[Sequence[str]]) -> tuple[tuple[str, str, str], ...]:
    """Return the edges of paths, directed as in the graph."""
    found: dict[tuple[str, str, str], None] = {}
    for path in paths:
        for a, arrow, b in zip(path[::2], path[1::2], path[2::2], strict=False):
            found[(b, "->", a) if arrow == "<-" else (a, arrow, b)] = None
    return tuple(found)


def _left(n_strata: int, n_rows: int) -> str:
    if n_strata <= MOST_STRATA:
        return ""
    return (
        f"The {MOST_STRATA} largest strata; {n_strata - MOST_STRATA:,} smaller ones with {counted(n_rows, 'row')} are "
        "not listed."
    )


def _code(rule: RuleResult) -> tuple[tuple[str, str], ...]:
    """Return the rule in each language, or why it cannot be written."""
    written: list[tuple[str, Callable[[], str]]] = [
        ("SQL, DuckDB", lambda: rule.to_sql("duckdb")),
        ("SQL, PostgreSQL", lambda: rule.to_sql("postgres")),
        ("SQL, SQLite", lambda: rule.to_sql("sqlite")),
        ("Python", rule.to_python),
    ]
    result = []
    for name, make in written:
        try:
            result.append((name, make()))
        except OptionError as error:
            result.append((name, f"not possible: {error}"))
    return tuple(result)


def _table(rules: Result) -> str:
    left_out = f", {rules.n_dropped:,} more without a target" if rules.n_dropped else ""
    left_out += f", {rules.n_incomplete:,} more without a control" if rules.n_incomplete else ""
    strata = f", {rules.n_strata:,} strata" if rules.n_strata > 1 else ""
    conditions = counted(rules.n_propositions, "condition")
    outcome = short(result_words.outcome_level(rules), 120)
    return f"{counted(rules.n_rows, 'row')}{left_out}{strata}, {conditions}; outcome: {outcome}"


def _headline(rules: Result, lead: int | None) -> tuple[str, str]:
    """Return the words before and after the rule on the first screen; only the latter if no rule stands out."""
    if lead is None:
        return "", result_words.nothing(rules) if rules else "No rule was found"
    return rule_words.headline(rules[lead], rules)


def _warning(rules: Result, lead: int | None) -> str:
    """Return the warning that there is no finding, without the headline; or the numbers of a named rule."""
    if lead is None and rules.is_named and len(rules) == 1:
        (rule,) = rules
        estimate = rule.kind.with_interval(rule.effect, *rule.interval)
        covered = f"{rule.n_covered:,} of {counted(rules.n_rows, 'row')}"
        adjusted, why = adjustment_words.adjustment_of(rules), sentence(answers(rule)[0].why)
        return f"{short(rule.text, 300)}: {rules.noun} {estimate}, {adjusted}; {covered}. {why}"
    said = short(result_words.warning(rules) or "", 600)
    return sentence(said.removeprefix(_headline(rules, lead)[1]).lstrip(": "))


def _graph(rules: Result) -> dict[str, Any] | None:
    assert rules.graph is not None
    drawing = layout.placed(rules.graph, rules.admissibility)
    if drawing is not None:
        shown = {node["name"]: short(node["name"], 24) for node in drawing["nodes"]}
        for node in drawing["nodes"]:
            node["label"] = shown[node["name"]]
    return drawing


def _asked(rules: Result) -> list[tuple[str, str]]:
    question = rules.question
    asked = [
        ("Outcome", question.outcome),
        ("Actionable", ", ".join(question.actions)),
        (
            "Adjusted for",
            "each rule's own controls" if question.own_controls else ", ".join(question.controls) or "nothing",
        ),
    ]
    if rules.is_named:
        return asked
    return [
        *asked,
        ("Maximised", result_words.maximised(question)),
        ("β", _beta(rules)),
        ("Rules", _how_many(question)),
        ("Conditions per rule", "any number" if question.max_length is None else f"at most {question.max_length}"),
        ("Minimum coverage", percent(question.min_coverage) if question.min_coverage else "none"),
        ("Bins per column", f"at most {question.max_bins}"),
    ]


def _how_many(question: Question) -> str:
    if question.is_stepwise and question.k > 1:
        return f"at most {question.k:,}, each adding to those above"
    return f"the best {question.k:,}"


def _beta(rules: Result) -> str:
    calibration = None if rules.evidence is None else rules.evidence.calibration
    beta = rules.question.beta
    said = ", ".join(f"{each:.3g}" for each in beta[1:]) if isinstance(beta, tuple) else f"{beta:g}"
    if isinstance(beta, tuple):
        return f"{said} for rules of 1, 2, … conditions, for an error rate of {percent(rules.question.error_rate, 0)}"
    return said if calibration is None else f"{said}, {rule_words.calibrated(calibration)}"


def _assumed(rules: Result) -> str:
    if rules.admissibility:
        return "The causal graph is assumed to be right. For these roles it says:"
    if rules.admissibility is None:
        return "Nothing is assumed about causes. Acting on a rule assumes:"
    return "Nothing is assumed about causes. By the graph, these problems keep the numbers from being effects:"


def _assumptions(rules: Result) -> tuple[str, ...]:
    question, verdict = rules.question, rules.admissibility
    if verdict is not None and verdict.adjustments is not None:
        left_out = tuple(f"left out: {reason}" for reason in verdict.adjustments.explained()[:_MOST_REASONS])
        return ("the causal graph has every arrow and every common cause that there is", *left_out)
    if verdict is None or verdict:
        return assumptions(question.target, question.actions, question.controls, question.randomised)
    said = []
    for violation in verdict.violations:
        remedies = "; ".join(violation.remedies)
        said.append(f"({violation.criterion}) {violation.reason}" + (f" Fix: {remedies}." * bool(remedies)))
    return (*said, *(unknown.question for unknown in verdict.unknowns))


def _printable(section: Section) -> Section:
    return replace(
        section,
        sentences=tuple(short(each, 1500) for each in section.sentences),
        rows=tuple(tuple(short(cell, 500) for cell in row) for row in section.rows),
    )
