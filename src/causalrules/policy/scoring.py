"""The rows of a result, scored for an action and coded by the context columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from causalrules.exceptions import DataError, OptionError, RoleError
from causalrules.language.cuts import check_cuts
from causalrules.language.language import build_language
from causalrules.language.learning import is_available, require_models
from causalrules.language.roles import columns, left_out_notes, unusable
from causalrules.policy.contexts import Contexts
from causalrules.policy.differing import FEW, Scored
from causalrules.search.row_scores import FEWEST, modelled, row_scores, within_strata
from causalrules.search.run import threads
from causalrules.text import counted, listed
from causalrules.trust import repeat
from causalrules.trust.holdout import compared_rows

if TYPE_CHECKING:
    from causalrules.data.table import Table
    from causalrules.question import ContextQuestion
    from causalrules.result.result import Result


@dataclass(frozen=True, eq=False)
class ScoredAction:
    """The scored rows, how they were scored, and remarks.

    Attributes
    ----------
    rows
        The scored rows with overlap.
    context, control
        The columns that describe groups, and those that are adjusted for beside them.
    n_rows, n_compared, n_no_overlap
        All rows; those with the action or its alternative; and those without overlap.
    by_models, known_shares
        Whether models predict the target, and whether propensities are shares within strata of a draw by lot.
    notes
        Remarks on the context columns.
    centre
        What was subtracted from the target.
    """

    rows: Scored
    context: tuple[str, ...]
    control: tuple[str, ...]
    n_rows: int
    n_compared: int
    n_no_overlap: int
    by_models: bool
    known_shares: bool
    notes: tuple[str, ...]
    centre: float = 0.0


def scored_action(rules: Result, place: int, question: ContextQuestion) -> ScoredAction:
    """Score the rows of a result for one of its rules."""
    repeat.require_rows(rules, "for_whom")
    rule = rules[place]
    problem = rules.problem_of(rule)
    controls = problem.controls
    if controls is None:
        raise DataError("for_whom needs the rows in memory; read the table, or a sample of it, into memory first")
    table, notes = controls.table, list[str]()
    control = tuple(sorted({*rule.control, *rule.held_fixed}))
    action = sorted({condition.column for condition in rule.conditions})
    context = context_columns(
        table, question.contexts or control, (*action, rules.question.target, question.weights), notes
    )
    cuts = {column: points for column, points in dict(question.cuts or {}).items() if column in context}
    check_cuts(table, cuts, context)
    language = build_language(table, context, question.max_bins, cuts, question.categorical)
    contexts = Contexts.of(table, language, question.max_context)
    if not contexts.groups:
        raise RoleError(f"no condition can be put on {listed(context)}", parameter="context")

    covered, failing = compared_rows(rule, table, rules.question)
    counts = problem.searched * (covered | failing)
    if min(int(counts[side].sum()) for side in (covered, failing)) < max(FEW, FEWEST):
        raise DataError(
            f"for_whom needs at least {max(FEW, FEWEST)} rows with {rule.text} and as many to compare them with; there "
            f"are {int(counts[covered].sum()):,} and {int(counts[failing].sum()):,}"
        )
    by_lot = bool(action) and set(action) <= set(rules.question.randomised)
    known_shares = by_lot and not rule.measured.is_prognostic
    stratum = np.unique(problem.strata.index_of(table), return_inverse=True)[1]
    of_strata = within_strata(controls.y, counts, (covered, failing), stratum)
    by_models = question.adjust != "strata" and (is_available() or not by_lot)
    if by_models:
        require_models("for_whom")
        own = replace(controls, columns=tuple(sorted({*control, *context})))
        chances = of_strata.propensities if known_shares else None
        nuisances = modelled(own, counts, (covered, failing), threads(question.n_jobs), chances)
        assert nuisances is not None
    elif by_lot or set(context) <= set(control):
        nuisances = of_strata
    else:
        others = listed([name for name in context if name not in control])
        raise OptionError(
            f"strata of the controls do not adjust for {others}; name them as controls too, or leave adjust out",
            parameter="adjust",
            value="'strata'",
        )
    scores = row_scores(controls.y, counts, (covered, failing), nuisances)
    if scores is None:
        raise DataError(
            f"no rows with {rule.text} are comparable with rows without, given the controls and the context"
        )
    inside = scores.inside
    group = None if controls.group is None else controls.group.astype(np.intp)[inside]
    rows = Scored(
        contexts.only(inside),
        counts[inside].astype(np.float64),
        covered[inside],
        scores.first[inside],
        scores.second[inside],
        scores.spread(controls.y, (covered, failing))[inside],
        group,
    )
    n_compared = int(counts.sum())
    return ScoredAction(
        rows=rows,
        context=context,
        control=control,
        n_rows=int(problem.searched.sum()),
        n_compared=n_compared,
        n_no_overlap=n_compared - int(counts[inside].sum()),
        by_models=by_models,
        known_shares=known_shares,
        centre=float(controls.outcome.centre),
        notes=(*notes, *language.notes, *_thin(n_compared - int(counts[inside].sum()), n_compared)),
    )


def context_columns(
    table: Table, names: Sequence[str], others: Sequence[str | None], notes: list[str]
) -> tuple[str, ...]:
    """Return the context columns that allow conditions; `notes` gets those left out."""
    if not names:
        raise RoleError("name the columns that describe who, as in context=['age', 'region']", parameter="context")
    chosen = columns(table, names, "context")
    for name in chosen:
        if name in others:
            role = "the target" if name == others[-2] else "the weights" if name == others[-1] else "part of the action"
            raise RoleError(
                f"column {name!r} is {role}; context are other columns, which were there before", parameter="context"
            )
    reasons = {name: unusable(table, name) for name in chosen}
    notes += left_out_notes("context column", reasons)
    kept = tuple(sorted(name for name in chosen if reasons[name] is None))
    if not kept:
        raise RoleError(f"no context column is left: {'; '.join(notes)}", parameter="context")
    return kept


def _thin(n_left_out: int, n_compared: int) -> list[str]:
    if not n_left_out:
        return []
    return [
        f"{counted(n_left_out, 'row')} of {n_compared:,} are not compared: rows like them always or never, or nearly, "
        "get the action"
    ]
