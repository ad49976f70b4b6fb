"""Random ladders: tables and questions, and comparison of discover() with brute force."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

import pytest

import causalrules as cr
from oracle import Condition, Ladder

# Draws one of several values: random.choice, or hypothesis.
Choose = Callable[[Sequence[Any]], Any]

VALUES: dict[str, list[Any]] = {
    "number": [-1, 0, 0.5, 1, 2, 3, 10],
    "text": ["a", "b", "c", "d"],
    "boolean": [False, True],
}


def drawn_rows(
    random: Random, kinds: dict[str, str], control: dict[str, str], mean: str, n: int
) -> list[dict[str, Any]]:
    """Draw rows in which some columns affect the target, and others follow these or the controls."""
    names = list(kinds)
    values = {
        name: random.sample(VALUES[kind], random.randint(2, min(4, len(VALUES[kind])))) for name, kind in kinds.items()
    }
    moves = {name: random.choice([0.0, 0.0, 0.2, 0.5]) for name in names}
    follows = {name: random.choice([None, None, *names[:place]]) for place, name in enumerate(names)}
    empty = {name: random.choice([0.0, 0.0, 0.1, 0.3]) for name in names}
    unknown = random.choice([0.0, 0.1])
    rows = []
    for place in range(n):
        row: dict[str, Any] = {
            name: random.choice([1, 2, 3] if kind == "number" else ["p", "q"]) for name, kind in control.items()
        }
        codes: dict[str, int] = {}
        push = 0.15 * sum(value in (1, "p") for value in row.values())
        for name in names:
            size = len(values[name])
            before = follows[name]
            alike = before is not None and random.random() < 0.7
            codes[name] = codes[before] % size if alike and before is not None else random.randrange(size)
            push += moves[name] * (codes[name] == 0)
            row[name] = values[name][codes[name]]
        if mean == "many":
            y: Any = round(random.gauss(0, 1) + 3 * push, 2)
        elif mean == "few":
            y = random.choice([-1, 0, 2]) + 4 * (random.random() < push)
        else:
            y = int(random.random() < 0.1 + push)
        row["y"] = None if random.random() < unknown and place > 1 else y
        for name in names:  # missing, more often where the target is high
            if random.random() < empty[name] * (1.5 if y is not None and y > 0 else 1):
                row[name] = None
        rows.append(row)
    return rows


def drawn(choose: Choose) -> Ladder:
    """Draw a table and a question; tables without a valid question are drawn again."""
    mean = choose(["", "", "", "few", "many"])
    n_columns = choose([2, 3, 4, 4, 5])
    kinds = {f"x{place}": choose(["number", "text", "text", "boolean"]) for place in range(n_columns)}
    n_controls = choose([0, 0, 1, 1, 2])
    control = {f"z{place}": choose(["number", "text"]) for place in range(n_controls)}
    n = choose([12, 30, 60, 60, 120])
    seed = choose(range(10**6))
    times = choose([None, None, 3, 12, 40])
    reference = choose([False, False, False, True])
    for attempt in range(100):
        random = Random(f"{seed} {attempt}")
        rows = drawn_rows(random, kinds, control, mean, n)
        if times is not None:
            rows = [{**row, "times": random.randint(0, times if n < 60 else min(times, 4))} for row in rows]
        asked = Ladder(
            rows=rows,
            target="y",
            actionable=kinds,
            control=control,
            mean=bool(mean),
            weights=None if times is None else "times",
        )
        if _can_be_asked(asked):
            break
    else:
        raise AssertionError("no table can be asked")
    options: dict[str, Any] = {
        "k": choose([4, 4, 4, 1, 2, 10]),
        "beta": choose([None, None, 0.0, 0.3, 0.7, 1.5]),
        "error_rate": choose([0.05, 0.5]),
        "max_length": choose([1, 2, 3, 3, None]),
        "min_coverage": choose([0.0, 0.0, 0.05, 0.2]),
        "max_bins": choose([2, 3, 8]),
        "control_bins": choose([2, 4]),
        "unknown": choose([True, True, False]),
        "decrease": choose([False, False, True]),
    }
    if reference:
        arms = sorted({row["x0"] for row in asked.observed if row["x0"] is not None}, key=str)
        rows = [{name: value for name, value in row.items() if name == "x0" or name not in kinds} for row in asked.rows]
        options |= {"rows": rows, "actionable": {"x0": kinds["x0"]}, "reference": ("x0", choose(arms)), "max_bins": 8}
    return Ladder(**{**vars_of(asked), **options})


def vars_of(asked: Ladder) -> dict[str, Any]:
    return {name: getattr(asked, name) for name in Ladder.__dataclass_fields__}


def _can_be_asked(asked: Ladder) -> bool:
    rows = asked.observed
    columns = {name: {row[name] for row in rows} - {None} for name in ["y", *asked.actionable, *asked.control]}
    if not all(len(values) > 1 for values in columns.values()) or (asked.mean and columns["y"] <= {0, 1}):
        return False
    # Texts that are all different are taken for identifiers, not for conditions.
    texts = [name for name, kind in asked.actionable.items() if kind == "text"]
    known = [row for row in asked.rows if row["y"] is not None and row.get("times", 1)]
    return all(len(columns[name]) < sum(row[name] is not None for row in known) for name in texts)


def columns_of(asked: Ladder) -> dict[str, list[Any]]:
    return {name: [row[name] for row in asked.rows] for name in asked.rows[0]}


def options_of(asked: Ladder) -> dict[str, Any]:
    options: dict[str, Any] = {
        name: getattr(asked, name)
        for name in (
            "target",
            "k",
            "beta",
            "error_rate",
            "max_length",
            "min_coverage",
            "max_bins",
            "control_bins",
            "weights",
        )
    }
    return options | {
        "control": list(asked.control),
        "actionable": list(asked.actionable),
        "outcome": None if asked.mean else 1,
        "missing": "unknown" if asked.unknown else "false",
        "direction": "decrease" if asked.decrease else "increase",
        "reference": None if asked.reference is None else dict([asked.reference]),
        "adjust": "strata",
        "n_jobs": 1,
        "progress": False,
    }


def discover(asked: Ladder, data: Any = None, **more: Any) -> cr.RuleSet:
    return cr.discover(columns_of(asked) if data is None else data, **{**options_of(asked), **more})


def text(conditions: Sequence[Condition]) -> list[str]:
    return sorted(each.text for each in conditions)


def agree(found: cr.RuleSet, asked: Ladder) -> int:
    """Compare a list with brute force, step by step; return the number of its rules that stand out."""
    steps = asked.climb([step.margin_scale for step in found.steps])
    assert [step.held_fixed for step in found.steps] == [step.held_fixed for step, _, _ in steps]
    listed = [(step, rule) for step, rule, stands_out in steps if stands_out and rule is not None]
    last = [(step, rule) for step, rule, stands_out in steps[-1:] if not stands_out and rule is not None]
    # The first rule is listed whatever its value; below it, the nearest one.
    expected = listed or last
    nearest = last[0] if last and listed else None
    assert len(found) == len(expected)
    assert (found.nearest is None) == (nearest is None)
    assert found.optimal
    scale = max(asked.levels) - min(asked.levels)
    rules = [*found, *([] if found.nearest is None else [found.nearest])]
    for place, (rule, (step, own, stands_out)) in enumerate(zip(rules, steps, strict=False)):
        assert own is not None
        assert rule.value == pytest.approx(own.value, abs=1e-9 * scale)
        assert sorted(each.text for each in rule.conditions) == text(step.named(own))
        assert rule.held_fixed == step.held_fixed
        assert rule.control == tuple(sorted(asked.control))
        beta = step.beta if isinstance(step.beta, (int, float)) else step.beta[min(rule.length, len(step.beta) - 1)]
        assert rule.criterion.beta == pytest.approx(beta)
        assert rule.n_covered == len(own.covered)
        assert rule.n_failing == len(step.table.everything - own.possible)
        effect = asked.effect(step, own, step.table.strata)
        assert rule.effect == pytest.approx(effect, abs=1e-9 * scale, nan_ok=True)
        if listed:
            assert rule.alone is not None
            assert rule.alone.effect == pytest.approx(asked.alone(step, own), abs=1e-9 * scale, nan_ok=True)
        assert rule.stands_out == stands_out or abs(rule.reliable_effect) < 1e-9 * scale
        proof = found.steps[place]
        assert (proof.strata, proof.predicted) == (step.n_strata, step.predicted)
        assert proof.n_propositions == len(step.conditions)
        assert proof.optimal
    above: set[str] = set()
    for rule in found:
        own_columns = {condition.column for condition in rule.conditions}
        assert asked.reference is not None or not own_columns & above
        above |= own_columns
    if asked.reference is None:
        rungs = asked.rungs([rule for _, rule in listed]) if listed else []
        assert [rung.n_rows for rung in found.rungs] == [n for _, n in rungs]
        assert [rung.level for rung in found.rungs] == pytest.approx([level for level, _ in rungs], abs=1e-9 * scale)
    return len(listed)


class Checked(NamedTuple):
    """The number of rules that stand out, and of steps with columns held fixed by strata and by predictions."""

    listed: int
    by_strata: int
    by_prediction: int


def check(choose: Choose) -> Checked:
    """Compare one ladder with brute force."""
    asked = drawn(choose)
    found = discover(asked)
    listed = agree(found, asked)
    held = [step.predicted for step in found.steps if step.held_fixed]
    return Checked(listed, held.count(False), held.count(True))
