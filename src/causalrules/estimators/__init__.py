"""The formulas: rows in strata, what a search maximises, and intervals."""
