"""The verdict on a rule: separate answers to two questions.

Evidence: is there a difference, after the search, given the measured controls? Claim: what would have to be true to
call it an effect? A verdict is derived from what is stored with a rule and changes as evidence is added. Robustness to
hidden confounding is reported separately and does not affect either answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from causalrules.estimators.sides import comparable
from causalrules.payload import Plain
from causalrules.result.declared import Declared
from causalrules.result.evidence import DoublyRobust, RuleEvidence
from causalrules.text import adjusted_p, counted, effective, listed, p_needed, percent, plain

if TYPE_CHECKING:
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
        The number of rules that were named in advance; 0 after a search.
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
    at_once
        Whether any shuffling stopped as soon as it had decided, with the search.
    """

    level: float = 0.05
    guaranteed: bool = False
    calibrated: bool = False
    fixed: int = 0
    noun: str = "difference"
    randomised: tuple[str, ...] = ()
    declared: tuple[Declared, ...] = ()
    graph: str | None = None
    permutations: int = 0
    share: float = 1.0
    grouped: bool = False
    at_once: bool = True


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
        The basis of the evidence: "permutations"; "margin"; "test", of a rule named in advance; "held-out rows" without
        any of them; "overlap" if too few rows have a comparison group, or "nothing" if it was not tested.
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
        fixed=len(rules) if rules.is_named else 0,
        noun=rules.noun,
        randomised=question.randomised if isinstance(question.randomised, tuple) else (),
        declared=rules.declared,
        graph=None if rules.admissibility is None else rules.admissibility.status,
        permutations=0 if run is None or run.exact else run.asked,
        share=1 / question.most_steps,
        grouped=question.groups is not None,
        at_once=run is None,
    )


class Doubt(NamedTuple):
    """A reason why the evidence on a rule is weaker than its test, and the best word that it leaves."""

    words: str
    best: str = SUGGESTIVE


def judge(rule: RuleResult, known: Circumstances) -> Verdict:
    """Return the verdict on a rule, given the circumstances of its result.

    Evidence: what the test says (`_tested`), then whatever `_DOUBTS` leave of it, each with its reason. Claim: what the
    graph or the design says. Nothing else moves either word.
    """
    evidence, basis, tested, against = _tested(rule, known)
    doubts = [against] if against else []
    reasons = [*tested]
    if evidence == SUPPORTED:
        found = [doubt for weigh in _DOUBTS for doubt in weigh(rule, known)]
        doubts = [doubt.words for doubt in found]
        evidence = max([SUPPORTED, *(doubt.best for doubt in found)], key=EVIDENCE.index)
        reasons += [*_repeated(rule, known), *_confirmed(rule, known), *_for_whom(rule)]
    claim, why = _claim(rule, known)
    robust = None if rule.evidence is None else rule.evidence.sensitivity
    return Verdict(
        evidence=evidence,
        direction="lowers" if _lowers(rule) else "raises",
        claim=claim,
        basis=basis,
        reasons=(*reasons, *doubts, *why),
        doubts=tuple(doubts),
        robustness=None if robust is None or claim == BY_DESIGN else robust.gamma_limit,
        claim_reason=why[0],
    )


def _lowers(rule: RuleResult) -> bool:
    return rule.criterion.decrease if np.isnan(rule.effect) else rule.effect < 0


def _tested(rule: RuleResult, known: Circumstances) -> tuple[str, str, list[str], str]:
    """Return the evidence by the test, its basis, the words for it, and why it is not supported; empty if it is."""
    covered, failing, _ = rule.measured.sides
    inside = comparable(covered, failing)
    if not covered.n.any() or not failing.n.any():
        words = "there is no row to compare with" if covered.n.any() else "no row satisfies it"
        return CANNOT_TELL, "overlap", [], words
    if rule.overlap < MOST_ROWS:
        share = percent(1 - rule.overlap, 0)
        words = f"{share} of the rows have no comparison group, at most {percent(1 - MOST_ROWS, 0)} may lack one"
        return CANNOT_TELL, "overlap", [], words
    n_fewest = int(min(covered.n[inside].sum(), failing.n[inside].sum()))
    if n_fewest < FEW:
        return CANNOT_TELL, "overlap", [], f"one side of the comparison has {counted(n_fewest, 'row')}, {FEW} needed"
    if rule.p_value is not None and (rule.p_value <= known.level or known.fixed or not _beyond(rule, known)):
        return _by_p(rule, known)
    if known.guaranteed:
        return _by_margin(rule, known)
    honest = None if rule.evidence is None else rule.evidence.honest
    if honest is not None and honest.own and honest.p_value is not None:
        words = f"{adjusted_p(honest.p_value, adjusted_for='number of rules')}, on held-out rows"
        words += f" (at most {known.level:g} needed)"
        found = honest.p_value <= known.level
        return SUPPORTED if found else NOT_SUPPORTED, "held-out rows", [words] * found, "" if found else words
    why = "not tested: significance() compares it with shuffled outcomes"
    if rule.measured.grouped is not None:
        why = "not tested: to flip whole groups takes longer than a first answer may, so rules.trust() does it"
    return CANNOT_TELL, "nothing", [], why


def _beyond(rule: RuleResult, known: Circumstances) -> bool:
    """Whether the conservative effect is beyond 0, and guarantees the error rate."""
    return known.guaranteed and rule.stands_out


