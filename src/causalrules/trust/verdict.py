"""Collect all evidence on each rule and give a verdict.

*not supported*: p is above the level, or there is no effect on held-out rows. *strong*: there is no doubt.
*suggestive*: the rest. The thresholds are the constants below.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from causalrules.exceptions import CausalRulesWarning
from causalrules.search.deadline import Deadline
from causalrules.text import adjusted_p, counted, percent, with_interval
from causalrules.trust import overlap, repeat
from causalrules.trust.evidence import RuleEvidence, Verdict, with_evidence
from causalrules.trust.holdout import cross_fit
from causalrules.trust.permutation import significance
from causalrules.trust.resample import TooFewRowsError
from causalrules.trust.sensitivity import sensitivity
from causalrules.trust.stability import stability

if TYPE_CHECKING:
    from causalrules.graph.backdoor import Identification
    from causalrules.result.rule import RuleResult
    from causalrules.result.rules import RuleSet

# A stable rule, or nearly the same one, reappears in at least this share of the samples.
STABLE = 0.5
# Minimum E-value of the interval if there is no control to compare with.
LEAST_E_VALUE = 1.5
# Minimum rows on each side of a rule; with fewer, its numbers depend on single rows.
FEW = 10
_GRAPH = {
    "violated": "the input is not admissible by the causal graph",
    "unknown": "the causal graph leaves open whether the input is admissible",
}


def trust(
    rules: RuleSet,
    permutations: int = 999,
    replicates: int = 100,
    splits: int = 5,
    seed: int = 0,
    *,
    level: float = 0.05,
    n_jobs: int = -1,
    time_limit: float | None = None,
    progress: bool | repeat.Watcher | None = None,
) -> RuleSet:
    """Implement `RuleSet.trust`.

    Effects are cross-fitted unless the rules have a holdout. `time_limit` is for all parts together. A part that has
    no result in time counts as a doubt, and so does one that the table is too small for, which a note names.
    """
    deadline = Deadline.after(time_limit)

    def ask(share: float, part: Callable[..., RuleSet], *arguments: Any, **options: Any) -> RuleSet:
        """Add a part of the evidence within this share of the remaining time."""
        limit = deadline.left(share)
        try:
            return part(rules, *arguments, seed=seed, n_jobs=n_jobs, progress=progress, time_limit=limit, **options)
        except repeat.OutOfTimeError:
            return rules
        except TooFewRowsError as error:
            return replace(rules, notes=(*rules.notes, f"{part.__name__} was skipped: {error}"))

    rules = ask(0.5, significance, permutations, level=level)
    if rules.stopped != "evaluated":  # rules that were named in advance owe nothing to a search
        if rules.evidence is None or rules.evidence.honest is None:
            rules = ask(0.5, cross_fit, splits, confidence=1 - level)
        rules = ask(1.0, stability, replicates)
    rules = sensitivity(rules, confidence=1 - level)
    with warnings.catch_warnings():
        # The verdict of each rule says it.
        warnings.simplefilter("ignore", CausalRulesWarning)
        rules = overlap.overlap(rules)
    judged = tuple(_judged(rule, rules, level) for rule in rules)
    return replace(rules, rules=judged)


def _judged(rule: RuleResult, rules: RuleSet, level: float) -> RuleResult:
    evidence = rule.evidence or RuleEvidence()
    sides = (rule.n_covered, rule.n_failing)
    graph = None if rules.admissibility is None else rules.admissibility.status
    fixed = rules.stopped == "evaluated"
    verdict = judge(
        evidence,
        rule.p_value,
        level,
        graph,
        rule.identification,
        min(sides),
        rules.noun,
        decrease=rule.decrease,
        is_mean=rule.is_mean,
        fixed=fixed,
    )
    return with_evidence(rule, verdict=verdict)


def judge(
    evidence: RuleEvidence,
    p_value: float | None,
    level: float,
    graph: str | None,
    identification: Identification | None,
    n_fewest: int,
    noun: str,
    *,
    decrease: bool = False,
    is_mean: bool = False,
    fixed: bool = False,
) -> Verdict:
    """Give the verdict on one rule.

    Parameters
    ----------
    evidence, p_value
        What is known about the rule.
    level
        Error rate of the p-value.
    graph
        Status of the input by the causal graph, if any.
    identification
        Whether the graph identifies the effect of this rule, if there is a graph.
    n_fewest
        Rows on the smaller side of the rule.
    noun
        What to call the effect.
    decrease
        Whether the rule is to decrease the outcome.
    is_mean
        Whether the effect is on a mean, in the units of the target.
    fixed
        Whether the rule was named in advance, so that nothing was searched.

    Returns
    -------
    Verdict
    """
    supports: list[str] = []
    doubts: list[str] = []
    fatal: list[str] = []

    def weigh(good: bool, reason: str, against: str | None = None, *, decisive: bool = False) -> None:
        if good:
            supports.append(reason)
        else:
            (fatal if decisive else doubts).append(against or reason)

    if p_value is None:
        doubts.append("not tested against shuffled data")
    else:
        tested = f"p = {p_value:.3g}, adjusted for the number of rules" if fixed else adjusted_p(p_value)
        weigh(p_value <= level, tested, decisive=True)
    if n_fewest < FEW:
        doubts.append(f"one side of the comparison has {counted(n_fewest, 'row')}")
    honest = evidence.honest
    if honest is None:
        if not fixed:
            doubts.append("not measured on held-out rows")
    elif honest.effect is None or honest.low is None:
        doubts.append(f"no {noun} could be measured on held-out rows")
    else:
        measured = f"{noun} on held-out rows: {with_interval(honest.effect, honest.low, honest.high, is_mean)}"
        sign, near = (-1.0, honest.high) if decrease else (1.0, honest.low)
        weigh(sign * (near or 0.0) > 0, measured, decisive=sign * honest.effect <= 0)
        if 1 - honest.overlap > overlap.MOST:
            doubts.append(f"only {percent(honest.overlap, 0)} of the held-out rows have a comparison group")
    if evidence.stability is None:
        if not fixed:
            doubts.append("not searched again on resampled rows")
    else:
        share = evidence.stability.nearly
        weigh(share >= STABLE, f"it or nearly the same rule reappears in {percent(share, 0)} of subsamples")
    if evidence.sensitivity is not None:
        found = evidence.sensitivity
        needed = f"a confounder needs risk ratios of {found.e_value_limit:.2f} to make the {noun} uncertain"
        if found.e_value_limit <= 1:
            doubts.append(f"the interval of the risk ratio includes 1: the {noun} is uncertain without a confounder")
        elif found.controls:
            strongest = found.controls[0]
            compared = f"{needed}; the strongest control, {strongest.control!r}, has {strongest.strength:.2f}"
            weigh(found.e_value_limit >= strongest.strength, compared)
        else:
            weigh(found.e_value_limit >= LEAST_E_VALUE, needed)
    if evidence.overlap is not None:
        share = evidence.overlap.share
        lacking = f"{percent(share, 0)} of the rows have no comparison group"
        weigh(share <= overlap.MOST, lacking if share else "every row has a comparison group", lacking)
    if graph is not None:
        weigh(graph == "admissible", "the causal graph allows it", _GRAPH.get(graph, _GRAPH["unknown"]))
    if identification is not None and not (identification and graph == "admissible"):
        weigh(bool(identification), identification.summary())
    word = "not supported" if fatal else "suggestive" if doubts else "strong"
    return Verdict(word, tuple(supports), (*fatal, *doubts))
