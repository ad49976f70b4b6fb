"""Causal graphs in every format: round trips, errors with their position, and hostile files."""

import itertools
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causalrules.exceptions import FileError, GraphError, NoSuchFileError
from causalrules.graph.graph import CausalGraph
from strategies import examples

ANY_NAME = st.text(max_size=8)


@st.composite
def graphs(draw: st.DrawFn, names: st.SearchStrategy[str] = ANY_NAME) -> CausalGraph:
    nodes = draw(st.lists(names, unique=True, max_size=6))
    order = draw(st.permutations(nodes))
    directed, bidirected, unknown = [], [], []
    for a, b in itertools.combinations(order, 2):
        kind = draw(st.sampled_from(["", "->", "<->", "both", "--"]))
        directed += [(a, b)] * (kind in ("->", "both"))
        bidirected += [(a, b)] * (kind in ("<->", "both"))
        unknown += [(a, b)] * (kind == "--")
    latent = draw(st.sets(st.sampled_from(nodes))) if nodes else set()
    return CausalGraph(tuple(nodes), tuple(directed), tuple(bidirected), tuple(unknown), frozenset(latent))


@settings(max_examples=examples(150, 300), deadline=None)
@given(graphs())
def test_graphs_survive_every_format(graph: CausalGraph) -> None:
    assert CausalGraph.read(graph) == graph
    assert CausalGraph.read(graph.to_networkx()) == graph
    for text in (graph.to_dot(), graph.to_dagitty(), graph.to_gml()):
        assert CausalGraph.read(text) == graph


@settings(max_examples=100, deadline=None)
@given(graphs(names=st.text(st.characters(codec="utf-8"), max_size=8)))
def test_graphs_survive_files(tmp_path_factory: pytest.TempPathFactory, graph: CausalGraph) -> None:
    folder = tmp_path_factory.mktemp("graphs", numbered=True)
    texts = {"dot": graph.to_dot(), "gv": graph.to_dot(), "gml": graph.to_gml(), "txt": graph.to_dagitty()}
    for ending, text in {**texts, "dagitty": graph.to_dagitty()}.items():
        path = folder / f"graph.{ending}"
        path.write_text(text, encoding="utf-8", newline="")
        assert CausalGraph.read(path) == CausalGraph.read(str(path)) == graph


@settings(max_examples=100, deadline=None)
@given(graphs(names=st.text(st.characters(codec="latin-1", exclude_categories=["C"]), max_size=8)))
def test_networkx_reads_our_gml_and_we_read_its(graph: CausalGraph) -> None:
    theirs = nx.parse_gml(graph.to_gml())
    assert CausalGraph.read(theirs) == graph
    assert CausalGraph.read("\n".join(nx.generate_gml(graph.to_networkx()))) == graph


