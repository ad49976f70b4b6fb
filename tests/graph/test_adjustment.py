"""Controls for every set of columns, against brute force and exact joint distributions."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Iterable
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causalrules.exceptions import OptionError, RoleError
from causalrules.graph import adjustment
from causalrules.graph.adjustment import adjustments
from causalrules.graph.admissibility import Admissibility, check
from causalrules.graph.backdoor import identify_rule
from causalrules.graph.graph import CausalGraph
from causalrules.graph.suggestions import suggest
from structural_models import Values, adjusted, after_intervention, complement, random_model

NAMES = ("a", "b", "c", "d", "e", "f")


@st.composite
def graphs(draw: st.DrawFn, unknown: bool = False, max_nodes: int = 7) -> CausalGraph:
    """Draw graphs of up to seven variables in any order, some of them latent, with all kinds of edges."""
    order = draw(st.permutations((*NAMES[: draw(st.integers(1, max_nodes - 1))], "y")))
    kinds = ["", "", "->", "->", "<->"] + ["--"] * unknown
    edges: dict[str, list[tuple[str, str]]] = {kind: [] for kind in kinds}
    for pair in itertools.combinations(order, 2):
        edges[draw(st.sampled_from(kinds))].append(pair)
    kept = edges.get("--", [])[:3]
    latent = draw(st.sets(st.sampled_from(order), max_size=2)) - {"y"}
    return CausalGraph(
        tuple(sorted(order)), tuple(edges["->"]), tuple(edges["<->"][:4]), tuple(kept), frozenset(latent)
    )


def explicit(graph: CausalGraph) -> nx.DiGraph:
    """Return the graph with a node for each unobserved common cause."""
    found = nx.DiGraph(graph.directed)
    found.add_nodes_from(graph.nodes)
    for number, pair in enumerate(graph.bidirected):
        found.add_edges_from((number, name) for name in pair)
    return found


def is_valid(graph: nx.DiGraph, columns: set[str], control: set[str], context: Iterable[str] = ()) -> bool:
    """Return whether the condition of Theorem 1 holds inside groups, by networkx: given an effect of each context."""
    without = graph.copy()
    without.add_edges_from((name, f"group by {name}") for name in context)
    given = control | {f"group by {name}" for name in context}
    if any(nx.descendants(without, name) & given for name in columns):
        return False
    without.remove_edges_from(list(graph.out_edges(columns)))
    return bool(nx.is_d_separator(without, columns, {"y"}, given))


def allowed_graphs(graph: CausalGraph) -> list[nx.DiGraph]:
    """Return every graph that the unknown edges allow."""
    found = []
    for kinds in itertools.product(("->", "<-", "<->"), repeat=len(graph.unknown)):
        directed, bidirected = list(graph.directed), list(graph.bidirected)
        for (a, b), kind in zip(graph.unknown, kinds, strict=True):
            (bidirected if kind == "<->" else directed).append((b, a) if kind == "<-" else (a, b))
        if nx.is_directed_acyclic_graph(nx.DiGraph(directed)):
            found.append(explicit(CausalGraph(graph.nodes, tuple(directed), tuple(bidirected))))
    return found


# The possible readings of each edge.
MAY_BE: dict[str, list[tuple[str, ...]]] = {
    "->": [("->",)],
    "<->": [("<->",)],
    "--": [("->",), ("<-",), ("<->",)],
    "o->": [("->",), ("<->",), ("->", "<->")],
    "o-o": [("->",), ("<-",), ("<->",), ("->", "<->"), ("<-", "<->")],
}


@st.composite
def drawings(draw: st.DrawFn) -> list[tuple[str, str, str]]:
    """Draw edges of every kind between up to five variables, at most three of them ambiguous."""
    order = draw(st.permutations((*NAMES[: draw(st.integers(1, 4))], "y")))
    kinds = ["", "", "->", "->", "<->", "--", "o->", "o-o", "o-o"]
    edges = [(a, draw(st.sampled_from(kinds)), b) for a, b in itertools.combinations(order, 2)]
    uncertain = [edge for edge in edges if len(MAY_BE.get(edge[1], "")) > 1][:3]
    return [edge for edge in edges if edge[1] in ("->", "<->") or edge in uncertain]


@settings(max_examples=30, deadline=None)
@given(drawings())
def test_controls_are_valid_in_every_graph_that_circles_allow(edges: list[tuple[str, str, str]]) -> None:
    names = sorted({"y", *(name for a, _, b in edges for name in (a, b))})
    graph = CausalGraph.read("\n".join(["dag {", *names, *(f"{a} {arrow} {b}" for a, arrow, b in edges), "}"]))
    assert CausalGraph.read(graph.to_dagitty()) == graph
    possible = []
    for chosen in itertools.product(*(MAY_BE[arrow] for _, arrow, _ in edges)):
        arrows = [(a, each, b) for (a, _, b), kinds in zip(edges, chosen, strict=True) for each in kinds]
        directed = [(b, a) if arrow == "<-" else (a, b) for a, arrow, b in arrows if arrow != "<->"]
        if nx.is_directed_acyclic_graph(nx.DiGraph(directed)):
            both = [(a, b) for a, arrow, b in arrows if arrow == "<->"]
            possible.append(explicit(CausalGraph(tuple(names), tuple(directed), tuple(both))))
    for each in adjustments(graph, "y", [name for name in names if name != "y"], max_length=2).sets:
        others = [name for name in names if name != "y" and name not in each.columns]
        valid = [
            control
            for control in subsets(others)
            if all(is_valid(one, set(each.columns), set(control)) for one in possible)
        ]
        assert each.control in valid if valid else each.control is None, each


def subsets(names: list[str]) -> list[tuple[str, ...]]:
    return [each for size in range(len(names) + 1) for each in itertools.combinations(names, size)]


@settings(max_examples=60, deadline=None)
@given(st.one_of(graphs(), graphs(unknown=True, max_nodes=6)), st.data())
def test_controls_are_the_best_of_all_valid_sets_and_none_only_if_there_is_none(
    graph: CausalGraph, data: st.DataObject
) -> None:
    observed = [name for name in graph.nodes if name not in graph.latent and name != "y"]
    sizes = {name: data.draw(st.sampled_from((2, 3, 4)), label=f"values of {name}") for name in observed}
    allowed = sorted(data.draw(st.sets(st.sampled_from(observed)))) if observed else []
    context = sorted(data.draw(st.sets(st.sampled_from(observed), max_size=3))) if observed else []
    actionable = [name for name in observed if name not in context]
    drawings = allowed_graphs(graph)
    found = adjustments(graph, "y", actionable, max_length=3, observed=allowed, sizes=sizes, context=context)
    wanted = [columns for columns in subsets(actionable) if 0 < len(columns) <= 3]
    assert [each.columns for each in found.sets] == wanted
    for each in found.sets:
        others = [name for name in allowed if name not in each.columns]
        valid = [
            control
            for control in subsets(others)
            if all(is_valid(drawing, set(each.columns), set(control), context) for drawing in drawings)
        ]
        best = min(
            valid,
            key=lambda control: (
                sum(round(math.log2(sizes[name]) * 2**20) for name in control),
                len(control),
                sorted(control, reverse=True),
            ),
            default=None,
        )
        assert each.control == best, each
        if best is not None:
            assert identify_rule(graph, target="y", variables=each.columns, control=best, context=context)
        else:
            assert each.reason


@st.composite
def orders(draw: st.DrawFn) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Draw the causes of each variable, in causal order, and the latent variables."""
    names = draw(st.permutations(("a", "b", "c", "d", "e", "y")))[draw(st.integers(0, 2)) :]
    names = names if "y" in names else [*names, "y"]
    causes = {name: tuple(cause for cause in names[:place] if draw(st.booleans())) for place, name in enumerate(names)}
    return causes, tuple(draw(st.sets(st.sampled_from([name for name in names if name != "y"]), max_size=2)))


