"""Graphs in the objects and files of other libraries: data frames, networkx, pgmpy, causal-learn and BIF."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import pytest

from causalrules.exceptions import GraphError
from causalrules.graph.graph import CausalGraph

BIF = """// Asia, in part
network unknown {
}
variable asia {
  type discrete [ 2 ] { yes, no };
}
variable "lung cancer" {
  type discrete [ 2 ] { yes, no };
}
variable either { type discrete [ 2 ] { yes, no }; }
probability ( asia ) {
  table 0.01, 0.99;
}
probability ( either | "lung cancer", asia ) {
  (yes, yes) 1.0, 0.0;
}
"""


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_data_frame_of_edges(library: str) -> None:
    module: Any = pytest.importorskip(library)
    build = module.table if library == "pyarrow" else module.DataFrame
    graph = CausalGraph.read(build({"cause": ["a", "b", "u"], "effect": ["b", "y", "y"]}))
    assert graph == CausalGraph.read("a -> b -> y <- u")
    graph = CausalGraph.read(
        build({"From": ["a", "b", "c"], "To": ["b", "y", "y"], "edge": ["->", "<->", "undirected"]})
    )
    assert graph == CausalGraph.read("a -> b <-> y; c -- y")
    with pytest.raises(GraphError, match="needs a column 'cause' or 'from' or 'source'; it has a and effect"):
        CausalGraph.read(build({"a": ["x"], "effect": ["y"]}))
    with pytest.raises(GraphError, match="row 2 of the edges: '=>' is no edge; write one of ->, <-"):
        CausalGraph.read(build({"cause": ["a", "b"], "effect": ["b", "c"], "kind": ["->", "=>"]}))


def test_an_edge_with_a_circle_and_a_head_has_its_most_general_reading() -> None:
    most = CausalGraph(("a", "b"), directed=(("a", "b"),), bidirected=(("a", "b"),))
    for text in ("pag { a o-> b }", "pag { a @-> b }", "b <-@ a", "b <-o a"):
        assert CausalGraph.read(f"{{a b}}; {text}" if "<-" in text else text) == most


def test_a_bif_file_is_read_for_its_edges(tmp_path: Path) -> None:
    wanted = CausalGraph(("asia", "lung cancer", "either"), (("lung cancer", "either"), ("asia", "either")))
    (tmp_path / "asia.bif").write_text(BIF)
    assert CausalGraph.read(tmp_path / "asia.bif") == CausalGraph.read(BIF) == wanted
    with pytest.raises(GraphError, match=r"line 14: probability\(.*: 'tub' is no variable of the network"):
        CausalGraph.read(BIF.replace('"lung cancer", asia', "tub"))
    # A long file is read quickly.
    many = "network n {\n}\n" + "".join(f"variable x{i} {{\n}}\n" for i in range(20_000))
    assert len(CausalGraph.read(many + "probability ( x1 | x0 ) {\n" + " " * 100_000 + "}").nodes) == 20_000


def test_pgmpys_graphs_are_recognised_by_their_interface() -> None:
    dag = nx.DiGraph([("u", "a"), ("u", "y"), ("a", "y")])
    vars(dag)["latents"] = {"u"}
    assert CausalGraph.read(dag) == CausalGraph.read("u -> {a y}; a -> y", latent="u")
    pdag = nx.DiGraph([("a", "b"), ("b", "a"), ("b", "y")])
    vars(pdag)["undirected_edges"] = {("a", "b")}
    assert CausalGraph.read(pdag) == CausalGraph.read("a -- b -> y")
    admg = nx.MultiDiGraph()
    admg.add_edge("a", "y", type="directed")
    admg.add_edge("a", "y", type="bidirected")
    assert CausalGraph.read(admg) == CausalGraph.read("a -> y; a <-> y")
    pag = nx.Graph()
    for a, b, left, right in (("a", "b", "o", ">"), ("c", "b", "-", ">"), ("c", "d", "o", "o"), ("e", "c", ">", "-")):
        pag.add_edge(a, b, marks={a: left, b: right})
    assert CausalGraph.read(pag) == CausalGraph.read(" a o-> b <- c ; c o-o d; c -> e")


def test_pgmpys_own_graphs() -> None:
    base = pytest.importorskip("pgmpy.base")
    graph = base.DAG([("u", "a"), ("u", "y"), ("a", "y")], latents={"u"})
    assert CausalGraph.read(graph) == CausalGraph.read("u -> {a y}; a -> y", latent="u")
    graph = base.PDAG(directed_ebunch=[("b", "y")], undirected_ebunch=[("a", "b")])
    assert set(map(frozenset, CausalGraph.read(graph).unknown)) == {frozenset("ab")}
    assert CausalGraph.read(graph).directed == (("b", "y"),)
    graph = base.ADMG(directed_ebunch=[("a", "y"), ("b", "y")], bidirected_ebunch=[("a", "y")])
    assert CausalGraph.read(graph) == CausalGraph.read("a -> y; b -> y; a <-> y")


def learned(*edges: tuple[str, str, str, str], pag: bool = False, latent: str = "") -> Any:
    """Return an object with the interface of causal-learn's graphs."""

    def node(name: str) -> Any:
        kind = SimpleNamespace(name="LATENT" if name == latent else "MEASURED")
        return SimpleNamespace(get_name=lambda: name, get_node_type=lambda: kind)

    def edge(a: str, b: str, left: str, right: str) -> Any:
        ends = [SimpleNamespace(name=each) for each in (left, right)]
        return SimpleNamespace(
            get_node1=lambda: node(a),
            get_node2=lambda: node(b),
            get_endpoint1=lambda: ends[0],
            get_endpoint2=lambda: ends[1],
            properties=[SimpleNamespace(name="pl")] if b == "w" else [SimpleNamespace(name="nl")],
        )

    nodes = [node(name) for name in dict.fromkeys(name for a, b, *_ in edges for name in (a, b))]
    found = [edge(*each) for each in edges]
    return SimpleNamespace(get_nodes=lambda: nodes, get_graph_edges=lambda: found, is_pag=lambda: pag)


