"""The graph in discover(), in the display of a result, on the command line and as a drawing."""

from __future__ import annotations

import dataclasses
import html
import itertools
import json
import random
import re
import shlex
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import matplotlib.pyplot as plt
import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import example, given, settings

import causalrules as cr
from causalrules.cli import cli
from causalrules.graph.graph import CausalGraph
from causalrules.report.drawing import plot_graph, save
from causalrules.report.layout import MAX_NODES
from rulesets import HOSTILE, ended

COLUMNS = ("a", "b", "c", "z", "y")
draw_number = random.Random(5)
TABLE = {name: [draw_number.randint(0, 2 if name != "y" else 1) for _ in range(60)] for name in COLUMNS}
ROLES: dict[str, Any] = {"target": "y", "actionable": ["a", "b", "c"], "control": ["z"]}


@st.composite
def graphs(draw: st.DrawFn, names: tuple[str, ...] = (*COLUMNS, "u", "v")) -> CausalGraph:
    """Draw graphs that are often admissible for these roles: most edges lead to the target or from the control."""
    order = draw(st.permutations(names))
    place = {name: number for number, name in enumerate(order)}
    good = [(x, "y") for x in ("a", "b", "c", "z")] + [("z", x) for x in ("a", "b", "c")]
    directed = [edge for edge in good if place[edge[0]] < place[edge[1]] and draw(st.booleans())]
    pairs = st.tuples(st.sampled_from(order), st.sampled_from(order)).filter(
        lambda pair: place[pair[0]] < place[pair[1]]
    )
    directed += draw(st.lists(pairs, max_size=3))
    taken = set(directed)
    unknown = [pair for pair in draw(st.lists(pairs, max_size=2)) if pair not in taken]
    bidirected = [pair for pair in draw(st.lists(pairs, max_size=1)) if pair not in unknown]
    latent = frozenset(draw(st.sets(st.sampled_from(["u", "v"]))))
    return CausalGraph(names, tuple(directed), tuple(bidirected), tuple(unknown), latent)


def find(graph: object = None, **options: Any) -> cr.RuleSet:
    return cr.discover(TABLE, **ROLES, graph=graph, k=5, max_length=2, n_jobs=1, **options)


PLAIN = find()


@pytest.fixture(autouse=True)
def _no_figure_stays_open() -> Iterator[None]:
    yield
    plt.close("all")


# --- discover()


@given(graphs())
@settings(deadline=None, max_examples=60)
def test_discover_rejects_what_check_rejects_and_searches_the_same_otherwise(graph: CausalGraph) -> None:
    verdict = cr.check(graph, **ROLES, columns=COLUMNS)
    if verdict:
        rules = find(graph)
    else:
        with pytest.raises(cr.InadmissibleError) as caught:
            find(graph)
        assert caught.value.verdict == verdict
        assert verdict.summary() in str(caught.value)
        assert "allow_inadmissible=True" in str(caught.value)
        rules = find(graph, allow_inadmissible=True)
    assert rules.admissibility is not None
    assert rules.admissibility.status == verdict.status
    assert [(rule.conditions, rule.measured.counts) for rule in rules] == [
        (rule.conditions, rule.measured.counts) for rule in PLAIN
    ]
    for rule in rules:
        own = {condition.column for condition in rule.conditions}
        assert rule.identification == cr.identify_rule(graph, target="y", variables=sorted(own), control=["z"])
        assert rule.identification or not verdict
    assert cr.RuleSet.from_json(rules.to_json()) == rules


def test_the_graph_is_read_before_the_data_and_latent_needs_one() -> None:
    with pytest.raises(cr.GraphError, match="expected a name"):
        cr.discover("no such file.csv", "y", graph="a -> }")
    with pytest.raises(cr.OptionError, match=r"latent = \('u',\): these are variables of a graph; give the graph too"):
        find(latent="u")
    with pytest.raises(cr.InadmissibleError, match="u has no role, so it counts as unobserved"):
        find("{u a b c z} -> y; u -> a", latent="u")


