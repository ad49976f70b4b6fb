"""How fast it is, measured: see run.py."""
