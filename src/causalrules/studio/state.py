"""The state of a studio: a workspace, its table and its results, saved and published after every change."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from causalrules.exceptions import FileError, InputError
from causalrules.result.json import as_json
from causalrules.rules import RuleSet
from causalrules.studio import views
from causalrules.studio import workspace as workspaces
from causalrules.studio.derived import Derived
from causalrules.studio.jobs import Worker
from causalrules.studio.publishing import Sections
from causalrules.studio.workspace import Workspace

if TYPE_CHECKING:
    from causalrules.data.table import Table
    from causalrules.studio.columns import Summary


class State:
    """The state of a studio.

    Attributes
    ----------
    lock, worker
        Lock for every change of the state; thread for long work, one job at a time.
    sections, derived
        The view for the page; cached values derived from the state.
    workspace, saved, unsaved, resumed
        The user's input; its file, or None; the error of saving it; whether it was reopened.
    table, columns, read_error
        The table and the columns read so far; the error of reading it.
    rules, front, points
        The last results, and the progress of the search: seconds, best value, bound and step.
    generation
        Number of workspaces so far; jobs discard their results if it has changed.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.derived = Derived(self)
        self.generation = 0
        self.sections = Sections(views.sections(self), self.lock)
        self.publish = self.sections.publish
        self.worker = Worker(lambda: self.publish("job", "said"))
        self.begin(Workspace(), None)

    def begin(
        self, workspace: Workspace, saved: Path | None, table: Table | None = None, columns: Sequence[Summary] = ()
    ) -> None:
        """Replace the workspace; its results have no rows until a search."""
        rules, front = (
            None if each is None else RuleSet.from_json(json.dumps(each))
            for each in (workspace.result, workspace.front)
        )
        with self.lock:
            self.generation += 1
            self.workspace, self.saved, self.unsaved = workspace, saved, ""
            self.resumed = workspace.target is not None
            self.table, self.columns, self.read_error = table, [*columns], ""
            self.rules, self.front = rules, front
            self.points: list[tuple[float, float | None, float | None, int]] = []
        self.publish()

    def change(self, **changes: Any) -> None:
        """Change the workspace, save it, and publish the sections that depend on it."""
        with self.lock:
            self.workspace = replace(self.workspace, **changes)
            self.save()
            # The verdict first, because the user waits for it.
            self.publish("question", "graph")
            self.publish("said", "rules")

    def keep(self, generation: int, rules: RuleSet, front: RuleSet | None, **changes: Any) -> None:
        """Keep what was found, and change the workspace with it, unless another one was begun since."""
        results: dict[str, Any] = {
            "result": as_json(rules, None),
            "front": None if front is None else as_json(front, None),
        }
        with self.lock:
            if generation != self.generation:
                return
            self.rules, self.front = rules, front
            self.workspace = replace(self.workspace, **results, **changes)
            self.save()
        self.publish("rules", "said", "question")

    def save(self) -> None:
        """Save the workspace, or store the error."""
        if self.saved is None:
            return
        try:
            workspaces.save(self.workspace, self.saved)
            self.unsaved = ""
        except FileError as error:
            self.unsaved = str(error)

    def opened(self) -> Table:
        """Return the table, or raise an InputError."""
        if self.table is None:
            raise InputError("there is no table yet: open one")
        return self.table

    def searched(self) -> RuleSet:
        """Return the rules with their rows, or raise an InputError."""
        if self.rules is None:
            raise InputError("there are no rules yet: search first")
        if self.rules.problem is None:
            raise InputError("this result was opened again, without its rows: search again first")
        return self.rules
