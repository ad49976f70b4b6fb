"""The options of `discover`, each defined once with its validation and documentation.

The signature and docstring of `discover`, the command line options and their help, the parameters of the scikit-learn
estimator, the question in JSON, the fingerprint of a checkpoint and the call in a report are all derived from the
fields of `Question`. To add an option, add a field here and use it where it matters.
"""

from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, MISSING, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar

from causalrules.exceptions import OptionError
from causalrules.options import (
    Choice,
    Column,
    Costs,
    CutPoints,
    File,
    Flag,
    Kind,
    Number,
    NumberOrWord,
    Option,
    ReferenceRows,
    Share,
    ShareOrTable,
    Texts,
    Threads,
    Whole,
    Word,
    option,
    shown,
)
from causalrules.payload import Readable
from causalrules.text import nearest

if TYPE_CHECKING:
    from os import PathLike

ESTIMATORS = ("pooled", "reliable", "plugin", "wracc", "association")
ADJUSTMENTS = ("auto", "strata", "prognostic")
# Value of `control` for separate controls of each rule; a column of this name must be given in a list.
OWN_CONTROLS = "auto"
# Maximum number of rules.
MOST_RULES = 1_000_000
QUESTION, RULES, TRUST, RUN = "Question", "Rules", "Trust", "Run"
# The options that reproduce the paper (Budhathoki, Boley & Vreeken 2021).
PAPER: dict[str, Any] = {
    "estimator": "reliable",
    "beta": 2.0,
    "max_length": None,
    "stepwise": False,
    "missing": "false",
    "control_bins": 4,
    "adjust": "strata",
    "missing_control": "value",
}

P = ParamSpec("P")
Q = TypeVar("Q", bound="Question")
R = TypeVar("R")


