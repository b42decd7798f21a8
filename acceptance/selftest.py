#!/usr/bin/env python3
"""Proves the bench: selftest.py --codex BIN --claude BIN. Exit status 0 when it can pass and can fail.

1. Without a client: no expectation of the six-tool script is met by a server that echoes what it
   was sent, or that says nothing.
2. Both clients pass the probe script with the probe server as it is.
3. Each kind of wrong probe server is found out, and for its own reason.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
import frame  # noqa: E402
from probe import strings_in  # noqa: E402

HERE = Path(__file__).resolve().parent
PROBE_SCRIPT, SIX_TOOLS = HERE / "scripts" / "probe.py", HERE / "scripts" / "six_tools.py"

# (kind of wrong, Codex mode, further arguments, words that the report of it must hold)
WRONG = [
    ("echo", "direct", [], "does not match"),
    ("noise", "direct", [], "not JSON-RPC on the server's stdout"),
    ("leave-child", "direct", [], "left running after the client had gone"),
    ("late", "direct", ["--not-required"], "the first request offers nothing"),
    ("five-tools", "direct", [], "tools offered"),
    ("die", "code", [], "FAIL  call_001"),
    ("cut", "search", [], "join to"),
    ("structured", "code", [], "structuredContent is there"),
    ("two-items", "direct", [], "not exactly one text item"),
    ("rpc-error", "direct", [], "a JSON-RPC error"),
    ("long", "direct", [], "at most 8192 wanted"),
    ("quiet-error", "direct", [], "does not say so"),
    ("trespass", "direct", [], "read a page that it must refuse"),
]


def expectations_that_pass(answer):
    """Identities of six-tool calls whose expectations `answer(arguments)` meets: should be none."""
    with tempfile.TemporaryDirectory() as folder:
        script = frame.Script(SIX_TOOLS, Path(folder))
        passed = []
        for step in script.steps:
            for call in step:
                expect, arguments = script.fill(call.get("expect", {})), script.fill(call.get("arguments", {}))
                text = answer(arguments)
                # flags as the script wants them: the words alone must tell
                got = frame.Got(text, expect.get("is_error", False), False)
                if not frame.unmet(expect, {}, got) and "joins_to" not in call:
                    passed.append("%s %s %r" % (call["id"], call["tool"], text[:60]))
        return passed


def session(clients, client, arguments, script, probe_arguments):
    """Runs one session against the probe; returns the exit status and what was printed."""
    command = [
        sys.executable,
        str(HERE / (client + ".py")),
        "--" + client,
        clients[client],
        *arguments,
        "--script",
        str(script),
        "--",
        sys.executable,
        str(HERE / "probe.py"),
        *probe_arguments,
    ]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    return done.returncode, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--codex", required=True, type=os.path.abspath)
    parser.add_argument("--claude", required=True, type=os.path.abspath)
    clients = vars(parser.parse_args())
    failed, began = 0, time.monotonic()

    def say(good, what, detail=""):
        nonlocal failed, began
        failed += not good
        print(
            "%s  %5.1f s  %s%s"
            % ("ok  " if good else "FAIL", time.monotonic() - began, what, "" if good else ": " + detail),
            flush=True,
        )
        began = time.monotonic()

    for name, answer in (
        ("an echo", lambda arguments: "\n".join(strings_in(arguments))),
        ("an echo that says error", lambda arguments: "error: " + "\n".join(strings_in(arguments))),
        ("silence", lambda _: ""),
        ("error:", lambda _: "error: no"),
    ):
        passed = expectations_that_pass(answer)
        say(not passed, "six-tool script refuses %s" % name, "met by %s" % passed)
    for client, arguments in (
        ("codex", ["--mode", "direct"]),
        ("codex", ["--mode", "search"]),
        ("codex", ["--mode", "code"]),
        ("claude", []),
        ("claude", ["--defer"]),
    ):
        status, printed = session(clients, client, arguments, PROBE_SCRIPT, [])
        say(status == 0, "right probe passes: %s %s" % (client, " ".join(arguments)), "exit %d\n%s" % (status, printed))
    for kind, mode, arguments, words in WRONG:
        status, printed = session(clients, "codex", ["--mode", mode, *arguments], PROBE_SCRIPT, ["--wrong", kind])
        say(
            status == 1 and words in printed,
            "wrong probe fails: %s" % kind,
            "exit %d, wanted %r in\n%s" % (status, words, printed),
        )
    for client in ("codex", "claude"):
        status, printed = session(clients, client, [], SIX_TOOLS, ["--wrong", "echo"])
        # one call may only be made when the one before it left something to save
        say(
            status == 1 and "ok    call_" not in printed,
            "six-tool script fails an echo: %s" % client,
            "exit %d\n%s" % (status, printed),
        )
    return 1 if failed else 0


if __name__ == "__main__":
    frame.run_main(main)
