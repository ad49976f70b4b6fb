#!/usr/bin/env python3
"""Every chore of the project by one name, such as `python3 dev.py demo` or `python3 dev.py test`.

Needs Python ≥ 3.11 and cargo, nothing else: it makes its own virtual environment in `.venv`
and installs the package there whenever what it is built from has changed, with developers' tools where they are needed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
FLOORS = ROOT / ".venv-floors"


def python_of(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


PYTHON = python_of(VENV)
# One test process per core. A process that has nothing left to do takes tests from the others.
PYTEST = (PYTHON, "-m", "pytest", "-n", "auto", "--dist", "worksteal")


def run(*command: object, cwd: Path = ROOT, environment: Mapping[str, str] | None = None) -> None:
    settings = [f"{name}={value!r}" for name, value in (environment or {}).items()]
    print("$", *settings, *(Path(part).name if isinstance(part, Path) else part for part in command), flush=True)
    code = subprocess.run(
        [str(part) for part in command], cwd=cwd, env={**os.environ, **(environment or {})}
    ).returncode
    if code:
        sys.exit(code)


def built_from() -> str:
    """A digest of all that the compiled package depends on."""
    digest = hashlib.sha256()
    native = ROOT / "native"
    sources = [ROOT / "pyproject.toml", native / "Cargo.toml", native / "build.rs"]
    for path in [*sources, *sorted((native / "include").iterdir()), *sorted((native / "src").rglob("*.rs"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def setup(tools: bool = True) -> None:
    """Make the environment and build the package, if what it is built from has changed."""
    stamp = VENV / "built-from"
    kind, _, known = stamp.read_text().partition(" ") if stamp.is_file() else ("", "", "")
    tools = tools or kind == "tools"
    if known != built_from() or (tools and kind != "tools"):
        make(VENV, stamp)
        install(VENV, "-e", ".[dev]" if tools else ".")
        stamp.write_text(f"{'tools' if tools else 'package'} {built_from()}")


def make(environment: Path, stamp: Path) -> None:
    """Make a virtual environment, unless there is one that was finished."""
    if sys.version_info < (3, 11):  # noqa: UP036 -- nothing has checked it yet
        sys.exit(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}")
    if shutil.which("cargo") is None:
        sys.exit("cargo is needed to build the core, and is not on the PATH: see https://rustup.rs")
    if not stamp.is_file():
        venv.create(environment, symlinks=os.name != "nt", with_pip=True)


def install(environment: Path, *packages: str) -> None:
    run(python_of(environment), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)


def demo(*arguments: str) -> None:
    """Find rules in a table shipped with the package."""
    setup(tools=False)
    run(PYTHON, "-m", "causalrules.cli", "demo", *arguments)


def test(*arguments: str) -> None:
    """All tests, of the core and of the package; arguments are pytest's."""
    setup()
    # In debug, where arithmetic that overflows is an error.
    run("cargo", "test", "--quiet", "--lib", cwd=ROOT / "native")
    run(*PYTEST, *arguments)


# The instructions that NumPy would choose from here.
_FOUND = """
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
print(*(name for name in __cpu_dispatch__ if __cpu_features__[name]))
"""


