"""Imports point one way: from a module to its own layer or to layers below, and never in a circle.

Imports inside functions count, imports for type checkers do not.
"""

from __future__ import annotations

import ast
import subprocess
import sys
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
    ("policy",),
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
    return imports_in(ast.parse(path.read_text(encoding="utf-8")))


def imports_in(tree: ast.AST) -> Iterator[str]:
    """Return the modules of the package that a piece of code imports, but not for type checkers alone."""
    waiting: list[ast.AST] = [tree]
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


def late_imports(path: Path) -> set[str]:
    """Return the modules of the package that the functions of a module import."""
    functions = [
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)
    ]
    return {name for function in functions for name in imports_in(function)} & MODULES.keys()


def test_only_what_start_up_does_without_is_imported_late() -> None:
    code = "import causalrules.discovery, sys; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(found.stdout.split())
    # The command line loads nothing of a search for --help; the package loads its names when they are used.
    needless = [
        f"{name} imports {other}"
        for name, path in sorted(MODULES.items())
        if name in loaded and name != "causalrules"
        for other in sorted(late_imports(path) & loaded)
    ]
    assert needless == []


def test_few_modules_lie_at_the_top() -> None:
    top = [path for path in PACKAGE.glob("*.py") if path.name != "__init__.py"]
    assert len(top) <= 16
