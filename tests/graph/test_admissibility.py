"""Admissibility against an independent definition, networkx's d-separation, and brute force."""

import itertools
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causalrules.exceptions import DataError, InadmissibleError, InputError, RoleError
from causalrules.graph.admissibility import Admissibility, check
from causalrules.graph.assumptions import assumptions
from causalrules.graph.backdoor import identify_rule
from causalrules.graph.criteria import Violation
from causalrules.graph.graph import CausalGraph
from causalrules.graph.suggestions import suggest
from strategies import examples

Roles = dict[str, str]


@st.composite
def graphs_with_roles(
    draw: st.DrawFn, most: int = 7, unknown: int = 0, arrows: tuple[str, ...] = ("", "", "->", "<->", "both")
) -> tuple[CausalGraph, Roles]:
    """Draw a random graph over up to `most` variables, and roles.

    The roles are t(arget), x, z, w for context, b for both control and context, - for none, h for latent.
    """
    n = draw(st.integers(2, most))
    names = [f"v{number}" for number in range(n)]
    directed: list[tuple[str, str]] = []
    bidirected: list[tuple[str, str]] = []
    undecided: list[tuple[str, str]] = []
    kinds = draw(st.lists(st.sampled_from(arrows), min_size=n * n, max_size=n * n))
    for kind, (a, b) in zip(kinds, itertools.combinations(names, 2), strict=False):
        if kind in ("->", "both"):
            directed.append((a, b))
        if kind in ("<->", "both"):
            bidirected.append((a, b))
        if kind == "--" and len(undecided) < unknown:
            undecided.append((a, b))
    target = draw(st.sampled_from(names))
    given_roles = draw(st.lists(st.sampled_from("xxxzz-hwb"), min_size=n, max_size=n))
    role = {name: "t" if name == target else letter for name, letter in zip(names, given_roles, strict=True)}
    order = draw(st.permutations(names))
    latent = frozenset(name for name, letter in role.items() if letter == "h")
    graph = CausalGraph(tuple(order), tuple(directed), tuple(bidirected), tuple(undecided), latent)
    return graph, role


def of(role: Roles, letters: str) -> list[str]:
    return [name for name, letter in role.items() if letter in letters]


def judge(graph: CausalGraph, role: Roles) -> Admissibility:
    (target,) = of(role, "t")
    return check(graph, target=target, actionable=of(role, "x"), control=of(role, "zb"), context=of(role, "wb"))


def broken_edges(graph: CausalGraph, role: Roles) -> set[tuple[str, frozenset[str]]]:
    """Return the edges that break Definition 1 and criteria e to g, for a graph without unknown edges."""
    (target,) = of(role, "t")
    x, z, w, hidden = set(of(role, "x")), set(of(role, "zb")), set(of(role, "w")), set(of(role, "-hw"))
    found = set()
    for a, b in graph.directed:
        if a == target and b in x:
            found.add(("a", frozenset((a, b))))
        if a in x and b in z:
            found.add(("b", frozenset((a, b))))
        if a in x and b in x:
            found.add(("c", frozenset((a, b))))
        if a in x and b in w:
            found.add(("f", frozenset((a, b))))
        elif (a in x and b in hidden) or (b in x and a in hidden):
            found.add(("d", frozenset((a, b))))
    for a, b in graph.bidirected:
        if a in x or b in x:
            found.add(("d", frozenset((a, b))))
    for name in z | w:
        reduced = nx.DiGraph(graph.directed).subgraph(hidden | {target, name})
        if target in reduced and name in reduced and nx.has_path(reduced, target, name):
            found.add(("e" if name in z else "g", frozenset((name,))))
    return found


def with_explicit_latents(graph: CausalGraph) -> nx.DiGraph:
    explicit = nx.DiGraph(graph.directed)
    explicit.add_nodes_from(graph.nodes)
    for number, (a, b) in enumerate(graph.bidirected):
        explicit.add_edges_from([(f"latent {number}", a), (f"latent {number}", b)])
    return explicit


def back_door(
    graph: CausalGraph, target: str, variables: set[str], control: set[str], context: Iterable[str] = ()
) -> bool:
    """Pearl's back-door criterion, by networkx, inside a group: given an effect of each column of the context."""
    explicit = with_explicit_latents(graph)
    explicit.add_edges_from((name, f"group by {name}") for name in context)
    given = control | {f"group by {name}" for name in context}
    if any(nx.descendants(explicit, name) & given for name in variables):
        return False
    explicit.remove_edges_from([(a, b) for a, b in explicit.edges if a in variables])
    return bool(nx.is_d_separator(explicit, variables, {target}, given))


