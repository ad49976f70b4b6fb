"""The exact search (paper §4): packed rows, the compiled core, and its driver loop."""
