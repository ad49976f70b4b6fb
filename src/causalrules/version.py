"""The version, as a plain text: asking the installed package for it takes longer than many a search."""

__version__ = "0.1.0"
