"""The same in the style of scikit-learn, which is not needed for it: fit, transform, get_params, clone, pipelines."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from causalrules import estimators
from causalrules.data.reading import read
from causalrules.discovery import discover
from causalrules.exceptions import CausalRulesError, DataError, OptionError
from causalrules.language.roles import resolve
from causalrules.result.rules import RuleSet

# Scores must compare whatever β the rules were searched with.
_SCORE_BETA = 2.0


class NotFittedError(CausalRulesError, ValueError, AttributeError):
    """The estimator was asked for something that only fit() finds out."""


class CausalRules:
    """Finds rules with fit(X, y), and turns rows into boolean columns, one for each rule, with transform(X).

    The parameters mean what they mean in `discover`. After fit(), `rules_` is the RuleSet with all its numbers.

    >>> import causalrules as cr
    >>> X = cr.datasets.titanic(library="dict")
    >>> y = X.pop("survived")
    >>> model = cr.CausalRules(k=2, actionable=["class", "sex"]).fit(X, y)
    >>> model.get_feature_names_out().tolist()
    ['class ≤ 2 ∧ sex = female', 'class ≤ 1 ∧ sex = female']
    >>> model.transform(X).sum(axis=0).tolist()
    [170, 94]
    """

    def __init__(
        self,
        *,
        outcome: Any = None,
        actionable: str | Sequence[str] | None = None,
        graph: object = None,
        latent: str | Sequence[str] = (),
        allow_inadmissible: bool = False,
        k: int = 10,
        beta: float | str | None = None,
        confidence: float | None = None,
        alpha: float = 1.0,
        max_length: int | None = 4,
        min_coverage: float = 0.0,
        max_bins: int = 8,
        cuts: Mapping[str, Sequence[Any]] | None = None,
        estimator: str = "reliable",
        redundant: bool = True,
        n_jobs: int = -1,
        time_limit: float | None = None,
    ) -> None:
        self.outcome = outcome
        self.actionable = actionable
        self.graph = graph
        self.latent = latent
        self.allow_inadmissible = allow_inadmissible
        self.k = k
        self.beta = beta
        self.confidence = confidence
        self.alpha = alpha
        self.max_length = max_length
        self.min_coverage = min_coverage
        self.max_bins = max_bins
        self.cuts = cuts
        self.estimator = estimator
        self.redundant = redundant
        self.n_jobs = n_jobs
        self.time_limit = time_limit

    def fit(self, X: Any, y: Any, control: str | Sequence[str] | None = None, sample_weight: Any = None) -> CausalRules:
        """Find the rules for the outcome of y, adjusted for the columns of X that `control` names.

        X is a data frame, a dict of columns, or an array, whose columns are then called x0, x1, …; y has the name of
        its series, else y. `sample_weight` says how often each row counts, in whole numbers.
        """
        columns = _columns(X)
        labels, target = _labels(y), _free_name(getattr(y, "name", None), "y", columns)
        weighted, weights = {**columns, target: labels}, None
        if sample_weight is not None:
            weights = _free_name(None, "sample_weight", weighted)
            weighted[weights] = _frequencies(sample_weight, len(labels))
        table = read(weighted)
        self.rules_: RuleSet = discover(
            table, target, control=control, weights=weights, progress=False, **self.get_params()
        )
        self.n_features_in_ = len(columns)
        self.feature_names_in_ = np.array(list(columns), dtype=object)
        observed = table.observed(target, weights)
        satisfied = resolve(table, target, self.outcome, self.actionable, control, weights).outcome.satisfied
        values = observed.histogram(target).values
        self._examples = [values[int(np.argmax(satisfied == wanted))] for wanted in (True, False)]
        return self

    def transform(self, X: Any) -> Any:
        """Say for each row and rule whether the row satisfies it: a data frame for a data frame, else an array."""
        table = read(self._checked(X))
        covered = [rule.covers(table) for rule in self._fitted]
        frame = None if isinstance(X, (Mapping, np.ndarray, list, tuple)) else nw.from_native(X, eager_only=True)
        if frame is None or not covered:
            return np.column_stack(covered) if covered else np.empty((table.n_records, 0), np.bool_)
        named = dict(zip(self.get_feature_names_out().tolist(), covered, strict=True))
        made = nw.from_dict(named, backend=frame.implementation).to_native()
        index = nw.maybe_get_index(frame)
        if index is not None:
            made.index = index
        return made

    def fit_transform(
        self, X: Any, y: Any, control: str | Sequence[str] | None = None, sample_weight: Any = None
    ) -> Any:
        """Find the rules and say for each row which of them it satisfies."""
        return self.fit(X, y, control, sample_weight).transform(X)

    def predict_effect(self, X: Any) -> NDArray[np.float64]:
        """Return for each row the adjusted `effect` of the strongest rule it satisfies; 0 where it satisfies none.

        This is the effect of the rule as a whole, not that of changing this row.
        """
        rules = self._fitted
        table = read(self._checked(X))
        effect = np.zeros(table.n_records)
        for rule in reversed(rules):  # the strongest is first in the list, and has the last word
            effect[rule.covers(table)] = rule.effect
        return effect

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the reliable effect, at β = 2, that the best rule has on these rows; 0 if there is no rule.

        β is the same for all, so that models that were searched with different ones can be compared.
        """
        rules = self._fitted
        columns = self._checked(X)
        known, positive = self._positives(_labels(y))
        table = read(columns)
        if len(known) != table.n_records:
            raise DataError(f"X has {table.n_records:,} rows and y {len(known):,}; they must be as many")
        weight = None if sample_weight is None else _frequencies(sample_weight, len(known))
        if weight is not None:
            known &= weight > 0
        if not known.any():
            raise DataError(
                "score: X and y have no rows" if not len(known) else "score: y has no label that is not missing"
            )
        if not rules:
            return 0.0
        assert rules.problem is not None, "discover() keeps the problem"
        stratum = rules.problem.strata.index_of(table)
        holds = rules[0].covers(table)
        sides = [
            known & (holds == covered) & (positive == outcome) for covered in (True, False) for outcome in (True, False)
        ]
        tables = np.array(
            [
                np.bincount(stratum[side], None if weight is None else weight[side], minlength=stratum.max() + 1)
                for side in sides
            ]
        )
        # A stratum in which no row has a label is none.
        a, b, c, d = tables[:, tables.any(axis=0)]
        return estimators.reliable_effect(a, b, c, d, _SCORE_BETA)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the rules in words, as the names of the columns of transform()."""
        return np.array([rule.text for rule in self._fitted], dtype=object)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in _PARAMETERS}

    def set_params(self, **params: Any) -> CausalRules:
        """Change parameters by name."""
        for name, value in params.items():
            if name not in _PARAMETERS:
                near = difflib.get_close_matches(name, _PARAMETERS, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"the parameters are {', '.join(_PARAMETERS)}"
                raise OptionError(f"no parameter {name!r}; {hint}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        changed = {name: value for name, value in self.get_params().items() if value is not defaults[name].default}
        return f"CausalRules({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "rules_")

    def __sklearn_tags__(self) -> Any:
        # Only scikit-learn asks, so it is there.
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=True),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(string=True, categorical=True, allow_nan=True),
        )

    @property
    def _fitted(self) -> RuleSet:
        if not hasattr(self, "rules_"):
            raise NotFittedError("this CausalRules is not fitted yet; call fit(X, y) first")
        return self.rules_

    def _checked(self, X: Any) -> dict[str, Any]:
        """The columns of X under the names they had in fit()."""
        _ = self._fitted
        columns = _columns(X)
        if isinstance(X, (np.ndarray, list, tuple)):
            if len(columns) != self.n_features_in_:
                raise DataError(f"X has {len(columns)} columns, but fit() saw {self.n_features_in_}")
            return dict(zip(self.feature_names_in_.tolist(), columns.values(), strict=True))
        return columns

    def _positives(self, labels: list[Any]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which rows have a label, and which the outcome: also where none of these rows happens to have it."""
        name = "y"
        table = read({name: [*labels, *self._examples], "row": range(len(labels) + 2)})
        satisfied = resolve(table, name, self.outcome, "row").outcome.satisfied
        known = table.select(name, np.ones(len(satisfied), np.bool_))
        return known[:-2], table.select(name, satisfied)[:-2]


