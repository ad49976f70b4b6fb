"""What every test may rely on, on any machine and with any number of workers."""

import os
import signal
import sys
from typing import Any

from hypothesis import settings

import skips

# The width of the text output; under pytest-xdist it would be that of no terminal.
os.environ["COLUMNS"] = "100"
# A worker per core is enough: threads of models and of linear algebra that wait for a core burn it meanwhile.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
# Compiled modules are kept: the many processes that tests start would compile the package anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# No timing in tests: a busy machine is not a failure. The same examples each time, so that a change is judged by
# itself; new ones are what `dev.py fuzz` is for.
settings.register_profile("causalrules", deadline=None, derandomize="CAUSALRULES_FUZZ" not in os.environ)
settings.load_profile("causalrules")
# A shell's background jobs ignore Ctrl-C, and so would what the tests start; they send it on purpose.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say at the end what was skipped, why, and what would run it."""
    skipped = [report.longrepr[2] for report in terminalreporter.stats.get("skipped", ())]
    for line in skips.lines(skipped):
        terminalreporter.write_line(line)
