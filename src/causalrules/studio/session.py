"""A studio: its state, commands, uploads and downloads."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path

from causalrules.exceptions import CausalRulesError
from causalrules.studio import exports, opening, sentences
from causalrules.studio.commands import Commands
from causalrules.studio.state import State
from causalrules.temporary import Folder


class Studio(Commands):
    """One workspace, its table and its results.

    Parameters
    ----------
    path
        A table, or a workspace to reopen; None to let the user choose one on the page.
    folder
        Where workspaces of uploaded tables are saved.
    """

    # The names of the commands.
    commands = frozenset(name for name in vars(Commands) if not name.startswith("_"))

    def __init__(self, path: str | None = None, folder: Path | None = None) -> None:
        super().__init__(State())
        self.sections = self.state.sections
        self._folder = Path.cwd() if folder is None else folder
        if path is not None:
            try:
                self.open(path)
            except CausalRulesError as error:  # shown on the page, which asks for another file
                self.state.read_error = str(error)
                self.state.publish("table")

    def close(self) -> None:
        """Stop all work; the workspace is saved already."""
        self.state.worker.close()

    @property
    def busy(self) -> bool:
        """Whether a job runs or waits."""
        return self.state.worker.busy

    @cached_property
    def uploads(self) -> Folder:
        """The folder for uploads; it is removed when the studio ends."""
        return Folder()

    def upload(self, name: str, partial: Path) -> None:
        """Open a table or a workspace that was uploaded to a temporary file, which this takes over."""
        opening.take_over(self.state, name, partial, self._folder)

    def take(self, what: str) -> exports.Export:
        """Return a file to download."""
        state = self.state
        with state.lock:
            asked, rules = state.workspace, state.derived.rules()
            admissible, answer = state.derived.judged()[0], state.derived.answer()
            call = ""
            if what != "workspace":  # which exists before there is a question
                call = sentences.asked(asked.question(), asked.file, admissible, answer)["call"]
        rules = None if rules is None else replace(rules, source=state.workspace.source)
        return exports.export(what, asked, rules, call)
