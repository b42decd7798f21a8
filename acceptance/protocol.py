#!/usr/bin/env python3
"""The official conformance suite and the MCP Inspector against the shipped binary.

    acceptance/protocol.py BINARY TOOLS                 every check, one line each
    acceptance/protocol.py --load 500 BINARY TOOLS      the Inspector's load mode instead, over both transports

TOOLS is the folder into which scripts/test has installed the three npm packages. The suite's tools are
called by names of its own; the door gives them to tools of ours that do the same. What has to fail is
in conformance.yml, and the suite fails if one of these passes. Ends with 1 if anything is not as it must be.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from door import Door

HERE = Path(__file__).resolve().parent
# The suite's name for a tool: the call of ours that does what it wants.
STAND_INS = {
    "test_simple_text": {
        "name": "execute",
        "arguments": {"language": "shell", "code": "echo This is a simple text response for testing."},
    },
    "test_error_handling": {"name": "execute", "arguments": {"language": "no such language", "code": "x"}},
    "test_tool_with_progress": {"name": "batch", "arguments": {"commands": ["true", "true", "true", "true"]}},
}
# Checks that hold inside of scenarios which fail as a whole.
HOLDS_INSIDE = {"dns-rebinding-protection": "localhost-host-rebinding-rejected"}
TOOLS = ["batch", "exec-file", "execute", "fetch-index", "index", "search"]
HELLO = '{"language": "shell", "code": "echo $((6 * 7))"}'


class Daemon:
    """The binary as a daemon with a home and a project of its own."""

    def __init__(self, binary, place):
        self.binary, self.project = binary, place / "project"
        home = place / "home"
        for folder in (home, self.project):
            folder.mkdir()
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
        subprocess.run([binary, "roots", "add", str(self.project)], env=self.environment, check=True, stdout=sys.stderr)
        self.process = subprocess.Popen(
            [binary, "daemon", "--port", "0"],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        folder = home / ".local/share/quietcontext/daemon"
        deadline = time.monotonic() + 20
        while not self.state(folder):
            if time.monotonic() > deadline or self.process.poll() is not None:
                sys.exit("protocol: the daemon does not start")
            time.sleep(0.02)
        self.headers = {
            "Authorization": "Bearer " + (folder / "token").read_text().strip(),
            "X-QuietContext-Root": str(self.project),
        }
        self.port = self.state(folder)["port"]

    def state(self, folder):
        try:
            state = json.loads((folder / "state.json").read_text())
        except (OSError, ValueError):
            return None
        return state if state["pid"] == self.process.pid else None

    def end(self):
        self.process.terminate()
        return self.process.wait(timeout=10)


class Trials:
    """What is checked, and what came of it."""

    def __init__(self, daemon, tools, results):
        self.daemon, self.results, self.failed = daemon, results, 0
        self.modules = Path(tools).resolve() / "node_modules"
        self.node = next(iter(sorted(self.modules.glob("node-linux-*/bin/node"))), None)
        if not self.node:
            sys.exit("protocol: %s holds no Node; scripts/test install puts it there" % tools)

    def say(self, name, problem):
        self.failed += bool(problem)
        print("%-4s  %s%s" % ("FAIL" if problem else "ok", name, ": " + problem if problem else ""), flush=True)

    def run(self, script, *arguments, timeout=120):
        return subprocess.run(
            [str(self.node), str(self.modules / "@modelcontextprotocol" / script), *arguments],
            cwd=self.results,
            env=self.daemon.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    def conformance(self):
        door = Door(self.daemon.port, self.daemon.headers, STAND_INS)
        done = self.run(
            "conformance/dist/index.js", "server", "--url", door.url, "--suite", "all",
            "--expected-failures", str(HERE / "conformance.yml"), "-o", str(self.results / "conformance"),
        )
        door.close()
        (self.results / "conformance.log").write_text(done.stdout + done.stderr)
        passed = len(re.findall(r"^✓ .*: [1-9]", done.stdout, re.MULTILINE))
        tail = " | ".join((done.stdout + done.stderr).strip().splitlines()[-12:])
        self.say("conformance suite: %d scenarios pass, others fail as expected" % passed, done.returncode and tail)
        for scenario, check in HOLDS_INSIDE.items():
            found = [
                entry["status"]
                for file in (self.results / "conformance").glob("server-%s-*/checks.json" % scenario)
                for entry in json.loads(file.read_text())
                if entry["id"] == check
            ]
            self.say("%s: %s" % (scenario, check), found != ["SUCCESS"] and str(found))

    def ways(self):
        """Inspector arguments for both transports."""
        headers = [part for pair in self.daemon.headers.items() for part in ("--header", "%s: %s" % pair)]
        url = "http://127.0.0.1:%d/mcp" % self.daemon.port
        return {
            "stdio": ["--cwd", str(self.daemon.project), self.daemon.binary],
            "http": ["--transport", "http", *headers, "--server-url", url],
        }

    def inspector(self, way, *arguments):
        # The target comes first: options with several values would swallow it.
        target = self.ways()[way]
        return self.run("inspector/clients/launcher/build/index.js", "--cli", *target, *arguments, "--format", "json", "-q")

    def inspect(self):
        lists = set()
        for way in ("stdio", "http"):
            for era in ("legacy", "modern"):
                listed = self.inspector(way, "--protocol-era", era, "--method", "tools/list", "--strict")
                self.say("inspector %s %s, strict lint of the tools" % (way, era), trouble(listed))
                if listed.returncode == 0:
                    tools = find(json.loads(listed.stdout), "tools")
                    names = [tool["name"] for tool in tools]
                    self.say("inspector %s %s, the six tools in order" % (way, era), names != TOOLS and str(names))
                    lists.add(json.dumps(tools))
            called = self.inspector(way, "--method", "tools/call", "--tool-name", "execute", "--tool-args-json", HELLO)
            self.say("inspector %s, a call" % way, trouble(called) or ("42" not in called.stdout and called.stdout[:300]))
        self.say("the lists are the same", len(lists) != 1 and "%d different ones" % len(lists))

    def load(self, requests):
        for way in ("stdio", "http"):
            for tool, arguments in (("execute", HELLO), ("search", '{"queries": ["nothing of the kind"]}')):
                loaded = self.inspector(
                    way, "--method", "tools/call", "--tool-name", tool, "--tool-args-json", arguments,
                    "--load", "--load-requests", str(requests), "--load-concurrency", "8",
                )
                problem = trouble(loaded)
                if not problem:
                    told = json.loads(loaded.stdout)
                    told = told if "ok" in told else next(inner for inner in told.values() if "ok" in inner)
                    if told["ok"] != requests:
                        problem = json.dumps(told)[:400]
                    else:
                        latency = told["latencyMs"]
                        print("      %5.0f calls/s, p50 %.1f ms, p99 %.1f ms" % (told["throughput"], latency["p50"], latency["p99"]))
                self.say("load %s %s, %d calls, 8 at once" % (way, tool, requests), problem)


def trouble(done):
    """What the Inspector says when it did not end well."""
    return done.returncode and "exit %d: %s" % (done.returncode, (done.stderr or done.stdout).strip()[:600])


def find(value, name):
    """The member of that name, wherever the Inspector's envelope has it."""
    if name in value:
        return value[name]
    return next(inner[name] for inner in value.values() if isinstance(inner, dict) and name in inner)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("tools")
    parser.add_argument("--load", type=int, metavar="CALLS")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="protocol-") as place:
        results = Path(place) / "results"
        results.mkdir()
        daemon = Daemon(os.path.abspath(options.binary), Path(place))
        trials = Trials(daemon, options.tools, results)
        try:
            if options.load:
                trials.load(options.load)
            else:
                trials.conformance()
                trials.inspect()
        finally:
            ended = daemon.end()
        trials.say("the daemon ends when it is told to", ended != 0 and "exit %s" % ended)
    return 1 if trials.failed else 0


if __name__ == "__main__":
    sys.exit(main())
