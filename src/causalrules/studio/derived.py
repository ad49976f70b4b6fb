"""Values derived from the state of a studio, cached until their inputs change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from causalrules.exceptions import CausalRulesError
from causalrules.language.outcome import resolve_outcome
from causalrules.result.result import with_graph
from causalrules.studio import measuring, sentences, verdict

if TYPE_CHECKING:
    from causalrules.graph.admissibility import Admissibility
    from causalrules.rules import RuleSet
    from causalrules.studio.state import State

T = TypeVar("T")


class Derived:
    """Cached values derived from a state."""

    def __init__(self, state: State) -> None:
        self._state = state
        # By name: the input objects, the key, and the cached value.
        self._cache: dict[str, tuple[tuple[object, ...], object, Any]] = {}

    def _cached(self, name: str, objects: tuple[object, ...], key: object, make: Callable[[], T]) -> T:
        """Return the cached value; compute it again if an object is not identical or the key not equal."""
        known = self._cache.get(name)
        if known is None or any(a is not b for a, b in zip(known[0], objects, strict=True)) or known[1] != key:
            known = self._cache[name] = objects, key, make()
        made: T = known[2]
        return made

    def level(self) -> tuple[str, str]:
        """Describe how often the outcome happens, or return the error."""
        table, asked = self._state.table, self._state.workspace
        target, weights = asked.target, asked.options.get("weights")
        if table is None or target is None:
            return "", ""

        def make() -> tuple[str, str]:
            try:
                observed = table.observed(target, weights)
                outcome = resolve_outcome(observed, target, asked.outcome)
                return sentences.level_of(outcome, observed.histogram(target)), ""
            except CausalRulesError as error:
                return "", str(error)

        return self._cached("level", (table,), (target, asked.outcome, weights), make)

    def judged(self) -> tuple[Admissibility | None, dict[str, Any]]:
        """Return the check of the roles by the graph, for everybody, or None; and its view for the page.

        The view is also about effects inside groups by the context.
        """
        table, asked = self._state.table, self._state.workspace
        edges = None if asked.graph is None else replace(asked.graph, places={})
        options = [asked.options.get(name) for name in ("weights", "max_length")]
        key = edges, asked.target, asked.actionable, asked.control, asked.context, asked.own_controls, options
        names = () if table is None else table.names
        return self._cached("judged", (table,), key, lambda: verdict.judge(asked, names))

    @property
    def is_stale(self) -> bool:
        """Whether the rules answer another question than the current one, also by a changed default."""
        rules, asked = self._state.rules, self._state.workspace
        if rules is None:
            return False
        return asked.asked != asked.fingerprint() or rules.question.is_stepwise != asked.is_stepwise

    def rules(self, name: str = "rules") -> RuleSet | None:
        """Return the rules, or the front, checked by the graph on the canvas.

        Rules that answer another question than the current one are unchanged.
        """
        rules: RuleSet | None = getattr(self._state, name)
        if rules is None or self.is_stale or self._state.workspace.own_controls:
            return rules
        found, drawing = self.judged()[0], self._state.workspace.graph
        graph = None if drawing is None or found is None else drawing.graph
        if (rules.graph, rules.admissibility) == (graph, found):
            return rules
        return self._cached(name, (rules,), (graph, found), lambda: with_graph(rules, graph, found))

    def answer(self) -> RuleSet | None:
        """Return the rules if they answer the current question."""
        return None if self.is_stale else self.rules()

    def page(self, name: str = "rules") -> dict[str, Any] | None:
        """Return the view of the rules, or of the front."""
        rules = self.rules(name)
        return None if rules is None else self._cached(f"{name} view", (rules,), (), lambda: measuring.page_of(rules))

    def edited(self) -> dict[str, Any] | None:
        """Return the view of the edited rules, or why they cannot be measured."""
        table, asked = self._state.table, self._state.workspace
        if not asked.edited or table is None or asked.target is None:
            return None

        def make() -> dict[str, Any]:
            try:
                return measuring.page_of(measuring.kept(self._state))
            except CausalRulesError as error:
                return {"error": str(error)}

        key = asked.edited, asked.fingerprint(), self.judged()[0]
        return self._cached("edited", (table, self._state.rules), key, make)