def subsets(names: list[str]) -> Iterator[set[str]]:
    for size in range(1, len(names) + 1):
        yield from map(set, itertools.combinations(names, size))


def readings(graph: CausalGraph) -> Iterator[CausalGraph]:
    for arrows in itertools.product(("->", "<-", "<->"), repeat=len(graph.unknown)):
        directed, bidirected = list(graph.directed), list(graph.bidirected)
        for (a, b), arrow in zip(graph.unknown, arrows, strict=True):
            if arrow == "<->":
                bidirected.append((a, b))
            else:
                directed.append((a, b) if arrow == "->" else (b, a))
        if nx.is_directed_acyclic_graph(nx.DiGraph(directed)):
            yield CausalGraph(graph.nodes, tuple(directed), tuple(bidirected), (), graph.latent)


@settings(max_examples=examples(250, 700), deadline=None)
@given(graphs_with_roles())
def test_every_edge_that_breaks_a_criterion_is_reported_under_its_letter(
    case: tuple[CausalGraph, Roles],
) -> None:
    graph, role = case
    verdict = judge(graph, role)
    found = {(v.criterion, frozenset(v.path[-1:] if v.is_effect else v.edge)) for v in verdict.violations}
    assert found == broken_edges(graph, role)
    assert bool(verdict) == (not found) == (verdict.status == "admissible")
    for violation in verdict.violations:
        assert violation.path[-1] == violation.edge[1]
        assert all(name in graph.nodes for name in violation.path[::2])
        if violation.is_effect:
            assert all(edge in graph.directed for edge in itertools.pairwise(violation.path[::2]))


@st.composite
def admissible(draw: st.DrawFn) -> tuple[CausalGraph, Roles]:
    """Draw a random graph without the edges that Definition 1 and criteria e to g forbid for its roles."""
    graph, role = draw(graphs_with_roles(most=7, arrows=("", "->", "->", "<->", "both")))
    (target,) = of(role, "t")

    def allowed(a: str, b: str) -> bool:
        pair = role[a] + role[b]
        return pair in ("zx", "bx", "xt", "zt", "bt", "wt", "-t", "ht") or ("x" not in pair and a != target)

    directed = tuple(edge for edge in graph.directed if allowed(*edge))
    bidirected = tuple((a, b) for a, b in graph.bidirected if "x" not in role[a] + role[b])
    return CausalGraph(graph.nodes, directed, bidirected, latent=graph.latent), role


@settings(max_examples=examples(400, 2000), deadline=None)
@given(admissible())
def test_proposition_1_admissible_controls_block_every_spurious_path(case: tuple[CausalGraph, Roles]) -> None:
    graph, role = case
    (target,), control = of(role, "t"), set(of(role, "zb"))
    verdict = judge(graph, role)
    assert verdict
    assert verdict.identified is True
    contexts = [set(), *subsets(of(role, "wb"))]
    for variables in subsets(of(role, "x")):
        for context in contexts:
            # Inside groups by these columns; inside groups by all, if these are adjusted for too; and for everybody.
            assert back_door(graph, target, variables, control, context)
            assert back_door(graph, target, variables, control | context, of(role, "wb"))
            assert back_door(graph, target, variables, control | context)


@settings(max_examples=examples(250, 600), deadline=None)
@given(admissible(), st.data())
def test_one_edge_more_is_reported_if_and_only_if_it_breaks_a_criterion(
    case: tuple[CausalGraph, Roles], data: st.DataObject
) -> None:
    graph, role = case
    a, b = data.draw(st.permutations(graph.nodes).map(lambda names: names[:2]))
    bidirected = data.draw(st.booleans())
    ends = (*graph.directed, *((a, b),)) if not bidirected else graph.directed
    if not nx.is_directed_acyclic_graph(nx.DiGraph(ends)):
        return
    more = CausalGraph(graph.nodes, ends, (*graph.bidirected, (a, b)) if bidirected else graph.bidirected)
    letters = {violation.criterion for violation in judge(more, role).violations}
    pair = role[a] + role[b]
    if bidirected:
        expected = {"d"} if "x" in pair else set()
    elif "x" in pair:
        known = {"tx": "a", "xz": "b", "xb": "b", "xx": "c", "xw": "f", "xt": "", "zx": "", "bx": ""}
        expected = {known.get(pair, "d")} - {""}
    else:
        expected = {letter for letter, _ in broken_edges(more, role)}
        assert expected <= {"e", "g"}
    assert letters == expected


