#!/usr/bin/env python3
"""What `quietcontext setup` wrote, as real Codex and Claude Code read it: setup.py BINARY.

Each client gets an empty home and no network. Exit status: 0 all as it must be, 1 not, 2 the bench failed.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import clients  # noqa: E402
import frame  # noqa: E402
import isolation  # noqa: E402

CACHE = Path(__file__).resolve().parent.parent / ".cache" / "clients"

# client, command that lists what it knows, words it must say when the server is entered
CLIENTS = [
    ("codex", "codex", ["mcp", "get", "quietcontext"], ["transport: stdio", "args: serve", "default_tools_approval_mode: approve"]),
    ("claude-code", "claude", ["mcp", "list"], ["quietcontext:", "Connected"]),
]


def run(command, home):
    """Standard output and error of a command that has this home and little else."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    done = subprocess.run(command, cwd=home, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    return done.stdout + done.stderr


def check(name, client, listing, words, binary):
    """One line for each thing that is not as it must be."""
    with tempfile.TemporaryDirectory(prefix="setup-") as home:
        before = run([client, *listing], home)
        said = run([binary, "setup", name, "--approve", "--yes"], home)
        after = run([client, *listing], home)
        undone = run([binary, "setup", name, "--undo"], home)
        last = run([client, *listing], home)
        # Positive control: without the entry the client says nothing of the kind.
        problems = ["said before: %s" % word for word in words if word in before]
        problems += ["not said after setup: %s" % word for word in words if word not in after]
        problems += ["still said after --undo: %s" % word for word in words if word in last]
        return problems and problems + [said, after, undone, last]


def check_daemon(client, binary):
    """Real Claude Code asks a real daemon: it sends the token and its project. One line for each thing that is not so."""
    with tempfile.TemporaryDirectory(prefix="setup-") as home:
        said = run([binary, "setup", "claude-code", "--daemon"], home)
        before = run([client, "mcp", "list"], home)
        said += run([binary, "roots", "add", home], home) + run([binary, "daemon", "start"], home)
        try:
            after = run([client, "mcp", "list"], home)
        finally:
            said += run([binary, "daemon", "stop"], home)
        problems = ["connected without a daemon"] * ("Connected" in before)
        problems += ["not connected"] * ("Connected" not in after)
        return problems and problems + [said, before, after]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    binary = os.path.abspath(sys.argv[1])
    installed = {name: str(clients.install(CACHE, name)) for name in clients.PINS}
    if not isolation.isolate_network():
        print("note: the network could not be cut off here")
    failed = False
    for name, client, listing, words in CLIENTS:
        problems = check(name, installed[client], listing, words, binary)
        failed = failed or bool(problems)
        print("%s  setup %s" % ("FAIL" if problems else "ok  ", name))
        for line in problems:
            print("      " + line)
    problems = check_daemon(installed["claude"], binary)
    failed = failed or bool(problems)
    print("%s  setup claude-code --daemon" % ("FAIL" if problems else "ok  "))
    for line in problems:
        print("      " + line)
    return 1 if failed else 0


if __name__ == "__main__":
    frame.run_main(main)
