"""P-values adjusted for the search (Westfall & Young 1993).

The outcome is shuffled within each stratum, which keeps its dependence on the controls and removes its dependence on
the actionable columns, and the exact search runs again. A rule's p-value is the share of shuffled tables whose best
rule is at least as good. docs/trust.md describes the hypotheses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from causalrules.estimators import scores
from causalrules.estimators.p_values import holm
from causalrules.estimators.sides import Side
from causalrules.exceptions import OptionError
from causalrules.options import Share, Whole
from causalrules.question import Question
from causalrules.result.evidence import PermutationRun, Significance, with_evidence, with_run
from causalrules.search.adjusted import Adjusted
from causalrules.search.deadline import Deadline
from causalrules.search.margins import betas
from causalrules.trust import repeat
from causalrules.trust.deciding import MOST, USUAL, undecided
from causalrules.trust.resample import arrangements, every_arrangement, exchangeable, reweighted, shuffling

if TYPE_CHECKING:
    from causalrules.result.result import R
    from causalrules.result.rule import RuleResult

METHODS = ("step-down", "single-step")
# Values this close are ties: rounding depends on the order of the strata.
_TIED = 1e-10
TIED_RATIOS = 1e-8
# Below these degrees of freedom of a t test, its tail is not relied on.
FEWEST_DEGREES = 20
# The seed of permutations beyond those asked for.
_COMMON = 0


def significance(
    rules: R,
    permutations: int = 999,
    seed: int = 0,
    *,
    method: str = "step-down",
    level: float = 0.05,
    share: float = 1.0,
    stop_early: bool = True,
    n_jobs: int = -1,
    time_limit: float | None = None,
    progress: bool | repeat.Watcher | None = None,
) -> R:
    """Implement `RuleSet.significance`; p is compared with this share of the level.

    With groups, the signs of whole groups' residuals are flipped instead of shuffling the outcome (`exchangeable`).

    If β is by length, rules are compared by their effect over its margin, and p is single-step: a studentised
    comparison that does not favour broad rules where no rule stands out. Otherwise they are compared by their values.

    With `stop_early`, counting stops when h of m permutations were as good and p is above `level` whatever follows;
    then p = h/m, which is also valid (Besag & Clifford 1991). If the outcome has at most `permutations` arrangements,
    all of them are tried and p is exact. Otherwise, where 999 or more leave open whether p is at most `level`, more are
    drawn, up to 10,000 (`deciding`); these do not depend on the seed, so that it decides as little as possible.

    After `time_limit` seconds, p = (1 + h)/(1 + m) over the m permutations started, where h includes interrupted ones
    and those searched together with them, because slow searches may be the ones with good rules.
    """
    deadline = Deadline.after(time_limit)
    permutations, seed = Whole(least=1)("permutations", permutations), Whole()("seed", seed)
    level = Share()("level", level)
    if method not in METHODS:
        raise OptionError("give 'step-down' or 'single-step'", parameter="method", value=repr(method))
    problem = repeat.require_problem(rules, "significance")
    question, beta = rules.question, rules.question.beta
    by_length = isinstance(beta, tuple) or problem.group is not None
    if problem.group is not None:
        # Residuals are compared by the pooled estimator, whatever the estimator; this is valid for any list of rules.
        if not isinstance(beta, tuple):
            beta = betas(problem.language, question.max_length, question.error_rate)
        question = replace(question, estimator="pooled", beta=beta)
    if rules.is_named:
        return _of_fixed_rules(rules, problem, permutations, seed, level, n_jobs, progress, deadline)
    problem = exchangeable(problem)
    total = arrangements(problem, most=permutations)
    exact = total is not None
    times = permutations if total is None else total
    shuffled: Callable[[int], Adjusted]
    if exact:
        # In random order, so that the time limit leaves a random sample of them.
        every = list(every_arrangement(problem))
        order = repeat.generator(seed, "permutation").permutation(len(every))
        shuffled = lambda place: every[order[place]]  # noqa: E731
    else:
        shuffle = shuffling(problem)
        shuffled = lambda place: shuffle(  # noqa: E731
            repeat.generator(seed if place < times else _COMMON, "permutation", place)
        )

    rows = [problem.covered(problem.language.numbers(rule.conditions)).tobytes() for rule in rules]
    method = "single-step" if by_length else method
    if problem.group is None:
        values = np.array([rule.ratio if by_length else rule.value for rule in rules])
    else:
        values = np.array([flipped_ratio(problem, beta, problem.language.numbers(rule.conditions)) for rule in rules])
    # Set the options once: validating a question takes as long as a small search.
    question = repeat.exact(question, k=1, n_jobs=1, time_limit=None)
    compare = _Comparison(problem, shuffled, question, values, rows, method)
    most = MOST if USUAL <= times < MOST and not exact else times
    tally = _Tally(len(rules), level * share, times, most, stop_early and not exact)

    def work(first: int, searcher: repeat.Searcher, places: range) -> Sequence[NDArray[np.bool_] | None]:
        try:
            later = range(first + places.start, first + places.stop)
            return compare(searcher, later, tally.counting[0] | tally.counting[1])
        except repeat.CutShortError:
            return [None] * len(places)

    cut_short = 0
    size = repeat.together(problem, question, times, n_jobs, deadline) if rules and by_length else 1
    for first, last in ((0, times), (times, most)):
        if not rules or not tally.counting.any() or tally.n_seen < first:
            break
        walk = partial(work, first)
        for as_good in repeat.in_blocks(walk, last - first, size, n_jobs, "permutations", progress, deadline):
            cut_short += as_good is None
            tally.add(np.ones_like(tally.counting) if as_good is None else as_good)
            if not tally.counting.any() and tally.n_seen < last:
                break
    if rules and tally.n_seen == cut_short:
        raise repeat.OutOfTimeError(f"time_limit = {time_limit!r}: no permutation was searched; raise it")
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
    judged = _with_p_values(rules, tally, method, exact, run)
    if problem.group is None or not isinstance(rules.question.beta, tuple):
        return judged
    return replace(judged, rules=tuple(_by_number(rule, rules.question, level, share) for rule in judged))


def _by_number(rule: RuleResult, question: Question, level: float, share: float) -> RuleResult:
    """Return the rule with p of its groups' t test, as in the first answer, if that is at most the level."""
    p = of_groups(rule, question.beta, question.error_rate)
    smaller = p <= level and rule.p_value is not None and p * share < rule.p_value
    return replace(rule, p_value=p * share) if smaller else rule


