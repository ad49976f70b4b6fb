"""The smallest changes of roles that fix a violation; each is checked before it is suggested."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from causalrules.graph.backdoor import GraphLinks
from causalrules.graph.criteria import MAX_WORK, Assessment, Role, Violation, assess
from causalrules.text import plain


class _Change(NamedTuple):
    """Give a variable another role, or none."""

    name: str
    role: Role | None

    def text(self, before: Mapping[str, Role], context: Collection[str]) -> str:
        """Describe the change."""
        if self.role == "control":
            return f"make {plain(self.name)} a control" + " too" * (self.name in context)
        groups = {"actionable": ["actionable variables"], "control": ["controls"]}.get(before.get(self.name, ""), [])
        groups += ["context"] * (self.name in context)
        return f"remove {plain(self.name)} from the {' and the '.join(groups)}"


_Changes = tuple[_Change, ...]
# Context columns that are tried for removal, where a path may be open because of them.
_MOST_CONTEXT = 8


class Remedy(NamedTuple):
    """Changes of roles that fix a violation, with a description."""

    text: str
    changes: _Changes


class Remedies:
    """Find remedies for the violations of one assessment."""

    def __init__(
        self,
        links: GraphLinks,
        role: Mapping[str, Role],
        context: Collection[str],
        assessment: Assessment,
        observable: set[str],
    ) -> None:
        self.links, self.role, self.context = links, role, set(context)
        self.assessment, self.observable = assessment, observable
        self._assessed: dict[_Changes, Assessment | None] = {}
        self._work = 0

    def for_violation(self, violation: Violation) -> tuple[Remedy, ...]:
        """Return all single changes that fix a violation, or else all pairs of changes."""
        singles: list[_Changes] = [(change,) for change in self._candidates(violation)]
        found = self._effective(violation, singles) or self._effective(violation, self._pairs(violation, singles))
        return tuple(found) or (Remedy(f"{self._text(singles[-1])}, then check again", singles[-1]),)

    def _text(self, changes: _Changes) -> str:
        return " and ".join(change.text(self.role, self.context) for change in changes)

    def _candidates(self, violation: Violation) -> list[_Change]:
        """Return the changes that affect this violation; the last always removes it."""
        a, b = violation.edge
        if violation.is_effect:
            return [_Change(b, None)]
        actionable = [name for name in (a, b) if self.role.get(name) == "actionable"]
        # Controls may affect actionable variables, so the cause of an edge can become one.
        can_be_control = violation.path[1] == "->" and violation.criterion in ("c", "d") and b in actionable
        changes = [_Change(a, "control")] if can_be_control and a in self.observable else []
        if violation.criterion in ("b", "f"):
            changes.append(_Change(b, None))
        elif violation.criterion == "d":
            # Paths that collide in a context column are open because of it.
            changes += [_Change(name, None) for name in sorted(self.context.difference(self.role))[:_MOST_CONTEXT]]
        return changes + [_Change(name, None) for name in reversed(actionable)]

    def _pairs(self, violation: Violation, singles: Iterable[_Changes]) -> list[_Changes]:
        """Return pairs of changes: one for the violation, one for what the first leaves or causes."""
        pairs: dict[_Changes, None] = {}
        for (first,) in singles:
            after = self._after((first,))
            if after is None:
                continue
            new = [one for key, one in after.violations.items() if key not in self.assessment.violations]
            for left in [after.violations.get(violation.key, violation), *new][:8]:
                for second in self._candidates(left):
                    if second.name != first.name:
                        pairs[tuple(sorted((first, second), key=lambda change: change.name))] = None
        return list(pairs)

    def _effective(self, violation: Violation, trials: Iterable[_Changes]) -> list[Remedy]:
        """Describe the changes that remove a violation without causing another, then those that make it harmless."""
        removing, mitigating = [], []
        before, key = self.assessment, violation.key
        for changes in trials:
            after = self._after(changes)
            if after is None:
                continue
            text = self._text(changes)
            if key not in after.violations and after.violations.keys() <= before.violations.keys():
                removing.append(Remedy(text, changes))
            elif key in before.harmful and key not in after.harmful and after.harmful <= before.harmful:
                text = f"{text} (leaves a harmless violation: the effect is identified)"
                mitigating.append(Remedy(text, changes))
        return removing + mitigating

    def _after(self, changes: _Changes) -> Assessment | None:
        """Assess the roles after these changes; None beyond the limit on work."""
        if changes not in self._assessed:
            self._work += self.links.size * (1 + min(len(self.assessment.violations), len(self.role)))
            self._assessed[changes] = self._assess(changes) if self._work <= MAX_WORK else None
        return self._assessed[changes]

    def _assess(self, changes: _Changes) -> Assessment:
        role = {name: its_role for name, its_role in self.role.items() if name not in dict(changes)}
        role |= {change.name: change.role for change in changes if change.role is not None}
        context = self.context.difference(change.name for change in changes if change.role is None)
        return assess(self.links, role, context)