def test_causal_learns_graphs_are_recognised_by_their_interface() -> None:
    pc = learned(("a", "b", "TAIL", "ARROW"), ("b", "c", "TAIL", "TAIL"), ("c", "d", "ARROW", "ARROW"), latent="d")
    assert CausalGraph.read(pc) == CausalGraph.read("a -> b -- c <-> d", latent="d")
    assert CausalGraph.read(SimpleNamespace(G=pc)) == CausalGraph.read(pc)
    fci = learned(("a", "b", "TAIL", "ARROW"), ("c", "w", "TAIL", "ARROW"), ("b", "c", "CIRCLE", "ARROW"), pag=True)
    assert CausalGraph.read(fci) == CausalGraph.read(" a o-> b o-> c o-> w")
    # FCI's edges say which causes share no unobserved cause with their effects.
    edges = fci.get_graph_edges()
    assert set(CausalGraph.read(edges).bidirected) == {("c", "w"), ("b", "c")}
    with pytest.raises(GraphError, match="edge 'a' -> 'b': an edge with the marks 'STAR' and '>' is not supported"):
        CausalGraph.read(learned(("a", "b", "STAR", "ARROW")))


def test_causal_learns_own_graphs() -> None:
    general = pytest.importorskip("causallearn.graph.GeneralGraph", reason="no causal-learn: pip install causal-learn")
    from causallearn.graph.Edge import Edge  # type: ignore[import-not-found]
    from causallearn.graph.Endpoint import Endpoint  # type: ignore[import-not-found]
    from causallearn.graph.GraphNode import GraphNode  # type: ignore[import-not-found]

    a, b, c = (GraphNode(name) for name in "abc")
    graph = general.GeneralGraph([a, b, c])
    graph.add_edge(Edge(a, b, Endpoint.TAIL, Endpoint.ARROW))
    graph.add_edge(Edge(b, c, Endpoint.CIRCLE, Endpoint.CIRCLE))
    assert CausalGraph.read(graph) == CausalGraph.read("a -> b -- c")