@settings(max_examples=20, deadline=None)
@given(orders(), st.data())
def test_the_adjusted_effect_of_every_offered_rule_is_that_of_intervening(
    case: tuple[dict[str, tuple[str, ...]], tuple[str, ...]], data: st.DataObject
) -> None:
    causes, latent = case
    sizes = {name: data.draw(st.integers(2, 3)) if name in "ab" else 2 for name in causes}
    model = random_model(causes, sizes, data.draw(st.integers(0, 2**32 - 1)))
    graph = CausalGraph(
        tuple(causes),
        tuple((cause, name) for name, its_causes in causes.items() for cause in its_causes),
        latent=frozenset(latent),
    )
    actionable = [name for name in causes if name != "y" and name not in latent]
    for each in adjustments(graph, "y", actionable, max_length=3).sets:
        if each.control is None:
            continue
        values = {name: data.draw(st.integers(0, sizes[name] - 1)) for name in each.columns}

        def rule(world: Values, values: Values = values) -> bool:
            return all(world[name] == value for name, value in values.items())

        effect = after_intervention(model, rule, each.columns, each.control)
        effect -= after_intervention(model, complement(rule), each.columns, each.control)
        estimand = adjusted(model, rule, each.control) - adjusted(model, complement(rule), each.control)
        assert estimand == pytest.approx(effect, abs=1e-10)


