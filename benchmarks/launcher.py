"""Run commands in turns and print, as JSON, the seconds and the peak memory of each run of each.

usage: launcher.py TIMES COMMANDS, these as JSON: a list of lists of arguments.

In turns, since the machine's speed drifts; by itself and small on purpose, since a process's recorded peak begins
with that of the process which started it. Bytecode is cached, as after an ordinary installation: the first run of
each command writes it.
"""

import json
import os
import sys
import time

times, commands = int(sys.argv[1]), json.loads(sys.argv[2])
silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
unit = 1 if sys.platform == "darwin" else 1024
environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
runs = [[] for _ in commands]
for _ in range(times):
    for command, results in zip(commands, runs, strict=True):
        start = time.perf_counter()
        child = os.posix_spawnp(command[0], command, environment, file_actions=silent)
        _, status, usage = os.wait4(child, 0)
        seconds = time.perf_counter() - start
        if status:
            sys.exit(f"{command} failed with status {os.waitstatus_to_exitcode(status)}")
        results.append({"seconds": seconds, "peak_memory": usage.ru_maxrss * unit})
print(json.dumps(runs))