@settings(max_examples=examples(250, 700), deadline=None)
@given(graphs_with_roles(most=6))
def test_identified_is_the_back_door_criterion_for_every_subset(case: tuple[CausalGraph, Roles]) -> None:
    graph, role = case
    (target,), control = of(role, "t"), set(of(role, "zb"))
    verdict = judge(graph, role)
    assert verdict.identified == all(
        back_door(graph, target, variables, control, of(role, "wb")) for variables in subsets(of(role, "x"))
    )
    assert verdict.identified == all(violation.harmless for violation in verdict.violations)
    for violation in verdict.violations:
        assert violation.harmless == ("Harmless: the effect is identified" in violation.reason)
        assert violation.remedies


def places(violations: Iterable[Violation]) -> set[tuple[str, ...]]:
    return {(one.criterion, one.path[-1]) if one.is_effect else one.path for one in violations}


@settings(max_examples=examples(150, 300), deadline=None)
@given(graphs_with_roles(most=6))
def test_every_remedy_fixes_its_violation_without_new_ones(case: tuple[CausalGraph, Roles]) -> None:
    graph, role = case
    verdict = judge(graph, role)
    for violation, remedy in ((one, remedy) for one in verdict.violations for remedy in one.remedies):
        promoted = dict.fromkeys(re.findall(r"make (v\d) a control(?! too)", remedy), "z")
        promoted |= dict.fromkeys(re.findall(r"make (v\d) a control too", remedy), "b")
        dropped = dict.fromkeys(re.findall(r"remove (v\d) from the", remedy), "-")
        assert promoted | dropped
        assert not set(of(role, "w")) & {name for name, letter in promoted.items() if letter == "z"}
        assert not set(promoted) & graph.latent
        after = judge(graph, role | promoted | dropped).violations
        if remedy.endswith("check again"):
            assert places(after) - (places(verdict.violations) - places([violation]))
        elif "harmless" in remedy:
            harmful = places(one for one in after if not one.harmless)
            assert not harmful & places([violation])
            assert harmful <= places(one for one in verdict.violations if not one.harmless)
        else:
            assert not places(after) & places([violation])
            assert places(after) <= places(verdict.violations)


def is_open(path: tuple[str, ...], graph: CausalGraph, control: set[str], context: set[str]) -> bool:
    """Return whether a path of names and arrows is in the graph, leaves its start backwards and is not blocked."""
    names, arrows = path[::2], path[1::2]
    explicit = nx.DiGraph(graph.directed)
    explicit.add_nodes_from(graph.nodes)
    for (a, b), arrow in zip(itertools.pairwise(names), arrows, strict=True):
        assert arrow in ("->", "<-", "<->")
        assert {"->": (a, b) in graph.directed, "<-": (b, a) in graph.directed}.get(
            arrow, bool({(a, b), (b, a)} & set(graph.bidirected))
        )
    for name, arriving, leaving in zip(names[1:], arrows, arrows[1:], strict=False):
        if arriving.endswith(">") and leaving.startswith("<"):
            if not ({name} | nx.descendants(explicit, name)) & (control | context):
                return False
        elif name in control:
            return False
    return arrows[0].startswith("<")


@settings(max_examples=examples(250, 700), deadline=None)
@given(graphs_with_roles(most=6, arrows=("", "->", "->", "<->")))
def test_a_rule_is_identified_by_the_back_door_criterion_or_its_open_path_is_named(
    case: tuple[CausalGraph, Roles],
) -> None:
    graph, role = case
    (target,), variables, control, context = of(role, "t"), of(role, "x"), set(of(role, "zb")), set(of(role, "wb"))
    verdict = identify_rule(graph, target=target, variables=variables, control=control, context=context)
    assert verdict.identified == back_door(graph, target, set(variables), control, context)
    if verdict:
        assert verdict.open_path == ()
    else:
        path = verdict.open_path
        assert path[0] in variables
        assert len(set(path[::2])) == len(path[::2])
        if path[-1] in control | context:
            assert all(edge in graph.directed for edge in itertools.pairwise(path[::2]))
        else:
            assert path[-1] == target
            assert is_open(path, graph, control, context)


