"""Causal graphs, and the effects that they allow to be estimated (paper §3.1)."""
