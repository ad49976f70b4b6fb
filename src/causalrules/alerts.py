"""Alerts: what can mislead a reader of the rules, as data; notes are what is merely good to know."""

from __future__ import annotations

from dataclasses import dataclass

UNBALANCED, LEAK, IDENTIFIER, TIME = "unbalanced", "leak suspected", "identifier", "date or time"


@dataclass(frozen=True)
class Alert:
    """One alert.

    Attributes
    ----------
    kind
        What is wrong in two or three words, such as "leak suspected".
    columns
        The columns that it is about; empty if it is about the whole result.
    sentence
        What was found, and what to do about it: without a capital letter and a full stop.
    """

    kind: str
    columns: tuple[str, ...]
    sentence: str

    @property
    def title(self) -> str:
        """The kind, as a heading."""
        return f"{self.kind[:1].upper()}{self.kind[1:]}"

    def __str__(self) -> str:
        return f"{self.title}: {self.sentence}"
