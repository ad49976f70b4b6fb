"""Causal graphs, and what they allow to be estimated (paper §3.1)."""
