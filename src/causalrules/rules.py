"""RuleSet: what users do with a result, as one-line methods over result, trust and report.

Optional parts are imported where they are used: a search and its printed rules start in half a second.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from causalrules.exceptions import CausalRulesWarning, DataError, OptionError, RoleError
from causalrules.question import ContextQuestion
from causalrules.report import notebook, tables, terminal
from causalrules.result import frames, frontier, sql
from causalrules.result.result import Result, with_graph
from causalrules.result.rule import RuleResult
from causalrules.result.variations import Variations, variations
from causalrules.text import counted

if TYPE_CHECKING:
    from causalrules.policies import Segments

Watcher = Callable[[int, int], None]
_INSIDE = {
    "columns",
    "count",
    "index",
    "is_named",
    "kind",
    "ladder",
    "library",
    "noun",
    "origin",
    "problem",
    "problem_of",
}


RuleResult.notebook_card = staticmethod(notebook.card)


@dataclass(frozen=True, repr=False)
class RuleSet(Result):
    """Rules, best first, with the question, what is proven about them, and methods to check, show and export them.

    A sequence of `RuleResult`. Attributes are those of the result: `rules`, `question`, `optimal`, `upper_bound`,
    `gap`, `stopped`, `seconds`, `steps`, `n_rows`, `alerts`, `notes`, `declared`, `graph`, `admissibility`, `evidence`,
    `nearest`, `rungs`.
    Each check returns a new list with its evidence: write `rules = rules.trust()`.
    """

    def __str__(self) -> str:
        return terminal.text(self) + f"\n\n{self._missing_evidence}" * bool(self._missing_evidence)

    __repr__ = __str__

    def __dir__(self) -> list[str]:
        return sorted(set(super().__dir__()) - _INSIDE)

    def _repr_html_(self) -> str:
        return notebook.table(self) + f"<p>{self._missing_evidence}</p>" * bool(self._missing_evidence)

    def _checked(self, name: str, options: dict[str, Any]) -> RuleSet:
        """Run the check of this name with the options of its method."""
        from causalrules.trust import registry

        given = {option: value for option, value in options.items() if option != "self"}
        found = registry.trust(self, **given) if name == "trust" else registry.run(name, self, **given)
        return self._record_check(found, name)

    def _record_check(self, found: RuleSet, name: str) -> RuleSet:
        """Record that a check was run, because only its return value has the evidence."""
        vars(self)["_checks"] = (*vars(self).get("_checks", ()), name)
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_checks"}

    @property
    def _missing_evidence(self) -> str:
        """Name the checks that were run whose evidence is not in this list; empty if none were."""
        names = dict.fromkeys(vars(self).get("_checks", ()))
        if not names:
            return ""
        done = ", ".join(f"{name}()" for name in names)
        return (
            f"not in this list: what {done} found, as each check returns a new list; keep it: "
            f"rules = rules.{next(iter(names))}()"
        )

    def _warn_of_missing_evidence(self, method: str) -> None:
        """Warn if this list lacks the evidence of checks that were run."""
        if self._missing_evidence:
            warnings.warn(f"{method}(): {self._missing_evidence}", CausalRulesWarning, stacklevel=3)

    def to_frame(self) -> Any:
        """Return a data frame with one row per rule.

        Returns
        -------
        DataFrame
            Of the library that the data came in; a dict of columns where none is installed.

        Examples
        --------
        >>> import causalrules as cr
        >>> rules = cr.discover(cr.datasets.titanic(), "survived", actionable=["class", "sex"], k=1)
        >>> rules.to_frame()[["rule", "n_covered"]].values.tolist()
        [['class ≤ 2 ∧ sex = female', 170]]
        """
        self._warn_of_missing_evidence("to_frame")
        return frames.as_frame(frames.columns(self), self.library)

    def significance(
        self,
        permutations: int = 999,
        seed: int = 0,
        *,
        method: str = "step-down",
        level: float = 0.05,
        stop_early: bool = True,
        n_jobs: int = -1,
        time_limit: float | None = None,
        progress: bool | Watcher | None = None,
    ) -> RuleSet:
        """Compute p-values adjusted for the search.

        The outcome is shuffled within each stratum of the controls and searched again. A rule's p-value is the share
        of such tables whose best rule is at least as good (Westfall & Young 1993).

        Parameters
        ----------
        permutations
            Number of shuffled tables. Where 999 or more leave open whether p is at most `level`, more are drawn, up to
            10,000.
        seed
            Seed of the shuffling.
        method : {"step-down", "single-step"}
            Whether better rules of the list are left out when a rule is compared with the best rule by chance.
        level
            Error rate; counting stops early for rules whose p-value will exceed it.
        stop_early
            Whether to stop counting for rules whose p-value is certain to exceed `level`.
        n_jobs, time_limit, progress
            As in `trust`.

        Returns
        -------
        RuleSet
            The same rules with `p_value` and `evidence.significance`.

        Examples
        --------
        >>> import causalrules as cr
        >>> rules = cr.discover(cr.datasets.titanic(), "survived", actionable=["class", "sex"], k=1)
        >>> rules.significance(19)[0].p_value
        0.05
        """
        return self._checked("significance", locals())

    def simultaneous(
        self,
        permutations: int = 199,
        seed: int = 0,
        *,
        confidence: float = 0.95,
        n_jobs: int = -1,
        time_limit: float | None = None,
        progress: bool | Watcher | None = None,
    ) -> RuleSet:
        """Compute simultaneous bounds on the effects of all rules of the list, after the search.

        The intervals of `rule.interval` hold for one rule chosen in advance. These bounds hold jointly for all rules
        that the search selected; shuffled tables show by how much the best of all rules errs by chance.

        Parameters
        ----------
        permutations
            Number of shuffled tables.
        seed
            Seed of the shuffling.
        confidence
            The probability that all bounds hold.
        n_jobs, time_limit, progress
            As in `trust`.

        Returns
        -------
        RuleSet
            The same rules with `evidence.simultaneous`.

        Examples
        --------
        >>> import causalrules as cr
        >>> rules = cr.discover(cr.datasets.titanic(), "survived", actionable=["class", "sex"], k=1)
        >>> bound = rules.simultaneous(39)[0].evidence.simultaneous.bound
        >>> 0.5 < bound < rules[0].interval.low
        True
        """
        return self._checked("simultaneous", locals())

    def cross_fit(
        self,
        splits: int = 5,
        seed: int = 0,
        *,
        confidence: float = 0.95,
        n_jobs: int = -1,
        time_limit: float | None = None,
        progress: bool | Watcher | None = None,
    ) -> RuleSet:
        """Measure effects on held-out rows by forward chaining: search again on the rows before each block.

        Rows are shuffled. After the first half, each block is measured with the rules found on the rows before it.

        Parameters
        ----------
        splits
            Number of blocks.
        seed
            Seed of the split.
        confidence
            Confidence of the intervals.
        n_jobs, time_limit, progress
            As in `trust`.

        Returns
        -------
        RuleSet
            The same rules with `evidence.honest`.
        """
        return self._checked("cross_fit", locals())

    def stability(
        self,
        replicates: int = 100,
        seed: int = 0,
        *,
        method: str = "subsample",
        share: float = 0.5,
        n_jobs: int = -1,
        time_limit: float | None = None,
        progress: bool | Watcher | None = None,
    ) -> RuleSet:
        """Count how often each rule, and each of its conditions, reappears on resampled rows.

        Parameters
        ----------
        replicates
            Number of samples that are searched.
        seed
            Seed of the sampling.
        method : {"subsample", "bootstrap"}
            Whether to draw a share of each stratum's rows, or all rows with replacement.
        share
            Share of the rows in a subsample.
        n_jobs, time_limit, progress
            As in `trust`.

        Returns
        -------
        RuleSet
            The same rules with `evidence.stability`.
        """
        return self._checked("stability", locals())

    def sensitivity(self, *, confidence: float = 0.95) -> RuleSet:
        """Compute E-values: how strong an unmeasured confounder must be to explain an effect away.

        Parameters
        ----------
        confidence
            Confidence of the interval that the second E-value moves to no effect.

        Returns
        -------
        RuleSet
            The same rules with `evidence.sensitivity`.

        Examples
        --------
        >>> import causalrules as cr
        >>> rules = cr.discover(cr.datasets.kidney_stones(), "success", control="size", k=1)
        >>> round(rules.sensitivity()[0].evidence.sensitivity.e_value, 2)
        1.34
        """
        return self._checked("sensitivity", locals())

    def overlap(self, *, most: float = 0.1) -> RuleSet:
        """Find the strata in which a rule always or never holds, so that its rows have no comparison group.

        Parameters
        ----------
        most
            Share of rows without a comparison group above which a warning is given.

        Returns
        -------
        RuleSet
            The same rules with `evidence.overlap`.

        Examples
        --------
        >>> import causalrules as cr
        >>> rules = cr.discover(cr.datasets.kidney_stones(), "success", control="size", k=1)
        >>> rules.overlap()[0].evidence.overlap.n_rows
        0
        """
        return self._checked("overlap", locals())

    def doubly_robust(
        self,
        *,
        confidence: float = 0.95,
        n_jobs: int = -1,
        time_limit: float | None = None,
        progress: bool | Watcher | None = None,
    ) -> RuleSet:
        """Measure effects by augmented inverse probability weighting, on the original controls.

        Cross-fitted models predict the outcome on both sides of each rule, and the propensity of each side
        (scikit-learn; `adjust_model` selects the model). The effect is consistent if one of the two is. With held-out
        rows, rules are measured on these.

        Parameters
        ----------
        confidence
            Confidence of the intervals.
        n_jobs, time_limit, progress
            As in `trust`.

        Returns
        -------
        RuleSet
            The same rules with `evidence.doubly_robust` and `evidence.balance`.
        """
        return self._checked("doubly_robust", locals())

    def balance(self) -> RuleSet:
        """Compare the controls on both sides of each rule, before and after adjusting.

        Returns
        -------
        RuleSet
            The same rules with `evidence.balance`: standardised mean differences.

        Examples
        --------
        >>> import causalrules as cr
        >>> rules = cr.discover(cr.datasets.kidney_stones(), "success", control="size", k=1).balance()
        >>> [round(abs(each), 9) for each in rules[0].balance()["strata"]]
        [0.0, 0.0]
        """
        return self._checked("balance", locals())

    def trust(
        self,
        permutations: int = 999,
        replicates: int = 100,
        splits: int = 5,
        seed: int = 0,
        *,
        level: float = 0.05,
        n_jobs: int = -1,
        time_limit: float | None = None,
        progress: bool | Watcher | None = None,
    ) -> RuleSet:
        """Run all checks on each rule; its verdict then uses their evidence.

        Parameters
        ----------
        permutations, replicates, splits
            How often `significance`, `stability` and `cross_fit` repeat the search.
        seed
            Seed of everything random.
        level
            Error rate of the verdicts.
        n_jobs
            Threads; -1 for all cores.
        time_limit
            Seconds, after which what is computed so far is used.
        progress
            Whether to show progress, or a function that is called with the number done and the total.

        Returns
        -------
        RuleSet
            The same rules with `evidence`, which their verdicts use.
        """
        return self._checked("trust", locals())

    def confirm(self, table: Any, *, confidence: float = 0.95) -> RuleSet:
        """Measure the list on new rows: each rule with the columns of the rules above it held fixed.

        There is no search, so intervals and p-values (one-sided, Holm) need no adjustment for one.

        Parameters
        ----------
        table
            Anything that `discover` reads, with the columns of the rules, the controls and the target.
        confidence
            Confidence of the intervals.

        Returns
        -------
        RuleSet
            The same rules with `evidence.honest`; `rules.confirmed` says which rules hold.

        Examples
        --------
        >>> import causalrules as cr
        >>> table = cr.datasets.titanic()
        >>> rules = cr.discover(table[::2], "survived", actionable=["class", "sex"])
        >>> rules.confirm(table[1::2]).confirmed
        (True,)
        """
        from causalrules.trust import holdout

        return self._record_check(holdout.confirm(self, table, confidence), "confirm")

    def frontier(self, time_limit: float | None = None) -> RuleSet:
        """Return the Pareto front of value and coverage: the best rule for every minimum coverage.

        The first rule has the highest value; each other rule has the highest value of all rules that cover more rows
        than the rules before it. It ends when no rule is above 0. `plot("coverage")` shows it.

        Parameters
        ----------
        time_limit
            Seconds after which the part found so far is returned.

        Returns
        -------
        RuleSet
            The rules of the front, by increasing coverage.

        Examples
        --------
        >>> import causalrules as cr
        >>> rules = cr.discover(cr.datasets.titanic(), "survived", actionable=["class", "sex"])
        >>> for rule in rules.frontier():
        ...     print(f"{rule.coverage:.0%} {rule.text}")
        19% class ≤ 2 ∧ sex = female
        35% sex = female
        45% class ≤ 2
        """
        return frontier.frontier(self, time_limit)

    def variations(self, place: int = 0) -> Variations:
        """Measure variations of a rule of the list, in the same way as the rule.

        Parameters
        ----------
        place
            The index of the rule in the list, from 0.

        Returns
        -------
        Variations
            The rule at other cuts, without each of its conditions, and similar rules that it stands for.

        Examples
        --------
        >>> import causalrules as cr
        >>> rules = cr.discover(cr.datasets.titanic(), "survived", actionable=["class", "sex"], k=1)
        >>> for each in rules.variations().without:
        ...     print(f"{each.text}: {each.effect:.2f}")
        sex = female: 0.55
        class ≤ 2: 0.32
        """
        return variations(self, place)

    def for_whom(
        self,
        context: str | Sequence[str] | None = None,
        rule: int = 0,
        *,
        k: int = 5,
        max_context: int = 2,
        min_coverage: float = 0.05,
        max_bins: int = 8,
        cuts: Mapping[str, Sequence[Any]] | None = None,
        error_rate: float | None = None,
        permutations: int | None = None,
        seed: int = 0,
        n_jobs: int = -1,
        time_limit: float | None = None,
    ) -> Segments:
        """Search for the groups of rows in which a rule of the list works better, or worse, than on the others.

        Parameters
        ----------
        context
            Columns that describe who: nobody acts on them, and they were there before the action. By default the
            controls of the rule.
        rule
            The index of the rule in the list, from 0.
        k, max_context, min_coverage, max_bins, cuts, error_rate, permutations, seed, n_jobs, time_limit
            As in `for_whom`.

        Returns
        -------
        Segments
            The groups whose effect differs from that on the others, allowing for the search.

        Examples
        --------
        >>> import causalrules as cr
        >>> rules = cr.discover(cr.datasets.campaign(), "bought", actionable="letter", randomised="letter")
        >>> groups = rules.for_whom(["age", "region", "visits"])
        >>> print(groups[0])
        age ≥ 50 ∧ region = south
        """
        from causalrules.policies import Segments
        from causalrules.policy.finding import find_segments

        if not -len(self) <= rule < len(self):
            said = f"the list has {counted(len(self), 'rule')}, counted from 0"
            raise OptionError(said, parameter="rule", value=str(rule))
        chosen, known = self[rule], self.question
        control = sorted({*chosen.control, *chosen.held_fixed})
        controlled = {column: points for column, points in dict(known.cuts or {}).items() if column in control}
        question = ContextQuestion.like(
            known,
            context=context,
            control=control,
            randomised=[name for name in known.randomised if name in {each.column for each in chosen.conditions}],
            k=k,
            max_context=max_context,
            min_coverage=min_coverage,
            max_bins=max_bins,
            cuts={**controlled, **(cuts or {})} or None,
            error_rate=known.error_rate if error_rate is None else error_rate,
            permutations=permutations,
            seed=seed,
            n_jobs=n_jobs,
            time_limit=time_limit,
            allow_inadmissible=self.admissibility is not None and not self.admissibility,
        )
        return Segments.of(find_segments(self, rule, question))

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Return the result as JSON.

        Parameters
        ----------
        path
            File to write as well; it is written atomically.

        Returns
        -------
        str
            The JSON text, which `RuleSet.from_json` reads.

        Examples
        --------
        >>> import causalrules as cr
        >>> rules = cr.discover(cr.datasets.titanic(), "survived", actionable=["class", "sex"], k=1)
        >>> cr.RuleSet.from_json(rules.to_json()) == rules
        True
        """
        from causalrules.result import json

        self._warn_of_missing_evidence("to_json")
        return json.write(self, path)

    @classmethod
    def from_json(cls, source: str | PathLike[str]) -> RuleSet:
        """Read a result from JSON.

        Parameters
        ----------
        source
            The JSON text, or the path of a file.

        Returns
        -------
        RuleSet
            The result, without the rows that were searched.
        """
        from causalrules.result import json

        known = json.read(source)
        graph, admissibility = known.pop("graph"), known.pop("admissibility")
        try:
            return with_graph(cls(**known), graph, admissibility)
        except RoleError as error:  # the graph lacks these variables
            raise DataError(f"graph: {error}") from error

    def to_sql(self, dialect: str = "duckdb") -> str:
        """Return a condition for WHERE that selects the rows covered by at least one of the rules.

        Parameters
        ----------
        dialect : {"duckdb", "postgres", "sqlite"}
            The SQL dialect.

        Returns
        -------
        str
            The condition; names and values are quoted.
        """
        adjusted = [(*rule.control, *rule.held_fixed) for rule in self]
        return sql.where([rule.conditions for rule in self], dialect, adjusted)

    def to_latex(self) -> str:
        """Return the rules as a LaTeX table (booktabs).

        Returns
        -------
        str
            A table environment; its caption explains the numbers.
        """
        self._warn_of_missing_evidence("to_latex")
        return tables.latex(self)

    def to_markdown(self) -> str:
        """Return the rules as a Markdown table.

        Returns
        -------
        str
            The table, and an explanation of the numbers below it.
        """
        self._warn_of_missing_evidence("to_markdown")
        return tables.markdown(self)

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return a report as one HTML page that needs no network.

        Parameters
        ----------
        path
            File to write as well; it is written atomically.

        Returns
        -------
        str
            The page.
        """
        from causalrules.report import html

        self._warn_of_missing_evidence("to_html")
        return html.write(self, path)

    def plot(self, kind: str = "effects", ax: Any = None, *, rule: int = 0) -> Any:
        """Plot the rules.

        Parameters
        ----------
        kind : str
            What to show: "effects", "staircase", "coverage", "front", "convergence", "graph", "honest", "conditions",
            "stability", "bias", "propensity" or "balance"; "strata" for one rule.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.
        rule
            The index of the rule in the list, from 0, for "strata".

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the plot.
        """
        from causalrules.report import plots

        self._warn_of_missing_evidence("plot")
        return plots.plot(self, kind, ax, rule)
