"""What every test may rely on, on any machine and with any number of workers."""

import os

from hypothesis import settings

# The width of the text output; under pytest-xdist it would be that of no terminal.
os.environ["COLUMNS"] = "100"
# No timing in tests: a busy machine is not a failure.
settings.register_profile("causalrules", deadline=None)
settings.load_profile("causalrules")
