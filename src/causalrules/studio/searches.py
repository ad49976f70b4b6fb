"""Long work on the rules, as jobs: the search, its front, and the checks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from causalrules.discovery import discover
from causalrules.report.view import short
from causalrules.studio import checks
from causalrules.studio.jobs import Job
from causalrules.studio.workspace import arguments

if TYPE_CHECKING:
    from causalrules.question import Question
    from causalrules.search.run import Progress
    from causalrules.studio.state import State

# Maximum points in the figure of a search's progress.
_MOST_POINTS = 240


def search(state: State, replacing: bool) -> None:
    """Search for the rules; if another search runs, wait for it or stop it."""
    with state.lock:
        table, generation, source = state.opened(), state.generation, state.workspace.source
        question, asked = state.workspace.question(), state.workspace.fingerprint()

    def work(job: Job) -> None:
        state.points = []
        watched = {**arguments(question), "progress": lambda progress: _watch(state, job, question, progress)}
        found = discover(table, **watched)
        state.keep(generation, replace(found, source=source), None, asked=asked, edited=(), edited_from={})

    title = f"Search for rules on {short(state.workspace.target or '', 60)}"
    state.worker.ask(Job("search", title, work), replace=replacing)


def _watch(state: State, job: Job, question: Question, progress: Progress) -> None:
    """Report the progress of a search, and add it to the figure."""
    bound = progress.upper_bound if np.isfinite(progress.upper_bound) else None
    best = progress.best if progress.best is None or np.isfinite(progress.best) else None
    points = state.points if len(state.points) < _MOST_POINTS else state.points[::2]
    state.points = [*points, (round(progress.seconds, 2), best, bound, progress.step)]
    job.tell(
        rung=progress.step,
        k=question.k if question.is_stepwise else 1,
        seconds=progress.seconds,
        best=best,
        bound=bound,
        gap=progress.gap if np.isfinite(progress.gap) else None,
        nodes=progress.nodes,
        rules=[{"value": value, "text": short(text, 300)} for value, text in progress.rules[:50]],
    )


def front(state: State) -> None:
    """Search for the front of effect and coverage."""
    state.searched()

    def work(_: Job) -> None:
        # The current rules, because a check that ran before this job may have added evidence.
        with state.lock:
            rules, generation = state.searched(), state.generation
        found = rules.frontier(time_limit=checks.LIMIT)
        with state.lock:
            if state.rules is rules:
                state.keep(generation, rules, found)

    state.worker.ask(Job("front", "Effect and coverage", work))


def check(state: State, name: str) -> None:
    """Run a check of the rules."""
    state.searched()
    wanted = checks.find(name)

    def work(job: Job) -> None:
        with state.lock:
            rules, generation = state.searched(), state.generation
        found = wanted.run(rules, job.tell)
        with state.lock:
            if state.rules is rules:
                state.keep(generation, found, state.front)

    state.worker.ask(Job("check", wanted.title, work))
