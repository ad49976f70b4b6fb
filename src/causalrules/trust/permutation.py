"""Significance after the search (Westfall & Young 1993): would the best rule of noise be as good?

The outcome is dealt anew within each stratum, which keeps what the controls do to it and breaks what the actionable
columns do; the exact search runs again; a rule's adjusted p-value is the share of such tables whose best rule is at
least as good as the rule. docs/trust.md says which hypotheses that controls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from causalrules.exceptions import OptionError
from causalrules.options import Share, Whole
from causalrules.question import Question
from causalrules.search.deadline import Deadline
from causalrules.search.problem import Problem
from causalrules.trust import repeat
from causalrules.trust.evidence import PermutationRun, RuleEvidence, SearchEvidence, Significance
from causalrules.trust.resample import arrangements, covered, every_arrangement, permuted, rule_rows

if TYPE_CHECKING:
    from causalrules.result.rules import RuleSet

METHODS = ("step-down", "single-step")
# The same value computed from the same counts in another order of the strata differs by rounding alone.
_TIED = 1e-10


def significance(
    rules: RuleSet,
    permutations: int = 999,
    seed: int = 0,
    *,
    method: str = "step-down",
    level: float = 0.05,
    stop_early: bool = True,
    n_jobs: int = -1,
    time_limit: float | None = None,
    progress: bool | repeat.Watcher | None = None,
) -> RuleSet:
    """Return the rules with `p_value` filled in: the chance that the best rule of noise is as good.

    With `stop_early`, a rule's count ends when so many permutations were as good that its p-value is above `level`
    whatever follows; it is then h/m, h as-good ones among m permutations (Besag & Clifford 1991), and valid too.
    Where there are no more ways to deal the outcome than permutations, all are tried and p is exact.

    After `time_limit` seconds, p is (1 + as-good ones)/(1 + m) over the m permutations begun. Those that were cut short
    count as as good: which are may have to do with how good their rules are.
    """
    deadline = Deadline.after(time_limit)
    permutations, seed = Whole(least=1)("permutations", permutations), Whole()("seed", seed)
    level = Share()("level", level)
    if method not in METHODS:
        raise OptionError("give 'step-down' or 'single-step'", parameter="method", value=repr(method))
    problem = repeat.require_problem(rules, "significance")
    total = arrangements(problem, most=permutations)
    exact = total is not None
    times = permutations if total is None else total
    deal: Callable[[int], Problem]
    if exact:
        # In a random order: if the time is up before the last, those that were tried must be a fair sample.
        every = list(every_arrangement(problem))
        order = repeat.generator(seed, "permutation").permutation(len(every))
        deal = lambda place: every[order[place]]  # noqa: E731
    else:
        deal = lambda place: permuted(problem, repeat.generator(seed, "permutation", place))  # noqa: E731

    rows = [rule_rows(rule, problem).tobytes() for rule in rules]
    compare = _Comparison(problem, deal, rules.question, np.array([rule.value for rule in rules]), rows, method)
    enough = times + 1 if exact or not stop_early else math.floor(level * times) + 1
    tally = _Tally(len(rules), enough)

    def work(searcher: repeat.Searcher, place: int) -> NDArray[np.bool_] | None:
        try:
            return compare(searcher, place, tally.counting[0] | tally.counting[1])
        except repeat.CutShortError:
            return None

    cut_short = 0
    for as_good in repeat.in_order(work, times if rules else 0, n_jobs, "permutations", progress, deadline):
        cut_short += as_good is None
        tally.add(np.ones_like(tally.counting) if as_good is None else as_good)
        if not tally.counting.any():
            break
    if rules and tally.n_seen == cut_short:
        raise repeat.OutOfTimeError(f"time_limit = {time_limit!r}: not one permutation was searched; give it more")
    exact = exact and tally.n_seen == times and not cut_short
    run = PermutationRun(
        permutations=tally.n_seen,
        asked=permutations,
        cut_short=cut_short,
        level=level,
        method=method,
        exact=exact,
        seed=seed,
    )
    return _with_p_values(rules, tally, method, exact, run)


@dataclass(frozen=True, eq=False)
class _Comparison:
    """A permuted table against the observed rules, of which `rows` tells the records that each covers."""

    problem: Problem
    deal: Callable[[int], Problem]
    question: Question
    values: NDArray[np.float64]
    rows: Sequence[bytes]
    method: str

    def __call__(self, searcher: repeat.Searcher, place: int, counting: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether the permuted best is as good as each rule: of all rules, and of all but the better of the list."""
        best = np.full((2, len(self.values)), -np.inf)
        if counting.any():
            # Only rules that reach a value still being counted matter. Without the j − 1 better rules, the best is
            # among the first j. Leaving redundant rules out would change no best value: of the best rules, the most
            # general is not redundant.
            floor = float(self.values[counting].min()) - _TIED
            k = int(np.flatnonzero(counting)[-1]) + 1 if self.method == "step-down" else 1
            options = repeat.exact(self.question, k=k, redundant=True)
            found = searcher(self.deal(place), options, floor).rules
            if found:
                best[0] = found[0][0]
                best[1] = self._without_better(found) if self.method == "step-down" else best[0]
        return best >= self.values - _TIED

    def _without_better(self, found: Sequence[tuple[float, tuple[int, ...]]]) -> list[float]:
        candidates = [(value, covered(self.problem, conditions).tobytes()) for value, conditions in found]
        best, better = [], set[bytes]()
        for rows in self.rows:
            best.append(next((value for value, others in candidates if others not in better), -math.inf))
            better.add(rows)
        return best


class _Tally:
    """How many permutations were as good as each rule, in either comparison, until there were enough of them."""

    def __init__(self, n_rules: int, enough: int) -> None:
        self.counts = np.zeros((2, n_rules), np.int64)
        self.seen = np.zeros((2, n_rules), np.int64)
        self.counting = np.ones((2, n_rules), np.bool_)
        self.n_seen = 0
        self._enough = enough

    def add(self, as_good: NDArray[np.bool_]) -> None:
        self.n_seen += 1
        self.counts += as_good & self.counting
        self.seen += self.counting
        self.counting = self.counts < self._enough

    def p_values(self, exact: bool) -> NDArray[np.float64]:
        """Besag & Clifford's h/m where counting stopped, (1 + count)/(1 + m) where it did not; never falling."""
        stopped = self.counts >= self._enough
        added = 0 if exact else np.where(stopped, 0, 1)
        p: NDArray[np.float64] = np.maximum.accumulate((self.counts + added) / (self.seen + added), axis=1)
        return p


def _with_p_values(rules: RuleSet, tally: _Tally, method: str, exact: bool, run: PermutationRun) -> RuleSet:
    if not rules:
        return rules
    row = 1 - METHODS.index(method)
    single, down = tally.p_values(exact)
    measured = []
    for place, rule in enumerate(rules):
        found = Significance(
            single_step=float(single[place]),
            step_down=float(down[place]) if method == "step-down" else None,
            exceedances=int(tally.counts[row, place]),
            permutations=int(tally.seen[row, place]),
        )
        p_value = float((single, down)[row][place])
        evidence = replace(rule.evidence or RuleEvidence(), significance=found)
        measured.append(replace(rule, p_value=p_value, evidence=evidence))
    return replace(rules, rules=tuple(measured), evidence=replace(rules.evidence or SearchEvidence(), permutation=run))