@settings(max_examples=examples(150, 400), deadline=None)
@given(graphs_with_roles(most=5, unknown=3, arrows=("", "->", "--", "--", "<->")))
def test_partly_known_graphs_are_judged_by_all_readings(case: tuple[CausalGraph, Roles]) -> None:
    graph, role = case
    (target,), control, context = of(role, "t"), set(of(role, "zb")), of(role, "wb")
    each = [not broken_edges(reading, role) for reading in readings(graph)]
    verdict = judge(graph, role)
    assert verdict.status == ("admissible" if all(each) else "unknown" if any(each) else "violated")
    if verdict.status == "unknown":
        broken = {letter for reading in readings(graph) for letter, _ in broken_edges(reading, role)}
        assert broken <= {letter for unknown in verdict.unknowns for letter in unknown.criteria}
        for unknown in verdict.unknowns:
            assert unknown.edge in graph.unknown
            assert broken & set(unknown.criteria)

    variables = of(role, "x")
    answers = {back_door(reading, target, set(variables), control, context) for reading in readings(graph)}
    expected = answers.pop() if len(answers) == 1 else None
    rule = identify_rule(graph, target=target, variables=variables, control=control, context=context)
    assert rule.identified == expected


@settings(max_examples=examples(120, 250), deadline=None)
@given(graphs_with_roles(most=5, unknown=3, arrows=("", "->", "--", "--", "<->")))
def test_with_too_many_readings_no_false_certainty_is_claimed(
    case: tuple[CausalGraph, Roles],
) -> None:
    graph, role = case
    (target,), roles = of(role, "t"), {"variables": of(role, "x"), "control": of(role, "zb"), "context": of(role, "wb")}
    # Distant unknown edges make the readings too many to try without changing any result.
    far = [(f"far {number}", f"far {number + 1}") for number in range(0, 40, 2)]
    large = CausalGraph(
        (*graph.nodes, *itertools.chain(*far)),
        graph.directed,
        graph.bidirected,
        (*graph.unknown, *far),
        graph.latent,
    )
    status = judge(large, role).status
    exact = judge(graph, role).status
    assert status == exact or (status, exact) == ("unknown", "admissible")
    rule = identify_rule(large, target=target, **roles).identified
    assert rule in (None, identify_rule(graph, target=target, **roles).identified)


def test_a_control_that_a_collider_affects_opens_the_path() -> None:
    rule = identify_rule("x <-> c <-> y; c -> z", target="y", variables=["x"], control=["z"])
    assert (rule.identified, rule.open_path) == (False, ("x", "<->", "c", "<->", "y"))
    assert identify_rule("x <-> c <-> y; c -> z", target="y", variables=["x"])


@pytest.mark.parametrize("far", [0, 20])
def test_an_unknown_edge_may_be_a_latent_common_cause(far: int) -> None:
    # Open only if both controls are colliders; with many more unknown edges not every reading can be tried.
    graph = "x <-> z1 -- z2 <-> y;" + ";".join(f"p{number} -- q{number}" for number in range(far))
    rule = identify_rule(graph, target="y", variables=["x"], control=["z1", "z2"])
    assert (rule.identified, rule.open_path) == (None, ("x", "<->", "z1", "--", "z2", "<->", "y"))


def admissible_assignments(graph: CausalGraph, target: str, names: list[str]) -> dict[frozenset[str], list[set[str]]]:
    """Return every admissible set of actionable variables with every set of controls, by exhaustive trial."""
    found: dict[frozenset[str], list[set[str]]] = {}
    for letters in itertools.product("xz-", repeat=len(names)):
        role = dict(zip(names, letters, strict=True)) | {target: "t"} | dict.fromkeys(graph.latent, "h")
        if not any(broken_edges(reading, role) for reading in readings(graph)):
            found.setdefault(frozenset(of(role, "x")), []).append(set(of(role, "z")))
    return found


