#!/usr/bin/env python3
"""Every chore of the project by one name, such as `python3 dev.py demo` or `python3 dev.py test`.

Needs Python ≥ 3.11 and cargo, nothing else: it makes its own virtual environment in `.venv`
and installs the package with its developers' tools there whenever what it is built from has changed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")


def run(*command: object, cwd: Path = ROOT) -> None:
    print("$", *(Path(part).name if isinstance(part, Path) else part for part in command), flush=True)
    code = subprocess.run([str(part) for part in command], cwd=cwd).returncode
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


def setup() -> None:
    """Make the environment and build the package, if what it is built from has changed."""
    stamp = VENV / "built-from"
    if stamp.is_file() and stamp.read_text() == built_from():
        return
    if sys.version_info < (3, 11):  # noqa: UP036 -- nothing has checked it yet
        sys.exit(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}")
    if shutil.which("cargo") is None:
        sys.exit("cargo is needed to build the core, and is not on the PATH: see https://rustup.rs")
    if not stamp.is_file():  # also where an earlier try was cut short
        venv.create(VENV, symlinks=os.name != "nt", with_pip=True)
    run(PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-e", ".[dev]")
    stamp.write_text(built_from())


def demo(*arguments: str) -> None:
    """Find rules in a table shipped with the package."""
    setup()
    run(PYTHON, "-m", "causalrules.cli", "demo", *arguments)


def test(*arguments: str) -> None:
    """All tests, of the core and of the package; arguments are pytest's."""
    setup()
    # In debug, where arithmetic that overflows is an error.
    run("cargo", "test", "--quiet", cwd=ROOT / "native")
    run(PYTHON, "-m", "pytest", "-n", "auto", *arguments)


def coverage() -> None:
    """All tests of the package, slower, and which of its branches they cover: an error below the floor."""
    setup()
    run(PYTHON, "-m", "pytest", "-n", "auto", "--cov", "--cov-report=term:skip-covered")


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
