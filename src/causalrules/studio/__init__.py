"""The studio: a local page in which one asks a question, watches the search and exports the rules."""
