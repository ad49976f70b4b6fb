"""The package as a whole: its names, its version, and the cost of importing it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import causalrules as cr

ROOT = Path(__file__).resolve().parents[1]
TITANIC = str(ROOT / "src" / "causalrules" / "datasets" / "titanic.csv")
DISCOVER = ["discover", TITANIC, "--target", "survived", "--control", "sex"]


def test_every_public_name_is_there() -> None:
    missing = [name for name in cr.__all__ if not hasattr(cr, name)]
    assert missing == []
    assert set(cr.__all__) <= set(dir(cr))


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="discoverr"):
        _ = cr.discoverr


def test_one_version_everywhere() -> None:
    crate = tomllib.loads((ROOT / "native" / "Cargo.toml").read_text())["package"]["version"]
    assert {cr.__version__, version("causalrules")} == {crate}


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        ("import causalrules", {"numpy", "narwhals", "duckdb", "networkx", "matplotlib", "pandas"}),
        (
            "import causalrules as cr; cr.discover",
            {"duckdb", "networkx", "matplotlib", "pandas", "rich", "dask", "jinja2"},
        ),
        ("from causalrules.cli import cli; cli(['--help'], standalone_mode=False)", {"numpy", "narwhals", "duckdb"}),
        (
            f"from causalrules.cli import cli; cli({DISCOVER!r}, standalone_mode=False)",
            {
                "networkx",
                "narwhals",
                "rich",
                "causalrules.graph.graph",
                "causalrules.graph.admissibility",
            },
        ),
    ],
    ids=["import", "discover()", "causalrules --help", "causalrules discover"],
)
def test_nothing_is_loaded_before_it_is_used(code: str, unwanted: set[str]) -> None:
    script = f"{code}; import sys; print(*sorted({unwanted!r} & set(sys.modules)))"
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines()[-1] == ""
