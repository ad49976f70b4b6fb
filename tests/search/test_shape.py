"""The core stays small enough to read in ten minutes."""

from __future__ import annotations

import re
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "native" / "src"
FILES = {
    path.relative_to(SOURCES).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(SOURCES.rglob("*.rs"))
    if "tests" not in path.parts
}


def body(text: str, name: str) -> int:
    """Return the number of lines of a function."""
    found = re.search(rf"^( *)(?:pub )?fn {name}\b.*?^\1}}", text, re.DOTALL | re.MULTILINE)
    assert found is not None, name
    return len(found[0].splitlines())


def test_no_file_is_long() -> None:
    lines = {name: len(text.splitlines()) for name, text in FILES.items()}
    print(f"{sum(lines.values()):,} lines in {len(lines)} files, the longest of {max(lines.values())}")
    assert sum(lines.values()) <= 10_500
    assert max(lines.values()) <= 500


def test_every_file_begins_with_what_it_is_for() -> None:
    assert [name for name, text in FILES.items() if not text.startswith("//! ")] == []


def test_few_fields_are_atomic_or_locked() -> None:
    field = r"^ +(?:pub(?:\(\w+\))? )?(\w+): (?:Mutex|RwLock|OnceLock|Condvar|Atomic\w+)\b(?!::)"
    fields = [f"{name}: {each}" for name, text in FILES.items() for each in re.findall(field, text, re.MULTILINE)]
    print(f"{len(fields)} atomic or locked fields: {', '.join(fields)}")
    assert len(fields) <= 12


def test_the_loop_of_the_search_fits_on_a_page() -> None:
    lines = {name: body(FILES["search/run.rs"], name) for name in ("run", "select_next", "dive")}
    print(f"the loop of the search has {sum(lines.values())} lines: {lines}")
    assert sum(lines.values()) <= 80


def test_only_the_border_and_the_kernels_are_unsafe() -> None:
    unsafe = {name for name, text in FILES.items() if re.search(r"^[^/]*\bunsafe\b", text, re.MULTILINE)}
    print(f"unsafe: {', '.join(sorted(unsafe))}")
    assert {name for name in unsafe if not name.startswith("ffi/")} <= {"bits/bitset.rs", "bits/cpu.rs"}
