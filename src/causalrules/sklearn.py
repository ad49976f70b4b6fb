"""scikit-learn wrapper for discover().

With scikit-learn installed, `CausalRules` is a scikit-learn transformer; without it, fit and transform also work.
"""

from __future__ import annotations

import inspect
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from causalrules.data.columns import Kind, check_names
from causalrules.data.reading import is_dask, read
from causalrules.discovery import discover
from causalrules.estimators import scores
from causalrules.estimators.sides import side_of
from causalrules.exceptions import CausalRulesError, CausalRulesWarning, DataError, OptionError
from causalrules.language.outcome import resolve_outcome
from causalrules.question import Question, options, parameters, with_options
from causalrules.rules import RuleSet
from causalrules.text import counted, nearest, shorten
from causalrules.trust.holdout import compared_rows

# Names and defaults of the options that are parameters of the estimator.
_PARAMETERS = parameters(lambda known: known.fitted)
# Scores are comparable only if β is the same for all models.
_SCORE_BETA = 2.0

try:
    from sklearn import get_config
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.exceptions import NotFittedError as _NotFittedError
except ImportError:  # scikit-learn is optional

    class _Parameters:
        """Gets, sets and shows parameters like scikit-learn's BaseEstimator."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return the parameters by name."""
            return {name: getattr(self, name) for name in sorted(_PARAMETERS)}

        def set_params(self, **params: Any) -> Any:
            """Set parameters by name."""
            for name, value in params.items():
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            changed = {
                name: value for name, value in self.get_params().items() if repr(value) != repr(_PARAMETERS[name])
            }
            return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    class _Transformer:
        """Replaces scikit-learn's TransformerMixin."""

    class _UnfittedError(ValueError, AttributeError):
        """Replaces scikit-learn's NotFittedError."""

    BaseEstimator, TransformerMixin, _NotFittedError = _Parameters, _Transformer, _UnfittedError
    get_config = dict


class NotFittedError(CausalRulesError, _NotFittedError):  # type: ignore[misc]  # scikit-learn has no types
    """A method that needs the rules was called before fit(). A subclass of scikit-learn's NotFittedError."""


