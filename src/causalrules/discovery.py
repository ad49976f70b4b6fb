"""discover(): the whole way from a table to its rules, on one screen."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from numbers import Real
from typing import Any, cast

from causalrules import estimators, search
from causalrules._native import Packed
from causalrules.data import Table, is_dask, read
from causalrules.deadline import Deadline
from causalrules.exceptions import InadmissibleError, OptionError
from causalrules.problem import Problem, prepare
from causalrules.progress import search_bar, watching
from causalrules.result import Question, RuleResult, RuleSet
from causalrules.roles import resolve
from causalrules.search import Found, Progress, SearchOptions
from causalrules.version import __version__


class UsualBeta(float):
    """The β of someone who gives none; any other 2.0 was given. There is one, also after it was copied or pickled."""

    def __reduce__(self) -> str:
        return "USUAL_BETA"


USUAL_BETA = UsualBeta(SearchOptions.beta)


def discover(
    data: Any,
    target: str,
    outcome: Any = None,
    control: str | Sequence[str] | None = None,
    actionable: str | Sequence[str] | None = None,
    *,
    graph: object = None,
    latent: str | Sequence[str] = (),
    allow_inadmissible: bool = False,
    k: int = 10,
    beta: float | str = USUAL_BETA,
    confidence: float | None = None,
    alpha: float = 1.0,
    max_length: int | None = 4,
    min_coverage: float = 0.0,
    max_bins: int = 8,
    cuts: Mapping[str, Sequence[Any]] | None = None,
    estimator: str = "reliable",
    redundant: bool = True,
    holdout: Any = None,
    weights: str | None = None,
    na_values: Sequence[str] = (),
    query: str | None = None,
    n_jobs: int = -1,
    time_limit: float | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    client: Any = None,
    progress: bool | Callable[[Progress], None] | None = None,
    seed: int = 0,
) -> RuleSet:
    """Find the k rules with the highest reliable effect on the outcome, adjusted for the controls.

    Parameters
    ----------
    data
        A pandas, Polars, Arrow or Dask table, a DuckDB relation, a dict of columns, or a path to a CSV, TSV or
        Parquet file (also gzipped), or to many of them ("part-*.parquet").
    target, outcome
        The target column, and the outcome that is wanted: one of its values, or a condition such as ">= 50000".
        May be left out for a boolean or 0/1 target.
    control
        The columns to adjust for: those that may influence both the target and the actionable columns.
    actionable
        The columns that conditions are put on; every other column by default.
    graph, latent
        What is known of who causes whom, as `CausalGraph.read` takes it: edges, text or a file; and its variables that
        are not observed. Unless the roles are admissible by it, an InadmissibleError says why, before the search.
    allow_inadmissible
        Go on all the same; the rules are then called associations wherever they are shown, and each says whether its
        effect is identified on its own (`rule.identification`).
    k
        How many rules.
    beta, confidence
        How conservative the reliable effect is: β, or instead the two-sided confidence level it stands for (0.9545 is
        β = 2).
        beta="calibrated": the smallest β for which the best rule of noise is at most 0 in 95 of 100 cases.
    alpha
        Below 1, a branch is given up when alpha times its bound is no better than the k-th rule: faster, and the
        result says how much better a rule might have been missed (`gap`).
    max_length
        The most conditions a rule may have (an interval is two); None for no limit.
    min_coverage
        The least share of the rows that a rule must cover.
    max_bins, cuts
        The most bins of a column with an order; or its cut points, as in cuts={"age": [18, 65]}.
    estimator
        What is maximised: "reliable", "plugin", "wracc", or "association" (plug-in without controls).
    redundant
        False: only rules that are better than each of their generalisations.
    holdout
        Rows kept from the search, on which each rule's effect is then measured (`rule.evidence.honest`): a share such
        as 0.5, drawn with `seed`, or a second table.
    weights
        A column that says how often each row counts.
    na_values
        What else stands for a missing value in a text file.
    query
        A SELECT over the file as the table `data`; its result is searched.
    n_jobs, time_limit, progress
        Threads (−1: all cores), seconds after which the best so far is returned (they begin with the call, and β's
        calibration may take half of them), and whether progress is shown (None: on a terminal, when it takes longer
        than a second) or a function that is called with that of the search.
    client
        The Dask client whose workers hold a Dask DataFrame; by default the current one, or threads of this process.
    checkpoint
        A file that the search is written to now and then and goes on from, if it was stopped or killed before.
    """
    if confidence is not None:
        if beta is not USUAL_BETA:
            raise OptionError(f"beta = {beta!r:.40} and confidence = {confidence!r:.40} say the same thing: give one")
        beta = estimators.beta_of_confidence(search.number("confidence", confidence, 0, 1))
    calibrated = isinstance(beta, str) and beta == "calibrated"
    if isinstance(beta, str) and not calibrated:
        raise OptionError(f"beta = {beta!r:.40}: give a number of at least 0 and at most 1000, or 'calibrated'")
    usual = USUAL_BETA if calibrated else cast(float, beta)
    options = SearchOptions(k, usual, alpha, max_length, min_coverage, estimator, redundant, n_jobs, time_limit)
    deadline = Deadline.after(options.time_limit)
    max_bins, seed = search.whole("max_bins", max_bins, least=2), search.whole("seed", seed, least=0)
    if cuts is not None and not isinstance(cuts, Mapping):
        raise OptionError(f"cuts = {cuts!r:.60}: give the cut points by column, as in {{'age': [18, 65]}}")
    if graph is None and latent:
        raise OptionError(f"latent = {latent!r:.200}: these are variables of a graph; give the graph too")
    known = None
    if graph is not None:
        from causalrules.graph import CausalGraph

        known = CausalGraph.read(graph, latent)
    if is_dask(data):
        from causalrules.cluster import read_dask

        table: Table = read_dask(data, client, target, weights)
    else:
        table = read(data, na_values, query)
    roles = resolve(table, target, outcome, actionable, control, weights)
    verdict = None
    if known is not None:
        from causalrules.admissibility import check

        columns = [name for name in table.names if name != weights]
        verdict = check(known, target=target, actionable=roles.actionable, control=roles.control, columns=columns)
        if not verdict and not allow_inadmissible:
            raise InadmissibleError(verdict)
    problem = prepare(table, roles, weights=weights, max_bins=max_bins, cuts=cuts)
    unseen = calibration = None
    is_share = isinstance(holdout, (Real, Decimal))
    if holdout is not None:
        from causalrules.trust.holdout import hold_out, second_table

        if is_share:
            problem, unseen = hold_out(problem, holdout, seed)
        else:
            unseen = second_table(table, problem, outcome, weights, holdout)
    if calibrated:
        from causalrules.trust.calibration import calibrate

        # Half of the time is for the search; a function for its progress does not know permutations.
        shown = False if callable(progress) else progress
        calibration = calibrate(problem, options, seed=seed, time_limit=deadline.left(0.5), progress=shown)
        options = replace(options, beta=calibration.beta)
    packed = problem.pack()
    file = None
    if checkpoint is not None:
        from causalrules.checkpoint import Checkpoint

        file = Checkpoint(checkpoint, problem, options)
    with watching(progress, search_bar) as watch:
        options = replace(options, time_limit=deadline.left())
        found = search.run(packed, options, problem.n_rows, watch=watch, checkpoint=file)
    question = Question(
        target=roles.target,
        outcome=roles.outcome.text,
        actionable=roles.actionable,
        control=roles.control,
        k=options.k,
        beta=options.beta,
        alpha=options.alpha,
        max_length=options.max_length,
        min_coverage=options.min_coverage,
        max_bins=max_bins,
        estimator=options.estimator,
        redundant=options.redundant,
        source=source_name(data),
        query=query,
        weights=weights,
        na_values=(na_values,) if isinstance(na_values, str) else tuple(na_values),
        cuts=tuple((column, tuple(map(str, points))) for column, points in sorted((cuts or {}).items())),
        holdout=float(holdout) if is_share else None,
        calibrated=calibrated,
        seed=seed,
    )
    rules = assemble(problem, packed, question, found)
    if verdict is not None:
        rules = replace(rules, graph=known, admissibility=verdict.to_dict())
    if calibration is not None:
        from causalrules.trust.evidence import SearchEvidence

        rules = replace(rules, evidence=SearchEvidence(calibration=calibration))
    return rules if unseen is None else unseen.measure(rules)


def assemble(problem: Problem, packed: Packed, question: Question, found: Found) -> RuleSet:
    """The rules in words and numbers."""
    rules = []
    for _, conditions in found.rules:
        covered, failing = packed.count(conditions)
        (b, a), (d, c) = covered.T, failing.T
        propositions = [problem.language.propositions[index] for index in conditions]
        rules.append(
            RuleResult.from_counts(propositions, a, b, c, d, problem.strata.labels, question.beta, question.estimator)
        )
    # The search compares values that are rounded.
    end = replace(found.progress, upper_bound=max([found.progress.upper_bound, *(rule.value for rule in rules)]))
    return RuleSet(
        rules=tuple(rules),
        question=question,
        optimal=found.optimal,
        upper_bound=end.upper_bound,
        gap=end.gap,
        stopped=found.stopped,
        n_rows=problem.n_rows,
        n_dropped=problem.n_dropped,
        n_strata=problem.strata.n_strata,
        n_propositions=len(problem.language.propositions),
        nodes=end.nodes,
        seconds=end.seconds,
        notes=problem.notes,
        versions={"causalrules": __version__, "python": platform.python_version()},
        library=problem.library,
        history=(*found.history[:-1], end),
        problem=problem,
    )


def source_name(data: Any) -> str | None:
    """The file's name, where the data came from a file."""
    return os.path.basename(os.fspath(data)) if isinstance(data, (str, os.PathLike)) else None