def of_groups(rule: RuleResult, beta: Any, error_rate: float) -> float:
    """Return p of the t test of a rule in groups, adjusted for the number of rules; 1 if its tail is not reliable.

    By the union bound, with p one-sided, and M_l rules of l conditions with a share δ_l of the error rate δ:

    p M_l δ/δ_l = p δ exp(β_l²/2)
    """
    grouped = rule.measured.grouped
    if grouped is None or grouped.degrees < FEWEST_DEGREES or not rule.criterion.sign * rule.effect > 0:
        return 1.0
    return min(1.0, rule.measured.p_value / 2 * error_rate * math.exp(beta[min(rule.length, len(beta) - 1)] ** 2 / 2))


def flipped_margin(problem: Adjusted, betas: Any, conditions: Sequence[int], error: float = 0.0) -> float:
    """Return the margin of a rule, computed as for tables with flipped signs; for at least this standard error.

    Residuals of a rare outcome have a smaller range before some are flipped. The margin uses the range after flipping;
    otherwise the observed rule would have a smaller margin than those it is compared with.
    """
    rows = problem.rows.local
    largest = np.zeros(problem.strata.n_strata)
    np.maximum.at(largest, rows.stratum, np.abs(rows.y))
    sides = problem.compared(conditions, scored=True)
    reach = scores.pooled_reach(*sides, 2 * largest)
    beta = betas[min(len(conditions), len(betas) - 1)]
    variance = scores.margin_variance(*sides, len(problem.comparison.values))
    return scores.pooled_margin(beta, *scores.widened(variance, reach, error, binary=False))


