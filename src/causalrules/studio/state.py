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
    """What a studio knows.

    Attributes
    ----------
    lock, worker
        Held by whoever changes anything; does long work, one job at a time.
    sections, derived
        What the page is told; what follows from the rest.
    workspace, saved, unsaved, resumed
        What the user has said; where it is saved, if anywhere; why it could not be; whether it was opened again.
    table, columns, read_error
        The table and its columns, as far as they are read; why it cannot be read.
    rules, front, points
        What was found last, and how: seconds, best value, bound and step.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.derived = Derived(self)
        self.sections = Sections(views.sections(self), self.lock)
        self.publish = self.sections.publish
        self.worker = Worker(lambda: self.publish("job", "said"))
        self.begin(Workspace(), None)

    def begin(
        self, workspace: Workspace, saved: Path | None, table: Table | None = None, columns: Sequence[Summary] = ()
    ) -> None:
        """Take over a workspace; its results have no rows until a search."""
        rules, front = (
            None if each is None else RuleSet.from_json(json.dumps(each))
            for each in (workspace.result, workspace.front)
        )
        with self.lock:
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
            # The verdict first: it is waited for.
            self.publish("question", "graph")
            self.publish("said", "rules")

    def keep(self, rules: RuleSet, front: RuleSet | None, **changes: Any) -> None:
        """Keep what was found, and change the workspace with it."""
        results: dict[str, Any] = {
            "result": as_json(rules, None),
            "front": None if front is None else as_json(front, None),
        }
        with self.lock:
            self.rules, self.front = rules, front
            self.workspace = replace(self.workspace, **results, **changes)
            self.save()
        self.publish("rules", "said", "question")

    def save(self) -> None:
        """Save the workspace, or note why it cannot be saved."""
        if self.saved is None:
            return
        try:
            workspaces.save(self.workspace, self.saved)
            self.unsaved = ""
        except FileError as error:
            self.unsaved = str(error)

    def opened(self) -> Table:
        """Return the table; an InputError says that there is none."""
        if self.table is None:
            raise InputError("there is no table yet: open one")
        return self.table

    def searched(self) -> RuleSet:
        """Return the rules with their rows; an InputError says what is missing."""
        if self.rules is None:
            raise InputError("there are no rules yet: search first")
        if self.rules.problem is None:
            raise InputError("this result was opened again, without its rows: search again first")
        return self.rules