def widths() -> None:
    """The kept answers again, with narrower vectors in NumPy and BLAS than this machine has."""
    setup()
    found = subprocess.run([PYTHON, "-c", _FOUND], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    wide = [name for name in found if name.startswith(("AVX512", "X86_V4"))]
    for names, kernels in ((wide, "Haswell"), (found, "Nehalem")):
        if names:
            narrow = {"NPY_DISABLE_CPU_FEATURES": " ".join(names), "OPENBLAS_CORETYPE": kernels}
            run(*PYTEST, "tests/test_golden.py", environment=narrow)
        else:
            print(f"skipped: NumPy uses no instructions here that {kernels} does not have")


def pins() -> list[str]:
    """What the package needs, in exactly the lowest versions that it says it works with, and tools to test it."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *(each for name in ("plots", "ml", "dask", "studio") for each in extras[name])]
    # Data frames of today do not work with the lowest NumPy.
    needed += [each for each in extras["dev"] if each.startswith(("pandas>", "polars>", "pyarrow>"))]
    tools = [each for each in extras["dev"] if each.startswith(("pytest>", "pytest-xdist>", "hypothesis>"))]
    return [*(re.sub(r">=([\w.]+).*", r"==\1", each) for each in needed), *tools]


# Where other packages are used.
_OF_FLOORS = "data result graph cli test_sklearn.py report/test_plots.py studio/test_server.py studio/test_session.py "
_OF_FLOORS += "search/test_sharded.py"


def floors(*arguments: str) -> None:
    """Tests of what uses other packages, with the lowest versions of these; arguments are pytest's."""
    stamp = FLOORS / "built-from"
    wanted = "\n".join([*pins(), built_from()])
    if not stamp.is_file() or stamp.read_text() != wanted:
        make(FLOORS, stamp)
        install(FLOORS, *pins())
        install(FLOORS, "--no-deps", "-e", ".")
        stamp.write_text(wanted)
    tests = arguments or [f"tests/{each}" for each in _OF_FLOORS.split()]
    # Old packages use what new ones are about to drop, and scikit-learn has corrected its own checks since.
    chosen = ["-W", "ignore::DeprecationWarning", "-k", "not scikit_learns_own_checks"]
    run(python_of(FLOORS), *PYTEST[1:], *chosen, *tests)


def coverage() -> None:
    """All tests of the package, slower, and which of its branches they cover: an error below the floor."""
    setup()
    run(*PYTEST, "--cov", "--cov-report=term:skip-covered")


def npm(*arguments: object) -> None:
    """Run npm in web/, with its locked packages."""
    web, lock = ROOT / "web", ROOT / "web" / "package-lock.json"
    stamp = web / "node_modules" / "installed-from"
    if not stamp.is_file() or stamp.read_bytes() != lock.read_bytes():
        run("npm", "ci", "--silent", cwd=web)
        stamp.write_bytes(lock.read_bytes())
    run("npm", "run", "--silent", *arguments, cwd=web)


def web() -> None:
    """The scripts and the styles of report and studio, built from web/ into the package; needs npm."""
    npm("build")


def check_web() -> None:
    """Check the types of web/, and that the pages in the package are built from it."""
    if shutil.which("npm") is None:
        print("web: skipped, as npm is not installed (CI does this check)")
        return
    npm("check")
    with tempfile.TemporaryDirectory() as folder:
        npm("build", "--", folder)
        for built in Path(folder).glob("*/*"):
            page = Path(built.parent.name, built.name)
            if built.read_bytes() != (ROOT / "src" / "causalrules" / page).read_bytes():
                sys.exit(f"src/causalrules/{page} is not the one that web/ builds: python3 dev.py web")


def in_native(command: str) -> Callable[[], None]:
    return lambda: run(*command.split(), cwd=ROOT / "native")


def in_python(command: str) -> Callable[[], None]:
    return lambda: run(PYTHON, "-m", *command.split())


CHECKS: dict[str, Callable[[], None]] = {
    "cargo-fmt": in_native("cargo fmt --check"),
    "clippy": in_native("cargo clippy --release --all-targets --quiet -- -D warnings"),
    "ruff-check": in_python("ruff check ."),
    "ruff-format": in_python("ruff format --check ."),
    "mypy": in_python("mypy"),
    "web": check_web,
}


def lint(*names: str) -> None:
    """Formatting, lint and types; or only the checks that are named."""
    if unknown := set(names) - set(CHECKS):
        sys.exit(f"no check {', '.join(sorted(unknown))}; the checks are {', '.join(CHECKS)}")
    setup()
    for name in names or CHECKS:
        CHECKS[name]()


def paper(*arguments: str) -> None:
    """Every figure and table of the paper, anew."""
    setup()
    run(PYTHON, ROOT / "paper" / "run.py", *arguments)


def paper_quick(*arguments: str) -> None:
    """The same on less data, in minutes."""
    paper("--quick", *arguments)


def bench(*arguments: str) -> None:
    """How fast it is."""
    setup()
    run(PYTHON, ROOT / "benchmarks" / "run.py", *arguments)


def docs(*arguments: str) -> None:
    """The documentation as a site, strictly: a broken link or a page without a place is an error."""
    setup()
    run(PYTHON, "-m", "mkdocs", *(arguments or ["build", "--quiet"]))


def wheel() -> None:
    """The wheel and the source distribution into dist/, each tried in an empty environment."""
    setup()
    run(PYTHON, ROOT / "tests" / "wheels.py")


def fuzz(*arguments: str) -> None:
    """Hostile inputs, kills and recomputations for --minutes N; a failure prints its seed and a minimal case."""
    setup()
    run(PYTHON, ROOT / "tests" / "fuzz" / "run.py", *arguments)


CHORES: dict[str, Callable[..., None]] = {
    "setup": setup,
    "demo": demo,
    "test": test,
    "widths": widths,
    "floors": floors,
    "coverage": coverage,
    "lint": lint,
    "paper": paper,
    "paper-quick": paper_quick,
    "bench": bench,
    "docs": docs,
    "wheel": wheel,
    "web": web,
    "fuzz": fuzz,
}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in CHORES:
        lines = (f"  {name:12}{chore.__doc__}" for name, chore in CHORES.items())
        sys.exit("usage: python3 dev.py CHORE\n" + "\n".join(lines))
    CHORES[sys.argv[1]](*sys.argv[2:])
