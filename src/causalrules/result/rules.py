"""A list of rules with what was asked and what is proven, and the methods that take it further.

The methods have explicit signatures; their work is done in `trust`, `report` and the other modules of `result`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, overload

from causalrules.exceptions import DataError, RoleError
from causalrules.result.rule import NUMBERS, RuleResult

if TYPE_CHECKING:
    from causalrules.graph.admissibility import Admissibility
    from causalrules.graph.backdoor import Identification
    from causalrules.graph.graph import CausalGraph
    from causalrules.question import Question
    from causalrules.result.steps import Rung, StepProof
    from causalrules.result.variations import Variations
    from causalrules.search.ladder import Step
    from causalrules.search.parts import Parts
    from causalrules.search.problem import Problem
    from causalrules.search.run import Progress
    from causalrules.trust.evidence import SearchEvidence

Watcher = Callable[[int, int], None]
_NOUNS = {"unchecked": "difference"}


@dataclass(frozen=True, repr=False)
class RuleSet(Sequence[RuleResult]):
    """The best rules, best first, with what was asked and what is proven about them.

    Attributes
    ----------
    rules
        The rules; a RuleSet is a sequence of them.
    question
        The roles and options of the search.
    optimal, upper_bound, gap
        Whether the list is proven to be the best there is; what no rule of the first step can exceed; and how far the
        last step's own bound is above its rule. `steps` has these of each step.
    stopped
        Why the search ended: "optimal", "time limit" or "interrupted".
    n_rows, n_dropped, n_strata, n_propositions
        Rows searched, rows without a target, strata of the controls, and conditions in the language.
    nodes, seconds
        The effort of the search.
    notes
        What to know about how the data was read.
    admissibility, graph
        The causal graph, and whether it allows the effects to be estimated; None without a graph.
    evidence
        How the evidence in `rule.evidence` was obtained.
    source
        The name of the file that was searched.
    library
        The data frame library that `to_frame` answers in.
    history
        The progress of the search, one entry a step.
    steps
        What is proven by each step of the search; a plain list has one.
    nearest
        Where a list of rules that add ended because nothing else stands out: the rule that came nearest to it.
    rungs
        The adjusted level of the outcome where none of the rules holds, where only the first does, only the first two,
        and so on; where rows are in files or on workers, if all rules can be decided on all rows.
    problem
        The coded table that was searched; None for a result that was read from a file.
    parts
        The same for each set of controls, where rules have their own.
    ladder
        The same for each step.
    """

    rules: tuple[RuleResult, ...]
    question: Question
    optimal: bool
    upper_bound: float
    gap: float
    stopped: str
    n_rows: int
    n_dropped: int
    n_strata: int
    n_propositions: int
    nodes: int
    seconds: float
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict, hash=False)
    admissibility: Admissibility | None = None
    graph: CausalGraph | None = None
    evidence: SearchEvidence | None = None
    source: str | None = None
    library: str = field(default="dict", compare=False)
    history: tuple[Progress, ...] = field(default=(), compare=False)
    problem: Problem | None = field(default=None, compare=False)
    parts: Parts | None = field(default=None, compare=False)
    steps: tuple[StepProof, ...] = field(default=(), compare=False)
    nearest: RuleResult | None = None
    rungs: tuple[Rung, ...] = ()
    ladder: tuple[Step, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        from causalrules.trust.verdict import circumstances

        listed = (*self.rules, self.nearest) if self.nearest is not None else self.rules
        if self.graph is not None:
            listed = _identified(listed, self.question, self.graph)
        known = circumstances(self)
        if any(rule.circumstances != known for rule in listed):
            listed = tuple(replace(rule, circumstances=known) for rule in listed)
        object.__setattr__(self, "rules", listed[: len(self.rules)])
        object.__setattr__(self, "nearest", next(iter(listed[len(self.rules) :]), None))

    @overload
    def __getitem__(self, index: int) -> RuleResult: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[RuleResult, ...]: ...
    def __getitem__(self, index: int | slice) -> RuleResult | tuple[RuleResult, ...]:
        return self.rules[index]

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[RuleResult]:
        return iter(self.rules)

    def __str__(self) -> str:
        from causalrules.report import terminal

        return terminal.text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from causalrules.report import notebook

        return notebook.table(self)

    @property
    def searched(self) -> Problem | Parts | None:
        """The rows that were searched; None for a result that was read from a file."""
        return self.problem if self.parts is None else self.parts

    def problem_of(self, rule: RuleResult) -> Problem:
        """Return the coded table in which a rule of the list is measured.

        Parameters
        ----------
        rule
            A rule of the list.

        Returns
        -------
        Problem
            The rows, in the strata of the rule's step and controls.
        """
        place = self.rules.index(rule) if self.question.is_stepwise and len(self.ladder) > 1 else 0
        searched = self.ladder[place].problem if self.ladder else self.searched
        if searched is None:
            raise DataError("this result was read from a file, without its rows; call discover() on the table first")
        return searched.of(searched.language.numbers(rule.conditions))

    @property
    def findings(self) -> tuple[RuleResult, ...]:
        """The rules that are more than chance does, doubts or not: on noise there are none.

        Examples
        --------
        >>> import causalrules as cr
        >>> rules = cr.discover(cr.datasets.titanic(), "survived", actionable=["class", "sex"])
        >>> [rule.text for rule in rules.findings]
        ['class ≤ 2 ∧ sex = female']
        """
        return tuple(rule for rule in self if rule.verdict.found)

    @property
    def claim(self) -> str:
        """What the numbers may be called: "effect", "association", or "unchecked" without a graph or a design."""
        if self.admissibility is not None:
            return "effect" if self.admissibility else "association"
        question = self.question
        by_design = bool(question.actions) and set(question.actions) <= set(question.randomised)
        return "effect" if by_design else "unchecked"

    @property
    def noun(self) -> str:
        """The word for the numbers in sentences: "effect", "association" or "difference"."""
        return _NOUNS.get(self.claim, self.claim)

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
        columns = self.columns()
        if self.library == "dict":
            return columns
        import narwhals as nw

        return nw.from_dict(columns, backend=self.library).to_native()  # type: ignore[arg-type]

    def columns(self) -> dict[str, list[Any]]:
        """Return the columns of `to_frame` as lists."""
        from causalrules.trust.evidence import columns as evidence

        columns: dict[str, list[Any]] = {
            "rule": [rule.text for rule in self],
            **{name: [getattr(rule, name) for rule in self] for name in NUMBERS},
            "interval_low": [rule.interval.low for rule in self],
            "interval_high": [rule.interval.high for rule in self],
            "evidence": [rule.verdict.evidence for rule in self],
            "direction": [rule.verdict.direction for rule in self],
            "claim": [rule.verdict.claim for rule in self],
            **evidence(self),
        }
        if self.graph is not None:
            from causalrules.report import result_words as words

            columns["identified"] = [words.identified(rule) for rule in self]
            columns["open_path"] = [words.open_path(rule) for rule in self]
        return columns

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
        """Compute p-values that are adjusted for the search.

        The outcome is shuffled within each stratum of the controls and searched again. A rule's p-value is the share
        of such tables whose best rule is at least as good (Westfall & Young 1993).

        Parameters
        ----------
        permutations
            Number of shuffled tables.
        seed
            Seed of the shuffling.
        method : {"step-down", "single-step"}
            Whether better rules of the list are set aside before a rule is compared with the best of noise.
        level
            Error rate at which rules will be called significant; counting stops early for rules that exceed it.
        stop_early
            Whether to stop counting for rules whose p-value is above `level` whatever follows.
        n_jobs
            Threads; -1 for all cores.
        time_limit
            Seconds after which the p-values of the tables searched so far are returned.
        progress
            Whether to show progress, or a function that is called with the number done and the total.

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
        from causalrules.trust import permutation
        from causalrules.trust.parts import each_part

        measure = partial(
            permutation.significance,
            permutations=permutations,
            seed=seed,
            method=method,
            level=level,
            stop_early=stop_early,
            n_jobs=n_jobs,
            progress=progress,
        )
        return each_part(self, lambda rules, limit, _: measure(rules, time_limit=limit), time_limit, adjust=True)

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
        """Bound the effects of all rules of the list at once, after the search.

        The intervals of `rule.interval` hold for one rule that was chosen in advance. These bounds hold together, for
        whatever rules the search chose; shuffled tables tell how far the best of all rules is off by chance.

        Parameters
        ----------
        permutations
            Number of shuffled tables.
        seed
            Seed of the shuffling.
        confidence
            The chance that all bounds hold.
        n_jobs
            Threads; -1 for all cores.
        time_limit
            Seconds after which the tables searched so far are used.
        progress
            Whether to show progress, or a function that is called with the number done and the total.

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
        from causalrules.trust import simultaneous
        from causalrules.trust.parts import each_part

        measure = partial(
            simultaneous.simultaneous,
            permutations=permutations,
            seed=seed,
            confidence=confidence,
            n_jobs=n_jobs,
            progress=progress,
        )
        return each_part(self, lambda rules, limit, share: measure(rules, time_limit=limit, share=share), time_limit)

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

        The rows come in a random order. After the first half, each block is measured with the rules found on the rows
        before it.

        Parameters
        ----------
        splits
            Number of blocks.
        seed
            Seed of the split.
        confidence
            Confidence of the intervals.
        n_jobs
            Threads; -1 for all cores.
        time_limit
            Seconds after which the blocks measured so far are used.
        progress
            Whether to show progress, or a function that is called with the number done and the total.

        Returns
        -------
        RuleSet
            The same rules with `evidence.honest`.
        """
        from causalrules.trust import holdout
        from causalrules.trust.parts import each_part

        measure = partial(
            holdout.cross_fit, splits=splits, seed=seed, confidence=confidence, n_jobs=n_jobs, progress=progress
        )
        return each_part(self, lambda rules, limit, _: measure(rules, time_limit=limit), time_limit, whole=True)

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
            Whether a share of each stratum's rows is drawn, or as many rows as there are, with replacement.
        share
            Share of the rows in a subsample.
        n_jobs
            Threads; -1 for all cores.
        time_limit
            Seconds after which the samples searched so far are used.
        progress
            Whether to show progress, or a function that is called with the number done and the total.

        Returns
        -------
        RuleSet
            The same rules with `evidence.stability`.
        """
        from causalrules.trust import stability
        from causalrules.trust.parts import each_part

        measure = partial(
            stability.stability,
            replicates=replicates,
            seed=seed,
            method=method,
            share=share,
            n_jobs=n_jobs,
            progress=progress,
        )
        return each_part(self, lambda rules, limit, _: measure(rules, time_limit=limit), time_limit, whole=True)

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
        from causalrules.trust import sensitivity
        from causalrules.trust.parts import each_part

        return each_part(self, lambda rules, _, __: sensitivity.sensitivity(rules, confidence=confidence))

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
        from causalrules.trust import overlap

        return overlap.overlap(self, most=most)

    def doubly_robust(
        self,
        *,
        confidence: float = 0.95,
        n_jobs: int = -1,
        time_limit: float | None = None,
        progress: bool | Watcher | None = None,
    ) -> RuleSet:
        """Measure effects by augmented inverse probability weighting, on the controls as they are.

        Cross-fitted models predict the outcome on both sides of each rule, and how likely a row is to be on either
        (scikit-learn; `adjust_model` chooses the model). The effect is right if one of the two is. Rules that were
        found on some rows are measured on the held-out rows.

        Parameters
        ----------
        confidence
            Confidence of the intervals.
        n_jobs
            Threads; -1 for all cores.
        time_limit
            Seconds after which no further rule is measured.
        progress
            Whether to show progress, or a function that is called with the number done and the total.

        Returns
        -------
        RuleSet
            The same rules with `evidence.doubly_robust` and `evidence.balance`.
        """
        from causalrules.trust import doubly_robust
        from causalrules.trust.parts import each_part

        def measure(rules: RuleSet, limit: float | None, share: float) -> RuleSet:
            if share < 1 and not rules.question.controls:
                return rules  # those of other rules may be many
            return doubly_robust.doubly_robust(
                rules, confidence=confidence, n_jobs=n_jobs, time_limit=limit, progress=progress
            )

        return each_part(self, measure, time_limit)

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
        from causalrules.trust import balance
        from causalrules.trust.parts import each_part

        def measure(rules: RuleSet, _: float | None, share: float) -> RuleSet:
            return rules if share < 1 and not rules.question.controls else balance.balance(rules)

        return each_part(self, measure)

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
        """Collect all of the evidence on each rule, which sharpens its verdict.

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
            Seconds for all parts together.
        progress
            Whether to show progress, or a function that is called with the number done and the total.

        Returns
        -------
        RuleSet
            The same rules with `evidence`, on which their verdicts then rest.
        """
        from causalrules.trust import everything

        return everything.trust(
            self,
            permutations=permutations,
            replicates=replicates,
            splits=splits,
            seed=seed,
            level=level,
            n_jobs=n_jobs,
            time_limit=time_limit,
            progress=progress,
        )

    def confirm(self, table: Any, *, confidence: float = 0.95) -> RuleSet:
        """Measure the same list on new rows: each rule with the columns of the rules above it held fixed.

        Nothing is searched, so that intervals and p-values (one-sided, Holm) owe nothing to a search.

        Parameters
        ----------
        table
            Anything that `discover` reads, with the columns of the rules, the controls and the target.
        confidence
            Confidence of the intervals.

        Returns
        -------
        RuleSet
            The same rules with `evidence.honest`; `rules.confirmed` says which of them hold.

        Examples
        --------
        >>> import causalrules as cr
        >>> table = cr.datasets.titanic()
        >>> rules = cr.discover(table[::2], "survived", actionable=["class", "sex"])
        >>> rules.confirm(table[1::2]).confirmed
        (True,)
        """
        from causalrules.trust import holdout

        return holdout.confirm(self, table, confidence)

    @property
    def confirmed(self) -> tuple[bool | None, ...]:
        """For each rule, whether rows that were not searched confirm it; None if it was not measured on any.

        Blocks of `cross_fit` confirm no rule: they may have measured others in its place.
        """
        honest = [None if rule.evidence is None else rule.evidence.honest for rule in self]
        level = self.question.error_rate
        return tuple(
            None if known is None or known.p_value is None or known.splits > 1 else known.p_value <= level
            for known in honest
        )

    def frontier(self, time_limit: float | None = None) -> RuleSet:
        """Return the front of value and coverage: for every coverage, the best rule there is.

        The first rule has the highest value; each of the others has the highest of all rules that cover more rows
        than those before it. It ends where nothing above 0 is left. `plot("coverage")` shows it.

        Parameters
        ----------
        time_limit
            Seconds after which the part found so far is returned.

        Returns
        -------
        RuleSet
            The rules of the front, those of the fewest rows first.

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
        from causalrules.result import frontier

        return frontier.frontier(self, time_limit)

    def variations(self, place: int = 0) -> Variations:
        """Measure the rules near one of the list, as that one is measured.

        Parameters
        ----------
        place
            The place of the rule in the list, from 0.

        Returns
        -------
        Variations
            The rule at other cuts, without each of its conditions, and the rules that it stands for.

        Examples
        --------
        >>> import causalrules as cr
        >>> rules = cr.discover(cr.datasets.titanic(), "survived", actionable=["class", "sex"], k=1)
        >>> for each in rules.variations().without:
        ...     print(f"{each.text}: {each.effect:.2f}")
        sex = female: 0.55
        class ≤ 2: 0.32
        """
        from causalrules.result.variations import variations

        return variations(self, place)

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

        fields = json.read(source)
        try:
            return cls(**fields)
        except RoleError as error:  # the graph does not have these roles
            raise DataError(f"graph: {error}") from error

    def to_sql(self, dialect: str = "duckdb") -> str:
        """Return a condition for WHERE that selects the rows that at least one of the rules covers.

        Parameters
        ----------
        dialect : {"duckdb", "postgres", "sqlite"}
            Whose SQL to write.

        Returns
        -------
        str
            The condition; names and values are quoted.
        """
        from causalrules.result import sql

        adjusted = [(*rule.control, *rule.held_fixed) for rule in self]
        return sql.where([rule.conditions for rule in self], dialect, adjusted)

    def to_latex(self) -> str:
        """Return the rules as a LaTeX table (booktabs).

        Returns
        -------
        str
            A table environment; its caption says what the numbers mean.
        """
        from causalrules.report import tables

        return tables.latex(self)

    def to_markdown(self) -> str:
        """Return the rules as a Markdown table.

        Returns
        -------
        str
            The table, and below it what the numbers mean.
        """
        from causalrules.report import tables

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
        from causalrules.result.json import as_json

        return html.write(self, as_json, path)

    def plot(self, kind: str = "effects", ax: Any = None) -> Any:
        """Plot the rules.

        Parameters
        ----------
        kind : str
            What to show: "effects", "staircase", "coverage", "front", "convergence", "graph", "honest", "conditions",
            "stability", "bias", "propensity" or "balance".
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the plot.
        """
        from causalrules.report import plots

        return plots.plot(self, kind, ax)


def _identified(rules: tuple[RuleResult, ...], question: Question, graph: CausalGraph) -> tuple[RuleResult, ...]:
    """Return the rules with what the graph says of each, which depends on their columns alone."""
    from causalrules.graph.backdoor import identify_rule

    known: dict[tuple[str, ...], Identification] = {}
    result = []
    for rule in rules:
        columns = tuple(sorted({condition.column for condition in rule.conditions}))
        if columns not in known:
            known[columns] = identify_rule(
                graph, target=question.target, variables=columns, control=(*rule.control, *rule.held_fixed)
            )
        result.append(replace(rule, identification=known[columns]))
    return tuple(result)