def test_graphviz_own_style_is_read() -> None:
    graph = CausalGraph.read(
        """strict digraph "my graph" {
        rankdir=LR; node [shape=box, color="red"]  // how it looks is not what it says
# a comment of the preprocessor
        a [label=<<b>A</b>>]; /* u: */ u [observed=no]
        a -> {b c} -> d
        subgraph cluster_0 { label="x"; e -> f [color=blue]; }
        e -> d [dir=back]; u -> a [dir=both] }"""
    )
    assert set(graph.directed) == {("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("e", "f"), ("d", "e")}
    assert graph.bidirected == (("a", "u"),)
    assert graph.latent == {"u"}


def test_comments_end_with_their_line() -> None:
    graph = CausalGraph.read("a -> b  # c -> d\n  # e -> f\n\tc -> d // b -> c\n#\n")
    assert set(graph.directed) == {("a", "b"), ("c", "d")}
    with pytest.raises(GraphError, match="line 1, column 7: unexpected '#'"):
        CausalGraph.read("a -> b#1")  # # is part of a name, which needs quotes


def test_the_attributes_of_a_group_do_not_reach_the_edges_inside_it() -> None:
    graph = CausalGraph.read("{a -> b} -> c [dir=both]")
    assert graph.directed == (("a", "b"),)
    assert graph.bidirected == (("a", "c"), ("b", "c"))


def test_dagitty_own_style_is_read() -> None:
    graph = CausalGraph.read(
        'dag {\nbb="-1.5,-2,3,4"\nX [exposure,pos="-1.0,0.2"]\nY [outcome,pos="1,2"]\nU [latent]\n'
        "X -> Y [beta=-.3]\nX <- U -> Y\nX <-> Y\nX -- W\nW o-o Y\n W @-@ U }"
    )
    assert set(graph.directed) == {("X", "Y"), ("U", "X"), ("U", "Y")}
    assert set(graph.bidirected) == {("X", "Y"), ("Y", "W"), ("U", "W")}
    assert set(graph.unknown) == {("X", "W"), ("Y", "W"), ("U", "W")}
    assert graph.latent == {"U"}


def test_python_objects_are_read() -> None:
    expected = CausalGraph(("a", "b", "c"), (("a", "b"), ("a", "c")))
    assert CausalGraph.read([("a", "b"), ("a", "c")]) == expected
    assert CausalGraph.read({"a": ["b", "c"]}) == expected
    assert CausalGraph.read(nx.DiGraph([("a", "b"), ("a", "c")])) == expected
    assert CausalGraph.read("a -> b\na -> c") == expected
    assert CausalGraph.read(nx.Graph([("a", "b")])).unknown == (("a", "b"),)
    assert CausalGraph.read(nx.path_graph(2, create_using=nx.DiGraph)).directed == (("0", "1"),)
    assert CausalGraph.read(expected, latent=["b"]).latent == {"b"}
    assert CausalGraph.read({"a": "bc"}).nodes == ("a", "bc")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("dag {\na -> b\nb -> }", "line 3, column 6: expected a name after '->', but found '}'"),
        ("dag {\na -> b", "line 2, column 7: expected '}', but the text ends"),
        ("dag { a -> b } c", "line 1, column 16: expected the end of the graph after its last '}', but found 'c'"),
        ("a -> b\n}", "line 2, column 1: expected a name, but found '}'"),
        ('dag {\n "a -> b }', "line 2, column 2: this quoted name has no closing quote"),
        ("dag { capital-gain -> y }", "line 1, column 14: unexpected '-'; quote names that contain more than"),
        ("dag { a -> b [dir=up] }", "line 1, column 14: dir='up': must be forward, back, both or none"),
        ("dag { u [latent=maybe]; u -> a }", "line 1, column 9: latent='maybe': must be true or false"),
        ("dag { s [selected] -> a }", "line 1, column 9: dagitty's [selected] is not supported"),
        ("digraph { node [latent=true]; a -> b }", "line 1, column 11: defaults for 'latent' are not supported"),
        ("a -> {}\n", "line 1, column 3: empty group"),
        ("a -> b\nb -> c\nc -> a", "line 1, 2, 3: the graph has a cycle: 'a' -> 'b' -> 'c' -> 'a'"),
        ("a -> b\nc -> c", "line 2: 'c' has an edge to itself"),
        ("a -> b\nb -- a", "line 1, 2: the edge between 'a' and 'b' is given as known and as unknown"),
        ("graph [ node [ id 0 ]\nedge [ source 0 target 1 ] ]", "invalid GML: edge #0 has undefined target 1"),
        ("graph [ node [ id 0 ]\nnode [ id 0 ] ]", "invalid GML: node id 0 is duplicated"),
        ("graph [ node [ label 1 ] ]", "invalid GML: node #0 has no 'id' attribute"),
        ("graph [ node [ id 0 ]", "line 2, column 1: invalid GML: expected ']', found EOF"),
        ([("a", "b"), ("b", "a")], "the graph has a cycle: 'a' -> 'b' -> 'a'"),
        ([("a", "b"), "ab"], "edge number 2 of the list is 'ab'; an edge is a pair"),
        ([("a", "b", "c")], "edge number 1 of the list has 3 entries"),
        ([(("a",), "b")], "edge number 1 of the list: \"('a',)\" is tuple; a variable's name must be text"),
        ({"a": 1}, "the entry of 'a' is '1'; it must be a list of effects"),
        (nx.DiGraph([(1, "1")]), "two nodes of the graph have the name '1'"),
        (17, "cannot read a causal graph from int"),
        (b"a -> b", "cannot read a causal graph from bytes"),
    ],
)
def test_mistakes_are_named_with_their_place(source: object, message: str) -> None:
    with pytest.raises(GraphError) as caught:
        CausalGraph.read(source)
    assert type(caught.value) is GraphError
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("no_such_file.dot", "'no_such_file.dot' is neither an existing file nor the text of a graph"),
        ("\0" + "x" * 5000, "is neither an existing file nor the text of a graph"),
        (Path("no_such_file.dot"), "no graph file 'no_such_file.dot'"),
    ],
)
def test_a_missing_file_is_a_file_not_found_error_too(source: object, message: str) -> None:
    with pytest.raises(GraphError, match=message) as caught:
        CausalGraph.read(source)
    assert isinstance(caught.value, NoSuchFileError)
    assert isinstance(caught.value, FileNotFoundError)