_PARAMETERS = tuple(inspect.signature(CausalRules).parameters)


def _columns(X: Any) -> dict[str, Any]:
    if isinstance(X, Mapping):
        return dict(X)
    if isinstance(X, (list, tuple)) or (isinstance(X, np.ndarray) and X.dtype.names is None):
        array = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
        if array.ndim != 2:
            raise DataError(
                f"X has {array.ndim} dimension{'s' * (array.ndim != 1)}; it must have two: rows, all of one length"
            )
        return {f"x{place}": array[:, place] for place in range(array.shape[1])}
    if isinstance(X, np.ndarray):
        return {name: X[name] for name in X.dtype.names}
    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError:
        raise DataError(
            f"X is a {type(X).__name__}; pass a pandas, Polars or Arrow table, a dict of columns or an array"
        ) from None
    return {str(name): frame.get_column(name).to_native() for name in frame.columns}


def _labels(y: Any) -> list[Any]:
    """The labels as a list; y may be an array, a series or a list."""
    if y is None:
        raise DataError("y is missing: fit(X, y) needs the column with the outcome")
    values = y.to_list() if hasattr(y, "to_list") else y.tolist() if hasattr(y, "tolist") else list(y)
    if any(isinstance(value, (list, tuple)) for value in values):
        raise DataError("y has more than one column; pass the one with the outcome")
    return values


def _frequencies(sample_weight: Any, n_rows: int) -> NDArray[np.float64]:
    """How often each row counts."""
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("sample_weight holds something that is not a number") from None
    if weights.shape != (n_rows,):
        raise DataError(f"sample_weight has the shape {weights.shape}; give one number for each of the {n_rows:,} rows")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0) & (weights == np.floor(weights))))
    if len(bad):
        raise DataError(
            f"sample_weight is {weights[bad[0]]:g} in row {bad[0] + 1:,}; it says how often a row counts: "
            "give whole numbers of at least 0"
        )
    return weights


def _free_name(name: object, otherwise: str, columns: Mapping[str, Any]) -> str:
    """A name that no column has yet."""
    free = name if isinstance(name, str) and name else otherwise
    while free in columns:
        free += "_"
    return free
