"""Different rules: a list without near-duplicates, by searching on from a result."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from causalrules.exceptions import OptionError
from causalrules.result.rule import rule_results
from causalrules.result.similarity import require_rows
from causalrules.search import run as search
from causalrules.search.deadline import Deadline
from causalrules.search.similarity import SIMILARITY, look_for_ideas
from causalrules.trust.evidence import SearchEvidence

if TYPE_CHECKING:
    from causalrules.result.rules import RuleSet


def ideas(rules: RuleSet, k: int | None = None, similarity: float = 0.5, time_limit: float | None = None) -> RuleSet:
    """Search on until there are k rules of which none is a near-duplicate of a better one."""
    if rules.parts is not None:
        raise OptionError("not available where rules have different controls: rules.groups() groups near-duplicates")
    problem = require_rows(rules, "search again")
    question = replace(
        rules.question,
        k=rules.question.k if k is None else k,
        similarity=SIMILARITY("similarity", similarity),
    )
    packed = problem.pack()
    looked = look_for_ideas(
        packed,
        question,
        similarity,
        lambda question: search.run(packed, question, problem.n_rows),
        Deadline.after(time_limit),
    )
    found = looked.found
    listed = rule_results(problem, packed, question, found)
    end = search.end(found, listed)
    notes = [*rules.notes, f"rules that share at least {similarity:.0%} of their rows with a better one are left out"]
    if len(listed) < question.k and not looked.exhausted:
        notes.append(f"only {len(listed):,} distinct among the best {looked.length:,} rules; the search ended there")
    calibration = None if rules.evidence is None else rules.evidence.calibration
    return replace(
        rules,
        rules=listed,
        question=question,
        optimal=found.optimal,
        upper_bound=end.upper_bound,
        gap=end.gap,
        stopped=found.stopped,
        nodes=end.nodes,
        seconds=end.seconds,
        history=(*found.history[:-1], end),
        notes=tuple(notes),
        # The search at the calibrated β is the same; other evidence is about the rules of the other list.
        evidence=None if calibration is None else SearchEvidence(calibration=calibration),
    )