def flipped_ratio(problem: Adjusted, betas: Any, conditions: Sequence[int]) -> float:
    """Return the effect of a rule over its margin, computed as for tables with flipped signs."""
    margin = flipped_margin(problem, betas, conditions)
    sign = -1.0 if problem.comparison.decrease else 1.0
    effect = scores.pooled_effect(*problem.compared(conditions, scored=True))
    return sign * effect / margin if margin > 0 else 0.0


@dataclass(frozen=True, eq=False)
class _Comparison:
    """Compares shuffled tables with the rules; `rows` are the rows that each rule covers, as bytes."""

    problem: Adjusted
    shuffled: Callable[[int], Adjusted]
    question: Question
    values: NDArray[np.float64]
    rows: Sequence[bytes]
    method: str

    @property
    def _tied(self) -> float:
        return _TIED * self.problem.comparison.scale

    def __call__(
        self, searcher: repeat.Searcher, places: range, counting: NDArray[np.bool_]
    ) -> list[NDArray[np.bool_]]:
        """Return whether the best rules of shuffled tables are as good as each rule: single-step and step-down."""
        if not isinstance(self.question.beta, tuple):
            return [self._by_value(searcher, place, counting) for place in places]
        best = [-math.inf] * len(places)
        if counting.any():
            tables = [self.shuffled(place) for place in places]
            best = searcher.best_ratios(tables, self.question, float(self.values[counting].min()) - TIED_RATIOS)
        # Shuffled tables are searched for effects above 0: a rule without one counts as no better than chance.
        as_good = [(each >= self.values - TIED_RATIOS) | (self.values <= 0) for each in best]
        return [np.stack([each, each]) for each in as_good]

    def _by_value(self, searcher: repeat.Searcher, place: int, counting: NDArray[np.bool_]) -> NDArray[np.bool_]:
        best = np.full((2, len(self.values)), -np.inf)
        if counting.any():
            # Only rules that reach a value still being counted matter. Without the j − 1 better rules, the best is
            # among the first j.
            floor = float(self.values[counting].min()) - self._tied
            k = int(np.flatnonzero(counting)[-1]) + 1 if self.method == "step-down" else 1
            options = repeat.exact(self.question, k=k)
            found = searcher(self.shuffled(place), options, floor).rules
            if found:
                best[0] = found[0][0]
                best[1] = self._without_better(found) if self.method == "step-down" else best[0]
        return best >= self.values - self._tied

    def _without_better(self, found: Sequence[tuple[float, tuple[int, ...]]]) -> list[float]:
        candidates = [(value, self.problem.covered(conditions).tobytes()) for value, conditions in found]
        best, better = [], set[bytes]()
        for rows in self.rows:
            best.append(next((value for value, others in candidates if others not in better), -math.inf))
            better.add(rows)
        return best


