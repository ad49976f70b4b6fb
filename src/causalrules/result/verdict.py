"""The verdict on a rule: separate answers to two questions.

Evidence: is there a difference, after the search, given the measured controls? Claim: what would have to be true to
call it an effect? A verdict is derived from what is stored with a rule and changes as evidence is added. Robustness to
hidden confounding is reported separately and does not affect either answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from causalrules.estimators.sides import comparable
from causalrules.payload import Plain
from causalrules.result.evidence import RuleEvidence
from causalrules.text import adjusted_p, counted, effective, listed, p_needed, percent, plain

if TYPE_CHECKING:
    from causalrules.result.declared import Declared
    from causalrules.result.result import Result
    from causalrules.result.rule import RuleResult

SUPPORTED, SUGGESTIVE, NOT_SUPPORTED, CANNOT_TELL = "supported", "suggestive", "not supported", "cannot tell"
BY_DESIGN, IDENTIFIED, UNCHECKED, NOT_IDENTIFIED = "by design", "identified", "unchecked", "not identified"
EVIDENCE = (SUPPORTED, SUGGESTIVE, NOT_SUPPORTED, CANNOT_TELL)
# Declared randomised, but not balanced as a draw by lot leaves columns.
UNBALANCED = "by design, but unbalanced"
CLAIMS = (BY_DESIGN, UNBALANCED, IDENTIFIED, UNCHECKED, NOT_IDENTIFIED)
# Minimum share of rows with a comparison group.
MOST_ROWS = 0.5
# Minimum rows on each side of a comparison; with fewer, its numbers depend on single rows.
FEW = 20
_GRAPH = {
    "violated": "by the causal graph the roles are not admissible",
    "unknown": "the causal graph leaves open whether the roles are admissible",
}


@dataclass(frozen=True, repr=False)
class Circumstances(Plain):
    """What the verdicts on all rules of a result depend on, in addition to the rules.

    Attributes
    ----------
    level
        Error rate of the verdicts.
    guaranteed
        Whether the margin guarantees at this level that a conservative effect beyond 0 is more than chance.
    calibrated
        Whether β was calibrated by shuffled outcomes instead of the number of rules.
    fixed
        Whether the rules were named in advance, without a search.
    noun
        The noun for an effect.
    randomised
        Columns that were assigned at random, given the controls.
    declared
        Their balance, if it was tested.
    graph
        Status of the roles by the causal graph; None without one.
    permutations
        Maximum shuffled tables requested; 0 if none, or all arrangements.
    share
        The share of the error rate that the bound of each rule has.
    grouped
        Whether rows belong together in groups.
    """

    level: float = 0.05
    guaranteed: bool = False
    calibrated: bool = False
    fixed: bool = False
    noun: str = "difference"
    randomised: tuple[str, ...] = ()
    declared: tuple[Declared, ...] = ()
    graph: str | None = None
    permutations: int = 0
    share: float = 1.0
    grouped: bool = False


@dataclass(frozen=True, repr=False)
class Verdict(Plain):
    """The verdict on one rule.

    Attributes
    ----------
    evidence
        Is there a difference, after the search, given the controls? "supported", "suggestive", "not supported" or
        "cannot tell".
    direction
        "raises" or "lowers".
    claim
        Whether it is an effect: "by design", "by design, but unbalanced", "identified", "unchecked" or "not
        identified".
    claim_reason
        The reason of the claim, one of the reasons.
    basis
        The basis of the evidence: "permutations", "margin", "held-out rows" without either, "overlap" if too few rows
        have a comparison group, or "nothing" if it was not tested.
    reasons
        The reasons in words, including the doubts.
    doubts
        Evidence against it, or missing.
    robustness
        Γ: the factor by which a hidden confounder must change the odds of the rule for the interval to reach 0; None if
        not computed, or not needed because the columns are randomised.
    """

    evidence: str
    direction: str
    claim: str
    basis: str
    reasons: tuple[str, ...]
    doubts: tuple[str, ...]
    robustness: float | None = None
    claim_reason: str = ""

    @property
    def found(self) -> bool:
        """Whether the difference is more than chance, with or without doubts."""
        return self.evidence in (SUPPORTED, SUGGESTIVE)

    @property
    def strong(self) -> bool:
        """Whether both answers together are strong causal evidence."""
        return self.evidence == SUPPORTED and self.claim in (BY_DESIGN, IDENTIFIED)

    def __str__(self) -> str:
        return f"{self.evidence}, {self.claim}"


def circumstances(rules: Result) -> Circumstances:
    """Return what the verdicts on the rules of a result depend on, in addition to the rules."""
    question, evidence = rules.question, rules.evidence
    calibration = None if evidence is None else evidence.calibration
    run = None if evidence is None else evidence.permutation
    level = question.error_rate if run is None else run.level
    calibrated = calibration is not None and calibration.beta == question.beta
    rate = 1.0
    if calibrated and calibration is not None:
        rate = 1 - calibration.confidence
    elif question.estimator == "pooled" and isinstance(question.beta, tuple):
        rate = question.error_rate
    return Circumstances(
        level=level,
        # The margin assumes independent rows, which grouped rows are not.
        guaranteed=rate <= level + 1e-9 and not question.groups,
        calibrated=calibrated,
        fixed=rules.is_named,
        noun=rules.noun,
        randomised=question.randomised if isinstance(question.randomised, tuple) else (),
        declared=rules.declared,
        graph=None if rules.admissibility is None else rules.admissibility.status,
        permutations=0 if run is None or run.exact else run.asked,
        share=1 / question.most_steps,
        grouped=question.groups is not None,
    )


def judge(rule: RuleResult, known: Circumstances) -> Verdict:
    """Return the verdict on a rule, given the circumstances of its result."""
    evidence, basis, reasons, doubts = _evidence(rule, known)
    claim, why = _claim(rule, known)
    found = None if rule.evidence is None else rule.evidence.sensitivity
    return Verdict(
        evidence=evidence,
        direction="lowers" if _lowers(rule) else "raises",
        claim=claim,
        basis=basis,
        reasons=(*reasons, *doubts, *why),
        doubts=tuple(doubts),
        robustness=None if found is None or claim == BY_DESIGN else found.gamma_limit,
        claim_reason=why[0],
    )


def _lowers(rule: RuleResult) -> bool:
    return rule.criterion.decrease if np.isnan(rule.effect) else rule.effect < 0


def _evidence(rule: RuleResult, known: Circumstances) -> tuple[str, str, list[str], list[str]]:
    """Return the evidence, its basis, its reasons and the doubts."""
    covered, failing, _ = rule.measured.sides
    inside = comparable(covered, failing)
    if rule.overlap < MOST_ROWS:
        share = percent(1 - rule.overlap, 0)
        words = f"{share} of the rows have no comparison group, at most {percent(1 - MOST_ROWS, 0)} may lack one"
        return CANNOT_TELL, "overlap", [], [words]
    n_fewest = int(min(covered.n[inside].sum(), failing.n[inside].sum()))
    if n_fewest < FEW:
        return CANNOT_TELL, "overlap", [], [f"one side of the comparison has {counted(n_fewest, 'row')}, {FEW} needed"]
    found, basis, tested = _tested(rule, known)
    if not found:
        return CANNOT_TELL if basis == "nothing" else NOT_SUPPORTED, basis, [], tested
    if rule.measured.scored and not _excludes_zero(rule):
        low, high = rule.interval
        measured = rule.kind.with_interval(rule.effect, low, high)
        return NOT_SUPPORTED, basis, tested, [f"the search ranks by levels of the target; its values give {measured}"]
    reasons = _repeated(rule, known)
    doubts, against = _weigh_models(rule, known, reasons)
    if against:
        return NOT_SUPPORTED, basis, tested, against
    return SUGGESTIVE if doubts else SUPPORTED, basis, [*tested, *reasons, *_for_whom(rule)], doubts


def _excludes_zero(rule: RuleResult) -> bool:
    """Whether the interval is on the searched side of 0: levels and values of a target can differ."""
    low, high = rule.interval
    return high < 0 if rule.criterion.decrease else low > 0


def _tested(rule: RuleResult, known: Circumstances) -> tuple[bool, str, list[str]]:
    """Return whether the rule is more than chance, the basis, and the words for it."""
    beyond = known.guaranteed and rule.stands_out
    shuffled = known.calibrated or rule.margin_scale < 1
    # A margin from shuffled tables equals a p-value from fewer tables: only one of the two is used.
    if rule.p_value is not None and (rule.p_value <= known.level or not beyond or shuffled):
        words = adjusted_p(rule.p_value, rule.p_sign, "number of rules" if known.fixed else "search")
        words += f" {p_needed(rule.p_sign, known.level)}"
        other = "lower" if _lowers(rule) else "raise"
        if _lowers(rule) != rule.criterion.decrease and not known.fixed:
            words += f"; the search was not for rules that {other} it"
        return rule.p_value <= known.level, "permutations", [words]
    conservative = f"conservative {known.noun}"
    if beyond:
        how = "by a margin from shuffled outcomes" if shuffled else "by its margin for the number of rules"
        rate = percent(known.level, 0)
        return True, "margin", [f"{conservative} beyond 0: {how}, chance does that in at most {rate} of tables"]
    if known.guaranteed:
        sharper = "" if shuffled else "; permutations are sharper than its margin"
        return False, "margin", [f"{conservative} not beyond 0{sharper}"]
    honest = None if rule.evidence is None else rule.evidence.honest
    if honest is not None and honest.own and honest.p_value is not None:
        words = f"{adjusted_p(honest.p_value, adjusted_for='number of rules')}, on held-out rows"
        words += f" (at most {known.level:g} needed)"
        return honest.p_value <= known.level, "held-out rows", [words]
    return False, "nothing", ["not tested: significance() compares it with shuffled outcomes"]


def _repeated(rule: RuleResult, known: Circumstances) -> list[str]:
    """Describe held-out rows and subsamples; neither changes the evidence, because both search fewer rows."""
    evidence = rule.evidence or RuleEvidence()
    said: list[str] = []
    if (honest := evidence.honest) is not None:
        if not honest.own:
            pass  # other rules were measured
        elif honest.effect is None or honest.low is None or honest.high is None:
            said.append(f"no {known.noun} could be measured on held-out rows")
        else:
            measured = rule.kind.with_interval(honest.effect, honest.low, honest.high)
            share = percent(honest.overlap, 0)
            for_whom = "" if share == "100 %" else f", for {share} of them"
            said.append(f"{known.noun} on held-out rows: {measured}{for_whom}")
    if evidence.stability is not None:
        said.append(f"{percent(evidence.stability.nearly, 0)} of subsamples find it or nearly the same rule")
    return said


def _weigh_models(rule: RuleResult, known: Circumstances, reasons: list[str]) -> tuple[list[str], list[str]]:
    """Return the doubts from models of the controls, and their evidence against the rule; or add to the reasons.

    The more conservative of the doubly robust effect and the effect in the strata counts.
    """
    found = None if rule.evidence is None else rule.evidence.doubly_robust
    sign = -1.0 if _lowers(rule) else 1.0
    if found is None or found.effect is None or found.low is None or found.high is None:
        due = "strata of a prediction may leave confounding: doubly_robust() measures without them"
        return [due] if rule.measured.is_prognostic else [], []
    words = f"doubly robust {known.noun}: {rule.kind.with_interval(found.effect, found.low, found.high)}"
    if not found.agrees:
        words += ", beyond error from that in the strata"
    near, far = (-found.high, -found.low) if _lowers(rule) else (found.low, found.high)
    if far < 0:
        return [], [words]
    # In strata of a prediction, the doubly robust effect must exceed the margin of the search too.
    if near > 0 and not (rule.measured.is_prognostic and sign * (found.conservative or 0.0) <= 0):
        reasons.append(words)
        return [], []
    return [words], []


def _for_whom(rule: RuleResult) -> list[str]:
    share = percent(rule.overlap, 0)
    about = [] if share == "100 %" else [f"it is about the {share} of rows with a comparison group"]
    return [*about, f"it is worth {effective(rule.effective_rows)}"] if about or rule.measured.thin else about


def _claim(rule: RuleResult, known: Circumstances) -> tuple[str, list[str]]:
    """Return whether the difference is an effect, and why; rows that lack a control limit what can be claimed."""
    claim, why = _identified(rule, known)
    missing = rule.missing_control
    if missing is None or claim == NOT_IDENTIFIED:
        return claim, why
    if missing.n_dropped:
        return claim, [*why, f"{missing.assumed}: {missing.note}"]
    if claim == IDENTIFIED:  # by a graph that needs no control with missing values
        return claim, why
    return claim if claim in (BY_DESIGN, UNBALANCED) else NOT_IDENTIFIED, [*why, missing.note]


def _identified(rule: RuleResult, known: Circumstances) -> tuple[str, list[str]]:
    """Return whether the difference is an effect by the design or the graph, and why."""
    own = rule.identification
    refused = own is not None and own.identified is False
    columns = sorted({condition.column for condition in rule.conditions})
    if columns and set(columns) <= set(known.randomised) and not refused:
        return _by_design(columns, rule, known)
    if own is not None:
        return (IDENTIFIED if own else NOT_IDENTIFIED), [own.summary()]
    if known.graph is None:
        return UNCHECKED, ["no causal graph given"]
    if known.graph == "admissible":
        return IDENTIFIED, ["the causal graph allows it"]
    return NOT_IDENTIFIED, [_GRAPH.get(known.graph, _GRAPH["unknown"])]


def _by_design(columns: list[str], rule: RuleResult, known: Circumstances) -> tuple[str, list[str]]:
    """Return the claim of a rule whose columns are declared randomised, by their balance."""
    balance = {each.column: each for each in known.declared if each.column in columns}
    verb = "is" if len(columns) == 1 else "are"
    said = f"{listed(columns)} {verb} declared randomised{', given the controls' * bool(rule.control)}"
    unbalanced = any(each.unbalanced for each in balance.values())
    tested = [f"{plain(name)} " * (len(columns) > 1) + balance[name].sentence for name in columns if name in balance]
    return UNBALANCED if unbalanced else BY_DESIGN, ["; ".join([said, *dict.fromkeys(tested)])]
