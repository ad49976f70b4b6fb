"""Build the wheel and the source distribution, and test each in an empty environment outside the repository.

python3 dev.py wheel
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
# A wheel holds the compiled core, the package with the built pages of report and studio, and small tables.
MOST_BYTES = 2_000_000
PAGES = {f"causalrules/{page}/{page}.{kind}" for page in ("report", "studio") for kind in ("js", "css")}
SMOKE = """
import causalrules as cr, pathlib
rules = cr.discover(cr.datasets.titanic(), "survived", actionable=["class", "sex"], k=1, progress=False)
assert str(rules[0]) == "class ≤ 2 ∧ sex = female", rules[0]
assert rules.optimal
rules.to_html("report.html")
assert "class" in pathlib.Path("report.html").read_text(encoding="utf-8")
assert cr.RuleSet.from_json(rules.to_json())[0].effect == rules[0].effect
assert "site-packages" in cr.__file__, cr.__file__
assert "max_length" in cr.discover.__doc__ and "{options}" not in cr.discover.__doc__, cr.discover.__doc__
"""


def run(*command: object, cwd: Path = ROOT) -> str:
    """Run a command and return its output; exit with the output if it fails."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def pythons() -> list[Path]:
    """Return the supported Python versions on this machine."""
    found = [Path(sys.executable)]
    installed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in VERSIONS[1:]:
        candidates = sorted(installed.glob(f"{version}.*/bin/python"))
        if on_path := shutil.which(f"python{version}"):
            candidates.append(Path(on_path))
        for candidate in candidates:
            tried = subprocess.run([candidate, "-c", "import venv, ensurepip"], capture_output=True)
            if tried.returncode == 0:
                found.append(candidate)
                break
    return found


def check_contents(wheel: Path, source: Path) -> None:
    """Check the contents and sizes of the distributions."""
    inside = zipfile.ZipFile(wheel).namelist()
    assert any(name.endswith(".so") or name.endswith(".pyd") or name.endswith(".dylib") for name in inside), inside
    assert {"causalrules/py.typed", "causalrules/datasets/titanic.csv", *PAGES} <= set(inside), sorted(inside)
    assert not [name for name in inside if not name.startswith(("causalrules/", "causalrules-"))]
    assert not [name for name in inside if name.endswith((".rs", ".ts", ".tsx", ".pyc")) or "test" in name.lower()]
    assert wheel.stat().st_size < MOST_BYTES, wheel.stat().st_size
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"native/Cargo.toml", "native/src/lib.rs", "pyproject.toml", "README.md", "LICENSE"} <= names
    assert {f"src/{name}" for name in PAGES} <= names, sorted(names)
    assert not [name for name in names if name.split("/")[0] in {"tests", "docs", "site", "web", "benchmarks", "paper"}]
    assert source.stat().st_size < MOST_BYTES, source.stat().st_size


def smoke(python: Path, distribution: Path) -> str:
    """Install a distribution into an empty environment, use it outside the repository, and return a summary."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        run(python, "-m", "venv", home / "venv")
        binaries = home / "venv" / ("Scripts" if os.name == "nt" else "bin")
        run(binaries / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", distribution)
        installed = time.perf_counter()
        run(binaries / "python", "-c", SMOKE, cwd=home)
        assert "class ≤ 2" in run(binaries / "causalrules", "demo", cwd=home)
        assert (home / "cr-demo").is_dir()
        version = run(binaries / "python", "-c", "import sys; print(*sys.version_info[:2], sep='.')").strip()
    used = time.perf_counter() - installed
    return f"Python {version}: {distribution.name} installed in {installed - start:.0f} s, used in {used:.0f} s"


def resolved(wheel: Path) -> str:
    """Let pip resolve the wheel with the extra `all` in an empty environment; return the resolution."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        run(sys.executable, "-m", "venv", home / "venv")
        pip = home / "venv" / ("Scripts" if os.name == "nt" else "bin") / "pip"
        planned = run(pip, "install", "--disable-pip-version-check", "--dry-run", f"{wheel}[all]", cwd=home)
    (would,) = [line for line in planned.splitlines() if line.startswith("Would install")]
    for package in ("matplotlib", "scikit-learn", "dask", "distributed", "starlette", "uvicorn"):
        assert f" {package}-" in would, would
    return f"causalrules[all] resolves to {len(would.split()) - 2} packages"


def main() -> None:
    """Build both, check them, and test them."""
    with tempfile.TemporaryDirectory() as folder:
        dist = Path(folder)
        run(sys.executable, "-m", "maturin", "build", "--release", "--quiet", "--out", dist)
        run(sys.executable, "-m", "maturin", "sdist", "--out", dist)
        (wheel,), (source,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
        check_contents(wheel, source)
        print(f"{wheel.name} {wheel.stat().st_size:,} bytes; {source.name} {source.stat().st_size:,} bytes", flush=True)
        print(resolved(wheel), flush=True)
        for python in pythons():
            print(smoke(python, wheel), flush=True)
        print(smoke(Path(sys.executable), source), flush=True)
        kept = ROOT / "dist"
        kept.mkdir(exist_ok=True)
        for path in (wheel, source):
            shutil.copy2(path, kept)


if __name__ == "__main__":
    main()
