"""Causal graphs, and which effects they identify (paper §3.1)."""