def test_a_column_missing_in_the_graph_is_unknown_but_weights_may_be_missing() -> None:
    with pytest.raises(cr.InadmissibleError, match="What are the causes and effects of c") as caught:
        find("{a b z} -> y")
    assert caught.value.verdict.status == "unknown"
    table = {**TABLE, "n": [1] * 60, "note": ["p", "q"] * 30}
    rules = cr.discover(table, **ROLES, graph="{a b c z} -> y", weights="n")
    assert rules.admissibility is not None
    assert rules.admissibility.missing_columns == ("note",)


def test_a_column_without_conditions_may_be_missing_in_the_graph() -> None:
    table = {**TABLE, "id": [f"row {place}" for place in range(60)]}
    rules = cr.discover(table, "y", control=["z"], graph="{a b c z} -> y")
    assert rules.question.actionable == ("a", "b", "c")
    assert any("'id' is left out" in note for note in rules.notes)


def test_verdicts_and_suggestions_print_their_summary() -> None:
    for shown in (cr.check("a -> y", target="y", actionable=["a"]), cr.suggest("a -> y", "y")):
        assert str(shown) == shown.summary()
        assert repr(shown).startswith(f"{type(shown).__name__}(")


def test_searching_on_keeps_what_the_graph_says() -> None:
    rules = find("{u a} -> b; {u a b c z} -> y", allow_inadmissible=True)
    for again in (rules.frontier(), rules.sensitivity()):
        assert len(again) > 0
        for rule in again:
            assert rule.identification is not None
            assert rule.identification.identified == ("b" not in rule.text)


# --- display


def shown(rules: cr.RuleSet) -> dict[str, str]:
    """Return every display of a result, on one line each."""
    ways = {
        "text": str(rules),
        "notebook": rules._repr_html_(),
        "markdown": rules.to_markdown(),
        "latex": rules.to_latex(),
        "report": rules.to_html(),
    }
    return {way: " ".join(text.split()) for way, text in ways.items()}


def test_associations_are_named_so_in_every_display() -> None:
    rules = find("u -> a; {u a b c z} -> y", allow_inadmissible=True)
    for one in (rules, cr.RuleSet.from_json(rules.to_json())):
        for way, text in shown(one).items():
            assert "association" in text, way
            assert "Bringing about" not in text, way
            assert not re.search(r"(conservative effect|if the rule is brought about)", text), way
        assert list(one.to_frame()["claim"]) == [
            "identified" if rule.identification else "not identified" for rule in one
        ]
        assert json.loads(one.to_json())["claim"] == "association"


def test_effects_are_named_so_if_the_graph_allows_it() -> None:
    rules = find("{a b c z} -> y; z -> a")
    for way, text in shown(rules).items():
        assert "ssociation" not in text, way
        assert re.search("[Bb]ringing|brought about", text), way
    assert set(rules.to_frame()["claim"]) == {"identified"}
    assert set(rules.to_frame()["identified"]) == {"yes"}
    assert set(rules.to_frame()["open_path"]) == {""}
    assert json.loads(rules.to_json())["claim"] == "effect"


def test_without_a_graph_the_assumptions_are_listed() -> None:
    assumed = cr.assumptions("y", ["a", "b", "c"], ["z"])
    assert [sentence[1] for sentence in assumed] == list("abcde")
    said = shown(PLAIN)
    assert all(sentence in said["report"] for sentence in assumed)
    assert all("what acting assumes: cr.assumptions(…)" in said[way] for way in ("text", "notebook"))
    payload = json.loads(PLAIN.to_json())
    assert (payload["claim"], payload["assumptions"]) == ("unchecked", list(assumed))
    assert set(PLAIN.to_frame()["claim"]) == {"unchecked"}
    assert not {"identified", "open_path"}.intersection(PLAIN.to_frame())


