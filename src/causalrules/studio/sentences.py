"""The strongest justified statement, and the call and the command that repeat the search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from causalrules.graph.assumptions import assumptions
from causalrules.graph.graph import CausalGraph
from causalrules.report import reproduce, result_words, rule_words
from causalrules.report.answers import Answer, answers, claimed, weakest
from causalrules.report.view import short
from causalrules.result.result import Searched
from causalrules.rules import RuleSet
from causalrules.text import amount, counted, listed, percent, plain, sentence

if TYPE_CHECKING:
    from causalrules.data.columns import Histogram
    from causalrules.graph.admissibility import Admissibility
    from causalrules.language.outcome import Outcome
    from causalrules.question import Question
    from causalrules.studio.workspace import Workspace


def before_search(workspace: Workspace, n_rows: int, level: str) -> list[str]:
    """Describe the table before any search: how often the outcome happens."""
    if workspace.file is None:
        return ["Open a table to begin."]
    if workspace.target is None or not level:
        return [f"{counted(n_rows, 'row')}. Nothing can be said yet: pick the outcome."]
    return [level]


def so_far(told: Mapping[str, Any]) -> list[str]:
    """Describe the rules found so far by a running search, from its progress."""
    found, rung = told["rules"], told["rung"]
    proven = f"Rule {rung - 1} is found: {found[rung - 2]['text']}." if rung > 1 else ""
    best = f"Best so far: {found[rung - 1]['text']}." if len(found) >= rung else ""
    return [each for each in (proven, best, "Nothing is proven before the search ends.") if each]


def level_of(outcome: Outcome, known: Histogram) -> str:
    """Describe how often an outcome happens, or the mean of the target."""
    n_rows = int(known.counts.sum())
    if not outcome.kind.binary:
        mean = float(np.average(np.asarray(known.values.sortable, np.float64), weights=known.counts))
        return f"The {short(outcome.text, 200)} is {amount(mean)} over {counted(n_rows, 'row')}."
    happened = int(known.counts[outcome.satisfied].sum())
    return f"{short(outcome.text, 200)} in {percent(happened / n_rows)} of {counted(n_rows, 'row')}."


def claim_of(workspace: Workspace, verdict: Admissibility | None) -> Answer:
    """Return the claim that rules on the actionable columns could make, by the user's graph and answers."""
    if workspace.actionable and set(workspace.actionable) <= set(workspace.randomised):
        return claimed("by design")
    if verdict is None:
        return _unchecked(workspace)
    if verdict.status == "unknown" and verdict.identified is not True:
        return replace(claimed("unchecked"), why="the causal graph leaves open whether it is causal")
    return claimed("identified" if verdict or verdict.identified else "not identified")


def _unchecked(workspace: Workspace) -> Answer:
    answer = claimed("unchecked", workspace.control)
    answered = _answered(workspace)
    return replace(answer, why=f"an association; {answered}") if answered else answer


def questions(workspace: Workspace) -> list[dict[str, str]]:
    """Return the assumptions behind acting on a rule without a graph, as questions to the user."""
    if workspace.target is None or not workspace.actionable:
        return []
    every, y, z = listed(workspace.actionable, "or"), plain(workspace.target), listed(workspace.control, "or")
    x = listed([name for name in workspace.actionable if name not in workspace.randomised], "or")
    asked = {
        "a": f"Is it impossible that {y} influences {x}?",
        "b": f"Is it impossible that {every} influences {z}?",
        "c": f"Is it impossible that one of {every} influences another?",
        "d": f"Is everything that influences {x} and also {y} in the table, among the controls?",
        "e": f"Is it impossible that {y} influences {z}, directly or indirectly?",
    }
    declared = workspace.randomised
    made = assumptions(workspace.target, workspace.actionable, workspace.control, declared)
    given = workspace.answers
    return [
        {"letter": letter, "question": asked[letter], "assumption": each, "answer": given.get(letter, "")}
        for letter, each in ((each[1], each) for each in made)
        if letter in asked
    ]


def _answered(workspace: Workspace) -> str:
    """Return the claim by the answers, which are assumptions, not a check; empty if some are missing."""
    asked = questions(workspace)
    denied = [each["letter"] for each in asked if each["answer"] == "no"]
    if denied:
        return f"not causal, by your answer to ({denied[0]})"
    if asked and all(each["answer"] == "yes" for each in asked):
        return "causal if your answers are right, which nothing has checked"
    return ""


def of_rules(rules: RuleSet, lead: int | None) -> list[str]:
    """Return the strongest justified statement on a result."""
    if lead is None:
        said, _, more = (result_words.warning(rules) or "No rule stands out from chance.").partition(": ")
        return [sentence(said), *([sentence(more)] if more else [])]
    unfinished = not rules.optimal and not rules.is_named
    return [
        rule_words.in_a_sentence(rules[lead], rules),
        *(["The search was not finished: a better rule may exist."] * unfinished),
    ]


def answers_of(rules: RuleSet, lead: int | None, workspace: Workspace) -> list[Answer]:
    """Return the evidence and the claim of the best rule; none without rules."""
    if not rules:
        return []
    evidence, claim = answers(rules[lead or 0])
    return [evidence, _unchecked(workspace) if claim.word == "unchecked" and workspace.graph is None else claim]


def tone_of(rules: RuleSet, lead: int | None) -> str:
    """Return the tone of the weaker of the two answers."""
    return "none" if lead is None else weakest(*answers(rules[lead]))


def asked(
    question: Question, source: str | None, verdict: Admissibility | None, rules: RuleSet | None = None
) -> dict[str, str]:
    """Return the call and the command of a question, including the checks of its result, if given."""
    if rules is None:
        rules = RuleSet((), question.answered(), Searched(False, 0.0, 0.0, "", 0, 0.0), 0, 0, 0, 0)
        graph = question.graph if isinstance(question.graph, CausalGraph) else None
        rules = replace(rules, graph=graph, admissibility=verdict)
    rules = replace(rules, source=source)
    return {"call": reproduce.call(rules), "command": reproduce.command(rules)}