@dataclass(frozen=True, repr=False)
class Question(Readable):
    """The roles of the columns and all options. A value outside its range is an OptionError that names the range."""

    # Options that do not apply to a kind of question, and keep their defaults.
    without: ClassVar[frozenset[str]] = frozenset()

    target: str = option(MISSING, Column(), "Column with the outcome.", panel=QUESTION, fitted=False)
    outcome: Any = option(
        None,
        Kind(),
        "Desired outcome: a value of the target, or a condition such as '>= 50000'. By default true or 1; for other "
        "numbers, a high mean.",
        panel=QUESTION,
    )
    control: str | Sequence[str] | None = option(
        None,
        Column(),
        "Columns to adjust for: those that may influence both the target and the actionable columns. With a graph, "
        "'auto' gives each rule its own controls.",
        panel=QUESTION,
        repeated=True,
    )
    actionable: str | Sequence[str] | None = option(
        None,
        Column(),
        "Columns to put conditions on; by default every other column, or with reference its column alone.",
        panel=QUESTION,
        repeated=True,
    )
    _: KW_ONLY
    direction: str = option(
        "increase",
        Choice(words=("increase", "decrease")),
        "Whether rules should increase or decrease the outcome; effects keep their sign.",
        panel=QUESTION,
        searched=True,
    )
    reference: Mapping[str, Any] | None = option(
        None,
        ReferenceRows(),
        "Column and value of the rows to compare with, such as {'arm': 'placebo'}; rules are then about this column "
        "alone. By default all rows where the rule does not hold.",
        panel=QUESTION,
    )
    graph: object = option(
        None,
        Kind("FILE|TEXT"),
        "Causal graph, checked before the search: text such as 'size -> treatment -> success', or a DOT, GML or "
        "dagitty file.",
        panel=QUESTION,
        kept=False,
    )
    latent: str | Sequence[str] = option(
        (), Texts("COLUMN"), "Variables of the graph that are not observed.", panel=QUESTION, repeated=True, kept=False
    )
    allowed_control: str | Sequence[str] | None = option(
        None,
        Column(),
        "Columns that control='auto' may choose from; by default all that the graph contains.",
        panel=QUESTION,
        repeated=True,
    )
    allow_inadmissible: bool = option(
        False,
        Flag(),
        "Search even if the graph does not allow it; the rules are then called associations.",
        panel=QUESTION,
        kept=False,
    )
    missing: str = option(
        "unknown",
        Choice(words=("unknown", "false")),
        "How to treat missing values of actionable columns: unknown leaves out rows on which a rule is undecided, "
        "false counts them as rows where the rule does not hold.",
        panel=QUESTION,
        searched=True,
    )
    missing_control: str = option(
        "drop",
        Choice(words=("drop", "value")),
        "How to treat missing values of controls: drop does not compare rows without a value, value adjusts for "
        "missing as a value of its own, which leaves confounding among these rows.",
        panel=QUESTION,
    )
    categorical: str | Sequence[str] = option(
        (), Texts("COLUMN"), "Columns of numbers that are codes, not quantities.", panel=QUESTION, repeated=True
    )
    randomised: str | Sequence[str] = option(
        (),
        Texts("COLUMN"),
        "Actionable columns that were assigned at random, given the controls.",
        panel=QUESTION,
        repeated=True,
    )
    weights: str | None = option(
        None, Column(), "Column with the number of times each row counts.", panel=QUESTION, fitted=False
    )
    groups: str | None = option(
        None,
        Column(),
        "Column of groups of dependent rows, such as the visits of a patient: groups are split, sampled and shuffled "
        "as a whole, and standard errors allow for them.",
        panel=QUESTION,
    )
    na_values: str | Sequence[str] = option(
        (),
        Texts(),
        "Further texts that mean missing in a text file, such as '?'.",
        panel=QUESTION,
        flag="--na-value",
        repeated=True,
        fitted=False,
    )
    keep_default_na: bool = option(
        True,
        Flag(),
        "Whether the texts that pandas reads as missing (NA, None, null, nan and so on) mean missing in a text file "
        "too. An empty field always does.",
        panel=QUESTION,
        negated="Keep the texts that pandas reads as missing (NA, None, null, nan and so on) as values of a text file.",
        fitted=False,
    )
    query: str | None = option(
        None,
        Word("SELECT"),
        "SQL query over the file, as the table data; its result is searched.",
        panel=QUESTION,
        fitted=False,
    )
    k: int = option(5, Whole(least=1, most=MOST_RULES), "Number of rules.", panel=RULES, flag="-k", searched=True)
    stepwise: bool | None = option(
        None,
        Flag(none="where the estimator is pooled"),
        "List rules that each add to those above: step by step the best rule on the remaining columns, with the "
        "columns of the rules above held fixed, until no rule is above 0. False: the k best rules, however similar. "
        "By default True if the estimator is pooled.",
        panel=RULES,
        negated="List the k best rules, however similar and also below 0, as the paper does.",
        searched=True,
    )
    beta: float | str | tuple[float, ...] | None = option(
        None,
        NumberOrWord("NUMBER|calibrated", Number(least=0, most=1000, none="by length"), ("calibrated",)),
        "How conservative the score is, in standard errors. By default chosen by the number of rules of each length "
        "(pooled), so that a score above 0 is more than chance, or 2 (reliable). 0 makes no allowance for chance; "
        "calibrated is the smallest value for which the best rule of shuffled outcomes is above 0 in at most 5 of 100 "
        "tables.",
        panel=RULES,
        searched=True,
    )
    error_rate: float = option(
        0.05,
        Share("RATE"),
        "Maximum probability that any rule without an effect scores above 0, if beta is not given (pooled estimator).",
        panel=RULES,
    )
    max_length: int | None = option(
        3,
        Whole(least=1, none="no limit"),
        "Maximum conditions per rule (an interval counts as two).",
        panel=RULES,
        searched=True,
    )
    min_coverage: float = option(
        0.0, Number("SHARE", least=0, most=1), "Minimum coverage (share of rows).", panel=RULES, searched=True
    )
    max_bins: int = option(8, Whole(least=2), "Maximum bins of an ordered actionable column.", panel=RULES)
    control_bins: int | None = option(
        None,
        Whole(least=2, none="more bins for more rows"),
        "Bins of an ordered control with more values than that.",
        panel=RULES,
    )
    adjust: str = option(
        "auto",
        Choice(words=ADJUSTMENTS),
        "How to adjust for the controls: strata of their values, prognostic for strata of the predicted outcome, which "
        "suits many controls (needs scikit-learn), or auto for whichever suits the table.",
        panel=QUESTION,
    )
    adjust_model: Any = option(
        None,
        Kind(),
        "Classifier or regressor of scikit-learn that predicts the outcome from the controls; by default the mean of "
        "a smooth regression and gradient-boosted trees.",
        kept=False,
        fitted=False,
    )
    cuts: Mapping[str, Sequence[Any]] | None = option(
        None,
        CutPoints(),
        "Cut points of ordered columns, such as 18 and 65 for age.",
        panel=RULES,
        flag="--cut",
        repeated=True,
    )
    estimator: str = option(
        "pooled", Choice(words=ESTIMATORS), f"What is maximised: {', '.join(ESTIMATORS)}.", panel=RULES, searched=True
    )
    holdout: Any = option(
        None,
        ShareOrTable(),
        "Held-out rows, on which the effects of the rules are measured: a share such as 0.5, or a second table.",
        panel=TRUST,
        fitted=False,
    )
    seed: int = option(0, Whole(least=0), "Seed of everything random.", panel=TRUST)
    alpha: float = option(
        1.0,
        Number(least=0, most=1, above=True),
        "Below 1, prune a branch when alpha times its bound is no better than the k-th rule: faster, and the result "
        "reports the gap.",
        panel=RUN,
        searched=True,
    )
    n_jobs: int = option(-1, Threads(), "Threads; -1 for all cores.", panel=RUN, flag="--jobs", kept=False)
    time_limit: float | None = option(
        None,
        Number("SECONDS", least=0, above=True, none="no limit"),
        "Seconds after which the best rules so far are returned.",
        panel=RUN,
        kept=False,
    )
    checkpoint: str | PathLike[str] | None = option(
        None, File(), "Checkpoint file; repeat the same search to resume.", panel=RUN, kept=False, fitted=False
    )
    client: Any = option(
        None,
        Kind(),
        "Dask client for a Dask DataFrame; by default the current one, or threads of this process.",
        kept=False,
        fitted=False,
    )
    progress: Any = option(
        None,
        Kind(),
        "Whether to show progress (None: on a terminal, after a second), or a function that is called with it.",
        kept=False,
        fitted=False,
    )

    def __post_init__(self) -> None:
        for name, known in options(type(self)):
            # Convert numbers of other libraries, so that equal questions compare equal and have the same JSON.
            object.__setattr__(self, name, known.kind(name, getattr(self, name)))
        if self.stepwise and self.estimator != "pooled":
            raise OptionError(
                f"{self.estimator!r} has no score that says where a list ends; leave stepwise out, or give "
                "estimator='pooled'",
                parameter="stepwise",
                value="True",
            )
        if self.stepwise:  # the default, named
            object.__setattr__(self, "stepwise", None)
        if not self.own_controls and self.allowed_control is not None:
            raise OptionError("it only applies to control='auto'", parameter="allowed_control")
        if self.graph is None and self.latent:
            raise OptionError(
                "these are variables of a graph; give the graph too", parameter="latent", value=shown(self.latent)
            )

    def changed(self, **changes: Any) -> Question:
        """Return the question with these options; itself if nothing changes, because validation is slow."""
        same = all(getattr(self, name) is value or getattr(self, name) == value for name, value in changes.items())
        return self if same else replace(self, **changes)

    @property
    def is_stepwise(self) -> bool:
        """Whether each rule of the list adds to those above it."""
        return self.estimator == "pooled" if self.stepwise is None else self.stepwise

    @property
    def own_controls(self) -> bool:
        """Whether each rule has its own controls."""
        return isinstance(self.control, str) and self.control == OWN_CONTROLS

    @property
    def adjusts(self) -> bool:
        """Whether there are controls."""
        return self.own_controls or bool(self.controls)

    @property
    def controls(self) -> tuple[str, ...]:
        """The names of the controls that all rules share."""
        return () if self.own_controls else _names(self.control)

    def required(self, control: Sequence[str]) -> tuple[str, ...]:
        """Return the controls whose values rows must have to be compared."""
        return tuple(control) if self.missing_control == "drop" else ()

    @property
    def most_steps(self) -> int:
        """How many steps a list can have, each with a search of its own: 1 unless each rule adds to those above.

        A step holds the columns of its rule fixed, but for that of reference rows, which can take other values.
        """
        if not self.is_stepwise:
            return 1
        return self.k if self.reference is not None or not self.actions else min(self.k, len(self.actions))

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of the actionable columns; empty if not named."""
        return _names(self.actionable)

    def kept(self) -> dict[str, Any]:
        """Return the roles and options that are stored with a result, without options on how to run the search."""
        return {name: getattr(self, name) for name, known in options(type(self)) if known.kept}

    def searched(self) -> dict[str, Any]:
        """Return the options that the result of the search depends on, except for the rows and the language."""
        return {name: getattr(self, name) for name, known in options(type(self)) if known.searched}

    def answered(self: Q, **changes: Any) -> Q:
        """Return the question as stored with a result: roles by name as given here, the rest in JSON types."""
        kind = type(self)
        defaults = {name: default(name, kind) for name, known in options(kind) if not known.kept}
        cuts: Any = self.cuts
        if isinstance(cuts, Mapping):  # else it is converted already
            cuts = tuple((column, tuple(map(str, points))) for column, points in sorted(cuts.items())) or None
        return replace(self, **{**defaults, "cuts": cuts, **changes})


def _names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)


@dataclass(frozen=True, repr=False, kw_only=True)
class ContextQuestion(Question):
    """For whom does an action work? The options of `for_whom`."""

    without: ClassVar[frozenset[str]] = frozenset(
        {
            "actionable",
            "allowed_control",
            "stepwise",
            "beta",
            "max_length",
            "estimator",
            "holdout",
            "alpha",
            "checkpoint",
            "client",
        }
    )

    context: str | Sequence[str] | None = option(
        None,
        Column(),
        "Columns that describe who: nobody acts on them, and they were there before the action. By default the "
        "controls.",
        panel=QUESTION,
        repeated=True,
    )
    max_context: int = option(
        2, Whole(least=1, most=2), "Maximum conditions that describe a group (an interval counts as two).", panel=RULES
    )
    k: int = option(5, Whole(least=1, most=MOST_RULES), "Maximum number of groups.", panel=RULES, flag="-k")
    error_rate: float = option(
        0.05, Share("RATE"), "Maximum probability of a finding where there is none.", panel=RULES
    )
    min_coverage: float = option(
        0.05, Number("SHARE", least=0, most=0.5), "Minimum size of a group (share of rows).", panel=RULES
    )
    permutations: int | None = option(
        None,
        Whole(least=19, most=100_000, none="by the size of the table"),
        "How many random changes of signs the p-values come from.",
        panel=TRUST,
    )

    @property
    def contexts(self) -> tuple[str, ...]:
        """The names of the context columns; empty if not named."""
        return _names(self.context)

    @classmethod
    def like(cls, question: Question, **given: Any) -> Self:
        """Return a question with the options that it shares with another one, and those given."""
        shared = {name for name, _ in options(cls)} & {name for name, _ in options(type(question))}
        return cls(**{**{name: getattr(question, name) for name in shared}, **given})

    def about_all(self, **changes: Any) -> Question:
        """Return the question about everybody, with these changes."""
        shared = {name: getattr(self, name) for name, _ in options() if name not in self.without}
        return Question(**{**shared, "min_coverage": 0.0, **changes})


@dataclass(frozen=True, repr=False, kw_only=True)
class PolicyQuestion(ContextQuestion):
    """Who should get what? The options of `prescribe`."""

    without: ClassVar[frozenset[str]] = ContextQuestion.without - {"actionable", "max_length"} | {
        "reference",
        "missing",
        "permutations",
    }

    k: int = option(5, Whole(least=1, most=MOST_RULES), "Maximum number of steps.", panel=RULES, flag="-k")
    max_length: int | None = option(
        2, Whole(least=1, most=2), "Maximum conditions of an action (an interval counts as two).", panel=RULES
    )
    cost: Mapping[str, float] | None = option(
        None,
        Costs(),
        "What conditions cost per row, in units of the target, such as {'call = yes': 0.02}; the name of a column of "
        "yes and no (or 1 and 0) alone means its yes. Every row pays for the conditions that hold for it.",
        panel=QUESTION,
        repeated=True,
    )
    baseline: Mapping[str, Any] | None = option(
        None,
        ReferenceRows(),
        "Column and value of what is compared with beside today's practice, such as {'call': 'no'}.",
        panel=QUESTION,
    )


def options(kind: type[Question] = Question) -> tuple[tuple[str, Option], ...]:
    """Return the name and the Option of every field of a kind of question that applies to it, in order."""
    return _options(kind.__name__)


@functools.cache
def _options(name: str) -> tuple[tuple[str, Option], ...]:
    kind = next(each for each in (Question, ContextQuestion, PolicyQuestion) if each.__name__ == name)
    known = [(item.name, item.metadata["option"]) for item in fields(kind)]
    return tuple(each for each in known if each[0] not in kind.without)


def default(name: str, kind: type[Question] = Question) -> Any:
    """Return the default of an option."""
    return next(item.default for item in fields(kind) if item.name == name)


def parameters(wanted: Callable[[Option], bool]) -> dict[str, Any]:
    """Return the names and defaults of the options that satisfy a condition."""
    return {name: default(name) for name, known in options() if wanted(known)}


def flag(name: str) -> str:
    """Return the spelling of an option on the command line.

    >>> flag("max_length"), flag("k")
    ('--max-length', '-k')
    """
    known = {**dict(options(PolicyQuestion)), **dict(options())}.get(name)
    return known.flag if known is not None and known.flag else f"--{name.replace('_', '-')}"


def documentation(kind: type[Question] = Question) -> str:
    """Return the numpydoc Parameters section of the options."""
    entries = ((name, textwrap.fill(known.doc, 112)) for name, known in options(kind))
    return "\n".join(f"{name}\n{textwrap.indent(doc, '    ')}" for name, doc in entries)


def asks(kind: Callable[P, Q]) -> Callable[[Callable[[Any, Q], R]], Callable[Concatenate[Any, P], R]]:
    """Decorate a function of data and a question to take the data and the options of the question.

    The decorated function has the options as its parameters, also for type checkers and `inspect`; `{options}` in its
    docstring is replaced by their documentation.
    """
    return _taking_options(kind)  # type: ignore[no-any-return]


def asks_about(
    kind: Callable[P, Q],
) -> Callable[[Callable[[Any, Any, Q], R]], Callable[Concatenate[Any, Any, P], R]]:
    """Decorate a function of data, another argument and a question to take the options of the question."""
    return _taking_options(kind)  # type: ignore[no-any-return]


def _taking_options(kind: Callable[..., Question]) -> Any:
    def decorate(answer: Callable[..., Any]) -> Callable[..., Any]:
        *first, _ = inspect.signature(answer).parameters.values()
        returns = inspect.signature(answer).return_annotation
        asked: type[Question] = kind  # type: ignore[assignment]
        options_of_kind = [
            each for name, each in inspect.signature(kind).parameters.items() if name not in asked.without
        ]
        signature = inspect.Signature([*first, *options_of_kind], return_annotation=returns)

        @functools.wraps(answer)
        def ask(*args: Any, **kwargs: Any) -> Any:
            if unknown := next((name for name in kwargs if name not in signature.parameters), None):
                hint = nearest(unknown, signature.parameters)
                raise TypeError(f"{answer.__name__}() got an unexpected keyword argument {unknown!r}{hint}")
            given = signature.bind(*args, **kwargs).arguments
            leading = [given.pop(each.name) for each in first]
            return answer(*leading, kind(**given))

        vars(ask)["__signature__"] = signature
        if answer.__doc__:
            ask.__doc__ = with_options(answer.__doc__, documentation(asked))
        return ask

    return decorate


def with_options(docstring: str, entries: str) -> str:
    r"""Return a docstring with entries for {options}, and without indentation, which Python 3.13 strips itself.

    >>> with_options("Do it.\n\n    {options}\n    ", "k\n    Rules.")
    'Do it.\n\nk\n    Rules.'
    >>> with_options("Do it.\n\n{options}\n", "k\n    Rules.")
    'Do it.\n\nk\n    Rules.'
    """
    return inspect.cleandoc(docstring).replace("{options}", entries)


def differing(question: Question) -> Iterator[tuple[str, Option, Any]]:
    """Yield the stored options of a question that differ from their defaults."""
    for name, known in options(type(question)):
        value = getattr(question, name)
        if known.kept and value != default(name, type(question)):
            yield name, known, value