def test_a_set_without_controls_says_which_path_stays_open() -> None:
    found = adjustments(
        "stress -> {smoking cancer}; smoking -> tar -> cancer",
        "cancer",
        ["smoking", "tar"],
        observed=["smoking", "tar"],
    )
    assert [(each.columns, each.control) for each in found.sets] == [
        (("smoking",), None),
        (("tar",), ("smoking",)),
        (("smoking", "tar"), None),
    ]
    assert found.sets[0].reason == "no observed set blocks smoking <- stress -> cancer"
    assert found.explained() == ["no observed set blocks smoking <- stress -> cancer: smoking; smoking and tar"]
    # Conditioning on z blocks x <- z -> y but opens the path through the unobserved causes of z.
    found = adjustments("z -> {x y}; x <-> z; z <-> y", "y", ["x"])
    assert found.sets[0].reason == "whatever blocks the other paths opens x <-> z <-> y"


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 3))
def test_dense_graphs_give_the_same_controls(seed: int, n_columns: int) -> None:
    rng = random.Random(seed)
    names = [f"v{number:02}" for number in range(30)]
    directed = [pair for pair in itertools.combinations([*names, "y"], 2) if rng.random() < 0.95]
    bidirected = [(a, b) for a, b in itertools.combinations(names, 2) if rng.random() < 0.02]
    graph = CausalGraph((*names, "y"), tuple(directed), tuple(bidirected), latent=frozenset(rng.sample(names, 2)))
    place = {name: number for number, name in enumerate(graph.nodes)}
    dense, sparse = (adjustment._Completion(graph, place, "y") for _ in range(2))
    assert dense.is_dense
    sparse.is_dense = False
    x = sum(1 << place[name] for name in rng.sample(names, n_columns))
    assert dense._moral(x, 0) == sparse._moral(x, 0)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_graphs_of_hundreds_of_variables_are_answered_or_refused(share: float) -> None:
    rng = random.Random(1)
    names = [f"v{number:03}" for number in range(400)]
    edges = [pair for pair in itertools.combinations(names, 2) if rng.random() < share] + [*itertools.pairwise(names)]
    chosen = {"target": names[-1], "actionable": names[200:202]}
    assert check(edges, **chosen, control="auto")  # type: ignore[arg-type]
    assert check(edges, **chosen, control=names[190:200]).violations  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="399 actionable columns have 1,050,819,700 sets of up to 4"):
        check(edges, target=names[-1], actionable=names[:-1], control="auto")
    assert str(suggest(edges, target=names[-1]))
    if share:
        with pytest.raises(OptionError, match=r"793 sets of columns in a graph of 400 variables and .* edges"):
            check(edges, target=names[-1], actionable=names[200:212], control="auto")


def test_ties_between_controls_are_broken_by_name() -> None:
    chain = "p -> {x q}; q -> r -> y"
    assert adjustments(chain, "y", ["x"]).sets[0].control == ("p",)
    assert adjustments(chain, "y", ["x"], observed=["r", "q"]).sets[0].control == ("q",)
    assert adjustments(chain, "y", ["x"], sizes={"p": 3, "q": 3, "r": 2}).sets[0].control == ("r",)


def test_too_many_sets_are_refused_before_they_are_built() -> None:
    graph = [(f"x{number}", "y") for number in range(100)]
    with pytest.raises(OptionError, match="100 actionable columns have 4,087,975 sets of up to 4"):
        adjustments(graph, "y", [f"x{number}" for number in range(100)])


