"""The benchmarks of trust, whose populations have known effects."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def benchmark(name: str = "trust") -> ModuleType:
    """Return a benchmark as a module."""
    spec = importlib.util.spec_from_file_location(
        f"benchmarks_{name}", Path(__file__).parents[1] / "benchmarks" / f"{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
