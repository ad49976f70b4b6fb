"""Test results: one from the Titanic, and random ones with hostile names and values."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from hypothesis import strategies as st

from causalrules.alerts import Alert
from causalrules.graph.admissibility import Admissibility
from causalrules.graph.criteria import Violation
from causalrules.language.propositions import Proposition
from causalrules.question import Question
from causalrules.result.result import Searched
from causalrules.result.rule import RuleResult
from causalrules.rules import RuleSet
from causalrules.search.adjusted import Adjusted

QUESTION = Question(
    target="survived",
    outcome="survived = 1",
    actionable=("class", "sex"),
    control=(),
    k=2,
    beta=2.0,
    alpha=1.0,
    max_length=4,
    min_coverage=0.0,
    max_bins=8,
    estimator="reliable",
)
HOSTILE = [
    "<script>alert(1)</script>",
    "'\"; DROP TABLE rules; --",
    "\x1b[31mred\x07",
    "\u202edesrever",
    "line\nbreak\ttab",
    "日本語の列",
    "👩‍👩‍👧",
    "עברית",
    "x" * 5000,
    "\ud800",
    "</td></table>&amp;",
    " ∧ ",
    "",
]


def women_of_two_classes(estimator: str = "reliable") -> RuleResult:
    conditions = [Proposition("sex", "=", "female"), Proposition("class", "<=", 2)]
    return RuleResult.from_counts(conditions, 161, 9, 181, 540, [{}], 2.0, estimator)


def rule_set(*rules: RuleResult, **changes: Any) -> RuleSet:
    plain = RuleSet(
        rules=rules,
        question=QUESTION,
        origin=Searched(
            optimal=True,
            upper_bound=rules[0].value if rules else 0.0,
            gap=0.0,
            stopped="optimal",
            nodes=185,
            seconds=0.0213,
        ),
        n_rows=891,
        n_dropped=0,
        n_strata=1,
        n_propositions=20,
        source="titanic.csv",
    )
    return ended(plain, **changes)


def ended(rules: RuleSet, **changes: Any) -> RuleSet:
    """Change a result, including how its search ended."""
    own = {item.name for item in dataclasses.fields(Searched)} & changes.keys()
    origin = dataclasses.replace(rules.origin, **{name: changes.pop(name) for name in own})
    return dataclasses.replace(rules, origin=changes.pop("origin", origin), **changes)


def admissibility(status: str, **more: Any) -> Admissibility:
    return Admissibility(status, "y", ("x",), (), None, **more)  # type: ignore[arg-type]


VERDICTS = [
    Admissibility("violated", "y", ("x",), (), False, (Violation("a", ("y", "x"), ("y", "->", "x"), "y causes x"),)),
    Admissibility("admissible", "y", ("x",), (), True),
]
COUNT = st.integers(0, 50)
# a few letters of each kind: preparing all of Unicode takes hypothesis seconds
TEXT = st.text(st.sampled_from("abB1 _-\"'\\<>&;{}%$∧≤≥=é日本ا\u0301\t\n\r\0\x1b\u202e\u2028👩"), max_size=12)
VALUE = (
    st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
    | st.sampled_from(HOSTILE)
    | st.booleans()
    | st.dates()
    | st.datetimes()
    | st.timedeltas()
)
NAME = TEXT | st.sampled_from(HOSTILE)
CONDITION = st.builds(Proposition, NAME, st.sampled_from(["=", "<=", ">="]), VALUE)


@st.composite
def rule_results(draw: st.DrawFn, n_strata: int, estimator: str = "reliable") -> RuleResult:
    tables = draw(
        st.lists(st.tuples(COUNT, COUNT, COUNT, COUNT), min_size=n_strata, max_size=n_strata).filter(
            lambda tables: sum(map(sum, tables)) > 0
        )
    )
    control = draw(NAME)
    labels = [{control: draw(NAME)} for _ in tables]
    conditions = draw(st.lists(CONDITION, min_size=1, max_size=3))
    a, b, c, d = zip(*tables, strict=True)
    rule = RuleResult.from_counts(conditions, a, b, c, d, labels=labels, beta=2.0, estimator=estimator)
    return dataclasses.replace(rule, p_value=draw(st.none() | st.floats(0, 1)))


@st.composite
def rule_sets(draw: st.DrawFn) -> RuleSet:
    n_strata = draw(st.integers(1, 3))
    optimal = draw(st.booleans())
    return rule_set(
        *draw(st.lists(rule_results(n_strata), max_size=3)),
        question=dataclasses.replace(
            QUESTION,
            target=draw(NAME),
            outcome=draw(NAME),
            control=tuple(draw(st.lists(NAME, max_size=8))),
            max_length=draw(st.none() | st.integers(1, 9)),
        ),
        optimal=optimal,
        # A proof has bounds.
        upper_bound=draw(st.floats(-1, 1) if optimal else st.floats(-1, 1) | st.just(math.inf)),
        gap=draw(st.floats(0, 1) if optimal else st.floats(0, 1) | st.just(math.inf)),
        stopped=draw(st.sampled_from(["optimal", "time limit", "interrupted"])),
        alerts=tuple(draw(st.lists(st.builds(Alert, NAME, st.tuples(NAME), NAME), max_size=2))),
        notes=tuple(draw(st.lists(NAME, max_size=2))),
        admissibility=draw(st.none() | st.sampled_from(VERDICTS)),
    )


def rows_of(rules: RuleSet) -> Adjusted:
    """Return the searched rows, of rules with the same controls."""
    assert rules.problem is not None
    return rules.problem.only
