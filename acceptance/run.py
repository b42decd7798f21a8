#!/usr/bin/env python3
"""Real clients against a server: run.py [--only NAME] -- SERVER ARGS prints a line per session.

Exit status: 0 all sessions passed, 1 some not, 2 the bench itself failed.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
import clients  # noqa: E402
import frame  # noqa: E402

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent / ".cache"

SIX, TEN = "six_tools.py", "ten_tasks.py"

# (name, client, arguments, script)
SESSIONS = [
    ("codex direct", "codex", ["--mode", "direct"], SIX),
    ("codex search", "codex", ["--mode", "search"], SIX),
    ("codex code", "codex", ["--mode", "code"], SIX),
    ("claude plain", "claude", [], SIX),
    ("claude deferred", "claude", ["--defer"], SIX),
    # the tap is a process between client and server: once without it
    ("codex without tap", "codex", ["--mode", "direct", "--no-tap"], SIX),
    # a user's server is optional, and then has about a second to be ready
    ("codex optional server", "codex", ["--mode", "code", "--not-required"], SIX),
    # an agent's work on this repository
    ("claude ten tasks", "claude", [], TEN),
    # the same as a user comes to it: entered by `setup`, at the end taken out by `setup --undo`
    ("codex after setup", "codex", ["--mode", "direct", "--setup"], TEN),
    ("claude after setup", "claude", ["--setup"], TEN),
]


def run_session(name, client, arguments, script, binary, options):
    """Returns whether the session passed; its log and report lie in the report folder."""
    stem = options.reports / name.replace(" ", "-")
    command = [
        sys.executable,
        str(HERE / (client + ".py")),
        "--" + client,
        str(binary),
        *arguments,
        "--script",
        str(options.script or HERE / "scripts" / script),
        "--report",
        "%s.json" % stem,
    ]
    command += (["--keep"] if options.keep else []) + ["--", *options.server]
    began = time.monotonic()
    with open("%s.log" % stem, "wb") as log:
        status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log).returncode
    lines = Path("%s.log" % stem).read_text(errors="replace").splitlines()
    print(
        "%s  %-22s %5.1f s  %s"
        % ("ok  " if status == 0 else "FAIL", name, time.monotonic() - began, lines[-1] if lines else ""),
        flush=True,
    )
    for line in lines if status else []:
        if not line.startswith("ok "):
            print("      " + line[:1000], flush=True)
    return status == 0


def lists_differ(options, names):
    """Whether the tool list had other bytes in one session than in another."""
    seen = {}
    for name in names:
        try:
            report = json.loads((options.reports / (name.replace(" ", "-") + ".json")).read_text())
        except (OSError, ValueError):
            continue
        if "list_sha256" in report.get("wire", {}):
            seen.setdefault(report["wire"]["list_sha256"], []).append(name)
    return list(seen.values()) if len(seen) > 1 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME", help="a session by its name or the start of it")
    parser.add_argument("--script", type=os.path.abspath, help="this one in all sessions, instead of each one's own")
    parser.add_argument("--reports", type=Path, default=CACHE / "acceptance", help="folder for logs and JSON reports")
    parser.add_argument("--cache", type=Path, default=CACHE / "clients", help="folder of the installed clients")
    parser.add_argument("--keep", action="store_true", help="keep each session's folder with every log")
    parser.add_argument("--self-test", action="store_true", help="prove the bench with its own probe server instead")
    parser.add_argument("server", nargs="*", help="-- COMMAND ARGS of the MCP server")
    options = parser.parse_args()
    binaries = {name: str(clients.install(options.cache, name)) for name in clients.PINS}
    if options.self_test:
        return subprocess.run(
            [sys.executable, str(HERE / "selftest.py")] + ["--%s=%s" % pair for pair in binaries.items()],
            stdin=subprocess.DEVNULL,
        ).returncode
    if not options.server:
        parser.error("the server's command is missing")
    options.reports.mkdir(parents=True, exist_ok=True)
    chosen = [row for row in SESSIONS if not options.only or any(row[0].startswith(name) for name in options.only)]
    passed = [run_session(*row, binaries[row[1]], options) for row in chosen]
    if not passed:
        parser.error("no session of that name")
    differing = lists_differ(options, [row[0] for row in chosen])
    if differing:
        print("FAIL  the tool list is not the same in all sessions: %s" % differing)
    print("%d of %d sessions passed" % (sum(passed), len(passed)))
    return 0 if all(passed) and not differing else 1


if __name__ == "__main__":
    frame.run_main(main)
