"""A workspace: the user's input and results, saved as one JSON file after every change."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from causalrules.exceptions import DataError, FileError, NoSuchFileError, OptionError
from causalrules.graph.graph import CausalGraph, Edge
from causalrules.options import Column, Flag, shown
from causalrules.payload import from_json, to_json
from causalrules.question import OWN_CONTROLS, Question, default
from causalrules.question import options as options_of_question
from causalrules.writing import replace_file

SCHEMA = "causalrules-studio/1"
SUFFIX = ".studio.json"
# The options on the page, and those that are folded away.
FEW = ("k", "stepwise", "max_length", "min_coverage", "time_limit")
MORE = (
    *("estimator", "beta", "error_rate", "max_bins", "control_bins", "adjust", "missing"),
    *("holdout", "weights", "groups", "seed", "alpha", "n_jobs"),
)
_KNOWN = dict(options_of_question())
# The choices of flags that are not shown as yes and no.
_ANSWERS = {"stepwise": {"true": "each rule adds to those above", "false": "the best rules, however similar"}}
_DOCS = {
    "stepwise": "Which rules are listed. A rule that adds is the best on the columns that are left, with the columns "
    "of the rules above held fixed. Only the pooled estimator has the choice."
}
_ASKED = ("file", "na_values", "target", "outcome", "direction", "randomised", "categorical", "own_controls", "options")
_LISTS = {"->": "directed", "<->": "bidirected", "--": "unknown"}


@dataclass(frozen=True)
class Drawing:
    """A drawn causal graph: its variables and edges, and the position of each variable on the canvas."""

    nodes: tuple[str, ...] = ()
    directed: tuple[Edge, ...] = ()
    bidirected: tuple[Edge, ...] = ()
    unknown: tuple[Edge, ...] = ()
    latent: tuple[str, ...] = ()
    places: dict[str, tuple[float, float]] = field(default_factory=dict, hash=False)

    @classmethod
    def of(cls, graph: CausalGraph, places: dict[str, tuple[float, float]] | None = None) -> Drawing:
        """Return the drawing of a graph; variables without a position get one."""
        kept = {name: at for name, at in (places or {}).items() if name in graph.nodes}
        latent = tuple(name for name in graph.nodes if name in graph.latent)
        return cls(graph.nodes, graph.directed, graph.bidirected, graph.unknown, latent, kept)

    def with_edge(self, a: str, b: str, old: str | None, new: str | None) -> Drawing:
        """Return the drawing with the edge between two variables removed or replaced."""
        changes: dict[str, Any] = {}
        if old in _LISTS:
            ends = [(a, b)] if old == "->" else [(a, b), (b, a)]
            changes[_LISTS[old]] = tuple(each for each in getattr(self, _LISTS[old]) if each not in ends)
        if new in _LISTS:
            changes[_LISTS[new]] = (*changes.get(_LISTS[new], getattr(self, _LISTS[new])), (a, b))
        return replace(self, **changes)

    @property
    def graph(self) -> CausalGraph:
        """The causal graph; a GraphError says why the edges are invalid."""
        return CausalGraph(self.nodes, self.directed, self.bidirected, self.unknown, frozenset(self.latent))


@dataclass(frozen=True)
class Workspace:
    """The input of the user, and the results.

    Attributes
    ----------
    file
        The path of the table, as the user named it; None before one is opened.
    uploaded
        Whether the table was uploaded: its copy is gone when the studio ends.
    na_values
        Texts that mean missing.
    target, outcome, direction
        The outcome: a column, the desired outcome as text (None: the default), and whether to raise or lower it.
    actionable, control, context, randomised, categorical
        The roles of the columns, and their declarations; context may be a control too.
    own_controls
        Whether each rule gets its own controls by the graph.
    options
        The options of the question that differ from their defaults.
    graph
        The causal graph, if one was drawn.
    answers
        Answers to the assumptions (a) to (e), without a graph: "yes", "no" or "unsure".
    result, front
        The results, in the JSON of `RuleSet.to_json`.
    asked
        The fingerprint of the question that the result answers.
    edited, edited_from
        Edited rules, as text, and the index of the rule that each was made from.
    """

    file: str | None = None
    uploaded: bool = False
    na_values: tuple[str, ...] = ()
    target: str | None = None
    outcome: str | None = None
    direction: str = "increase"
    actionable: tuple[str, ...] = ()
    control: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    randomised: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    own_controls: bool = False
    options: dict[str, Any] = field(default_factory=dict, hash=False)
    graph: Drawing | None = None
    answers: dict[str, str] = field(default_factory=dict, hash=False)
    result: Any = field(default=None, hash=False)
    front: Any = field(default=None, hash=False)
    asked: str = ""
    edited: tuple[str, ...] = ()
    edited_from: dict[str, int] = field(default_factory=dict, hash=False)

    @property
    def source(self) -> str:
        """The name of the table's file."""
        return Path(self.file or "data").name

    @property
    def is_stepwise(self) -> bool:
        """Whether the question is for a list in which each rule adds to those above it."""
        pooled = self.options.get("estimator", default("estimator")) == "pooled"
        return pooled and self.options.get("stepwise") is not False

    def fingerprint(self) -> str:
        """Return a digest of everything that a search depends on, including the graph if it sets the controls."""
        asked = {name: to_json(getattr(self, name)) for name in _ASKED}
        asked["actionable"], asked["control"] = sorted(self.actionable), sorted(self.control)
        asked["graph"] = to_json(self.graph) if self.own_controls else None
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()

    def question(self) -> Question:
        """Return the question; an InputError says why it is invalid.

        The graph is checked on the page, so inadmissible rules are searched too, as associations.
        """
        if self.target is None:
            raise OptionError("pick the outcome first: click a column", parameter="target")
        graph = None if self.graph is None or not self.graph.nodes else self.graph.graph
        if self.own_controls and graph is None:
            raise OptionError("'auto' chooses controls by a causal graph: draw one", parameter="control")
        return Question(
            self.target,
            self.outcome,
            OWN_CONTROLS if self.own_controls else self.control,
            self.actionable,
            direction=self.direction,
            graph=graph,
            allow_inadmissible=graph is not None,
            randomised=self.randomised,
            categorical=self.categorical,
            na_values=self.na_values,
            **self.options,
        )

    def with_option(self, name: str, text: str) -> Workspace:
        """Return the workspace with an option from typed text; empty for its default."""
        if name not in (*FEW, *MORE):
            raise OptionError("there is no such option", parameter=name)
        kind = _KNOWN[name].kind
        options = {key: value for key, value in self.options.items() if key != name}
        if text.strip():
            typed = text if isinstance(kind, Column) else text.strip()
            try:
                value = text == "true" if isinstance(kind, Flag) else kind.read(typed)
            except ValueError as error:
                raise OptionError(str(error), parameter=name, value=shown(text)) from None
            if name == "holdout" and isinstance(value, str):
                raise OptionError("give a share such as 0.5", parameter=name, value=shown(text))
            checked = kind(name, value)
            if checked != default(name):
                options[name] = checked
        return replace(self, options=options)


