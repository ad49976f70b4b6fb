"""Example data: three classics of confounding, two simulated firms, and the population of the paper.

Tables are pandas data frames if pandas is installed, else dicts of columns; `library` overrides that.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from causalrules.datasets._frame import frame
from causalrules.datasets.population import PaperPopulation, TrueRule

__all__ = [
    "PaperPopulation",
    "TrueRule",
    "berkeley",
    "campaign",
    "kidney_stones",
    "paper_population",
    "renewals",
    "titanic",
]

_TITANIC: dict[str, Callable[[str], Any]] = {
    "survived": int,
    "class": int,
    "sex": str,
    "age": float,
    "sibsp": int,
    "parch": int,
    "fare": float,
    "embarked": str,
}

# (size, treatment): (successes, failures); Charig et al., British Medical Journal 292, 1986, p. 879.
_KIDNEY_STONES = {
    ("small", "A"): (81, 6),
    ("small", "B"): (234, 36),
    ("large", "A"): (192, 71),
    ("large", "B"): (55, 25),
}

# (department, gender): (admitted, rejected); Bickel, Hammel & O'Connell, Science 187, 1975, p. 398,
# the six largest departments, as published by Freedman, Pisani & Purves, Statistics, 1978.
_BERKELEY = {
    ("A", "male"): (512, 313),
    ("A", "female"): (89, 19),
    ("B", "male"): (353, 207),
    ("B", "female"): (17, 8),
    ("C", "male"): (120, 205),
    ("C", "female"): (202, 391),
    ("D", "male"): (138, 279),
    ("D", "female"): (131, 244),
    ("E", "male"): (53, 138),
    ("E", "female"): (94, 299),
    ("F", "male"): (22, 351),
    ("F", "female"): (24, 317),
}


def titanic(library: str | None = None) -> Any:
    """Return 891 passengers of the Titanic, the training set of the Kaggle competition.

    Columns: survived (0, 1), class (1, 2, 3), sex, age (years, 177 missing), sibsp (siblings and spouses
    aboard), parch (parents and children aboard), fare, embarked (C, Q, S; 2 missing).

    >>> passengers = titanic(library="dict")
    >>> len(passengers["survived"]), sum(passengers["survived"])
    (891, 342)
    """
    with Path(__file__).with_name("titanic.csv").open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    columns = {
        name: [_TITANIC[name](field) if field else None for field in fields]
        for name, fields in zip(names, zip(*rows, strict=True), strict=True)
    }
    return frame(columns, library)


def kidney_stones(library: str | None = None) -> Any:
    """Return 700 patients with kidney stones (Charig et al., 1986): size, treatment (A, B), success (0, 1).

    Treatment A (open surgery) succeeds more often for small stones and for large ones, yet less often
    overall, because it was given to the harder cases: adjust for size.

    >>> len(kidney_stones(library="dict")["success"])
    700
    """
    return frame(_people(("size", "treatment", "success"), _KIDNEY_STONES), library)


def berkeley(library: str | None = None) -> Any:
    """Return 4,526 applicants to the six largest departments of Berkeley in 1973.

    Columns: department (A … F), gender, admitted (0, 1).
    Men were admitted more often overall, women slightly more often within departments: adjust for department.

    >>> len(berkeley(library="dict")["admitted"])
    4526
    """
    return frame(_people(("department", "gender", "admitted"), _BERKELEY), library)


def renewals(n_rows: int = 4000, seed: int = 0, library: str | None = None) -> Any:
    """Simulate contracts that are up for renewal. The truth is known, and hidden by confounding.

    Columns: tenure (years with the firm), complaint (whether the customer complained before), call (whether an agent
    called), discount (per cent), app (whether the app is installed), newsletter, renewed (0, 1).
    A call with a discount of at least 10 % raises renewals by 18 points, the app by 6 points, the newsletter by
    nothing. Customers who complained renew less often and are called more often; customers of few years renew less
    often and get higher discounts: adjust for complaint and tenure.

    Parameters
    ----------
    n_rows
        Number of contracts.
    seed
        Seed of the random numbers.
    library
        "pandas", "polars" or "dict"; by default pandas if it is installed, else a dict.

    Returns
    -------
    table
        A data frame or a dict of columns.

    Examples
    --------
    >>> contracts = renewals(library="dict")
    >>> len(contracts["renewed"]), sum(contracts["renewed"])
    (4000, 2005)
    """
    draw = np.random.default_rng(seed)
    tenure = draw.integers(0, 11, n_rows)
    complaint = draw.random(n_rows) < 0.35
    call = draw.random(n_rows) < np.where(complaint, 0.65, 0.2)
    discount = np.array([0, 5, 10, 15])[np.clip(draw.integers(0, 4, n_rows) + (tenure < 4) - (tenure > 7), 0, 3)]
    app = draw.random(n_rows) < 0.3 + 0.03 * tenure
    newsletter = draw.random(n_rows) < 0.5
    chance = 0.35 + 0.04 * tenure - 0.3 * complaint + 0.06 * app + 0.18 * (call & (discount >= 10))
    columns: dict[str, list[Any]] = {"tenure": tenure.tolist()}
    for name, happened in {"complaint": complaint, "call": call}.items():
        columns[name] = np.where(happened, "yes", "no").tolist()
    columns["discount"] = discount.tolist()
    for name, happened in {"app": app, "newsletter": newsletter}.items():
        columns[name] = np.where(happened, "yes", "no").tolist()
    columns["renewed"] = (draw.random(n_rows) < chance).astype(int).tolist()
    return frame(columns, library)


def campaign(n_rows: int = 4000, seed: int = 0, library: str | None = None) -> Any:
    """Simulate an experiment in which two actions help different customers. The truth is known.

    Columns: age (years), region (north, south, east), visits (to the shop, in the year before), letter and call
    (whether the customer got one), bought (0, 1). Letters and calls were drawn by lot, each for half of the customers,
    independently. A letter raises purchases by 20 points among customers of 50 years and more in the south (about 22 %
    of all), and by nothing elsewhere; a call by 18 points among those who came at most once (about 20 %), and by
    nothing elsewhere.

    Parameters
    ----------
    n_rows
        Number of customers.
    seed
        Seed of the random numbers.
    library
        "pandas", "polars" or "dict"; by default pandas if it is installed, else a dict.

    Returns
    -------
    table
        A data frame or a dict of columns.

    Examples
    --------
    >>> customers = campaign(library="dict")
    >>> len(customers["bought"]), sum(customers["bought"])
    (4000, 973)
    """
    draw = np.random.default_rng(seed)
    age = 20 + draw.permutation(n_rows) % 60
    region = draw.choice(["north", "south", "east"], n_rows, p=[0.3, 0.45, 0.25])
    visits = np.minimum(draw.poisson(3, n_rows), 10)
    call, letter = draw.random(n_rows) < 0.5, draw.random(n_rows) < 0.5
    helped = 0.2 * (letter & (age >= 50) & (region == "south")) + 0.18 * (call & (visits <= 1))
    chance = 0.1 + 0.03 * visits + 0.06 * (region == "north") + helped
    columns: dict[str, list[Any]] = {"age": age.tolist(), "region": region.tolist(), "visits": visits.tolist()}
    for name, happened in {"letter": letter, "call": call}.items():
        columns[name] = np.where(happened, "yes", "no").tolist()
    columns["bought"] = (draw.random(n_rows) < chance).astype(int).tolist()
    return frame(columns, library)


def paper_population() -> PaperPopulation:
    """Return the population of the paper's running example (§3.2), with its exact true effects.

    >>> paper_population().best().effect
    0.19
    """
    return PaperPopulation()


def _people(names: tuple[str, str, str], counts: dict[tuple[str, str], tuple[int, int]]) -> dict[str, list[Any]]:
    """Expand published counts into one row per person."""
    rows = [
        (group, choice, outcome)
        for (group, choice), (positive, negative) in counts.items()
        for outcome, count in ((1, positive), (0, negative))
        for _ in range(count)
    ]
    return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
