"""Settings of all tests, for any machine and any number of workers."""

import os
import signal
import sys
from typing import Any

from hypothesis import settings

import skips
from opened_reports import browser as browser
from opened_reports import opened as opened

# The width of the text output; under pytest-xdist there is no terminal to give it.
os.environ["COLUMNS"] = "100"
# One worker per core is enough: model and linear algebra threads that wait for a core waste it.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
# Keep compiled modules: otherwise each process that a test starts compiles the package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# No deadlines: a busy machine is not a failure. The same examples each time, so that only changes of the code matter;
# `dev.py fuzz` tries new ones.
settings.register_profile("causalrules", deadline=None, derandomize="CAUSALRULES_FUZZ" not in os.environ)
settings.load_profile("causalrules")
# Background jobs of a shell ignore Ctrl-C, and so would the processes that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Report at the end which tests were skipped, why, and what would run them."""
    skipped = [report.longrepr[2] for report in terminalreporter.stats.get("skipped", ())]
    for line in skips.lines(skipped):
        terminalreporter.write_line(line)