class _Tally:
    """Counts the permutations that are as good as each rule, single-step and step-down, until they decide.

    That is after `times`, or if `early`, as soon as more are as good than p at the level allows of them; `most` at
    most, and not before the Monte Carlo error allows it.
    """

    def __init__(self, n_rules: int, level: float, times: int, most: int, early: bool) -> None:
        self.counts = np.zeros((2, n_rules), np.int64)
        self.seen = np.zeros((2, n_rules), np.int64)
        self.counting = np.ones((2, n_rules), np.bool_)
        self.n_seen = 0
        self._level, self._times, self._most = level, times, most
        self._enough = math.floor(level * times) + 1 if early else most + 1

    def add(self, as_good: NDArray[np.bool_]) -> None:
        self.n_seen += 1
        self.counts += as_good & self.counting
        self.seen += self.counting
        done = (self.seen >= self._times) | (self.counts >= self._enough)
        if self._most > self._times:
            done &= ~undecided(self.counts, self.seen, self._level)
        self.counting &= ~done & (self.seen < self._most)

    def p_values(self, exact: bool) -> NDArray[np.float64]:
        """Return h/m where counting stopped early, else (1 + count)/(1 + m), made monotone along the list."""
        stopped = (self.counts >= self._enough) & (self.seen < self._times)
        added = 0 if exact else np.where(stopped, 0, 1)
        p: NDArray[np.float64] = np.maximum.accumulate((self.counts + added) / (self.seen + added), axis=1)
        return p


def _with_p_values(rules: R, tally: _Tally, method: str, exact: bool, run: PermutationRun) -> R:
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
        measured.append(with_evidence(replace(rule, p_value=p_value), significance=found))
    return with_run(rules, measured, permutation=run)


def _of_fixed_rules(
    rules: R,
    problem: Adjusted,
    permutations: int,
    seed: int,
    level: float,
    n_jobs: int,
    progress: bool | repeat.Watcher | None,
    deadline: Deadline,
) -> R:
    """Compute two-sided p-values of rules named in advance, adjusted for their number (Holm).

    The target is shuffled among the rows that a rule compares; other rows, such as those of another arm, are
    irrelevant. Rules that compare the same rows are shuffled together.
    """
    numbers = [problem.language.numbers(rule.conditions) for rule in rules]
    weights = problem.frequencies
    alike: dict[bytes, list[int]] = {}
    for place, each in enumerate(numbers):
        alike.setdefault(np.logical_or(*problem.sides(each)).tobytes(), []).append(place)
    tables, sizes = [], []
    for compared, places in alike.items():
        chosen = np.frombuffer(compared, np.bool_)
        if not chosen.any():  # no effect in any table: p is 1
            continue
        tables.append((exchangeable(reweighted(problem, weights * chosen)), places))
        # The weights of the strata count all rows.
        counted = problem.compared(numbers[places[0]])[2]
        sizes.append(Side(*(array[np.unique(problem.stratum[chosen])] for array in counted)))

    def effects(shuffled: Sequence[Adjusted]) -> NDArray[np.float64]:
        result = np.zeros(len(rules))
        for table, everything, (_, places) in zip(shuffled, sizes, tables, strict=True):
            for place in places:
                covered, failing, _ = table.compared(numbers[place], scored=True)
                result[place] = abs(scores.pooled_effect(covered, failing, everything))
        return result

    observed = effects([table for table, _ in tables])
    shuffles = [shuffling(table, [numbers[place] for place in places]) for table, places in tables]
    tied = _TIED * problem.comparison.scale
    as_good, done = np.zeros(len(rules), np.int64), 0

    def work(_: repeat.Searcher, place: int) -> NDArray[np.bool_]:
        rng = repeat.generator(seed, "permutation", place)
        return effects([shuffle(rng) for shuffle in shuffles]) >= observed - tied

    for found in repeat.in_order(work, permutations, n_jobs, "permutations", progress, deadline):
        as_good += found
        done += 1
    if not done:
        raise repeat.OutOfTimeError("time_limit: no permutation was computed; raise it")
    alone = (1 + as_good) / (1 + done)
    measured = []
    for rule, p, adjusted, count in zip(rules, alone.tolist(), holm(alone.tolist()), as_good.tolist(), strict=True):
        known = Significance(single_step=p, step_down=adjusted, exceedances=count, permutations=done)
        measured.append(with_evidence(replace(rule, p_value=adjusted), significance=known))
    run = PermutationRun(done, permutations, 0, level, "fixed rules", exact=False, seed=seed)
    return with_run(rules, measured, permutation=run)
