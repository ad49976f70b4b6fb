"""The studio's state and what can be done to it; the page is a view of it.

Every command changes the workspace, saves it, and publishes the parts of the view that changed. Long work is done by
the worker, one job at a time.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from causalrules.data.reading import read
from causalrules.discovery import discover, evaluate, evaluate_like
from causalrules.exceptions import CausalRulesError, FileError, InputError
from causalrules.graph.graph import CausalGraph
from causalrules.language.outcome import resolve_outcome
from causalrules.payload import from_json, to_json
from causalrules.question import Question
from causalrules.question import options as options_of_question
from causalrules.report.view import short
from causalrules.result.json import as_json
from causalrules.result.result import with_graph
from causalrules.rules import RuleSet
from causalrules.studio import checks, exports, sentences, verdict
from causalrules.studio import workspace as workspaces
from causalrules.studio.columns import Summary, summarise
from causalrules.studio.jobs import Job, Worker
from causalrules.studio.measuring import cuts, page_of, shared_rows, step_of, text_of, together
from causalrules.studio.publishing import Sections
from causalrules.studio.workspace import Drawing, Workspace
from causalrules.temporary import Folder

if TYPE_CHECKING:
    from causalrules.data.table import Table
    from causalrules.graph.admissibility import Admissibility
    from causalrules.search.run import Progress

# Columns come to the page in portions, so that wide tables show their first ones at once.
_PORTION = 0.3
# Points of the figure of a search's progress.
_MOST_POINTS = 240
_ROLES = ("actionable", "control", None)


class Studio:
    """One workspace, its table and its results.

    Parameters
    ----------
    path
        A table, or a workspace to open again; None to let the user choose one on the page.
    folder
        Where workspaces of uploaded tables are saved.
    """

    def __init__(self, path: str | None = None, folder: Path | None = None) -> None:
        self._lock = threading.RLock()
        self._folder = Path.cwd() if folder is None else folder
        self._uploads: Folder | None = None
        self.sections = Sections(self._views(), self._lock)
        self._publish = self.sections.publish
        self._forget()
        self._worker = Worker(self._job_changed)
        self._publish()
        if path is not None:
            try:
                self.open(path)
            except CausalRulesError as error:  # the page says it, and asks for another
                self._read_error = str(error)
                self._publish("table")

    def _forget(self) -> None:
        self.workspace = Workspace()
        self.table: Table | None = None
        self.rules: RuleSet | None = None
        self.front: RuleSet | None = None
        self._columns: list[Summary] = []
        self._saved: Path | None = None
        self._unsaved = ""
        self._read_error = ""
        self._resumed = False
        self._points: list[tuple[float, float | None, float | None, int]] = []
        # What was computed last, with what it was computed from.
        self._levelled: tuple[Any, tuple[str, str]] | None = None
        self._verdict: tuple[Any, tuple[Admissibility | None, dict[str, Any]]] | None = None
        self._judged_rules: dict[str, tuple[Any, RuleSet, dict[str, Any]]] = {}
        self._measured_texts: tuple[Any, dict[str, Any]] | None = None

    def close(self) -> None:
        """Stop all work; the workspace is saved already."""
        self._worker.close()

    @property
    def busy(self) -> bool:
        """Whether there is anything left to do."""
        return self._worker.busy

    # The view

    def _views(self) -> dict[str, Callable[[], Any]]:
        return {
            "options": workspaces.describe_options,
            "table": self._view_table,
            "question": self._view_question,
            "graph": self._view_graph,
            "job": self._view_job,
            "rules": self._view_rules,
            "said": self._view_said,
        }

    def _job_changed(self) -> None:
        self._publish("job", "said")

    def _view_table(self) -> dict[str, Any]:
        table = self.table
        return {
            "file": self.workspace.file,
            "uploaded": self.workspace.uploaded,
            "n_rows": 0 if table is None else table.n_rows,
            "n_columns": 0 if table is None else len(table.names),
            "streamed": table is not None and table.storage != "memory",
            "columns": [to_json(each) for each in self._columns],
            "unusable": {} if table is None else {name: short(why, 200) for name, why in table.unusable.items()},
            "notes": [] if table is None else [short(note, 500) for note in table.notes],
            "na_values": list(self.workspace.na_values),
            "error": self._read_error,
            "workspace": None if self._saved is None else str(self._saved),
            "unsaved": self._unsaved,
            "resumed": self._resumed,
        }

    def _view_question(self) -> dict[str, Any]:
        asked = self.workspace
        error = ""
        if self.table is not None and asked.target is not None:
            try:
                asked.question()
            except InputError as problem:
                error = str(problem)
        return {
            "target": asked.target,
            "outcome": asked.outcome,
            "direction": asked.direction,
            "level": self._level()[0],
            "error": self._level()[1] or error,
            "actionable": list(asked.actionable),
            "control": list(asked.control),
            "randomised": list(asked.randomised),
            "categorical": list(asked.categorical),
            "own_controls": asked.own_controls,
            "options": {
                **{name: workspaces.written(value) for name, value in asked.options.items()},
                **({} if asked.is_stepwise else {"stepwise": "false"}),
            },
            "questions": sentences.questions(asked),
        }

    def _level(self) -> tuple[str, str]:
        """Say how often the outcome happens, or why that cannot be said."""
        table, asked = self.table, self.workspace
        if table is None or asked.target is None:
            return "", ""
        weights = asked.options.get("weights")
        key = id(table), asked.target, asked.outcome, weights
        if self._levelled is None or self._levelled[0] != key:
            try:
                observed = table.observed(asked.target, weights)
                outcome = resolve_outcome(observed, asked.target, asked.outcome)
                self._levelled = key, (sentences.level_of(outcome, observed.histogram(asked.target)), "")
            except CausalRulesError as error:
                self._levelled = key, ("", str(error))
        return self._levelled[1]

    def _judged(self) -> tuple[Admissibility | None, dict[str, Any]]:
        asked = self.workspace
        edges = None if asked.graph is None else replace(asked.graph, places={})
        weights, length = (asked.options.get(name) for name in ("weights", "max_length"))
        roles = asked.target, asked.actionable, asked.control, asked.own_controls
        key = (edges, *roles, weights, length, self.table is None)
        if self._verdict is None or self._verdict[0] != key:
            judged = verdict.judge(asked, () if self.table is None else self.table.names)
            self._verdict = key, judged
        return self._verdict[1]

    def _view_graph(self) -> dict[str, Any]:
        drawing = self.workspace.graph
        return {"drawing": None if drawing is None else to_json(drawing), "verdict": self._judged()[1]}

    def _view_job(self) -> dict[str, Any]:
        return {**self._worker.view(), "points": self._points}

    @property
    def _stale(self) -> bool:
        """Whether the rules answer another question than the one that is asked now, if only by another default."""
        if self.rules is None:
            return False
        asked = self.workspace
        return asked.asked != asked.fingerprint() or self.rules.question.is_stepwise != asked.is_stepwise

    def current(self, name: str = "rules") -> tuple[RuleSet, dict[str, Any]] | None:
        """Return the rules, or the front, with what the graph on the canvas says of them, and their page.

        Rules that answer another question than the one that is asked now stay as they are.
        """
        rules: RuleSet | None = getattr(self, name)
        if rules is None:
            return None
        found, graph = rules.admissibility, rules.graph
        if not self._stale and not self.workspace.own_controls:
            found, drawing = self._judged()[0], self.workspace.graph
            graph = None if drawing is None or found is None else drawing.graph
        key = id(rules), found, graph
        known = self._judged_rules.get(name)
        if known is None or known[0] != key:
            judged = rules if (rules.graph, rules.admissibility) == (graph, found) else with_graph(rules, graph, found)
            known = key, judged, page_of(judged)
            self._judged_rules[name] = known
        return known[1], known[2]

    def _view_rules(self) -> dict[str, Any]:
        rules, front = self.current(), self.current("front")
        return {
            "page": None if rules is None else rules[1],
            "front": None if front is None else front[1],
            "edited": self._edited(),
            "stale": self._stale,
            "rows": rules is not None and rules[0].problem is not None,
            "checked": [] if rules is None else checks.done(rules[0]),
        }

    def _view_said(self) -> dict[str, Any]:
        asked = self.workspace
        found = self._judged()[0]
        known = None if self._stale else self.current()
        rules = None if known is None else known[0]
        running = self._worker.view()
        told = running["told"]
        code = {"call": "", "command": ""}
        try:
            if asked.target is not None and self.table is not None:
                code = sentences.asked(asked.question(), asked.file, found, rules)
        except InputError:
            pass  # the question says what is wrong with it
        if running["kind"] == "search" and told.get("rules"):
            found, rung = told["rules"], told["rung"]
            proven = f"Rule {rung - 1} is found: {found[rung - 2]['text']}." if rung > 1 else ""
            so_far = f"Best so far: {found[rung - 1]['text']}." if len(found) >= rung else ""
            said = [each for each in (proven, so_far, "Nothing is proven before the search ends.") if each]
            return {"sentences": said, "tone": "none", "answers": [], **code}
        if rules is None:
            n_rows = 0 if self.table is None else self.table.n_rows
            said = sentences.before_search(asked, n_rows, self._level()[0])
            claim = [to_json(sentences.claim_of(asked, found))] if asked.target is not None else []
            return {"sentences": said, "tone": "none", "answers": claim, **code}
        lead = sentences.lead_of(rules)
        return {
            "sentences": [short(each, 1500) for each in sentences.of_rules(rules, lead)],
            "tone": sentences.tone_of(rules, lead),
            "answers": [to_json(each) for each in sentences.answers_of(rules, lead, asked)],
            **code,
        }

    # Commands

    def _change(self, *names: str, **changes: Any) -> None:
        """Change the workspace, save it, and publish these sections besides those that depend on any change."""
        with self._lock:
            self.workspace = replace(self.workspace, **changes)
            self._save()
            # The verdict first: it is waited for.
            self._publish("question", "graph", *names)
            self._publish("said", "rules")

    def _save(self) -> None:
        if self._saved is None:
            return
        try:
            workspaces.save(self.workspace, self._saved)
            self._unsaved = ""
        except FileError as error:
            self._unsaved = str(error)

    def open(self, path: str) -> None:
        """Open a table, or a workspace and its table."""
        if not path.strip():
            raise InputError("give the path of a CSV, TSV or Parquet file, or of a workspace")
        given = Path(path).expanduser()
        if path.endswith(workspaces.SUFFIX):
            self._resume(workspaces.load(given), given)
            return
        saved = _beside(given)
        if saved.is_file():
            known = workspaces.load(saved)
            self._resume(replace(known, file=str(given)), saved)
            return
        self._begin(Workspace(file=str(given)), saved)

    def _resume(self, known: Workspace, saved: Path) -> None:
        if known.file is not None and not Path(known.file).is_absolute() and not Path(known.file).exists():
            known = replace(known, file=str(saved.parent / Path(known.file).name))
        self._begin(known, saved)

    def _begin(self, workspace: Workspace, saved: Path | None) -> None:
        with self._lock:
            self._forget()
            self.workspace, self._saved = workspace, saved
            self._resumed = workspace.target is not None
            self._restore()
        self._publish()
        if workspace.file is not None:
            self._ask_to_read()

    def _restore(self) -> None:
        """Take over the results of a workspace that is opened again; they have no rows until a search."""
        for name in ("result", "front"):
            saved = getattr(self.workspace, name)
            if saved is not None:
                rules = RuleSet.from_json(json.dumps(saved))
                if name == "result":
                    self.rules = rules
                else:
                    self.front = rules

    def _ask_to_read(self) -> None:
        name = Path(self.workspace.file or "").name
        self._worker.ask(Job("read", f"Reading {short(name, 80)}", self._read), replace=True)

    def upload(self, name: str, partial: Path) -> None:
        """Open a table or a workspace that was uploaded to a temporary file, which this takes over."""
        plain = Path(name.replace("\\", "/")).name
        if plain.endswith(workspaces.SUFFIX):
            known = workspaces.read(partial.read_bytes(), plain)
            partial.unlink()
            self._begin(known, self._folder / plain)
            return
        if not re.fullmatch(r".{0,200}\.(csv|tsv|txt|parquet)(\.gz)?", plain, re.IGNORECASE | re.DOTALL):
            partial.unlink()
            raise InputError(f"{plain!r:.80} is no CSV, TSV or Parquet file, and no workspace ({workspaces.SUFFIX})")
        path = partial.with_name(re.sub(r"[^\w.-]", "_", plain))
        partial.replace(path)
        asked = self.workspace
        if asked.uploaded and asked.file is not None and Path(asked.file).name == path.name and self.table is None:
            # The table of a workspace that was opened again.
            self._begin(replace(asked, file=str(path)), self._saved)
            return
        saved = self._folder / _beside(path).name
        known = workspaces.load(saved) if saved.is_file() else Workspace()
        self._begin(replace(known, file=str(path), uploaded=True), saved)

    def upload_folder(self) -> Path:
        """Return the folder for uploads; it is removed when the studio ends."""
        with self._lock:
            if self._uploads is None:
                self._uploads = Folder()
            return self._uploads.path

    def _read(self, job: Job) -> None:
        """Read the table and summarise its columns."""
        with self._lock:
            asked = self.workspace
            self.table, self._columns, self._read_error = None, [], ""
        assert asked.file is not None, "there is a file to read"
        try:
            table = read(asked.file, asked.na_values).kept()
        except CausalRulesError as error:
            with self._lock:
                self._read_error = str(error)
            self._publish("table")
            raise
        with self._lock:
            self.table = table
            self._fit(table)
        self._publish("table", "question", "graph", "rules", "said")
        shown = time.monotonic()
        for place, name in enumerate(table.names, 1):
            summary = summarise(table, name)
            with self._lock:
                self._columns.append(summary)
            if time.monotonic() - shown > _PORTION:
                self._publish("table")
                shown = time.monotonic()
            job.tell(done=place, total=len(table.names))
        with self._lock:
            if asked.target is None and self.workspace.target is not None:  # it was picked while columns were read
                left_out = {each.name for each in self._columns if each.left_out is not None}
                kept = tuple(name for name in self.workspace.actionable if name not in left_out)
                self.workspace = replace(self.workspace, actionable=kept)
            self._save()
        self._publish("table", "question", "graph", "said")

    def _fit(self, table: Table) -> None:
        """Leave out roles of columns that the table does not have."""
        asked, names = self.workspace, set(table.names)
        if asked.target is not None and asked.target not in names:
            self.workspace = replace(asked, target=None, outcome=None, actionable=(), control=(), randomised=())
            return
        roles: dict[str, Any] = {
            role: tuple(name for name in getattr(asked, role) if name in names)
            for role in ("actionable", "control", "randomised", "categorical")
        }
        self.workspace = replace(asked, **roles)

    def missing(self, values: Sequence[str]) -> None:
        """Set the texts that mean missing, and read the table again."""
        with self._lock:
            self.workspace = replace(self.workspace, na_values=tuple(dict.fromkeys(map(str, values))))
            self._save()
            self._publish("table", "question", "said")
        if self.workspace.file is not None:
            self._ask_to_read()

    def outcome(self, target: str | None, outcome: str | None = None, direction: str = "increase") -> None:
        """Set the outcome; the other columns become actionable when it is first set."""
        table = self._table()
        with self._lock:
            asked = self.workspace
            if target is None:
                self._change(target=None, outcome=None)
                return
            table.require(target)
            if direction not in ("increase", "decrease"):
                raise InputError("a rule can increase or decrease the outcome")
            changes: dict[str, Any] = {"target": target, "outcome": outcome, "direction": direction}
            if asked.target is None and not asked.actionable:
                left_out = {each.name for each in self._columns if each.left_out is not None}
                taken = {target, *asked.control, asked.options.get("weights"), asked.options.get("groups"), *left_out}
                changes["actionable"] = tuple(name for name in table.names if name not in taken)
            else:
                changes["actionable"] = tuple(name for name in asked.actionable if name != target)
                changes["control"] = tuple(name for name in asked.control if name != target)
                if asked.target not in (None, target):
                    changes["actionable"] += (asked.target,)
            changes["randomised"] = tuple(name for name in asked.randomised if name in changes["actionable"])
            self._change(**changes)

    def roles(self, changes: Sequence[Mapping[str, Any]]) -> None:
        """Give columns other roles: "actionable", "control", or None to ignore them."""
        table = self._table()
        with self._lock:
            asked = self.workspace
            lists: dict[str, list[str]] = {"actionable": list(asked.actionable), "control": list(asked.control)}
            for change in changes:
                name, role = str(change["name"]), change["role"]
                table.require(name)
                if role not in _ROLES:
                    raise InputError(f"no role {role!r:.40}; the roles are actionable and control")
                if name == asked.target:
                    raise InputError(f"column {name!r:.80} is the outcome; pick another outcome first")
                for listed in lists.values():
                    if name in listed:
                        listed.remove(name)
                if role is not None:
                    lists[role].append(name)
            randomised = tuple(name for name in asked.randomised if name in lists["actionable"])
            self._change(actionable=tuple(lists["actionable"]), control=tuple(lists["control"]), randomised=randomised)

    def mark(self, names: Sequence[str], what: str, on: bool) -> None:
        """Say that columns were assigned at random, or that their numbers are codes."""
        if what not in ("randomised", "categorical"):
            raise InputError("columns can be randomised or categorical")
        for name in names:
            self._table().require(name)
        with self._lock:
            kept = [name for name in getattr(self.workspace, what) if name not in names]
            self._change(**{what: tuple([*kept, *names] if on else kept)})

    def own_controls(self, on: bool) -> None:
        """Let each rule have controls of its own, or not."""
        self._change(own_controls=bool(on))

    def option(self, name: str, text: str) -> None:
        """Set an option as it was typed."""
        with self._lock:
            changed = self.workspace.with_option(name, str(text))
            if name in ("weights", "groups") and name in changed.options:
                self._table().require(changed.options[name])
                kept = tuple(each for each in changed.actionable if each != changed.options[name])
                changed = replace(changed, actionable=kept)
            self._change(options=changed.options, actionable=changed.actionable)

    def graph(self, drawing: Mapping[str, Any] | None) -> None:
        """Set the graph as it is drawn; a GraphError says why it is none."""
        if drawing is None:
            self._change(graph=None)
            return
        drawn: Drawing = from_json(Drawing, drawing, "graph")
        self._change(graph=Drawing.of(drawn.graph, drawn.places))

    def graph_text(self, text: str) -> None:
        """Read a graph that was pasted: dagitty, DOT, GML or plain edges. A text never names a file here."""
        if not text.strip():
            raise InputError("paste a graph, such as: size -> treatment -> success")
        graph = CausalGraph.read(f"{text.rstrip()}\n")
        places = {} if self.workspace.graph is None else self.workspace.graph.places
        self._change(graph=Drawing.of(graph, places))

    def remedy(self, roles: Sequence[Mapping[str, Any]], edges: Sequence[Mapping[str, Any]], add: str | None) -> None:
        """Apply a remedy: roles that change, edges that are other edges or none, and a variable that is added."""
        with self._lock:
            drawing = self.workspace.graph or Drawing()
            if add is not None:
                drawing = replace(drawing, nodes=(*drawing.nodes, str(add)))
            for edge in edges:
                drawing = drawing.with_edge(str(edge["from"]), str(edge["to"]), edge["arrow"], edge["to_arrow"])
            self.workspace = replace(self.workspace, graph=Drawing.of(drawing.graph, drawing.places))
            if roles:
                self.roles(roles)
            else:
                self._change()

    def suggest(self) -> dict[str, Any]:
        """Return roles that the graph allows."""
        return verdict.suggested(self.workspace, self._table().names)

    def answer(self, letter: str, answer: str) -> None:
        """Answer one of the questions that stand for a graph."""
        if letter not in tuple("abcde") or answer not in ("yes", "no", "unsure", ""):
            raise InputError("answer one of (a) to (e) by yes, no or unsure")
        self._change(answers={**self.workspace.answers, letter: answer})

    def forget(self) -> None:
        """Start anew with the same table."""
        with self._lock:
            kept = Workspace(file=self.workspace.file, uploaded=self.workspace.uploaded)
            saved, table, columns = self._saved, self.table, self._columns
            self._worker.stop()
            self._forget()
            self.workspace, self._saved, self.table, self._columns = kept, saved, table, columns
            self._save()
        self._publish()

    # Searches

    def search(self, replacing: bool = False) -> None:
        """Search for the rules; if another search runs, wait for its end, or stop it."""
        self._table()
        question = self.workspace.question()
        asked = self.workspace.fingerprint()

        def work(job: Job) -> None:
            self._search(job, question, asked)

        self._worker.ask(
            Job("search", f"Search for rules on {short(self.workspace.target or '', 60)}", work), replace=replacing
        )

    def _search(self, job: Job, question: Question, asked: str) -> None:
        self._points = []

        def watch(progress: Progress) -> None:
            bound = progress.upper_bound if np.isfinite(progress.upper_bound) else None
            best = progress.best if progress.best is None or np.isfinite(progress.best) else None
            self._point(progress.seconds, best, bound, progress.step)
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

        rules = discover(self._table(), **{**_arguments(question), "progress": watch})
        with self._lock:
            self.rules, self.front = replace(rules, source=self._source()), None
            self.workspace = replace(
                self.workspace,
                result=as_json(self.rules, None),
                front=None,
                asked=asked,
                edited=(),
                edited_from={},
            )
            self._save()
        self._publish("rules", "said", "question")

    def _point(self, seconds: float, best: float | None, bound: float | None, step: int) -> None:
        if len(self._points) >= _MOST_POINTS:
            self._points = self._points[::2]
        self._points = [*self._points, (round(seconds, 2), best, bound, step)]

    def _source(self) -> str:
        return Path(self.workspace.file or "data").name

    def stop(self) -> None:
        """Stop what runs; a search keeps its best rules."""
        self._worker.stop()

    def skip(self) -> None:
        """Take back the job that waits."""
        self._worker.skip()

    def fronts(self) -> None:
        """Search for the front of effect and coverage."""
        rules = self._searched()

        def work(job: Job) -> None:
            found = rules.frontier(time_limit=checks.LIMIT)
            with self._lock:
                self.front = found
                self.workspace = replace(self.workspace, front=as_json(found, None))
                self._save()
            self._publish("rules")

        self._worker.ask(Job("front", "Effect and coverage", work))

    def check(self, what: str) -> None:
        """Run a check of how far the rules can be trusted."""
        rules = self._searched()
        title, run = checks.find(what)

        def work(job: Job) -> None:
            found = run(rules, job.tell)
            with self._lock:
                if self.rules is rules:
                    self.rules = found
                    self.workspace = replace(self.workspace, result=as_json(found, None))
                    self._save()
            self._publish("rules", "said")

        self._worker.ask(Job("check", title, work))

    def _searched(self) -> RuleSet:
        rules = self.rules
        if rules is None:
            raise InputError("there are no rules yet: search first")
        if rules.problem is None:
            raise InputError("this result was opened again, without its rows: search again first")
        return rules

    def _table(self) -> Table:
        if self.table is None:
            raise InputError("there is no table yet: open one")
        return self.table

    # Rules

    def column(self, name: str) -> dict[str, Any]:
        """Return the values of a column that conditions can be put on."""
        return cuts(self._table(), name)

    def measure(
        self, rules: Sequence[Sequence[Mapping[str, Any]]], control: Sequence[str] | None, place: int = 0
    ) -> dict[str, Any]:
        """Measure rules as they are edited, and say how many rows the first two of them share.

        `place` is that in the list of the rule that is edited: the columns of the rules above it are held fixed.
        """
        texts = [text_of(conditions) for conditions in rules]
        measured = self._measured(texts, control, int(place))
        page = page_of(measured)
        return {**page, "shared": shared_rows(measured) if len(texts) > 1 else None}

    def _measured(self, texts: Sequence[str], control: Sequence[str] | None = None, place: int = 0) -> RuleSet:
        """Measure rules with the strata and the margin of the search that they were edited from."""
        known = None if self._stale else self.current()
        question = self.workspace.question()
        arguments = _arguments(question)
        if question.own_controls:
            arguments["control"] = tuple(control or ())
            arguments["allowed_control"] = None
        if known is not None:
            like = step_of(known[0], place)
            if (quickly := evaluate_like(like, self._table(), texts)) is not None:
                return replace(quickly, source=self._source())
            fixed = known[0][place].held_fixed if 0 <= place < len(known[0]) else ()
            if fixed:
                arguments["control"] = (*arguments["control"], *fixed)
                arguments["actionable"] = tuple(name for name in question.actions if name not in fixed)
            arguments["beta"] = like.question.beta
        measured = evaluate(self._table(), list(texts), **{**arguments, "holdout": None, "progress": False})
        return replace(measured, source=self._source())

    def keep(self, conditions: Sequence[Mapping[str, Any]], place: int = 0) -> None:
        """Keep an edited rule in the list of those that were edited by hand."""
        text = self._measured([text_of(conditions)], place=int(place))[0].text
        if text not in self.workspace.edited:
            made = {**self.workspace.edited_from, text: int(place)}
            self._change(edited=(*self.workspace.edited, text), edited_from=made)

    def drop(self, place: int) -> None:
        """Remove a rule that was edited by hand."""
        edited = self.workspace.edited
        kept = tuple(text for at, text in enumerate(edited) if at != place)
        made = {text: at for text, at in self.workspace.edited_from.items() if text in kept}
        self._change(edited=kept, edited_from=made)

    def _edited(self) -> dict[str, Any] | None:
        if not self.workspace.edited or self.table is None or self.workspace.target is None:
            return None
        key = self.workspace.edited, self.workspace.fingerprint(), self._judged()[0], id(self.table), id(self.rules)
        if self._measured_texts is None or self._measured_texts[0] != key:
            try:
                self._measured_texts = key, page_of(self._kept())
            except CausalRulesError as error:
                self._measured_texts = key, {"error": str(error)}
        return self._measured_texts[1]

    def _kept(self) -> RuleSet:
        """Measure the rules that were kept, each where the rule stands that it was made from."""
        texts, made = self.workspace.edited, self.workspace.edited_from
        places = [0 if self._stale else made.get(text, 0) for text in texts]
        measured = {
            place: self._measured([text for text, at in zip(texts, places, strict=True) if at == place], place=place)
            for place in dict.fromkeys(places)
        }
        return together(measured, places)

    def robust(self, place: int) -> dict[str, Any]:
        """Return what is left of a rule's effect for growing strengths of a hidden confounder."""
        known = self.current()
        if known is None or not 0 <= place < len(known[0]):
            raise InputError("there is no such rule")
        return checks.robust(known[0], place)

    # Take away

    def take(self, what: str) -> exports.Export:
        """Return a file to download."""
        stem = re.sub(r"[^\w.-]", "_", Path(self.workspace.file or "rules").name.partition(".")[0]) or "rules"
        if what == "workspace":
            return exports.Export(f"{stem}{workspaces.SUFFIX}", "application/json", workspaces.write(self.workspace))
        drawing = self.workspace.graph
        graph = None if drawing is None or not drawing.nodes else drawing.graph
        with self._lock:
            known = self.current()
            rules = None if known is None else known[0]
            asked = sentences.asked(
                self.workspace.question(), self.workspace.file, self._judged()[0], None if self._stale else rules
            )
        if rules is not None:
            rules = replace(rules, source=self._source())
        return exports.export(what, stem, rules, graph, asked["call"])


def _beside(path: Path) -> Path:
    """Return where the workspace of a table is saved."""
    stem = path.name
    for suffix in (".gz", ".csv", ".tsv", ".txt", ".parquet"):
        stem = stem.removesuffix(suffix)
    return path.with_name(f"{stem or path.name}{workspaces.SUFFIX}")


def _arguments(question: Question) -> dict[str, Any]:
    return {name: getattr(question, name) for name, _ in options_of_question()}