def test_the_chain_of_the_paper_keeps_identified_rules_apart() -> None:
    """X1 ← X2 → Y: a rule on X1 alone is confounded, one that has X2 is not."""
    draw = random.Random(1)
    x2 = [draw.randint(0, 1) for _ in range(400)]
    x1 = [x if draw.random() < 0.8 else 1 - x for x in x2]
    y = [x if draw.random() < 0.8 else 1 - x for x in x2]
    data = {"X1": x1, "X2": x2, "Y": y}
    asked: dict[str, Any] = {"graph": "X1 <- X2 -> Y", "allow_inadmissible": True}
    ladder = cr.discover(data, "Y", **asked)
    assert [rule.text for rule in ladder] == ["X2 = 1"]
    assert ladder[0].identification
    rules = cr.discover(data, "Y", **asked, k=20, stepwise=False)
    alone = [str(place) for place, rule in enumerate(rules, 1) if "X2" not in rule.text]
    others = [str(place) for place, rule in enumerate(rules, 1) if "X2" in rule.text]
    assert alone
    assert len(others) > 1
    for place, rule in enumerate(rules, 1):
        assert rule.identification is not None
        assert bool(rule.identification) == (str(place) in others)
    frame = rules.to_frame()
    assert [text == "X1 <- X2 -> Y" for text in frame["open_path"]] == [str(n + 1) in alone for n in range(len(rules))]
    lines = [line for line in str(rules).splitlines() if line.startswith(("identified", "not identified"))]
    numbers = {line.split(":")[0]: re.findall(r"\d+", re.sub(r"\(.*", "", line)) for line in lines}
    assert numbers == {"identified on its own": others, "not identified": alone}
    assert "(the spurious path X1 <- X2 -> Y is open)" in str(rules)
    page = rules.to_html()
    assert page.count("Claim: is it causal? Not identified: ") == len(alone)
    assert page.count("Claim: is it causal? Identified: ") == len(others)
    assert "the spurious path X1 &lt;- X2 -&gt; Y is open" in page


def test_a_report_shows_how_to_repeat_the_search_with_the_graph() -> None:
    rules = find("u -> a; \"the 'cause'\" -> u; {u a b c z} -> y", allow_inadmissible=True)
    command = re.search(r"<pre>causalrules (discover .*?)</pre>", rules.to_html(), re.DOTALL)
    assert command is not None
    options = shlex.split(html.unescape(command[1]))
    assert "--allow-inadmissible" in options
    (text,) = [option.removeprefix("--graph=") for option in options if option.startswith("--graph=")]
    assert CausalGraph.read(text) == rules.graph


SAVED = json.loads(find("u -> a; a <-> b; c -- v; {u a b c z} -> y", allow_inadmissible=True, latent=["u"]).to_json())
JUNK: list[Any] = [None, True, -1, "x", "", "/etc/passwd", [], {}, [None], [["a", "b"]], [["a", "a"]], [[1, 2]], ["y"]]


@pytest.mark.parametrize("part", [*SAVED["graph"], None])
@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_a_corrupted_graph_is_an_error_or_read_but_never_crashes(part: str | None, junk: Any) -> None:
    graph = junk if part is None else {**SAVED["graph"], part: junk}
    try:
        rules = cr.RuleSet.from_json(json.dumps({**SAVED, "graph": graph}))
    except cr.DataError:
        return
    assert str(rules)
    assert "association" in rules.to_html()


# --- the command line


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="causalrules")


def roles(**names: Any) -> list[str]:
    given = {**ROLES, **names}
    words = ["--target", given["target"]]
    for role in ("actionable", "control", "context", "latent"):
        words += [word for name in given.get(role, ()) for word in (f"--{role}", name)]
    return words


@given(graphs(), st.lists(st.sampled_from(["c", "z"]), unique=True))
@settings(deadline=None, max_examples=60)
def test_check_prints_the_verdict_and_exits_with_it(graph: CausalGraph, context: list[str]) -> None:
    asked: dict[str, Any] = {"actionable": ["a", "b"], "context": context}
    verdict = cr.check(graph, **{**ROLES, **asked})
    result = run("check", "--graph", graph.to_dagitty(), *roles(**asked))
    assert result.stdout == verdict.summary() + "\n"
    assert result.exit_code == {"admissible": 0, "violated": 1, "unknown": 3}[verdict.status]


