"""Imports point one way: from a module to its own layer or to layers below, and never in a circle.

Imports inside functions count, imports for type checkers do not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

SRC = Path(__file__).resolve().parents[1] / "src"
PACKAGE = SRC / "causalrules"
# From top to bottom; a module belongs to the first matching prefix. Results know neither trust nor report; `rules`
# offers these as methods of RuleSet.
LAYERS = [
    ("__main__", "cli", "sklearn"),
    ("studio",),
    ("discovery",),
    ("rules",),
    ("stepwise",),
    ("report",),
    ("trust",),
    ("result",),
    ("search",),
    ("language",),
    ("data", "graph", "datasets"),
    ("estimators",),
    ("question",),
    ("options", "payload", "writing"),
    ("text", "exceptions", "alerts", "temporary", "waiting"),
]


def modules() -> dict[str, Path]:
    found = {}
    for path in PACKAGE.rglob("*.py"):
        if "_core" not in path.parts:
            found[".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")] = path
    return found


MODULES = modules()


def imports(path: Path) -> Iterator[str]:
    """Return the modules of the package that a module imports, at the top or inside functions."""
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "causalrules":
            for name in node.names:
                inside = f"{node.module}.{name.name}"
                yield inside if inside in MODULES else node.module
        waiting += ast.iter_child_nodes(node)


@cache
def graph() -> dict[str, set[str]]:
    """Return the imports of each module, read when first needed."""
    return {
        name: {other for other in imports(path) if other != name} & MODULES.keys() for name, path in MODULES.items()
    }


def layer(module: str) -> int:
    place = module.removeprefix("causalrules").removeprefix(".")
    for number, names in enumerate(LAYERS):
        if any(place == name or place.startswith(f"{name}.") for name in names):
            return number
    raise AssertionError(f"{module} has no layer: add it to LAYERS")


def test_no_module_imports_in_a_circle() -> None:
    without_root = {name: others - {"causalrules"} for name, others in graph().items()}
    assert list(TopologicalSorter(without_root).static_order())


def test_no_module_imports_from_a_layer_above() -> None:
    above = [
        f"{name} imports {other}"
        for name, others in sorted(graph().items())
        for other in sorted(others)
        if "causalrules" not in (name, other)
        if layer(other) < layer(name)
    ]
    assert above == []


def test_few_modules_lie_at_the_top() -> None:
    top = [path for path in PACKAGE.glob("*.py") if path.name != "__init__.py"]
    assert len(top) <= 16
