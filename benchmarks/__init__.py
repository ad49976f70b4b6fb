"""Speed benchmarks: see run.py."""
