"""The populations of benchmarks/trust.py, whose effects are known exactly."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def benchmark() -> ModuleType:
    """The benchmark, whose populations have effects that are known exactly."""
    spec = importlib.util.spec_from_file_location(
        "benchmarks_trust", Path(__file__).parents[1] / "benchmarks" / "trust.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
