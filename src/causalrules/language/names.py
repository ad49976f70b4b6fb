"""What the names of columns say, in English: identifiers, and dates and times."""

from __future__ import annotations

import re

# Words at an end of a name, and words at its end alone, which many counts begin with ("number of children").
_IDENTIFIERS, _LAST_IDENTIFIERS = {"id", "ids", "identifier", "uuid", "guid"}, {"number", "key"}
_TIMES = {"date", "time", "timestamp", "datetime", "followup", "survival"}
# Minimum values of a number whose name says time, number or key: fewer are groups or counts.
_MANY_VALUES = 20


def words(name: str) -> list[str]:
    """Return the words of a column's name, without numbers.

    >>> words("customerID"), words("time_to_event2"), words("paid")
    (['customer', 'id'], ['time', 'to', 'event'], ['paid'])
    """
    return [each.lower() for each in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def says_identifier(name: str, n_values: int) -> bool:
    """Return whether the name of a column of numbers says that it is an identifier."""
    found = words(name)
    if not found or n_values <= 2:
        return False
    return bool({found[0], found[-1]} & _IDENTIFIERS) or (n_values > _MANY_VALUES and found[-1] in _LAST_IDENTIFIERS)


def says_time(name: str, n_values: int) -> bool:
    """Return whether the name of a column of numbers says that it is a date or a time, as of follow-up."""
    found = words(name)
    if not found or n_values <= _MANY_VALUES:
        return False
    return bool({found[0], found[-1]} & _TIMES) or found[:2] == ["follow", "up"] or found == ["days"]