def test_a_file_that_cannot_be_read_is_an_os_error_too(tmp_path: Path) -> None:
    for source in (tmp_path, str(tmp_path), *Path("/dev").glob("zero")):
        with pytest.raises(GraphError, match=r"cannot read the graph file .*: not a regular file") as caught:
            CausalGraph.read(source)
        assert isinstance(caught.value, FileError)
        assert not isinstance(caught.value, FileNotFoundError)


def test_a_mistake_in_a_file_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "roles.dot"
    path.write_text("digraph {\n a -> }")
    with pytest.raises(GraphError, match=r"roles\.dot', line 2, column 7"):
        CausalGraph.read(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(GraphError, match="cannot read the graph file"):
        CausalGraph.read(path)


def test_an_unknown_latent_variable_is_refused_with_the_name_that_was_meant() -> None:
    with pytest.raises(GraphError, match=r"^latent: no variable 'agee' in the graph; did you mean 'age'\?"):
        CausalGraph.read("age -> y", latent=["agee"])


@settings(max_examples=examples(200, 400), deadline=None)
@given(st.text(alphabet='ab"\\<>{}[]-=;,/*# \n@o.1', max_size=60), st.sampled_from(["dag {", "graph [", ""]))
def test_any_text_is_a_graph_or_a_graph_error(text: str, start: str) -> None:
    try:
        graph = CausalGraph.read(f"{start}{text}\n")
    except GraphError:
        return
    assert CausalGraph.read(graph.to_dagitty()) == graph


GML_WORDS = ["graph", "node", "edge", "id", "label", "source", "target", "directed", "multigraph", "u_of_edge", "dir"]


@settings(max_examples=examples(150, 300), deadline=None)
@given(
    st.lists(st.sampled_from([*GML_WORDS, "[", "[", "]", "]", "0", "1", "1.5", "9" * 5000, '"a"', '"[]"', '"', "\n"]))
)
def test_any_gml_is_a_graph_or_a_graph_error(words: list[str]) -> None:
    try:
        graph = CausalGraph.read(f"graph [ node [ id 0 ] {' '.join(words)} ]")
    except GraphError:
        return
    assert CausalGraph.read(graph.to_gml()) == graph


N = 10_000
NAMES = " ".join(f"a{number}" for number in range(N))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("dag {" + "{" * N + "a" + "}" * N, id="open"),
        pytest.param("dag {" + "{" * N, id="unclosed"),
        pytest.param("graph [ " + "x [ " * N, id="gml"),
        pytest.param("dag {" + "".join(f"{{ a{n} -> " for n in range(N)) + "b" + "}" * N + "}", id="nested"),
        pytest.param("dag {" + "{" * N + "a" + "".join(f"}} -> b{n} " for n in range(N)) + "}", id="chained"),
        pytest.param(f"dag {{ {{ {NAMES} }} -> {{ {NAMES} }} }}", id="product"),
        pytest.param("dag { " + "{" * 1000 + "a " * N + "".join("} -> b" for _ in range(1000)) + "}", id="repeated"),
        pytest.param("dag { " + '"' * (2 * N + 1), id="quotes"),
        pytest.param("dag {" + "<" * N, id="angles"),
        pytest.param("dag { " + "/*" * N, id="comments"),
        pytest.param('dag { "' + "\\" * (2 * N + 1) + '" }', id="backslashes"),
        pytest.param("\n".join(f"v{n} -> v{(n + 1) % N}" for n in range(N)), id="cycle"),
    ],
)
def test_hostile_text_is_refused_without_a_crash(text: str) -> None:
    with pytest.raises(GraphError, match="line"):
        CausalGraph.read(text)


def test_deep_nesting_and_many_edges_are_read() -> None:
    assert CausalGraph.read("dag {" + "{" * N + "a" + "}" * N + "}").nodes == ("a",)
    assert CausalGraph.read("dag { a " + "[x=1]" * (N // 10) + "}").nodes == ("a",)
    chain = CausalGraph.read([(f"<v {number}>", f"<v {number + 1}>") for number in range(N)])
    assert CausalGraph.read(chain.to_dot()) == chain