def describe_options() -> list[dict[str, Any]]:
    """Return the description of the options for the page."""
    return [
        {
            "name": name,
            "few": name in FEW,
            "doc": _DOCS.get(name, _KNOWN[name].doc),
            "kind": "flag" if isinstance(kind, Flag) else "column" if isinstance(kind, Column) else "text",
            "words": list(getattr(kind, "words", ())) if name in ("estimator", "adjust", "missing") else [],
            "answers": _ANSWERS.get(name, {"true": "yes", "false": "no"}),
            "default": "true" if name == "stepwise" else written(default(name)),
        }
        for name, kind in ((name, _KNOWN[name].kind) for name in (*FEW, *MORE))
    ]


def written(value: Any) -> str:
    """Return the value of an option as text to edit."""
    return "" if value is None else "true" if value is True else "false" if value is False else f"{value}"


def arguments(question: Question) -> dict[str, Any]:
    """Return a question as the arguments of `discover` and `evaluate`."""
    return {name: getattr(question, name) for name in _KNOWN}


def beside(path: Path) -> Path:
    """Return the path of the workspace of a table."""
    stem = path.name
    for suffix in (".gz", ".csv", ".tsv", ".txt", ".parquet"):
        stem = stem.removesuffix(suffix)
    return path.with_name(f"{stem or path.name}{SUFFIX}")


def write(workspace: Workspace) -> str:
    """Return the workspace as JSON text."""
    return json.dumps({"schema": SCHEMA, **to_json(workspace)}, ensure_ascii=False, indent=1)


def save(workspace: Workspace, path: Path) -> None:
    """Write the workspace to its file, atomically."""
    replace_file(path, write(workspace) + "\n", "workspace to")


def read(text: str | bytes, name: str) -> Workspace:
    """Read a workspace from its JSON text; a DataError names the file and the invalid field."""
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name!r} is not a workspace of the studio: {error}") from None
    if not isinstance(payload, dict) or payload.get("schema") != SCHEMA:
        raise DataError(f"{name!r} is not a workspace of the studio: its schema is not {SCHEMA!r}")
    try:
        workspace: Workspace = from_json(Workspace, payload, "workspace")
        if workspace.graph is not None:
            workspace.graph.graph  # noqa: B018 -- an invalid graph is an error of the file
    except DataError as error:
        raise DataError(f"{name!r}: {error}") from None
    options = {key: value for key, value in workspace.options.items() if key in (*FEW, *MORE)}
    return replace(workspace, options=options)


def known(path: Path) -> Workspace:
    """Read a workspace from its file, or create one."""
    return load(path) if path.is_file() else Workspace()


def load(path: Path) -> Workspace:
    """Read a workspace from its file."""
    try:
        return read(path.read_bytes(), path.name)
    except FileNotFoundError:
        raise NoSuchFileError(f"no workspace {str(path)!r}") from None
    except OSError as error:
        raise FileError(f"cannot read the workspace {str(path)!r}: {error.strerror}") from error