def _by_p(rule: RuleResult, known: Circumstances) -> tuple[str, str, list[str], str]:
    """Judge a rule by its adjusted p-value."""
    assert rule.p_value is not None
    basis = "permutations" if _is_shuffled(rule, known) else "test"
    words = adjusted_p(
        rule.p_value, rule.p_sign, "search" if not known.fixed else "number of rules" * (known.fixed > 1)
    )
    words += f" {p_needed(rule.p_sign, known.level)}"
    if _lowers(rule) != rule.criterion.decrease and not known.fixed:
        words += f"; the search was not for rules that {'lower' if _lowers(rule) else 'raise'} it"
    if rule.p_value <= known.level:
        if known.guaranteed and not known.fixed and not rule.stands_out:
            words += ", by shuffled tables, which are sharper than the margin of its conservative " + known.noun
        return SUPPORTED, basis, [words], ""
    return NOT_SUPPORTED, basis, [], words


def _is_shuffled(rule: RuleResult, known: Circumstances) -> bool:
    """Whether p comes from shuffled tables instead of a test."""
    found = None if rule.evidence is None else rule.evidence.significance
    if found is None or rule.p_value is None:
        return not known.fixed and rule.measured.grouped is None
    return rule.p_value >= (found.single_step if found.step_down is None else found.step_down)


def _by_margin(rule: RuleResult, known: Circumstances) -> tuple[str, str, list[str], str]:
    """Judge a rule by its conservative effect, whose margin guarantees the error rate."""
    conservative, shuffled = f"conservative {known.noun}", known.calibrated or rule.margin_scale < 1
    if not rule.stands_out:
        sharper = "" if shuffled else "; permutations are sharper than its margin"
        return NOT_SUPPORTED, "margin", [], f"{conservative} not beyond 0{sharper}"
    how = "by a margin from shuffled outcomes" if shuffled else "by its margin for the number of rules"
    words = f"{conservative} beyond 0: {how}, chance does that in at most {percent(known.level, 0)} of tables"
    return SUPPORTED, "margin", [words], ""


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


def _levels_and_values(rule: RuleResult, known: Circumstances) -> list[Doubt]:
    """Doubt a rule of a numeric target that was ranked by levels, if its values do not differ beyond their interval."""
    low, high = rule.interval
    if not rule.measured.scored or (high < 0 if _lowers(rule) else low > 0):
        return []
    measured = rule.kind.with_interval(rule.effect, low, high)
    return [Doubt(f"the search ranks by levels of the target; its values give {measured}", NOT_SUPPORTED)]


def _models(rule: RuleResult, known: Circumstances) -> list[Doubt]:
    """Doubt an effect in strata that may leave confounding, unless models of the controls agree with it.

    The more conservative of the doubly robust effect and the effect in the strata counts.
    """
    found = None if rule.evidence is None else rule.evidence.doubly_robust
    if found is None or found.effect is None or found.low is None or found.high is None:
        return [Doubt(_due(rule, found))] if rule.measured.may_confound else []
    # Strata of the controls' values leave nothing behind: models only count where they disagree.
    if _confirmed(rule, known) or (found.agrees and not rule.measured.may_confound):
        return []
    opposite = max(_sign(rule) * found.low, _sign(rule) * found.high) < 0
    return [Doubt(_doubly_robust(found, rule, known), NOT_SUPPORTED if opposite else SUGGESTIVE)]


def _due(rule: RuleResult, found: DoublyRobust | None) -> str:
    """Say why a rule needs models of the controls that it does not have."""
    strata = "strata of a prediction" if rule.measured.is_prognostic else f"bins of {listed(rule.measured.binned)}"
    if found is not None:
        return f"{strata} may leave confounding, and too few rows are alike on both sides to measure without them"
    return f"{strata} may leave confounding: doubly_robust() measures without them"


def _confirmed(rule: RuleResult, known: Circumstances) -> list[str]:
    """Say that models of the controls confirm the effect, if they do."""
    found = None if rule.evidence is None else rule.evidence.doubly_robust
    if found is None or found.effect is None or found.low is None or found.high is None:
        return []
    beyond = min(_sign(rule) * found.low, _sign(rule) * found.high) > 0
    return [_doubly_robust(found, rule, known)] if beyond and not _within_margin(found, rule) else []


def _within_margin(found: DoublyRobust, rule: RuleResult) -> bool:
    """Whether chance in the search could make a doubly robust effect, in strata that may leave confounding."""
    return rule.measured.may_confound and _sign(rule) * (found.conservative or 0.0) <= 0


def _sign(rule: RuleResult) -> float:
    """Return 1 or −1, the direction in which models must agree: that of the search, or of the effect if named."""
    return rule.criterion.sign if not rule.criterion.two_sided else -1.0 if _lowers(rule) else 1.0


def _doubly_robust(found: DoublyRobust, rule: RuleResult, known: Circumstances) -> str:
    words = f"doubly robust {known.noun}: {rule.kind.with_interval(found.effect, found.low, found.high)}"
    if not found.agrees and rule.measured.modelled is None:
        return f"{words}, beyond error from that in the strata"
    searched = found.source == "searched rows" and not known.fixed
    return f"{words}, within the margin of the search" if searched and _within_margin(found, rule) else words


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


Weigh: TypeAlias = "Callable[[RuleResult, Circumstances], list[Doubt]]"
# What may weaken the evidence, in the order in which it is told.
_DOUBTS: tuple[Weigh, ...] = (_levels_and_values, _models)