def assert_complete(graph: CausalGraph, target: str, candidates: list[str] | None) -> None:
    names = [name for name in graph.nodes if name != target and name not in graph.latent]
    by_actionable = admissible_assignments(graph, target, names)
    allowed = [x for x in by_actionable if x and (candidates is None or x <= set(candidates))]
    maximal = [x for x in allowed if not any(x < other for other in allowed)]
    suggestions = suggest(graph, target, candidates)
    assert [frozenset(choice.actionable) for choice in suggestions.choices] == maximal
    for choice in suggestions.choices:
        needed, extra = set(choice.control), list(choice.optional_control)
        expected = [needed | more for more in [set(), *subsets(extra)]]
        controls = by_actionable[frozenset(choice.actionable)]
        assert sorted(map(sorted, controls)) == sorted(map(sorted, expected))
        assert check(graph, target=target, actionable=choice.actionable, control=choice.control)
        roles: dict[str, Any] = {"target": target, "actionable": choice.actionable, "control": choice.control}
        assert check(graph, **roles, context=choice.context)
        others = set(names) - {*choice.actionable, *choice.context}
        assert not any(check(graph, **roles, context=[name]) for name in others)
    mentioned = [left_out.name for left_out in suggestions.left_out]
    chosen = [name for choice in suggestions.choices for name in choice.actionable]
    assert sorted(mentioned + chosen) == sorted(names if candidates is None else candidates)
    for left_out in suggestions.left_out:
        if left_out.identified_with is not None:
            assert all(
                back_door(reading, target, {left_out.name}, set(left_out.identified_with))
                for reading in readings(graph)
            )


@settings(max_examples=120, deadline=None)
@given(graphs_with_roles(most=5, unknown=2, arrows=("", "", "->", "->", "--", "<->")), st.booleans())
def test_suggestions_equal_those_by_exhaustive_search(case: tuple[CausalGraph, Roles], restricted: bool) -> None:
    graph, role = case
    (target,) = of(role, "t")
    assert_complete(graph, target, of(role, "x") if restricted else None)


@settings(max_examples=examples(20, 60), deadline=None)
@given(graphs_with_roles(most=8, arrows=("", "", "", "->")))
def test_suggestions_are_complete_for_eight_variables(case: tuple[CausalGraph, Roles]) -> None:
    graph, role = case
    (target,) = of(role, "t")
    assert_complete(graph, target, None)


def letters(verdict: Admissibility) -> list[str]:
    return [violation.criterion for violation in verdict.violations]


def test_smoking_and_tar_cannot_both_be_actionable() -> None:
    graph = "smoking -> tar -> cancer; smoking -> cancer"
    verdict = check(graph, target="cancer", actionable=["smoking", "tar"])
    (violation,) = verdict.violations
    assert not verdict
    assert (violation.criterion, violation.edge) == ("c", ("smoking", "tar"))
    assert violation.reason == ("smoking causes tar: with both actionable, the effect of tar is confounded by smoking.")
    assert violation.remedies[0] == "make smoking a control"
    assert check(graph, target="cancer", actionable=["tar"], control=["smoking"])
    # Leaving tar out suffices in practice: a mediator without a role breaks (d), but is harmless.
    left_out = check(graph, target="cancer", actionable=["smoking"])
    assert (letters(left_out), left_out.violations[0].harmless, left_out.identified) == (["d"], True, True)


def test_blood_pressure_is_no_control_for_smoking() -> None:
    graph = 'smoking -> "blood pressure"; {smoking "blood pressure"} -> cancer'
    verdict = check(graph, target="cancer", actionable=["smoking"], control=["blood pressure"])
    assert letters(verdict) == ["b"]
    assert verdict.violations[0].edge == ("smoking", "blood pressure")
    assert any("remove blood pressure from the controls" in remedy for remedy in verdict.violations[0].remedies)


def test_titanic_keeps_sex_without_title_and_class_without_fare() -> None:
    graph = "sex -> title; fare -> class; {sex title class age} -> survived"
    everything = check(graph, target="survived", actionable=["sex", "title", "class", "fare", "age"])
    assert [(v.criterion, v.edge) for v in everything.violations] == [
        ("c", ("sex", "title")),
        ("c", ("fare", "class")),
    ]
    papers = check(graph, target="survived", actionable=["sex", "class", "age"])
    assert papers.identified is True
    assert all(violation.harmless for violation in papers.violations)
    assert check("{sex class age} -> survived", target="survived", actionable=["sex", "class", "age"])


def test_a_common_cause_biases_the_rule_on_its_effect_alone() -> None:
    graph = "X1 <- X2 -> Y"
    verdict = check(graph, target="Y", actionable=["X1", "X2"])
    assert [(v.criterion, v.edge, v.harmless) for v in verdict.violations] == [("c", ("X2", "X1"), False)]
    assert identify_rule(graph, target="Y", variables=["X1"]).open_path == ("X1", "<-", "X2", "->", "Y")
    assert identify_rule(graph, target="Y", variables=["X2"])
    assert identify_rule(graph, target="Y", variables=["X1", "X2"])
    assert check(graph, target="Y", actionable=["X1"], control=["X2"])


