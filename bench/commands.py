#!/usr/bin/env python3
"""How long commands that people wait for take: commands.py BINARY prints a line per command.

Each is run 21 times in an empty home with Codex in it. Milliseconds from start to end.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

COMMANDS = [["setup"], ["setup", "codex", "--dry-run"], ["doctor"]]
RUNS = 21


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    binary = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="commands-") as home:
        os.mkdir(os.path.join(home, ".codex"))
        environment = {"HOME": home, "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        for command in COMMANDS:
            times = []
            for _ in range(RUNS):
                began = time.perf_counter()
                subprocess.run(
                    [binary, *command],
                    cwd=home,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    check=True,
                )
                times.append((time.perf_counter() - began) * 1000)
            print("%-24s median %4.0f, best %4.0f, worst %4.0f" % (" ".join(command), statistics.median(times), min(times), max(times)))


if __name__ == "__main__":
    main()
