"""Open, upload and read tables and workspaces."""

from __future__ import annotations

import re
import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from causalrules.data.reading import read
from causalrules.exceptions import CausalRulesError, InputError
from causalrules.report.view import short
from causalrules.studio import workspace as workspaces
from causalrules.studio.columns import summarise
from causalrules.studio.jobs import Job
from causalrules.studio.workspace import Workspace, beside

if TYPE_CHECKING:
    from causalrules.studio.state import State

# Columns are published in portions, so that wide tables show their first columns at once.
_PORTION = 0.3


def open_path(state: State, path: str) -> None:
    """Open a table, or a workspace and its table."""
    if not path.strip():
        raise InputError("give the path of a CSV, TSV or Parquet file, or of a workspace")
    given = Path(path).expanduser()
    if path.endswith(workspaces.SUFFIX):
        saved, known = given, workspaces.load(given)
        if known.file is not None and not Path(known.file).is_absolute() and not Path(known.file).exists():
            known = replace(known, file=str(saved.parent / Path(known.file).name))
    else:
        saved = beside(given)
        known = replace(workspaces.known(saved), file=str(given))
    state.begin(known, saved)
    read_table(state)


def take_over(state: State, name: str, partial: Path, folder: Path) -> None:
    """Open a table or a workspace that was uploaded to a temporary file, and save its workspace in a folder."""
    plain = Path(name.replace("\\", "/")).name
    asked, path = state.workspace, partial.with_name(re.sub(r"[^\w.-]", "_", plain))
    saved: Path | None
    if plain.endswith(workspaces.SUFFIX):
        saved, known = folder / plain, workspaces.read(partial.read_bytes(), plain)
        partial.unlink()
    elif not re.fullmatch(r".{0,200}\.(csv|tsv|txt|parquet)(\.gz)?", plain, re.IGNORECASE | re.DOTALL):
        partial.unlink()
        raise InputError(f"{plain!r:.80} is no CSV, TSV or Parquet file, and no workspace ({workspaces.SUFFIX})")
    else:
        partial.replace(path)
        if asked.uploaded and asked.file is not None and Path(asked.file).name == path.name and state.table is None:
            # The table of a reopened workspace.
            saved, known = state.saved, replace(asked, file=str(path))
        else:
            saved = folder / beside(path).name
            known = replace(workspaces.known(saved), file=str(path), uploaded=True)
    state.begin(known, saved)
    read_table(state)


def read_table(state: State) -> None:
    """Read the table of the workspace, if any, and stop the running job."""
    if state.workspace.file is not None:
        title = f"Reading {short(state.workspace.source, 80)}"
        state.worker.ask(Job("read", title, lambda job: _read(state, job)), replace=True)


def _read(state: State, job: Job) -> None:
    """Read the table and summarise its columns."""
    with state.lock:
        asked, generation = state.workspace, state.generation
        state.table, state.columns, state.read_error = None, [], ""
    assert asked.file is not None, "there is a file to read"
    try:
        table = read(asked.file, asked.na_values).kept()
    except CausalRulesError as error:
        with state.lock:
            if generation == state.generation:
                state.read_error = str(error)
        state.publish("table")
        raise
    with state.lock:
        if generation != state.generation:
            return
        state.table = table
        state.workspace = _fitted(state.workspace, set(table.names))
    state.publish("table", "question", "graph", "rules", "said")
    shown = time.monotonic()
    for place, name in enumerate(table.names, 1):
        summary = summarise(table, name)
        with state.lock:
            if generation != state.generation:
                return
            state.columns.append(summary)
        if time.monotonic() - shown > _PORTION:
            state.publish("table")
            shown = time.monotonic()
        job.tell(done=place, total=len(table.names))
    with state.lock:
        if generation != state.generation:
            return
        if asked.target is None and state.workspace.target is not None:  # it was picked while columns were read
            left_out = {each.name for each in state.columns if each.left_out is not None}
            kept = tuple(name for name in state.workspace.actionable if name not in left_out)
            state.workspace = replace(state.workspace, actionable=kept)
        state.save()
    state.publish("table", "question", "graph", "said")


def _fitted(asked: Workspace, names: Collection[str]) -> Workspace:
    """Remove roles of columns that are not in the table."""
    if asked.target is not None and asked.target not in names:
        return replace(asked, target=None, outcome=None, actionable=(), control=(), randomised=())
    roles: dict[str, Any] = {
        role: tuple(name for name in getattr(asked, role) if name in names)
        for role in ("actionable", "control", "randomised", "categorical")
    }
    return replace(asked, **roles)