@given(graphs(), st.lists(st.sampled_from(["a", "b", "c", "z"]), unique=True))
@settings(deadline=None, max_examples=40)
def test_suggest_prints_what_suggest_says(graph: CausalGraph, candidates: list[str]) -> None:
    suggestions = cr.suggest(graph, "y", candidates or None)
    words = [word for name in candidates for word in ("--actionable", name)]
    result = run("suggest", "--graph", graph.to_dot(), "--target", "y", *words)
    assert result.stdout == suggestions.summary() + "\n"
    assert result.exit_code == (0 if suggestions else 1)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    table = {**TABLE, "same": [1] * 60, "note": [0, 1] * 30}
    path.write_text("\n".join(",".join(map(str, row)) for row in [list(table), *zip(*table.values(), strict=True)]))
    return path


def test_check_takes_the_roles_that_discover_takes(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "graph.dot"
    file.write_text("digraph { {a b c z note} -> y; u -> a [dir=none]; u [latent=true] }")
    words = ["--graph", file, "--target", "y", "--control", "z"]
    checked = run("check", data, *words)
    assert checked.exit_code == 1
    assert checked.stderr == "column 'same' is left out: it has one value only, 1\n"
    assert "actionable a, b, c and note; control z" in checked.stdout
    assert "Columns not in the graph: same." in checked.stdout
    with pytest.raises(cr.InadmissibleError) as caught:
        cr.discover(data, "y", control=["z"], graph=file)
    assert checked.stdout == caught.value.verdict.summary() + "\n"
    # By default, neither the controls nor the context are actionable.
    described = run("check", data, *words, "--context", "z", "--context", "c")
    assert "actionable a, b and note; control z; context z and c" in described.stdout
    for role in ("--actionable", "--control", "--context", "--target"):
        result = run("check", data, *words, role, "u")
        assert (result.exit_code, result.stdout) == (1, "")
        assert "no column 'u'" in result.stderr


def test_without_data_every_other_observed_variable_is_actionable() -> None:
    words = ["check", "--graph", "{a b u z} -> y; w -> z", "--target", "y", "--control", "z", "--latent", "u"]
    result = run(*words)
    assert "actionable a, b and w; control z" in result.stdout
    assert result.exit_code == 1
    result = run(*words, "--context", "w")
    assert "actionable a and b; control z; context w" in result.stdout
    assert result.exit_code == 0


def test_discover_with_a_graph_on_the_command_line(data: Path) -> None:
    graph = "u -> a; {u a b c z} -> y"
    words = ["discover", data, "--graph", graph, *roles(latent=["u"]), "--format", "json"]
    failed = run(*words)
    assert (failed.exit_code, failed.stdout) == (1, "")
    expected = cr.check(graph, **ROLES, latent=["u"], columns=[*COLUMNS, "same", "note"])
    assert failed.stderr.startswith(expected.summary() + "\n")
    assert "--allow-inadmissible searches anyway" in failed.stderr
    allowed = run(*words, "--allow-inadmissible")
    assert allowed.exit_code == 0
    assert "association" in allowed.stderr
    read = cr.RuleSet.from_json(allowed.stdout)
    inside = cr.discover(data, **ROLES, graph=graph, latent=["u"], allow_inadmissible=True)
    assert ended(read, nodes=0, seconds=0) == ended(inside, nodes=0, seconds=0)
    table = run(*words[:-1], "csv", "--allow-inadmissible", "--quiet").stdout.splitlines()
    assert table[0].endswith(",claim,identified,open_path")
    assert [",identified," in line for line in table[1:]] == [bool(rule.identification) for rule in inside]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--draw no/such/g.svg", "no directory 'no/such'; make it first"),
        ("--draw g.gif", "must end in .svg, .png or .pdf"),
        ("--draw g", "must end in .svg, .png or .pdf"),
        ("--target yy", "--target: no variable 'yy' in the graph"),
        ("--graph missing.dot", "neither an existing file nor the text of a graph"),
        ("--latent q", "--latent: no variable 'q' in the graph"),
        ("--control a", "'a' has two roles"),
        ("--context a", "'a' has two roles, actionable and context"),
    ],
)
def test_bad_input_to_check_is_one_line(words: str, message: str, monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("check", "--graph", "{a z} -> y", "--target", "y", "--actionable", "a", *words.split())
    # A file name of the wrong kind is a usage error; the rest are errors in the file or the graph.
    assert (result.exit_code, result.stdout) == (2 if "must end in" in message else 1, "")
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert not list(tmp_path.iterdir())


def test_hostile_variable_names_are_escaped_on_the_terminal() -> None:
    graph = '"\x1b[2J" -> "a\nb" -> y; "\x1b[2J" -> y'
    for result in (run("check", "--graph", graph, "--target", "y"), run("suggest", "--graph", graph, "--target", "y")):
        assert result.stdout
        assert "\x1b" not in result.output
        assert "a\nb" not in result.output


# --- the drawing


def marked(ax: Any) -> list[str]:
    """Return the letters that mark edges."""
    return sorted(text.get_text() for text in ax.texts if text.get_zorder() == 4)


@given(graphs())
@example(CausalGraph.read("y -> u -> v -> z; a -> y; {b c} -> y"))
@settings(deadline=None, max_examples=40)
def test_a_drawing_puts_causes_left_and_marks_only_violating_edges(graph: CausalGraph) -> None:
    verdict = cr.check(graph, **ROLES)
    ax: Any = plot_graph(graph, verdict)
    place = ax.plotted["place"]
    assert set(place) == set(graph.nodes)
    assert len(set(place.values())) == len(graph.nodes)
    assert all(place[cause][0] < place[effect][0] for cause, effect in graph.directed)
    assert all(place[a][0] != place[b][0] for a, b in (*graph.bidirected, *graph.unknown))
    expected: dict[tuple[str, str, str], set[str]] = {}
    for violation in verdict.violations:
        for (a, b), arrow in zip(itertools.pairwise(violation.path[::2]), violation.path[1::2], strict=True):
            expected.setdefault((arrow, a, b), set()).add(violation.criterion)
    assert {edge: set(letters) for edge, letters in ax.plotted["offending"].items()} == expected
    questions = [one.edge for one in verdict.unknowns if one.edge and ("--", *one.edge) not in expected]
    assert marked(ax) == sorted([", ".join(sorted(letters)) for letters in expected.values()] + ["?"] * len(questions))
    arrows = [text.arrow_patch.get_linestyle() for text in ax.texts if getattr(text, "arrow_patch", None)]
    kinds = {"-": graph.directed, "--": graph.bidirected, ":": graph.unknown}
    assert sorted(arrows) == sorted(style for style, edges in kinds.items() for _ in edges)
    plt.close(ax.figure)


@given(graphs())
@settings(deadline=None, max_examples=15)
def test_edges_avoid_other_variables(graph: CausalGraph) -> None:
    ax: Any = plot_graph(dataclasses.replace(graph, bidirected=()))
    ax.figure.canvas.draw()
    boxes = {
        text.get_text(): text.get_bbox_patch().get_window_extent()
        for text in ax.texts
        if text.get_text() in graph.nodes
    }
    name_at = {point: name for name, point in ax.plotted["place"].items()}
    for annotation in ax.texts:
        if annotation.get_text() == "":
            others = set(boxes) - {name_at[annotation.xy], name_at[annotation.xyann]}
            drawn = annotation.arrow_patch.get_transform().transform_path(annotation.arrow_patch.get_path())
            lines = drawn.to_polygons(closed_only=False)
            assert any(ax.get_window_extent().contains(*point) for line in lines for point in line)
            for line in lines:
                points = np.concatenate([np.linspace(one, other, 20) for one, other in itertools.pairwise(line)])
                for name in others:
                    assert not any(boxes[name].contains(*point) for point in points), name
    plt.close(ax.figure)


def test_roles_can_be_told_apart_without_colour() -> None:
    graph = CausalGraph.read("x -> y; z -> y; w -> y; n -> y; u [latent]; u -> y")
    ax: Any = plot_graph(graph, cr.check(graph, target="y", actionable=["x"], control=["z"], context=["w", "z"]))
    looks = set()
    for text in ax.texts:
        if text.get_text() in graph.nodes:
            box = text.get_bbox_patch()
            looks.add((type(box.get_boxstyle()).__name__, box.get_linestyle(), box.get_linewidth()))
    assert len(looks) == 6
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "target",
        "actionable",
        "control",
        "context",
        "no role",
        "latent",
    ]


