"""Segments and Policy: what users do with the answers of `for_whom` and `prescribe`, over report and exports.

Optional parts are imported where they are used.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from os import PathLike
from typing import Any, Self

from causalrules.policy import frames
from causalrules.policy.segments import SegmentList
from causalrules.policy.steps import Prescription
from causalrules.report import policy_terminal
from causalrules.result import sql
from causalrules.result.frames import as_frame


@dataclass(frozen=True, repr=False)
class Segments(SegmentList):
    """Groups in which an action works better or worse than elsewhere, with methods to show and export them.

    A sequence of `Segment`, the most certain first. Attributes are those of the list: `segments`, `candidate`, `rule`,
    `action`, `effect`, `interval`, `level`, `level_without`, `context`, `control`, `n_rows`, `n_compared`,
    `n_no_overlap`, `n_groups`, `permutations`, `claim`, `question`, `alerts`, `notes`, `graph`, `admissibility`.
    """

    def __str__(self) -> str:
        return policy_terminal.of_segments(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from causalrules.report import policy_notebook

        return policy_notebook.of_segments(self)

    @classmethod
    def of(cls, found: SegmentList) -> Self:
        """Return the groups with these methods."""
        return cls(**{item.name: getattr(found, item.name) for item in fields(found)})

    def to_frame(self) -> Any:
        """Return a data frame with one row per group.

        Returns
        -------
        DataFrame
            Of the library that the data came in; a dict of columns where none is installed.

        Examples
        --------
        >>> import causalrules as cr
        >>> customers = cr.datasets.campaign(library="dict")
        >>> groups = cr.for_whom(customers, "letter = yes", "bought", context=["age", "region"], randomised="letter")
        >>> list(groups.to_frame()["group"])
        ['age ≥ 50 ∧ region = south']
        """
        return as_frame(frames.of_segments(self), self.library)

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Return the groups as JSON.

        Parameters
        ----------
        path
            File to write as well; it is written atomically.

        Returns
        -------
        str
            The JSON text, which `Segments.from_json` reads.

        Examples
        --------
        >>> import causalrules as cr
        >>> customers = cr.datasets.campaign()
        >>> groups = cr.for_whom(customers, "letter = yes", "bought", context=["age", "region"], randomised="letter")
        >>> cr.Segments.from_json(groups.to_json()) == groups
        True
        """
        from causalrules.policy import json

        return json.write_segments(self, path)

    @classmethod
    def from_json(cls, source: str | PathLike[str]) -> Self:
        """Read groups from JSON.

        Parameters
        ----------
        source
            The JSON text, or the path of a file.

        Returns
        -------
        Segments
            The groups, without the rows that were searched.
        """
        from causalrules.policy import json

        return cls(**json.read_segments(source))

    def to_sql(self, dialect: str = "duckdb") -> str:
        """Return an SQL expression with the number of the group of each row, from 0; −1 for rows in none.

        A row in several groups is in the first, because each is searched among the rows of none of those above.
        `segment.to_sql()` is the condition of one group.

        Parameters
        ----------
        dialect : {"duckdb", "postgres", "sqlite"}
            The SQL dialect.

        Returns
        -------
        str
            The expression; names and values are quoted.

        Examples
        --------
        >>> import causalrules as cr
        >>> customers = cr.datasets.campaign()
        >>> groups = cr.for_whom(customers, "letter = yes", "bought", context=["age", "region"], randomised="letter")
        >>> print(groups.to_sql())
        CASE
         WHEN "age" >= 50 AND "region" = 'south' THEN 0
         ELSE -1
        END
        """
        return sql.case([segment.conditions for segment in self], dialect)

    def to_python(self, name: str = "group_of") -> str:
        """Return the source of a Python function that gives the number of the group of a row, from 0; −1 for none.

        Parameters
        ----------
        name
            The name of the function. It takes a mapping of column names to values.

        Returns
        -------
        str
            Python code without dependencies.
        """
        return sql.python_case([segment.conditions for segment in self], name)

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return a report as one HTML page that needs no network and no scripts.

        Parameters
        ----------
        path
            File to write as well; it is written atomically.

        Returns
        -------
        str
            The page.
        """
        from causalrules.report import policy_html

        return policy_html.write_segments(self, path)

    def plot(self, kind: str = "forest", ax: Any = None) -> Any:
        """Plot the groups.

        Parameters
        ----------
        kind : {"forest"}
            What to show: "forest": the effect inside each group, with its interval, and outside.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the plot.
        """
        from causalrules.report import policy_plots

        return policy_plots.plot_segments(self, kind, ax)


@dataclass(frozen=True, repr=False)
class Policy(Prescription):
    """Steps that say who should get what, with methods to apply, show and export them.

    A sequence of `PolicyStep`, followed from top to bottom. Attributes are those of the policy: `steps`, `candidate`,
    `default`, `single`, `gain`, `gain_over_baseline`, `gain_over_single`, `held_out`, `gain_interval`, `share`,
    `number_needed_to_treat`, `level`, `cost`, `context`, `control`, `actionable`, `n_rows`, `n_pairs`, `optimal`,
    `stopped`, `seconds`, `claim`, `question`, `alerts`, `notes`, `graph`, `admissibility`.
    """

    def __str__(self) -> str:
        return policy_terminal.of_policy(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from causalrules.report import policy_notebook

        return policy_notebook.of_policy(self)

    def to_frame(self) -> Any:
        """Return a data frame with one row per step.

        Returns
        -------
        DataFrame
            Of the library that the data came in; a dict of columns where none is installed.
        """
        return as_frame(frames.of_policy(self), self.library)

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Return the policy as JSON.

        Parameters
        ----------
        path
            File to write as well; it is written atomically.

        Returns
        -------
        str
            The JSON text, which `Policy.from_json` reads.

        Examples
        --------
        >>> import causalrules as cr
        >>> customers = cr.datasets.campaign()
        >>> policy = cr.prescribe(customers, "bought", actionable="letter", context="age", randomised="letter")
        >>> cr.Policy.from_json(policy.to_json()) == policy
        True
        """
        from causalrules.policy import json

        return json.write_policy(self, path)

    @classmethod
    def from_json(cls, source: str | PathLike[str]) -> Self:
        """Read a policy from JSON.

        Parameters
        ----------
        source
            The JSON text, or the path of a file.

        Returns
        -------
        Policy
            The policy, without the rows that were searched.
        """
        from causalrules.policy import json

        return cls(**json.read_policy(source))

    def to_sql(self, dialect: str = "duckdb") -> str:
        """Return an SQL expression with the number of the step of each row, as `assign` gives it.

        Parameters
        ----------
        dialect : {"duckdb", "postgres", "sqlite"}
            The SQL dialect.

        Returns
        -------
        str
            The expression: from 0, and −1 where today's practice goes on. Names and values are quoted.

        Examples
        --------
        >>> import causalrules as cr
        >>> customers, context, cost = cr.datasets.campaign(), ["age", "region"], {"letter": 0.02}
        >>> policy = cr.prescribe(
        ...     customers, "bought", actionable="letter", context=context, randomised="letter", cost=cost
        ... )
        >>> print(policy.to_sql())
        CASE
         WHEN "age" >= 50 AND "region" = 'south' THEN 0
         ELSE -1
        END
        """
        return sql.case([step.context for step in self], dialect)

    def to_python(self, name: str = "assign") -> str:
        """Return the source of a Python function that gives the number of the step of a row, as `assign` does.

        Parameters
        ----------
        name
            The name of the function. It takes a mapping of column names to values.

        Returns
        -------
        str
            Python code without dependencies.
        """
        return sql.python_case([step.context for step in self], name)

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return a report as one HTML page that needs no network and no scripts.

        Parameters
        ----------
        path
            File to write as well; it is written atomically.

        Returns
        -------
        str
            The page.
        """
        from causalrules.report import policy_html

        return policy_html.write_policy(self, path)

    def plot(self, kind: str = "staircase", ax: Any = None) -> Any:
        """Plot the policy.

        Parameters
        ----------
        kind : {"staircase"}
            What to show: "staircase": what each step adds to the gain.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the plot.
        """
        from causalrules.report import policy_plots

        return policy_plots.plot_policy(self, kind, ax)