def test_an_effect_of_the_target_is_no_control() -> None:
    for graph, path in (("X -> Y -> Z", ("Y", "->", "Z")), ("X -> Y -> L -> Z", ("Y", "->", "L", "->", "Z"))):
        verdict = check(graph, target="Y", actionable=["X"], control=["Z"])
        (violation,) = verdict.violations
        assert (violation.criterion, violation.path, violation.harmless) == ("e", path, False)
        assert violation.remedies == ("remove Z from the controls",)


def test_context_must_come_before_the_action_and_what_affects_it_must_be_a_control_too() -> None:
    graph = "age -> {drug weight pain}; drug -> {pain weight}; pain -> mood; region -> pain"
    roles: dict[str, Any] = {"target": "pain", "actionable": ["drug"]}
    verdict = check(graph, **roles, context=["weight", "mood", "age", "region"])
    assert [(one.criterion, one.edge, one.harmless) for one in verdict.violations] == [
        ("d", ("age", "drug"), False),
        ("f", ("drug", "weight"), False),
        ("g", ("pain", "mood"), False),
    ]
    assert [one.remedies[0] for one in verdict.violations] == [
        "make age a control too",
        "remove drug from the actionable variables",
        "remove mood from the context",
    ]
    assert verdict.violations[0].changes[0] == (("age", "control"),)
    assert "remove weight from the context (leaves" in " ".join(verdict.violations[1].remedies)
    assert verdict.violations[0].reason == (
        "age causes drug, and age is context but not a control: the effect of drug may be confounded."
    )
    # A control that is context too is judged as a control, and removed from both.
    both = check(graph, **roles, control=["age", "mood"], context=["age", "mood"])
    assert letters(both) == ["d", "e"]  # drug -> weight
    assert both.violations[1].remedies == ("remove mood from the controls and the context",)
    # Without weight in the graph, all is well: age is a control, and region affects the outcome only.
    good = check("age -> {drug pain}; {drug region} -> pain", **roles, control="age", context=["age", "region"])
    assert good.summary().splitlines() == [
        "Admissible: target pain; actionable drug; control age; context age and region.",
        "  The effect of every rule over these variables is identified, also inside every group by the context.",
    ]
    # The target affects context alone: no effect is biased for everybody, every one is inside a group.
    after = check("drug -> pain -> mood", **roles, context=["mood"])
    assert (letters(after), after.violations[0].harmless, after.identified) == (["g"], False, False)


def test_unknown_edges_to_the_context_are_asked_about() -> None:
    verdict = check("drug -> pain; pain -- mood", target="pain", actionable=["drug"], context=["mood"])
    assert verdict.status == "unknown"
    assert [(one.criteria, one.edge) for one in verdict.unknowns] == [(("g",), ("pain", "mood"))]
    assert verdict.unknowns[0].question.endswith("only if pain does not cause mood.")
    # Whatever an unknown edge to the action is, age must be a control.
    verdict = check("drug -> pain; age -- drug", target="pain", actionable=["drug"], context=["age"])
    assert (letters(verdict), verdict.status) == (["d"], "violated")
    columns = ["drug", "pain", "age"]
    verdict = check("drug -> pain", target="pain", actionable=["drug"], context=["age"], columns=columns)
    assert [(one.criteria, one.edge) for one in verdict.unknowns] == [(("d", "f", "g"), None)]
    assert verdict.identified is None


def test_without_context_nothing_is_said_of_it() -> None:
    verdict = check("x -> y", target="y", actionable=["x"])
    assert "context" not in json.dumps(verdict.to_dict()) + verdict.summary()
    with_context = check("w -> y; x -> y", target="y", actionable=["x"], context="w")
    assert with_context.to_dict()["context"] == ("w",)
    assert Admissibility.from_dict(with_context.to_dict()).context == ("w",)


def test_remedies_fix_their_violations() -> None:
    graph = "u [latent]; u -> {a y}; b -> a; {a b c} -> y; c -> z; y -> w"
    verdict = check(graph, target="y", actionable=["a", "b", "c"], control=["z", "w"])
    assert letters(verdict) == ["b", "c", "d", "e"]
    remedies = {violation.criterion: violation.remedies for violation in verdict.violations}
    assert remedies["d"] == ("remove a from the actionable variables",)
    assert remedies["e"] == ("remove w from the controls",)
    assert remedies["b"][0] == "remove c from the actionable variables"
    assert remedies["c"][0] == "make b a control"
    assert check(graph, target="y", actionable=["b"], control=["z"]).violations[0].criterion == "d"
    pair = check("a <-> b; {a b} -> y", target="y", actionable=["a", "b"])
    assert pair.violations[0].remedies == (
        "remove a from the actionable variables and remove b from the actionable variables",
    )