@pytest.mark.filterwarnings("ignore:Glyph .* missing")
def test_hostile_names_are_drawn_as_text(tmp_path: Path) -> None:
    names = dict.fromkeys(
        [*HOSTILE, "$x$", "$\\frac$", "a\nb", "</text><script>alert(1)</script>", "x" * 10_000, "]]>"]
    )
    names.pop("", None)
    graph = CausalGraph((*names, "y"), directed=tuple((name, "y") for name in names))
    verdict = cr.check(graph, target="y", actionable=list(names))
    save(graph, verdict, tmp_path / "graph.svg")
    tags = {element.tag.rpartition("}")[2] for element in ET.parse(tmp_path / "graph.svg").iter()}
    assert "path" in tags
    assert "script" not in tags
    written = [text.get_text() for text in plot_graph(graph, verdict).texts]
    assert "$x$" in written
    assert "a\\nb" in written
    assert max(map(len, written)) <= 24


def test_drawings_have_the_format_of_their_suffix_and_are_written_atomically(tmp_path: Path) -> None:
    for kind, beginning in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        path = tmp_path / f"graph.{kind}"
        path.write_text("before")
        result = run("check", "--graph", "z -> a; {z a} -> y", "--target", "y", "--control", "z", "--draw", path)
        assert result.exit_code == 0
        assert result.stderr == f"Drawing written to '{path}'.\n"
        assert path.read_bytes().startswith(beginning)
    assert len(list(tmp_path.iterdir())) == 3


