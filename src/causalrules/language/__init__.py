"""The rule language (paper §3): roles, conditions, cut points and strata."""
