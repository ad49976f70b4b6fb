"""Controls for the rules on each set of columns (paper §3.1, but not necessarily the same for all rules).

For a rule on the columns S, the derivation of Theorem 1 needs controls Z that are not effects of S and that d-separate
S from the target in the graph without the edges out of S. Then for every joint value x of S, P(y | do(x), z) is
P(y | x, z), and P(z | do(x)) is P(z): the adjusted effect of a rule is the effect of the policy that sets its columns.
Columns of S may affect each other. Z may differ between sets S.

With context, Z must do so inside every group: given Z and, for each context column, an effect of it that stands for a
condition on it, as in `criteria`.

The separator of least cost is a minimum vertex cut between S and the target in the moral graph of their ancestors
(van der Zander, Liśkiewicz & Textor 2019). Sets of variables are the bits of integers here.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import operator
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from causalrules.exceptions import GraphError, OptionError
from causalrules.graph.backdoor import (
    GraphLinks,
    ancestors,
    completions,
    format_path,
    identify_rule,
    open_paths,
    unique_names,
    validate_roles,
)
from causalrules.graph.graph import CausalGraph
from causalrules.text import Summarised, listed

# Maximum number of sets of columns; more take too long.
MAX_SETS = 20_000
# Maximum number of sets times edges of the graph: some ten seconds.
_MOST_WORK = 1_500_000
# With unknown edges, all subsets of up to this many variables are tried as controls; of more, only likely ones.
_ALL_SUBSETS = 10
_MAX_SHOWN = 8
# Moral graphs of variables with more parents than this on average are computed by matrices.
_MANY_PARENTS = 8
# Costs are logarithms in these units, so that they are integers.
_UNIT = 2**20


@dataclass(frozen=True)
class Adjustment:
    """The controls of the rules on one set of columns.

    Parameters
    ----------
    columns
        The columns, sorted.
    control
        What rules on exactly these columns are adjusted for; None if no set of observed variables is valid.
    reason
        Why there are no controls; empty if there are.
    """

    columns: tuple[str, ...]
    control: tuple[str, ...] | None
    reason: str = ""


@dataclass(frozen=True)
class Adjustments(Summarised):
    """Controls for each set of actionable columns; true in a boolean context if at least one set has them.

    Parameters
    ----------
    max_length
        Maximum columns in a set.
    sets
        The sets, each with its controls, shorter sets first.

    Examples
    --------
    >>> graph = "smoking -> tar -> cancer; smoking -> cancer"
    >>> print(adjustments(graph, "cancer", ["smoking", "tar"]))
    Each rule with its own controls: 3 of 3 sets of up to 4 columns have some.
      adjusted for nothing: smoking; smoking and tar
      adjusted for smoking: tar
    """

    max_length: int
    sets: tuple[Adjustment, ...]

    def __bool__(self) -> bool:
        return bool(self.groups)

    @property
    def groups(self) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
        """The sets of columns that have controls, by their controls."""
        found: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for each in self.sets:
            if each.control is not None:
                found.setdefault(each.control, []).append(each.columns)
        return found

    @property
    def left_out(self) -> tuple[Adjustment, ...]:
        """The sets of columns without controls."""
        return tuple(each for each in self.sets if each.control is None)

    def explained(self) -> list[str]:
        """Return the reasons for leaving out sets of columns, the most frequent first, with the sets."""
        counts = Counter(each.reason for each in self.left_out)
        lines = []
        for reason, count in counts.most_common():
            names = [listed(each.columns) for each in self.left_out if each.reason == reason]
            shown = "; ".join(names[:_MAX_SHOWN]) + (f"; and {count - _MAX_SHOWN:,} more" if count > _MAX_SHOWN else "")
            lines.append(f"{reason}: {shown}")
        return lines

    def summary(self) -> str:
        """Describe the controls in plain words.

        Returns
        -------
        str

        Examples
        --------
        >>> print(adjustments("stress -> {smoking cancer}", "cancer", ["smoking"], observed=["smoking"]).summary())
        Each rule with its own controls: 0 of 1 set of up to 4 columns has some.
          left out, no observed set blocks smoking <- stress -> cancer: smoking
        """
        n_found, n_sets = len(self.sets) - len(self.left_out), len(self.sets)
        noun, verb = ("set", "has") if n_sets == 1 else ("sets", "have")
        lines = [
            f"Each rule with its own controls: {n_found:,} of {n_sets:,} {noun} of up to {self.max_length} columns "
            f"{verb} some."
        ]
        groups = sorted(self.groups.items(), key=lambda group: -len(group[1]))
        for control, sets in groups[:_MAX_SHOWN]:
            names = "; ".join(listed(columns) for columns in sets[:_MAX_SHOWN])
            more = f"; and {len(sets) - _MAX_SHOWN:,} more" if len(sets) > _MAX_SHOWN else ""
            lines.append(f"  adjusted for {_controls(control)}: {names}{more}")
        if len(groups) > _MAX_SHOWN:
            lines.append(f"  and {len(groups) - _MAX_SHOWN:,} more sets of controls.")
        reasons = self.explained()
        lines += [f"  left out, {reason}" for reason in reasons[:_MAX_SHOWN]]
        if len(reasons) > _MAX_SHOWN:
            lines.append(f"  and {len(reasons) - _MAX_SHOWN:,} more reasons.")
        return "\n".join(lines)


def adjustments(
    graph: object,
    target: str,
    actionable: Iterable[str],
    *,
    max_length: int | None = 4,
    observed: Iterable[str] | None = None,
    sizes: Mapping[str, int] | None = None,
    sets: Iterable[Iterable[str]] | None = None,
    held_fixed: Iterable[str] = (),
    context: Iterable[str] = (),
) -> Adjustments:
    """Return controls for every set of up to `max_length` actionable columns.

    Of all sets of controls that are valid for a set of columns, the one with the fewest combinations of values is
    taken (the product of the numbers of values of its variables); on a tie, the one with fewer variables, and then
    the one without the variable that comes last by name. Controls are never effects of the rule's columns.

    Where the graph has unknown edges, controls are valid only if they are in every graph that it allows. All sets of
    controls are tried where there are at most ten variables to choose from, and otherwise those that are best in one
    of these graphs, and their union.

    Parameters
    ----------
    graph
        The causal graph, in any form that `CausalGraph.read` accepts.
    target
        The variable with the outcome.
    actionable
        The variables that rules may contain.
    max_length
        Maximum columns of a rule; None for no limit.
    observed
        The variables that may be controls; by default all that are not latent.
    sizes
        The number of values of each variable; by default 2.
    sets
        The sets of columns of interest; by default all.
    held_fixed
        Variables that are always adjusted for; the controls are those needed in addition.
    context
        Variables that describe groups: the controls are valid inside every group of conditions on them.

    Returns
    -------
    Adjustments

    Examples
    --------
    >>> found = adjustments("a -> b -> y; a -> y", "y", ["a", "b"], max_length=1)
    >>> [(each.columns, each.control) for each in found.sets]
    [(('a',), ()), (('b',), ('a',))]
    >>> print(adjustments("a -> b -> y; a -> y", "y", ["a"], held_fixed=["b"]).sets[0].reason)
    with b held fixed, what the rule does by way of it would be left out
    """
    causal_graph = CausalGraph.read(graph)
    names, w = sorted(unique_names(actionable)), unique_names(context)
    nodes = set(causal_graph.nodes)
    absent = [name for name in (*names, *w) if name not in nodes]
    validate_roles(causal_graph, {"target": (target,), "actionable": tuple(names), "context": w}, columns=absent)
    candidates = nodes if observed is None else nodes.intersection(unique_names(observed))
    held = sorted(unique_names(held_fixed))
    candidates = candidates - causal_graph.latent - {target, *held}
    chosen = _every_set(names, max_length) if sets is None else sorted({tuple(sorted(each)) for each in sets})
    n_edges = len(causal_graph.directed) + len(causal_graph.bidirected) + len(causal_graph.unknown)
    if len(chosen) * n_edges > _MOST_WORK:
        raise OptionError(
            f"{len(chosen):,} sets of columns in a graph of {len(nodes):,} variables and {n_edges:,} edges: finding "
            "controls for each would take too long; name fewer actionable columns, choose a smaller max_length, or "
            "leave out variables that do not matter",
            parameter="max_length",
            value=str(max_length),
        )
    finder = _Finder(causal_graph, target, candidates, sizes or {}, held, w)
    longest = len(names) if max_length is None else max_length
    return Adjustments(longest, tuple(finder.adjustment(columns) for columns in chosen))


def _n_sets(n_names: int, longest: int) -> int:
    return sum(math.comb(n_names, length) for length in range(1, longest + 1))


def _every_set(names: Sequence[str], max_length: int | None) -> Sequence[tuple[str, ...]]:
    """Return all sets of up to `max_length` names; raise an OptionError if there are too many."""
    longest = len(names) if max_length is None else min(max_length, len(names))
    n_sets = _n_sets(len(names), longest)
    if n_sets > MAX_SETS:
        remedy = "name fewer actionable columns, or choose a smaller max_length"
        if max_length is None:
            fits = [most for most in range(1, longest) if _n_sets(len(names), most) <= MAX_SETS]
            remedy = f"name fewer actionable columns, or max_length={max(fits)}" if fits else remedy
        raise OptionError(
            f"{len(names)} actionable columns have {n_sets:,} sets of up to {longest}, and each has controls of its "
            f"own; at most {MAX_SETS:,} are possible: {remedy}",
            parameter="max_length",
            value=str(max_length),
        )
    return [each for length in range(1, longest + 1) for each in itertools.combinations(names, length)]


def _controls(control: Sequence[str]) -> str:
    return listed(control) if control else "nothing"


class _Finder:
    """Find controls in one graph, or in all completions of a graph with unknown edges."""

    def __init__(
        self,
        graph: CausalGraph,
        target: str,
        candidates: Collection[str],
        sizes: Mapping[str, int],
        held_fixed: Collection[str] = (),
        context: Collection[str] = (),
    ) -> None:
        self.graph, self.target, self.held_fixed, self.context = graph, target, tuple(held_fixed), tuple(context)
        self.links = GraphLinks(graph)
        self.place = {name: place for place, name in enumerate(graph.nodes)}
        self.candidates = sorted(candidates)
        grouped = [self.place[name] for name in context if name in self.place]
        self.given = sum(1 << self.place[name] for name in held_fixed)
        self.given += sum(1 << len(self.place) + number for number in range(len(grouped)))
        # Lexicographic costs: combinations of values, then number of variables, then names.
        n = len(self.candidates)
        self.cost: dict[int, int] = {}
        for number, name in enumerate(self.candidates):
            combinations = round(math.log2(max(sizes.get(name, 2), 2)) * _UNIT)
            self.cost[self.place[name]] = ((combinations * (n + 1) + 1) << n) + (1 << number)
        # Where completions are too many to enumerate, a few suggest controls, which are then tested by the edge marks.
        graphs = completions(graph) if self.links.can_enumerate else _some_completions(graph)
        self.completions = [_Completion(one, self.place, target, grouped) for one in graphs]

    def adjustment(self, columns: tuple[str, ...]) -> Adjustment:
        """Return the controls of a set of columns, or why there are none."""
        if outside := [name for name in (*columns, *self.context) if name not in self.place]:
            return Adjustment(columns, None, f"the graph does not contain {listed(outside)}")
        x = sum(1 << self.place[name] for name in columns)
        effects = 0
        for completion in self.completions:
            effects |= completion.effects(x)
        if between := [name for name in self.held_fixed if effects >> self.place[name] & 1]:
            verb = f"with {listed(between)} held fixed, what the rule does by way of"
            return Adjustment(columns, None, f"{verb} {'it' if len(between) == 1 else 'them'} would be left out")
        if after := [name for name in self.context if effects >> self.place[name] & 1]:
            return Adjustment(columns, None, f"groups by {listed(after)} would be formed by what the rule does")
        cost = {place: its_cost for place, its_cost in self.cost.items() if not effects >> place & 1}
        for z in self._trials(x, cost):
            if not self.graph.unknown or self._is_valid(columns, x, z):
                return Adjustment(columns, self._names(z))
        return Adjustment(columns, None, self._obstacle(columns, cost))

    def _trials(self, x: int, cost: Mapping[int, int]) -> Iterable[int]:
        """Return sets of controls to try, best first; without unknown edges, only the best."""
        if self.graph.unknown and self.links.can_enumerate and len(cost) <= _ALL_SUBSETS:
            bits = [1 << place for place in cost]
            sizes = range(len(bits) + 1)
            trials = {sum(chosen) for size in sizes for chosen in itertools.combinations(bits, size)}
        else:
            cheapest = [completion.cheapest(x, cost, self.given) for completion in self.completions]
            trials = {z for z in cheapest if z is not None}
            if self.graph.unknown:
                trials.add(functools.reduce(operator.or_, trials, 0))
        return sorted(trials, key=lambda z: sum(its_cost for place, its_cost in cost.items() if z >> place & 1))

    def _is_valid(self, columns: tuple[str, ...], x: int, z: int) -> bool:
        if self.links.can_enumerate:
            return all(completion.separates(x, z | self.given) for completion in self.completions)
        control = (*self._names(z), *self.held_fixed)
        return bool(
            identify_rule(self.graph, target=self.target, variables=columns, control=control, context=self.context)
        )

    def _names(self, z: int) -> tuple[str, ...]:
        return tuple(name for name in self.candidates if z >> self.place[name] & 1)

    def _obstacle(self, columns: tuple[str, ...], cost: Mapping[int, int]) -> str:
        """Return why there are no controls: a path that stays open even if every candidate is a control."""
        if self.graph.unknown:
            return "no observed set is valid in every graph that the unknown edges allow"
        links = self.links.certain
        before = ancestors(links, [self.target, *columns, *self.context])
        control = {name for name in self._names(sum(1 << place for place in cost)) if name in before}
        control |= set(self.held_fixed)
        opened = ancestors(links, control.union(self.context))
        path = min((path for _, path in open_paths(links, self.target, set(columns), control, opened)), key=len)
        inside = range(2, len(path) - 2, 2)
        colliders = [path[at] for at in inside if path[at - 1].endswith(">") and path[at + 1].startswith("<")]
        if grouped := [name for name in colliders if name in self.context]:
            return f"groups by {listed(grouped)} open {format_path(path)}"
        if any(path[at] in control for at in inside):
            return f"whatever blocks the other paths opens {format_path(path)}"
        return f"no observed set blocks {format_path(path)}"


def _some_completions(graph: CausalGraph) -> Iterator[CausalGraph]:
    """Yield the acyclic graphs in which all unknown edges are of the same kind."""
    backward = tuple((b, a) for a, b in graph.unknown)
    for directed, bidirected in (((), graph.unknown), (graph.unknown, ()), (backward, ())):
        with contextlib.suppress(GraphError):
            yield CausalGraph(
                graph.nodes, graph.directed + directed, graph.bidirected + bidirected, latent=graph.latent
            )


class _Completion:
    """A graph without unknown edges.

    Every bidirected edge gets a node, the unobserved cause of both ends; so does every context column, `grouped`: an
    effect of it, a condition that forms a group.
    """

    def __init__(
        self, graph: CausalGraph, place: Mapping[str, int], target: str, grouped: Collection[int] = ()
    ) -> None:
        n_nodes = len(graph.nodes) + len(grouped)
        self.target = place[target]
        self.parents = [0] * (n_nodes + len(graph.bidirected))
        for number, column in enumerate(grouped, len(graph.nodes)):
            self.parents[number] = 1 << column
        for cause, effect in graph.directed:
            self.parents[place[effect]] |= 1 << place[cause]
        for number, pair in enumerate(graph.bidirected, n_nodes):
            for name in pair:
                self.parents[place[name]] |= 1 << number
        self.is_dense = sum(each.bit_count() for each in self.parents) > _MANY_PARENTS * len(self.parents)
        self.children = [0] * len(self.parents)
        for child, parents in enumerate(self.parents):
            for parent in _bits(parents):
                self.children[parent] |= 1 << child

    def effects(self, x: int) -> int:
        """Return the variables of x and all their effects."""
        return _closure(x, self.children)

    def _moral(self, x: int, z: int) -> dict[int, int]:
        """Return the neighbours in the moral graph of the ancestors of x, z and the target, without edges out of x."""
        parents = [each & ~x for each in self.parents]
        before = _closure(x | z | 1 << self.target, parents)
        if self.is_dense:
            return self._large_moral(x, before)
        neighbours: dict[int, int] = {}
        for node in _bits(before):
            family = parents[node] | 1 << node
            for member in _bits(family):
                neighbours[member] = neighbours.get(member, 0) | family
        return neighbours

    def _large_moral(self, x: int, before: int) -> dict[int, int]:
        """`_moral` for many variables, with matrices; `before` are the variables of the ancestral graph."""
        nodes = list(_bits(before))
        families = self._families[nodes].copy()
        families[:, list(_bits(x))] = 0
        families[np.arange(len(nodes)), nodes] = 1
        together = np.packbits(families.T @ families > 0, axis=1, bitorder="little")
        return {node: int.from_bytes(together[node].tobytes(), "little") for node in nodes}

    @functools.cached_property
    def _families(self) -> NDArray[np.float32]:
        """Adjacency matrix: for each node, 1 for its parents."""
        families = np.zeros((len(self.parents),) * 2, np.float32)
        for child, parents in enumerate(self.parents):
            families[child, list(_bits(parents))] = 1
        return families

    def separates(self, x: int, z: int) -> bool:
        """Return whether z contains no effect of x and d-separates x from the target without the edges out of x."""
        if z & self.effects(x):
            return False
        neighbours = self._moral(x, z)
        open_neighbours = [neighbours.get(node, 0) & ~z for node in range(len(self.parents))]
        return not _closure(x, open_neighbours) >> self.target & 1

    def cheapest(self, x: int, cost: Mapping[int, int], given: int = 0) -> int | None:
        """Return the set of least cost that, together with `given`, d-separates x from the target, or None.

        A minimum vertex cut, by augmenting flows along shortest paths (Edmonds & Karp 1972).
        """
        moral = self._moral(x, given)
        neighbours = {node: each & ~given for node, each in moral.items() if not given >> node & 1}
        blocked = sum(1 << place for place in cost)
        uncut = [neighbours.get(node, 0) & ~blocked for node in range(len(self.parents))]
        if _closure(x, uncut) >> self.target & 1:
            return None
        # Common neighbours of both must be in the cut.
        needed = neighbours.get(self.target, 0) & ~x & ~(1 << self.target)
        needed &= functools.reduce(operator.or_, (neighbours[node] for node in _bits(x)), 0)
        if needed:
            neighbours = {node: each & ~needed for node, each in neighbours.items() if not needed >> node & 1}
            cost = {place: its_cost for place, its_cost in cost.items() if not needed >> place & 1}
        network = _Network(neighbours, cost)
        while True:
            reached = network.reachable(x, self.target)
            if (self.target, True) not in reached:
                cut = (place for place in cost if (place, True) in reached and (place, False) not in reached)
                return needed | sum(1 << place for place in cut)
            path = [(self.target, True)]
            while (before := reached[path[-1]]) is not None:
                path.append(before)
            path.reverse()
            steps = list(itertools.pairwise(path))
            room = min(network.residual(a, b) for a, b in steps)
            for a, b in steps:
                network.push(a, b, room)


# The side of a node where flow enters (True) or leaves (False).
_Side = tuple[int, bool]


class _Network:
    """A flow network with node capacities: the flow through a node is at most its cost."""

    def __init__(self, neighbours: Mapping[int, int], cost: Mapping[int, int]) -> None:
        self.neighbours, self.cost = neighbours, cost
        self.unlimited = sum(cost.values()) + 1
        self.through: dict[int, int] = dict.fromkeys(neighbours, 0)
        self.flow: dict[tuple[int, int], int] = {}
        # For each node, the nodes with flow into it.
        self.sources: dict[int, int] = dict.fromkeys(neighbours, 0)

    def residual(self, a: _Side, b: _Side) -> int:
        """Return the residual capacity between the two sides of a node, or between neighbours."""
        (node, enters), (other, _) = a, b
        if node == other:
            used = self.through[node]
            return self.cost.get(node, self.unlimited) - used if enters else used
        return self.flow.get((other, node), 0) if enters else self.unlimited

    def push(self, a: _Side, b: _Side, amount: int) -> None:
        """Add flow, or cancel flow in the opposite direction."""
        (node, enters), (other, _) = a, b
        if node == other:
            self.through[node] += amount if enters else -amount
            return
        source, sink = (other, node) if enters else (node, other)
        self.flow[source, sink] = self.flow.get((source, sink), 0) + (-amount if enters else amount)
        bit = 1 << source
        self.sources[sink] = self.sources[sink] | bit if self.flow[source, sink] else self.sources[sink] & ~bit

    def reachable(self, x: int, target: int) -> dict[_Side, _Side | None]:
        """Return the sides reachable from x in the residual network, with their predecessors, up to the target."""
        reached: dict[_Side, _Side | None] = {(node, False): None for node in _bits(x)}
        # The nodes whose leaving side is reached, and those whose entering side is.
        found = {False: x, True: 0}
        pending = deque(reached)
        while pending and not found[True] >> target & 1:
            side = pending.popleft()
            node, enters = side
            others = self.sources[node] if enters else self.neighbours[node] & ~(1 << node)
            if self.residual(side, (node, not enters)):
                others |= 1 << node
            others &= ~found[not enters]
            found[not enters] |= others
            for other in _bits(others):
                reached[other, not enters] = side
                pending.append((other, not enters))
        return reached


def _bits(mask: int) -> Iterator[int]:
    """Yield the positions of the bits that are set."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _closure(start: int, neighbours: Sequence[int]) -> int:
    """Return these nodes and all nodes reachable from them."""
    found = pending = start
    while pending:
        low = pending & -pending
        new = neighbours[low.bit_length() - 1] & ~found
        found |= new
        pending = (pending ^ low) | new
    return found