class CausalRules(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Find rules with fit(X, y), and turn rows into one boolean column per rule with transform(X).

    Every parameter is the option of `discover` with the same name.

    Parameters
    ----------
    {options}

    Attributes
    ----------
    rules_ : RuleSet
        The rules found by fit(), best first, with all their numbers.
    n_features_in_ : int
        Number of columns of X in fit().
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X in fit(). Defined only if all names are strings.

    See Also
    --------
    discover : Find rules in one table that holds the target and all other columns.

    Notes
    -----
    X is a pandas, Polars or Arrow table, a dict of columns, or an array, whose columns are then called x0, x1, ….
    Columns may hold numbers, texts, dates and missing values. Rows with a missing y are left out.

    Examples
    --------
    >>> import causalrules as cr
    >>> X = cr.datasets.titanic(library="dict")
    >>> y = X.pop("survived")
    >>> model = cr.CausalRules(actionable=["class", "sex"]).fit(X, y)
    >>> model.get_feature_names_out().tolist()
    ['class ≤ 2 ∧ sex = female']
    >>> model.transform(X).sum(axis=0).tolist()
    [170]
    """

    rules_: RuleSet
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    def __init__(self, **params: Any) -> None:
        if unknown := next((name for name in params if name not in _PARAMETERS), None):
            hint = nearest(unknown, _PARAMETERS)
            raise TypeError(f"{type(self).__name__}() got an unexpected keyword argument {unknown!r}{hint}")
        for name, default in _PARAMETERS.items():
            setattr(self, name, params.get(name, default))

    def fit(self, X: Any, y: Any, control: str | Sequence[str] | None = None, sample_weight: Any = None) -> CausalRules:
        """Find the rules.

        Parameters
        ----------
        X : table, dict of columns or array of shape (n_samples, n_features)
            The columns to put conditions on and those to adjust for.
        y : series, list or array of shape (n_samples,)
            The target. In rules and graphs it has the name of the series, or else y.
        control : str or list of str, default=None
            Columns of X to adjust for. If given, it takes precedence over the parameter `control`.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts: whole numbers of at least 0. By default, each row counts once.

        Returns
        -------
        CausalRules
            The fitted estimator.

        Examples
        --------
        >>> import causalrules as cr
        >>> X = cr.datasets.titanic(library="dict")
        >>> y = X.pop("survived")
        >>> model = cr.CausalRules(k=1, actionable="class", control="sex").fit(X, y)
        >>> print(model.rules_[0])
        class ≤ 2
        """
        columns, named = _columns(X)
        n_rows = _n_rows(columns)
        if n_rows < 2:
            raise DataError(f"X has {counted(n_rows, 'row')} (n_samples={n_rows}); a rule compares rows with others")
        labels, name = _labels(y, n_rows)
        target = _free_name(name, "y", columns)
        data = {**columns, target: labels}
        weights = None
        if sample_weight is not None:
            weights = _free_name(None, "sample_weight", data)
            data[weights] = _frequencies(sample_weight, n_rows)
        table = read(data)
        asked = {name: getattr(self, name) for name in _PARAMETERS}
        if control is not None:
            asked["control"] = control
        self.rules_ = discover(table, target, weights=weights, progress=False, **asked)
        self.n_features_in_ = len(columns)
        self._names = list(columns)
        if named:
            self.feature_names_in_ = np.array(self._names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        # One label with the outcome and one without, to resolve the outcome where all labels are equal.
        satisfied = self._problem.roles.outcome.satisfied
        values = table.observed(target, weights).histogram(target).values
        self._examples = [values[int(np.argmax(satisfied == wanted))] for wanted in (True, False)]
        self._outcome = self.outcome
        return self

    def transform(self, X: Any) -> Any:
        """Return for each row and each rule whether the row satisfies the rule.

        Parameters
        ----------
        X : table, dict of columns or array of shape (n_samples, n_features)
            Rows with the columns of fit().

        Returns
        -------
        data frame or ndarray of shape (n_samples, n_rules)
            Booleans, one column per rule: a data frame of the same library if X is one, else an array. With
            scikit-learn, `set_output` selects another container. A missing value satisfies no condition.

        Examples
        --------
        >>> import causalrules as cr
        >>> X = cr.datasets.titanic(library="dict")
        >>> y = X.pop("survived")
        >>> model = cr.CausalRules(actionable=["class", "sex"]).fit(X, y)
        >>> model.transform(X)[:2].tolist()
        [[False], [True]]
        """
        rules, table = self._fitted, read(self._checked(X))
        covered = [rule.covers(table) for rule in rules]
        frame = None if self._has_output_container else _frame(X)
        if frame is None:
            return np.column_stack(covered) if covered else np.empty((table.n_records, 0), np.bool_)
        named = dict(zip(self.get_feature_names_out().tolist(), covered, strict=True))
        made = (nw.from_dict(named, backend=frame.implementation) if named else frame.select()).to_native()
        index = nw.maybe_get_index(frame)
        if index is not None:
            made.index = index
        return made

    def fit_transform(
        self, X: Any, y: Any, control: str | Sequence[str] | None = None, sample_weight: Any = None
    ) -> Any:
        """Find the rules, and return which of them each row satisfies.

        Parameters
        ----------
        X : table, dict of columns or array of shape (n_samples, n_features)
            See `fit`.
        y : series, list or array of shape (n_samples,)
            See `fit`.
        control : str or list of str, default=None
            See `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            See `fit`.

        Returns
        -------
        data frame or ndarray of shape (n_samples, n_rules)
            See `transform`.

        Examples
        --------
        >>> import causalrules as cr
        >>> X = {"drug": ["a", "b", "a", "b"] * 5}
        >>> cr.CausalRules(k=1).fit_transform(X, [1, 0, 1, 0] * 5)[:2].tolist()
        [[True], [False]]
        """
        return self.fit(X, y, control, sample_weight).transform(X)

    def predict_effect(self, X: Any) -> NDArray[np.float64]:
        """Return for each row the adjusted effect of the best rule that it satisfies.

        This is the effect of the rule on all rows, not a forecast for this row.

        Parameters
        ----------
        X : table, dict of columns or array of shape (n_samples, n_features)
            Rows with the columns of fit().

        Returns
        -------
        ndarray of shape (n_samples,)
            The effects; 0 for a row that satisfies no rule.

        Examples
        --------
        >>> import causalrules as cr
        >>> X = cr.datasets.titanic(library="dict")
        >>> y = X.pop("survived")
        >>> model = cr.CausalRules(actionable=["class", "sex"]).fit(X, y)
        >>> model.predict_effect(X)[:2].round(3).tolist()
        [0.0, 0.696]
        """
        rules, table = self._fitted, read(self._checked(X))
        effect = np.zeros(table.n_records)
        for rule in reversed(rules):  # so that the best rule overwrites the others
            effect[rule.covers(table)] = rule.effect
        return effect

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the reliable effect, at β = 2, of the best rule on these rows, in the strata of fit().

        β is fixed, so that models with different `beta` can be compared. For the mean of a numeric y, the score is the
        pooled estimate minus its margin at β = 2, in the units of y. With direction="decrease" the sign is flipped, so
        that a better model has a higher score.

        Parameters
        ----------
        X : table, dict of columns or array of shape (n_samples, n_features)
            Rows with the columns of fit().
        y : series, list or array of shape (n_samples,)
            The target. Rows with a missing target are left out.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts: whole numbers of at least 0.

        Returns
        -------
        float
            The score; 0 if fit() found no rule.

        Examples
        --------
        >>> import causalrules as cr
        >>> X = cr.datasets.titanic(library="dict")
        >>> y = X.pop("survived")
        >>> round(cr.CausalRules(k=1, actionable=["class", "sex"]).fit(X, y).score(X, y), 3)
        0.577
        """
        rules, table = self._fitted, read(self._checked(X))
        labels, _ = _labels(y, table.n_records)
        weight = np.ones(len(labels)) if sample_weight is None else _frequencies(sample_weight, len(labels))
        known, target = self._targets(labels)
        used = known & (weight > 0)
        if not used.any():
            raise DataError("score: no row has a label in y and a weight above zero")
        if not rules:
            return 0.0
        problem = self._problem.of(self._problem.language.numbers(rules[0].conditions))
        used &= table.having(rules.question.required(problem.roles.control))
        if not used.any():
            raise DataError("score: no row with a label in y has a value of each control")
        _, stratum = np.unique(problem.strata.index_of(table)[used], return_inverse=True)
        chosen = (*compared_rows(rules[0], table, rules.question), used)
        covered, failing, everything = (
            side_of(stratum, target[used], weight[used], rows[used], int(stratum.max()) + 1) for rows in chosen
        )
        decrease = rules.question.direction == "decrease"
        if not problem.roles.outcome.kind.binary:
            effect = scores.pooled_effect(covered, failing, everything)
            variance = scores.pooled_variance(covered, failing, everything)
            return (-effect if decrease else effect) - scores.pooled_margin(_SCORE_BETA, variance)
        tables = (covered.total, covered.n - covered.total, failing.total, failing.n - failing.total)
        a, b, c, d = tables if not decrease else (tables[1], tables[0], tables[3], tables[2])
        return scores.reliable_effect(a, b, c, d, _SCORE_BETA)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns of transform(): the rules as text.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Checked against the columns of fit(), but not used.

        Returns
        -------
        ndarray of str
            The rules, best first.

        Examples
        --------
        >>> import causalrules as cr
        >>> model = cr.CausalRules(k=1).fit({"drug": ["a", "b"] * 10}, [1, 0] * 10)
        >>> model.get_feature_names_out().tolist()
        ['drug = a']
        """
        names = [rule.text for rule in self._fitted]
        if input_features is not None:
            given = [str(name) for name in input_features]
            if hasattr(self, "feature_names_in_") and given != self._names:
                raise DataError(f"input_features is not equal to feature_names_in_: {shorten(self._names)}")
            if len(given) != self.n_features_in_:
                raise DataError(
                    "input_features should have length equal to number of features "
                    f"({self.n_features_in_}), got {len(given)}"
                )
        return np.array(names, dtype=object)

    def set_params(self, **params: Any) -> CausalRules:
        """Set parameters by name.

        Parameters
        ----------
        **params
            The parameters to change, and their values. They take effect in the next fit().

        Returns
        -------
        CausalRules
            The estimator itself.

        Examples
        --------
        >>> import causalrules as cr
        >>> cr.CausalRules().set_params(k=3)
        CausalRules(k=3)
        """
        known = self.get_params(deep=False)
        for name in params:
            if name not in known:
                hint = nearest(name, known) or f"; the parameters are {', '.join(known)}"
                raise OptionError(f"no parameter {name!r}{hint}")
        super().set_params(**params)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []  # always booleans
        return tags

    @property
    def _fitted(self) -> RuleSet:
        if not hasattr(self, "rules_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit(X, y) first")
        return self.rules_

    @property
    def _problem(self) -> Any:
        assert self.rules_.problem is not None, "discover() keeps the problem"
        return self.rules_.problem

    @property
    def _has_output_container(self) -> bool:
        """Whether scikit-learn wraps the array of transform(), by set_output() or its configuration."""
        configured = get_config().get("transform_output", "default")
        return bool(getattr(self, "_sklearn_output_config", {}).get("transform", configured) != "default")

    def _checked(self, X: Any) -> dict[str, Any]:
        """Return the columns of X under the names of fit(), with scikit-learn's error messages."""
        _ = self._fitted
        columns, named = _columns(X)
        own = type(self).__name__
        fitted_names = hasattr(self, "feature_names_in_")
        if named and fitted_names:
            if list(columns) != self._names:
                raise _other_names(columns, self._names)
        elif named or fitted_names:
            which = "X has feature names, but {} was fitted without feature names"
            if fitted_names:
                which = "X does not have valid feature names, but {} was fitted with feature names"
            warnings.warn(which.format(own), CausalRulesWarning, stacklevel=3)
        if len(columns) != self.n_features_in_:
            raise DataError(
                f"X has {len(columns)} features, but {own} is expecting {self.n_features_in_} features as input"
            )
        return dict(zip(self._names, columns.values(), strict=True))

    def _targets(self, labels: list[Any]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Return which rows have a label, and their target: a number, or whether the outcome happened."""
        name = self.rules_.question.target
        rows = read({name: [*labels, *self._examples]})
        if not self._problem.roles.outcome.kind.binary:
            if rows.kinds[name] is not Kind.NUMBER:
                raise DataError(f"y holds {rows.kinds[name]} values; in fit() it held numbers, whose mean counts")
            values = self._problem.roles.outcome.centred(rows.histogram(name).values.sortable)
        else:
            values = resolve_outcome(rows.observed(name), name, self._outcome).satisfied.astype(np.float64)
        codes = rows.codes(name, np.arange(len(values)))[:-2]
        return codes >= 0, values[codes]


def _derive_parameters() -> None:
    """Give CausalRules the signature and the documentation of its parameters."""
    annotated = inspect.signature(Question).parameters
    keywords = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotated[name].annotation)
        for name, default in _PARAMETERS.items()
    ]
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    vars(CausalRules.__init__)["__signature__"] = inspect.Signature([first, *keywords], return_annotation=None)
    documented = dict(options())
    entries = "\n".join(
        f"{each.name} : {each.annotation}, default={each.default!r}\n"
        f"{textwrap.indent(textwrap.fill(documented[each.name].doc, 108), '    ')}"
        for each in keywords
    )
    if CausalRules.__doc__:  # python -OO has no docstrings
        CausalRules.__doc__ = with_options(CausalRules.__doc__, entries)


_derive_parameters()


def _columns(X: Any) -> tuple[dict[str, Any], bool]:
    """Return the columns of X by name, and whether X has column names."""
    if hasattr(X, "tocsr"):
        raise DataError(f"X is a sparse {type(X).__name__}, which is not supported; pass X.toarray()")
    if is_dask(X):
        raise DataError("X is a Dask DataFrame, which is not supported; pass X.compute(), or call discover()")
    frame = None if isinstance(X, Mapping) else _frame(X)
    if frame is not None or isinstance(X, Mapping):
        found = list(X if frame is None else frame.columns)
        if not found:
            raise _no_features(len(X))
        check_names([str(name) for name in found])
        columns = {str(name): X[name] if frame is None else frame.get_column(name) for name in found}
        return columns, all(isinstance(name, str) for name in found)
    if not isinstance(X, (list, tuple)) and not hasattr(X, "__array__"):
        raise DataError(
            f"X is a {type(X).__name__}; pass a pandas, Polars or Arrow table, a dict of columns or an array"
        )
    if isinstance(X, np.ma.MaskedArray):
        X = X.tolist()  # masked entries become None
    try:
        # A list may mix numbers and texts; NumPy would convert all of them to texts.
        array = np.array(X, dtype=object) if isinstance(X, (list, tuple)) else np.asarray(X)
    except ValueError:  # rows of different lengths
        array = np.empty(len(X), dtype=object)
    if array.dtype.names is not None:
        return {name: array[name] for name in array.dtype.names}, True
    if array.ndim != 2:
        raise DataError(
            f"X has {counted(array.ndim, 'dimension')}; it must have two: rows, all of one length. Reshape your data "
            "with X.reshape(-1, 1) if it is one column, or X.reshape(1, -1) if it is one row"
        )
    if array.shape[1] == 0:
        raise _no_features(len(array))
    if array.dtype.kind == "c":
        raise DataError("Complex data not supported: X holds complex numbers")
    return {f"x{place}": array[:, place] for place in range(array.shape[1])}, False


def _frame(X: Any) -> nw.DataFrame[Any] | None:
    """Return X if it is a data frame of any library, else None."""
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        check_names([str(name) for name in getattr(X, "column_names", X.columns)])
        raise
    return frame if isinstance(frame, nw.DataFrame) else None


def _no_features(n_rows: int) -> DataError:
    return DataError(f"X has 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required.")


def _n_rows(columns: Mapping[str, Any]) -> int:
    return len(next(iter(columns.values())))


def _other_names(columns: Mapping[str, Any], fitted: Sequence[str]) -> DataError:
    """Return scikit-learn's error for columns other than those of fit()."""
    message = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(columns) - set(fitted)), sorted(set(fitted) - set(columns))
    for names, what in ((unseen, "unseen at fit time"), (missing, "seen at fit time, yet now missing")):
        if names:
            listed = [f"- {name}\n" for name in names[:5]]
            message += f"Feature names {what}:\n{''.join(listed)}{'- ...' * (len(names) > 5)}"
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    return DataError(message)


def _labels(y: Any, n_rows: int) -> tuple[list[Any], Any]:
    """Return the labels in a series, an array, a list or a table of one column, and their name or None."""
    if y is None:
        raise DataError("CausalRules requires y to be passed, but the target y is None; pass the column of the outcome")
    series = nw.from_native(y, allow_series=True, eager_only=True, pass_through=True)
    if isinstance(series, nw.DataFrame) and len(series.columns) == 1:
        series = series[series.columns[0]]
    if isinstance(series, nw.Series):
        labels = series.to_list()
    elif isinstance(y, (list, tuple)):
        labels = list(y)
    elif hasattr(y, "__array__"):
        array = np.asanyarray(y)  # masked labels are missing
        labels = (array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array).tolist()
    else:
        raise DataError(f"y is a {type(y).__name__}; pass a series, a list or an array")
    if not isinstance(labels, list) or any(isinstance(label, (list, tuple, np.ndarray)) for label in labels):
        raise DataError("y should be a 1d array: one label for each row; pass the column of the outcome")
    if len(labels) != n_rows:
        raise DataError(f"X has {counted(n_rows, 'row')} and y has {len(labels):,}; give one label for each row")
    return labels, getattr(series, "name", None)


def _frequencies(sample_weight: Any, n_rows: int) -> NDArray[np.float64]:
    """Return the weight of each row."""
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
            "give whole numbers of at least 0. For sampling weights, leave it out and add what they depend on to the "
            "controls"
        )
    return weights


def _free_name(name: object, otherwise: str, columns: Mapping[str, Any]) -> str:
    """Return an unused column name."""
    free = name if isinstance(name, str) and name else otherwise
    while free in columns:
        free += "_"
    return free