def test_a_column_that_cannot_be_observed_is_not_proposed_as_a_control() -> None:
    graph = "w -> {x y}; x -> y"
    proposed = check(graph, target="y", actionable=["x"]).violations[0].remedies
    assert proposed[0] == "make w a control"
    without_w = check(graph, target="y", actionable=["x"], columns=["x", "y"]).violations[0].remedies
    assert without_w == ("remove x from the actionable variables",)
    assert check(graph, target="y", actionable=["x"], latent=["w"]).violations[0].remedies == without_w


def test_columns_outside_the_graph_are_named_and_leave_the_verdict_open() -> None:
    verdict = check("x -> y", target="y", actionable=["x", "new"], columns=["x", "y", "new", "old"])
    assert verdict.status == "unknown"
    assert not verdict
    assert verdict.identified is None
    assert verdict.missing_columns == ("new", "old")
    assert "new" in verdict.unknowns[0].question
    assert check("x -> y", target="y", actionable=["x"], columns=["x", "y", "old"]).missing_columns == ("old",)


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"target": "survvied", "actionable": ["sex"]}, "did you mean 'survived'?"),
        (
            {"target": "survived", "actionable": ["sexx"]},
            "actionable: no variable 'sexx' in the graph; did you mean 'sex'?",
        ),
        (
            {"target": "survived", "actionable": ["sex"], "control": ["sex"]},
            "'sex' has two roles, actionable and control",
        ),
        ({"target": "survived", "actionable": ["survived"]}, "'survived' has two roles"),
        (
            {"target": "survived", "actionable": ["sex"], "context": ["sex"]},
            "'sex' has two roles, actionable and context; give it one",
        ),
        (
            {"target": "survived", "actionable": ["sex"], "context": ["survived"]},
            "'survived' has two roles, target and context; give it one",
        ),
        ({"target": "survived", "actionable": ["sex"], "context": ["u"]}, "'u' is latent"),
        (
            {"target": "survived", "actionable": ["sex"], "context": ["sexx"]},
            "context: no variable 'sexx' in the graph; did you mean 'sex'?",
        ),
        ({"target": "survived", "actionable": ["u"]}, "'u' is latent"),
        ({"target": "survived", "actionable": ["sex"], "latent": ["sex"]}, "'sex' is latent"),
        (
            {"target": "survived", "actionable": ["sex"], "latent": ["w"]},
            "latent: no variable 'w' in the graph",
        ),
    ],
)
def test_wrong_roles_are_refused_with_the_name(roles: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=r"^[^\n]*$") as caught:
        check("u [latent]; u -> survived; sex -> survived", **roles)  # type: ignore[arg-type]
    assert message in str(caught.value)


@settings(max_examples=100, deadline=None)
@given(graphs_with_roles(most=5, unknown=2, arrows=("", "->", "--", "<->")))
def test_a_verdict_survives_json(case: tuple[CausalGraph, Roles]) -> None:
    verdict = judge(*case)
    assert Admissibility.from_dict(json.loads(json.dumps(verdict.to_dict()))) == verdict


SAVED = check("x <-> y; x -- w; y -> z", target="y", actionable=["x"], control=["z", "w"]).to_dict()
PATHS: list[tuple[Any, ...]] = [(), *((key,) for key in SAVED)]
PATHS += [(part, 0) for part in ("violations", "unknowns", "actionable")]
PATHS += [(part, 0, key) for part in ("violations", "unknowns") for key in SAVED[part][0]]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: ".".join(map(str, path)))
@pytest.mark.parametrize("junk", [None, True, 1, "x", [], {}, [1], [["a"]], {"a": 1}, float("nan")], ids=repr)
def test_corrupted_admissibility_is_a_data_error_that_names_the_field(path: tuple[Any, ...], junk: Any) -> None:
    saved = {"whole": json.loads(json.dumps(SAVED))}
    *parents, last = ("whole", *path)
    part: Any = saved
    for key in parents:
        part = part[key]
    part[last] = junk
    try:
        read = Admissibility.from_dict(saved["whole"])
    except DataError as error:
        assert str(error).startswith(re.sub(r"\.0\b", "[0]", ".".join(map(str, ("admissibility", *path)))))  # noqa: PT017
    else:
        assert read.summary()
        assert Admissibility.from_dict(json.loads(json.dumps(read.to_dict()))) == read