def test_a_graph_too_large_to_read_is_not_drawn() -> None:
    names = tuple(f"n{number}" for number in range(MAX_NODES + 1))
    graph = CausalGraph((*names, "y"))
    with pytest.raises(cr.OptionError, match=r"82 variables and 0 edges; drawings are limited"):
        plot_graph(graph)
    chain = CausalGraph.read([(f"n{number}", f"n{number + 1}") for number in range(10_000)])
    with pytest.raises(cr.OptionError, match="10,001 variables"):
        plot_graph(chain)
    largest = cr.discover(TABLE, **ROLES, graph=CausalGraph((*COLUMNS, *names)), k=1)
    assert '"graph":null' in largest.to_html().split('"view":')[1]
    assert '"nodes":[{"name":"a"' in find("{a b c z} -> y").to_html().split('"view":')[1]


def test_a_result_without_a_graph_has_none_to_plot() -> None:
    with pytest.raises(cr.OptionError, match="there is no causal graph to plot"):
        PLAIN.plot("graph")
    graph = "u -> a; {u a b c z} -> y"
    rules = find(graph, allow_inadmissible=True)
    for one in (rules, cr.RuleSet.from_json(rules.to_json())):
        assert one.plot("graph").plotted["offending"] == {("->", "u", "a"): ["d"]}
    lacks_a_column = find("{a b z} -> y", allow_inadmissible=True)
    assert "c" not in lacks_a_column.plot("graph").plotted["place"]


def test_one_set_of_controls_that_only_some_rules_have_is_their_own() -> None:
    """Where columns are left out and the others have one set of controls, rules are tested as they were found."""
    draw = np.random.default_rng(3)
    c, a, b, d = draw.integers(0, 2, (4, 1500))
    a = np.where(draw.random(1500) < 0.4, c, a)
    y = draw.random(1500) < 0.2 + 0.2 * a + 0.15 * b + 0.2 * c
    table = {"a": a, "b": b, "c": c, "d": d, "y": y.astype(int)}
    graph = "c -> {a b y}; a -> y; b -> y; d -> y; d <-> y"
    asked: dict[str, Any] = {"actionable": ["a", "b", "d"], "control": "auto", "allowed_control": ["c"], "graph": graph}
    for stepwise in (True, False):
        rules = cr.discover(table, "y", k=3, stepwise=stepwise, **asked)
        assert {rule.control for rule in rules} == {("c",)}
        assert rules.rungs == ()
        trusted = rules.trust(19, 5, progress=False)
        for rule in trusted:
            assert rule.p_value is not None
            assert rule.evidence is not None
            assert rule.evidence.stability is not None
            assert rule.evidence.balance
