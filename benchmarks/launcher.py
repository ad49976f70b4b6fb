"""Run a command some times and print, as JSON, the seconds and the peak memory of each run.

By itself and small on purpose: a process's recorded peak begins with that of the process which started it.
"""

import json
import os
import sys
import time

runs = []
for _ in range(int(sys.argv[1])):
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    start = time.perf_counter()
    child = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ, file_actions=silent)
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - start
    if status:
        sys.exit(f"{sys.argv[2:]} failed with status {os.waitstatus_to_exitcode(status)}")
    unit = 1 if sys.platform == "darwin" else 1024
    runs.append({"seconds": seconds, "peak_memory": usage.ru_maxrss * unit})
print(json.dumps(runs))
