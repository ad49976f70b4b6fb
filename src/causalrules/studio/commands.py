"""The commands of the page, which validate their arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from causalrules.exceptions import InputError
from causalrules.graph.graph import CausalGraph
from causalrules.payload import from_json
from causalrules.studio import checks, measuring, opening, searches, verdict
from causalrules.studio.state import State
from causalrules.studio.workspace import Drawing, Workspace

_ROLES = ("actionable", "control", "context", None)
# The roles that a column keeps when it gets one: context may be a control too.
_BESIDE = {"control": {"context"}, "context": {"control"}}


class Commands:
    """The commands on a state: every public method is one, under the name that the page uses."""

    def __init__(self, state: State) -> None:
        self.state = state

    # The table

    def open(self, path: str) -> None:
        """Open a table, or a workspace and its table."""
        opening.open_path(self.state, str(path))

    def missing(self, values: Sequence[str]) -> None:
        """Set the texts that mean missing, and reread the table."""
        self.state.change(na_values=tuple(dict.fromkeys(map(str, values))))
        self.state.publish("table")
        opening.read_table(self.state)

    def column(self, name: str) -> dict[str, Any]:
        """Return the values of a column that conditions can be put on."""
        return measuring.cuts(self.state.opened(), name)

    def forget(self) -> None:
        """Clear everything but the table."""
        state = self.state
        with state.lock:
            kept = Workspace(file=state.workspace.file, uploaded=state.workspace.uploaded)
            state.worker.stop()
            state.begin(kept, state.saved, state.table, state.columns)
            state.save()
            state.publish("table")

    # The question

    def outcome(self, target: str | None, outcome: str | None = None, direction: str = "increase") -> None:
        """Set the outcome; the other columns become actionable when it is first set."""
        table = self.state.opened()
        with self.state.lock:
            asked = self.state.workspace
            if target is None:
                self.state.change(target=None, outcome=None)
                return
            table.require(target)
            if direction not in ("increase", "decrease"):
                raise InputError("a rule can increase or decrease the outcome")
            control, context = asked.control, tuple(name for name in asked.context if name != target)
            if asked.target is None and not asked.actionable:
                left_out = {each.name for each in self.state.columns if each.left_out is not None}
                counted = (asked.options.get(name) for name in ("weights", "groups"))
                taken = {target, *control, *context, *counted, *left_out}
                actionable = tuple(name for name in table.names if name not in taken)
            else:
                actionable = tuple(name for name in asked.actionable if name != target)
                control = tuple(name for name in control if name != target)
                if asked.target is not None and asked.target != target:
                    actionable += (asked.target,)
            self.state.change(
                target=target,
                outcome=outcome,
                direction=direction,
                actionable=actionable,
                control=control,
                context=context,
                randomised=tuple(name for name in asked.randomised if name in actionable),
            )

    def roles(self, changes: Sequence[Mapping[str, Any]]) -> None:
        """Give columns other roles: "actionable", "control", "context", or None to ignore them.

        Context may be a control too, so each of these roles leaves the other one. A change of None "from" one of them
        takes that role only.
        """
        table = self.state.opened()
        with self.state.lock:
            asked = self.state.workspace
            lists = {role: list(getattr(asked, role)) for role in _ROLES if role is not None}
            for change in changes:
                name, role = str(change["name"]), change["role"]
                table.require(name)
                if role not in _ROLES:
                    raise InputError(f"no role {role!r:.40}; the roles are actionable, control and context")
                if name == asked.target:
                    raise InputError(f"column {name!r:.80} is the outcome; pick another outcome first")
                if role is None and change.get("from") in ("control", "context"):
                    ended = {change["from"]}
                else:
                    ended = {"actionable", "control", "context"} - _BESIDE.get(role, set())
                for other in ended:
                    lists[other] = [each for each in lists[other] if each != name]
                if role is not None:
                    lists[role].append(name)
            changed = {role: tuple(names) for role, names in lists.items()}
            randomised = tuple(name for name in asked.randomised if name in changed["actionable"])
            self.state.change(**changed, randomised=randomised)

    def mark(self, names: Sequence[str], what: str, on: bool) -> None:
        """Declare that columns were assigned at random, or that their numbers are codes."""
        if what not in ("randomised", "categorical"):
            raise InputError("columns can be randomised or categorical")
        for name in names:
            self.state.opened().require(name)
        with self.state.lock:
            kept = [name for name in getattr(self.state.workspace, what) if name not in names]
            self.state.change(**{what: tuple([*kept, *names] if on else kept)})

    def own_controls(self, on: bool) -> None:
        """Set whether each rule has its own controls."""
        self.state.change(own_controls=bool(on))

    def option(self, name: str, text: str) -> None:
        """Set an option from the typed text."""
        with self.state.lock:
            changed = self.state.workspace.with_option(name, str(text))
            actionable, context = changed.actionable, changed.context
            if name in ("weights", "groups") and name in changed.options:
                self.state.opened().require(changed.options[name])
                actionable = tuple(each for each in actionable if each != changed.options[name])
            if name == "weights":
                context = tuple(each for each in context if each != changed.options.get(name))
            self.state.change(options=changed.options, actionable=actionable, context=context)

    # The graph

    def graph(self, drawing: Mapping[str, Any] | None) -> None:
        """Set the graph that was drawn; a GraphError says why it is invalid."""
        drawn = None if drawing is None else from_json(Drawing, drawing, "graph")
        self.state.change(graph=None if drawn is None else Drawing.of(drawn.graph, drawn.places))

    def graph_text(self, text: str) -> None:
        """Read a pasted graph: dagitty, DOT, GML or plain edges. The text is never taken for a file name."""
        if not text.strip():
            raise InputError("paste a graph, such as: size -> treatment -> success")
        graph = CausalGraph.read(f"{text.rstrip()}\n")
        with self.state.lock:
            drawing = self.state.workspace.graph or Drawing()
            self.state.change(graph=Drawing.of(graph, drawing.places))

    def remedy(self, roles: Sequence[Mapping[str, Any]], edges: Sequence[Mapping[str, Any]], add: str | None) -> None:
        """Apply a remedy: changes of roles, edges to replace or delete, and a variable to add."""
        state = self.state
        with state.lock:
            drawing = state.workspace.graph or Drawing()
            if add is not None:
                drawing = replace(drawing, nodes=(*drawing.nodes, str(add)))
            for edge in edges:
                drawing = drawing.with_edge(str(edge["from"]), str(edge["to"]), edge["arrow"], edge["to_arrow"])
            state.workspace = replace(state.workspace, graph=Drawing.of(drawing.graph, drawing.places))
            if roles:
                self.roles(roles)
            else:
                state.change()

    def suggest(self) -> dict[str, Any]:
        """Return admissible roles by the graph."""
        return verdict.suggested(self.state.workspace, self.state.opened().names)

    def answer(self, letter: str, answer: str) -> None:
        """Answer one of the questions that replace a graph."""
        if letter not in tuple("abcde") or answer not in ("yes", "no", "unsure", ""):
            raise InputError("answer one of (a) to (e) by yes, no or unsure")
        with self.state.lock:
            self.state.change(answers={**self.state.workspace.answers, letter: answer})

    # Long work

    def search(self, replacing: bool = False) -> None:
        """Search for the rules; if another search runs, wait for it or stop it."""
        searches.search(self.state, replacing)

    def front(self) -> None:
        """Search for the front of effect and coverage."""
        searches.front(self.state)

    def check(self, what: str) -> None:
        """Run a check of the rules."""
        searches.check(self.state, what)

    def stop(self) -> None:
        """Stop the running job; a search keeps its best rules."""
        self.state.worker.stop()

    def skip(self) -> None:
        """Cancel the waiting job."""
        self.state.worker.stop(running=False)

    # Rules

    def measure(
        self, rules: Sequence[Sequence[Mapping[str, Any]]], control: Sequence[str] | None, place: int = 0
    ) -> dict[str, Any]:
        """Measure rules while they are edited, and count the rows that the first two of them share.

        `place` is the index of the edited rule in the list: the columns of the rules above it are held fixed.
        """
        texts = [measuring.text_of(conditions) for conditions in rules]
        measured = measuring.measured(self.state, texts, int(place), control or ())
        shared = measuring.shared_rows(measured) if len(texts) > 1 else None
        return {**measuring.page_of(measured), "shared": shared}

    def keep(self, conditions: Sequence[Mapping[str, Any]], place: int = 0) -> None:
        """Add a rule to the list of edited rules."""
        state = self.state
        text = measuring.measured(state, [measuring.text_of(conditions)], int(place))[0].text
        with state.lock:
            edited, made = state.workspace.edited, state.workspace.edited_from
            if text not in edited:
                state.change(edited=(*edited, text), edited_from={**made, text: int(place)})

    def drop(self, place: int) -> None:
        """Remove an edited rule."""
        with self.state.lock:
            asked = self.state.workspace
            kept = tuple(text for at, text in enumerate(asked.edited) if at != place)
            made = {text: at for text, at in asked.edited_from.items() if text in kept}
            self.state.change(edited=kept, edited_from=made)

    def robust(self, place: int) -> dict[str, Any]:
        """Return the bounds on a rule's effect for increasing strengths of a hidden confounder."""
        rules = self.state.derived.rules()
        if rules is None or not 0 <= place < len(rules):
            raise InputError("there is no such rule")
        return checks.robust(rules, place)