def test_an_absent_field_takes_its_default_or_is_named() -> None:
    few = {"status": "admissible", "target": "y", "actionable": ["x"], "control": [], "identified": True, "more": 1}
    assert Admissibility.from_dict(few) == check("x -> y", target="y", actionable=["x"])
    for name in ("status", "target", "actionable", "control", "identified"):
        with pytest.raises(DataError, match=rf"admissibility\.{name} is missing"):
            Admissibility.from_dict({key: value for key, value in few.items() if key != name})
    with pytest.raises(
        DataError, match=r"admissibility\.status must be one of 'admissible', 'violated', 'unknown', not 'fine'"
    ):
        Admissibility.from_dict({**few, "status": "fine"})
    for depth in range(100, 1000, 50):
        with pytest.raises(DataError, match=r"admissibility\.target must be text, not list"):
            Admissibility.from_dict({**few, "target": json.loads("[" * depth + "]" * depth)})


@given(st.text(max_size=80), st.text(max_size=80))
def test_untrusted_names_are_escaped_and_stay_on_one_line(first: str, second: str) -> None:
    hostile = f"<script>{first}"
    if second == hostile:
        return
    graph = CausalGraph((hostile, second), directed=((hostile, second),))
    verdict = check(graph, target=hostile, actionable=[second])
    assert letters(verdict) == ["a"]
    assert "<script>" not in verdict._repr_html_()
    # A heading, the reason, and the remedies: no name may add a line of its own.
    assert len(verdict.summary().splitlines()) == 2 + len(verdict.violations[0].remedies)
    assert "\n" not in verdict.violations[0].reason


def test_the_error_carries_the_verdict() -> None:
    verdict = check("x <-> y", target="y", actionable=["x"])
    error = InadmissibleError(verdict)
    assert isinstance(error, RoleError)
    assert error.verdict is verdict
    assert verdict.violations[0].reason in str(error)


def test_assumptions_are_stated_with_the_names() -> None:
    assert assumptions("survived", ["class", "age"], ["sex"]) == (
        "(a) no effect of survived on class or age",
        "(b) no effect of class or age on sex",
        "(c) no effect of class or age on one another",
        "(d) nothing unobserved is a cause or an effect of class or age",
        "(e) no effect of survived on sex, direct or indirect",
    )
    assert [text[:3] for text in assumptions("y", ["x"])] == ["(a)", "(d)"]
    assert assumptions("y", ["arm", "dose"], ["sex"], ["arm"]) == (
        "(r) arm was assigned at random, given sex: nothing else decided it",
        "(a) no effect of y on dose",
        "(b) no effect of arm or dose on sex",
        "(c) no effect of arm or dose on one another",
        "(d) nothing unobserved is a cause or an effect of dose",
        "(e) no effect of y on sex, direct or indirect",
    )
    assert assumptions("y", ["arm"], ["sex"], context=["age", "sex", "region"]) == (
        "(a) no effect of y on arm",
        "(b) no effect of arm on sex",
        "(d) nothing unobserved is a cause or an effect of arm, and neither are age and region",
        "(e) no effect of y on sex, direct or indirect",
        "(f) no effect of arm on age or region",
        "(g) no effect of y on age or region, direct or indirect",
    )
    assert [text[:3] for text in assumptions("y", ["arm"], randomised=["arm"], context=["a"])] == ["(r)", "(f)", "(g)"]
    assert assumptions("y", ["arm"], randomised=["arm"]) == ("(r) arm was assigned at random: nothing else decided it",)
    assert all(len(text) < 200 for text in assumptions("y", [f"column {n}" for n in range(1000)], ["z"]))


def test_a_huge_input_with_a_violation_at_every_edge_is_judged() -> None:
    names = [f"x{number}" for number in range(5_000)]
    edges = [("hub", name) for name in names] + [(name, "y") for name in names]
    verdict = check(edges, target="y", actionable=names)
    assert letters(verdict) == ["d"] * 5_000
    assert len(verdict.summary()) < 10_000
    assert verdict.identified is False
    assert check(edges, target="y", actionable=names, control=["hub"])
