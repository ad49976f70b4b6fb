"""Groups and policies made by hand, and random ones with hostile names and numbers without end."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from hypothesis import strategies as st

import causalrules as cr
from causalrules.alerts import Alert
from causalrules.language.kinds import BINARY, MEAN
from causalrules.language.propositions import Proposition
from causalrules.policy.segments import Segment
from causalrules.policy.steps import HeldOutValue, PolicyStep, Single, Value
from causalrules.question import ContextQuestion, PolicyQuestion
from causalrules.result.rule import RuleResult
from causalrules.result.verdict import CLAIMS, Circumstances
from rulesets import CONDITION, NAME, VERDICTS

OLD, SOUTH, NEW = Proposition("age", ">=", 50), Proposition("region", "=", "south"), Proposition("visits", "<=", 1)
LETTER, CALL = Proposition("letter", "=", "yes"), Proposition("call", "=", "yes")
LETTERS = RuleResult.from_counts([LETTER], 554, 1492, 419, 1535, [{}], 2.7, "pooled")
CONTEXT = ("age", "region", "visits")


def segment(*conditions: Proposition, **changes: Any) -> Segment:
    """A group in which letters work."""
    made = Segment(
        conditions=conditions or (OLD, SOUTH),
        n_rows=896,
        share=0.224,
        among=4000,
        effect=0.206,
        low=0.1026,
        high=0.3094,
        naive_low=0.147,
        naive_high=0.265,
        level=0.404,
        level_without=0.198,
        outside=0.013,
        contrast=0.193,
        contrast_low=0.082,
        contrast_high=0.304,
        p_value=0.001,
        stands_out=True,
        benefits_more=True,
    )
    return dataclasses.replace(made, **changes)


def nearest(**changes: Any) -> Segment:
    """A group that does not stand out."""
    unsure = {"p_value": 0.263, "stands_out": False, "contrast": 0.07, "contrast_low": -0.03, "contrast_high": 0.17}
    return segment(NEW, **{**unsure, **changes})


def segments(*listed: Segment, **changes: Any) -> cr.Segments:
    """The answer of for_whom on letters, for these groups."""
    made = cr.Segments(
        segments=listed,
        candidate=None if listed else nearest(),
        rule=LETTERS,
        effect=0.0564,
        low=0.03,
        high=0.0829,
        level=0.2712,
        level_without=0.2148,
        context=CONTEXT,
        control=("visits",),
        n_rows=4000,
        n_compared=4000,
        n_no_overlap=0,
        n_groups=291,
        permutations=999,
        by_models=True,
        known_shares=False,
        question=ContextQuestion(target="bought", outcome="bought = 1", control=("visits",), context=CONTEXT),
        source="campaign.csv",
    )
    return dataclasses.replace(made, **changes)


CLAIMED = ("by design", "identified", "not identified", "unchecked")


def claimed(claim: str) -> RuleResult:
    """Letters with this claim."""
    randomised = ("letter",) if claim == "by design" else ()
    graph = {"identified": "admissible", "not identified": "violated"}.get(claim)
    rule = dataclasses.replace(LETTERS, circumstances=Circumstances(fixed=1, randomised=randomised, graph=graph))
    assert rule.verdict.claim == claim
    return rule


def step(*context: Proposition, **changes: Any) -> PolicyStep:
    """Letters for a group."""
    made = PolicyStep(
        context=context,
        action=(LETTER,),
        n_rows=4480,
        share=0.224,
        effect=0.1043,
        low=0.074,
        high=0.1346,
        level=0.4067,
        level_without=0.3025,
        cost=0.02,
        cost_without=0.01,
        at_least=0.0313,
        gain=0.0212,
        gain_over_default=0.0212,
        gain_at_least=0.007,
        stands_out=True,
    )
    return dataclasses.replace(made, **changes)


def policy(*steps: PolicyStep, **changes: Any) -> cr.Policy:
    """A policy of these steps."""
    made = cr.Policy(
        steps=steps,
        candidate=None if steps else step(OLD, gain_at_least=-0.002, at_least=-0.01, stands_out=False),
        default=(),
        single=Single((LETTER,), 0.0128),
        gain_over_baseline=None,
        held_out=HeldOutValue(10_000, 5, Value(0.0374, 0.0283, 0.0466), None, Value(0.0343, 0.0162, 0.0525)),
        level=0.2467,
        cost=0.035,
        context=CONTEXT,
        control=(),
        actionable=("call", "letter"),
        n_rows=20_000,
        n_pairs=2344,
        optimal=True,
        stopped="optimal",
        seconds=0.31,
        claim="by design",
        kind=BINARY,
        question=PolicyQuestion(
            target="bought",
            outcome="bought = 1",
            control=(),
            context=CONTEXT,
            actionable=("call", "letter"),
            randomised=("call", "letter"),
            cost={"letter = yes": 0.02},
        ),
        source="campaign.csv",
    )
    return dataclasses.replace(made, **changes)


NUMBER = st.floats(-1, 1)
SHARE, LOW, HIGH = st.floats(0, 1), st.floats(-1, 1) | st.just(-math.inf), st.floats(-1, 1) | st.just(math.inf)
COUNT = st.integers(0, 10_000)
CONDITIONS = st.lists(CONDITION, min_size=1, max_size=2).map(tuple)
REMARKS: dict[str, st.SearchStrategy[Any]] = {
    "alerts": st.lists(st.builds(Alert, NAME, st.tuples(NAME), NAME), max_size=1).map(tuple),
    "notes": st.lists(NAME, max_size=2).map(tuple),
    "admissibility": st.none() | st.sampled_from(VERDICTS),
    "source": st.none() | NAME,
}
ROLES: dict[str, st.SearchStrategy[Any]] = dict.fromkeys(("context", "control"), st.lists(NAME, max_size=8).map(tuple))
SEGMENT = st.builds(
    Segment,
    CONDITIONS,
    COUNT,
    SHARE,
    COUNT,
    NUMBER,
    LOW,
    HIGH,
    NUMBER,
    NUMBER,
    NUMBER,
    NUMBER,
    NUMBER,
    NUMBER,
    LOW,
    HIGH,
    SHARE,
    st.booleans(),
    st.booleans(),
)
STEP = st.builds(
    PolicyStep,
    CONDITIONS | st.just(()),
    CONDITIONS,
    COUNT,
    SHARE,
    NUMBER,
    LOW,
    HIGH,
    NUMBER,
    NUMBER | st.just(math.nan),
    *[NUMBER] * 6,
    st.booleans(),
)


@st.composite
def segment_lists(draw: st.DrawFn) -> cr.Segments:
    """Draw an answer of for_whom."""
    changes: dict[str, Any] = {name: draw(each) for name, each in {**REMARKS, **ROLES}.items()}
    question = ContextQuestion(
        target=draw(NAME),
        outcome=draw(NAME),
        context=changes["context"],
        control=changes["control"],
        direction=draw(st.sampled_from(["increase", "decrease"])),
    )
    listed = draw(st.lists(SEGMENT, max_size=3))
    rule = dataclasses.replace(claimed(draw(st.sampled_from(CLAIMED))), conditions=draw(CONDITIONS))
    candidate = draw(st.none() | SEGMENT) if not listed else None
    return segments(*listed, candidate=candidate, question=question, rule=rule, **changes)


@st.composite
def policies(draw: st.DrawFn) -> cr.Policy:
    """Draw an answer of prescribe."""
    changes: dict[str, Any] = {name: draw(each) for name, each in {**REMARKS, **ROLES}.items()}
    question = PolicyQuestion(
        target=draw(NAME),
        outcome=draw(NAME),
        context=changes["context"],
        control=changes["control"],
        actionable=draw(ROLES["context"]),
        direction=draw(st.sampled_from(["increase", "decrease"])),
        cost=draw(st.none() | st.dictionaries(NAME, NUMBER, max_size=1)),
        baseline=draw(st.none() | st.dictionaries(NAME, NAME, min_size=1, max_size=1)),
    )
    value = st.builds(Value, NUMBER, NUMBER, NUMBER)
    return policy(
        *draw(st.lists(STEP, max_size=3)),
        candidate=draw(st.none() | STEP),
        default=draw(CONDITIONS | st.just(())),
        single=draw(st.none() | st.builds(Single, CONDITIONS, NUMBER)),
        gain_over_baseline=draw(st.none() | NUMBER),
        held_out=draw(st.none() | st.builds(HeldOutValue, COUNT, COUNT, value, st.none() | value, st.none() | value)),
        kind=draw(st.sampled_from([BINARY, MEAN])),
        claim=draw(st.sampled_from(CLAIMS)),
        stopped=draw(st.sampled_from(["optimal", "time limit", "interrupted"])),
        optimal=draw(st.booleans()),
        question=question,
        **changes,
    )
