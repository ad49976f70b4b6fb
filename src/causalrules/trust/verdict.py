"""Everything that can be asked about a rule, and the answer in one word.

*not supported*: noise does as well, or there is no effect on unseen rows. *strong*: nothing speaks against it.
*suggestive*: the rest. The limits are the constants below.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from causalrules.exceptions import CausalRulesWarning
from causalrules.search.deadline import Deadline
from causalrules.text import noise, with_interval
from causalrules.trust import overlap, repeat
from causalrules.trust.evidence import RuleEvidence, Verdict
from causalrules.trust.holdout import cross_fit
from causalrules.trust.permutation import significance
from causalrules.trust.resample import TooFewRowsError
from causalrules.trust.sensitivity import sensitivity
from causalrules.trust.stability import stability

if TYPE_CHECKING:
    from causalrules.graph.backdoor import Identification
    from causalrules.result.rule import RuleResult
    from causalrules.result.rules import RuleSet

# Nearly the same rule should be among the best of at least this share of the samples.
STABLE = 0.5
# Without a control to compare with, a confounder must need at least this risk ratio to move the interval to no effect.
LEAST_E_VALUE = 1.5
# With fewer rows than this on one side of a rule, its numbers hang on single rows.
FEW = 10
_GRAPH = {
    "violated": "by the causal graph the input is not admissible",
    "unknown": "the causal graph leaves open if the input is admissible",
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
    """Return the rules with all of the evidence, and a verdict on each.

    Honest effects are cross-fitted, unless the rules were found with a holdout already. `time_limit` is for all of it
    together: each part stops with what is known by then, and what cannot be said in the time is a doubt. So is what the
    table has too few rows for; a note says which.
    """
    deadline = Deadline.after(time_limit)

    def ask(share: float, part: Callable[..., RuleSet], *arguments: Any, **options: Any) -> RuleSet:
        """The rules with this part of the evidence, if this share of the time that is left is enough for it."""
        limit = deadline.left(share)
        try:
            return part(rules, *arguments, seed=seed, n_jobs=n_jobs, progress=progress, time_limit=limit, **options)
        except repeat.OutOfTimeError:
            return rules
        except TooFewRowsError as error:
            return replace(rules, notes=(*rules.notes, f"{part.__name__} is left out: {error}"))

    rules = ask(0.5, significance, permutations, level=level)
    if rules.evidence is None or rules.evidence.honest is None:
        rules = ask(0.5, cross_fit, splits, confidence=1 - level)
    rules = ask(1.0, stability, replicates)
    rules = sensitivity(rules, confidence=1 - level)
    with warnings.catch_warnings():
        # The verdict says it of each rule.
        warnings.simplefilter("ignore", CausalRulesWarning)
        rules = overlap.overlap(rules)
    judged = tuple(_judged(rule, rules, level) for rule in rules)
    return replace(rules, rules=judged)


def _judged(rule: RuleResult, rules: RuleSet, level: float) -> RuleResult:
    evidence = rule.evidence or RuleEvidence()
    sides = (rule.n_covered, sum(map(sum, rule.counts)) - rule.n_covered)
    graph = None if rules.admissibility is None else rules.admissibility.status
    verdict = judge(evidence, rule.p_value, level, graph, rule.identification, min(sides), rules.noun)
    return replace(rule, evidence=replace(evidence, verdict=verdict))


def judge(
    evidence: RuleEvidence,
    p_value: float | None,
    level: float,
    graph: str | None,
    identification: Identification | None,
    n_fewest: int,
    noun: str,
) -> Verdict:
    """The verdict on one rule, from what is known about it; `n_fewest` are the rows on its smaller side.

    `graph` is the status of the input by the causal graph, `identification` that of the rule on its own.
    """
    supports: list[str] = []
    doubts: list[str] = []
    fatal: list[str] = []

    def weigh(good: bool, support: str, doubt: str, decides: bool = False) -> None:
        (supports if good else fatal if decides else doubts).append(support if good else doubt)

    if p_value is None:
        doubts.append("it was not compared with noise")
    else:
        weigh(p_value <= level, noise(p_value), noise(p_value), decides=True)
    if n_fewest < FEW:
        doubts.append(f"one side of the comparison has {n_fewest} row{'s' * (n_fewest != 1)}")
    honest = evidence.honest
    if honest is not None and honest.effect is not None and honest.low is not None:
        measured = f"on unseen rows the {noun} is {with_interval(honest.effect, honest.low, honest.high)}"
        weigh(honest.low > 0, measured, measured, decides=honest.effect <= 0)
        if 1 - honest.overlap > overlap.MOST:
            # No support where it is high: that the effect is for nearly all rows is what its reader takes for granted.
            doubts.append(f"only {honest.overlap:.0%} of the unseen rows have a counterpart among them")
    elif honest is not None:
        doubts.append(f"no {noun} could be measured on unseen rows")
    else:
        doubts.append("it was not measured on unseen rows")
    if evidence.stability is None:
        doubts.append("it was not looked for in other samples")
    else:
        share = evidence.stability.nearly
        again = f"it or nearly the same rule is among the best of {share:.0%} of the samples"
        weigh(share >= STABLE, again, again)
    if evidence.sensitivity is not None:
        found = evidence.sensitivity
        needed = f"a confounder must have risk ratios of {found.e_value_limit:.2f} to make the {noun} uncertain"
        if found.e_value_limit <= 1:
            doubts.append(f"no confounder is needed to make the {noun} uncertain: the risk ratio's interval includes 1")
        elif found.controls:
            strongest = found.controls[0]
            compared = f"{needed}; {strongest.control!r}, the strongest control, has {strongest.strength:.2f}"
            weigh(found.e_value_limit >= strongest.strength, compared, compared)
        else:
            weigh(found.e_value_limit >= LEAST_E_VALUE, needed, needed)
    if evidence.overlap is not None:
        share = evidence.overlap.share
        alone = f"{share:.0%} of the rows have no counterpart"
        weigh(share <= overlap.MOST, alone, alone)
    if graph is not None:
        weigh(graph == "admissible", "the causal graph allows it", _GRAPH.get(graph, _GRAPH["unknown"]))
    if identification is not None and not (identification and graph == "admissible"):
        weigh(bool(identification), identification.summary(), identification.summary())
    word = "not supported" if fatal else "suggestive" if doubts else "strong"
    return Verdict(word, tuple(supports), (*fatal, *doubts))