def test_check_reports_the_effect_of_own_controls() -> None:
    graph = "smoking -> tar -> cancer; smoking -> cancer"
    roles: dict[str, Any] = {"target": "cancer", "actionable": ["smoking", "tar"]}
    assert not check(graph, **roles)
    found = check(graph, **roles, control="auto")
    assert found
    assert found.adjustments is not None
    assert {each.columns: each.control for each in found.adjustments.sets} == {
        ("smoking",): (),
        ("tar",): ("smoking",),
        ("smoking", "tar"): (),
    }
    assert "adjusted for smoking: tar" in found.summary()
    assert Admissibility.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert not check("a <-> y", target="y", actionable=["a"], control="auto")
    # A control that does not cause the column can suffice.
    left_out = suggest("u -> {a z}; z -> y; a -> {b y}", "y", ["a"]).left_out
    assert [each.identified_with for each in left_out] == [("u",)]
    left_out = suggest(CausalGraph.read("u -> {a z}; z -> y; a -> {b y}", latent="u"), "y", ["a"]).left_out
    assert [each.identified_with for each in left_out] == [("z",)]


@pytest.mark.parametrize("seed", range(50))
def test_inside_groups_the_controls_are_the_best_of_all_valid_sets(seed: int) -> None:
    rng = random.Random(seed)
    names = rng.sample(["x", "w", "a", "b", "c", "d", "y"], 7)
    directed = [pair for pair in itertools.combinations(names, 2) if rng.random() < 0.4]
    graph = CausalGraph(tuple(names), tuple(directed), latent=frozenset(rng.sample("abcd", rng.randrange(3))))
    valid = [
        control
        for control in subsets(sorted({*"abcdw"} - graph.latent))
        if is_valid(explicit(graph), {"x"}, set(control), "w")
    ]
    found = adjustments(graph, "y", ["x"], context=["w"]).sets[0]
    assert found.control == min(valid, key=lambda control: (len(control), sorted(control, reverse=True)), default=None)
    # The same where unknown edges elsewhere are too many to try all readings of the graph.
    far = [(f"far {number}", f"far {number + 1}") for number in range(0, 40, 2)]
    nodes = (*graph.nodes, *itertools.chain(*far))
    large = CausalGraph(nodes, graph.directed, graph.bidirected, tuple(far), graph.latent)
    control = adjustments(large, "y", ["x"], context=["w"]).sets[0].control
    assert control in valid if control is not None else not valid


def test_own_controls_are_valid_inside_every_group() -> None:
    # The group by the collider w opens x <- u -> w <- v -> y; nothing is needed for everybody.
    graph = "u -> {x w}; v -> {w y}; x -> {y after}"
    assert adjustments(graph, "y", ["x"]).sets[0].control == ()
    assert adjustments(graph, "y", ["x"], context=["w"]).sets[0].control == ("u",)
    found = adjustments(graph, "y", ["x"], context=["w"], observed=["w", "x"]).sets[0]
    assert (found.control, found.reason) == (None, "groups by w open x <- u -> w <- v -> y")
    found = adjustments(graph, "y", ["x"], context=["after"]).sets[0]
    assert (found.control, found.reason) == (None, "groups by after would be formed by what the rule does")
    assert adjustments(graph, "y", ["x"], context=["new"]).sets[0].reason == "the graph does not contain new"
    # Only if c affects w does the group open a path: of several readings, the controls must be valid in all.
    for far in ("", "; ".join(f"p{number} -- q{number}" for number in range(20))):
        several = f"x <-> c; c -- w; b -> {{w y}}; {far}"
        assert adjustments(several, "y", ["x"]).sets[0].control == ()
        assert adjustments(several, "y", ["x"], context=["w"]).sets[0].control == ("b",)
    checked = check(graph, target="y", actionable=["x"], control="auto", context=["w"])
    assert "context w" in checked.summary()
    assert "adjusted for u: x" in checked.summary()
    assert Admissibility.from_dict(json.loads(json.dumps(checked.to_dict()))) == checked
    with pytest.raises(RoleError, match="'x' has two roles, actionable and context"):
        check(graph, target="y", actionable=["x"], control="auto", context=["x"])
