#!/usr/bin/env python3
"""Runs real Claude Code, in a home of its own and with a scripted model, against an MCP server.

    claude.py --claude BIN [--defer] --script scripts/six_tools.py -- SERVER ARGS

Exit status: 0 all expectations met, 1 some not, 2 the bench itself failed.
"""

import argparse
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import frame  # noqa: E402
import isolation  # noqa: E402
import models  # noqa: E402
import wire  # noqa: E402
from codex import run_client  # noqa: E402

REFUSALS = ("Claude requested permissions", "<tool_use_error>")


class Model:
    """Plays the model: one step of the script per request, reading the results of the step before."""

    def __init__(self, defer, server_name, session, script):
        self.defer, self.session, self.script = defer, session, script
        self.player = frame.Player(script, session)
        self.prefix = "mcp__%s__" % re.sub(r"[^A-Za-z0-9_-]", "_", server_name)
        self.started = False

    def decide(self, body, _turn):
        if not body.get("tools"):
            return [models.message_text("side question")]  # a title and the like
        try:
            if not self.started:
                self.started = True
                self.check_offer(body)
                if self.defer:
                    names = ",".join(self.prefix + tool for tool in self.script.tools)
                    return [models.message_call("ToolSearch", {"query": "select:" + names}, "find_0")]
            results = {
                block["tool_use_id"]: block
                for message in body["messages"]
                if isinstance(message["content"], list)
                for block in message["content"]
                if block.get("type") == "tool_result"
            }
            calls = self.player.advance(lambda call: self.read(results.get(call["id"])))
            return [
                models.message_call(self.prefix + call["tool"], call["arguments"], call["id"]) for call in calls
            ] or [models.message_text("DONE")]
        except Exception as error:  # a broken bench must not look like a broken server
            self.session.problem("bench: %r" % error)
            return [models.message_text("bench error")]

    def check_offer(self, body):
        described = [tool["name"][len(self.prefix) :] for tool in body["tools"] if tool["name"].startswith(self.prefix)]
        named = set(re.findall(re.escape(self.prefix) + r"([A-Za-z0-9_-]+)", json.dumps(body["messages"])))
        offered = sorted(named if self.defer else described)
        self.session.report["offered"] = offered
        if offered != sorted(self.script.document["tools"]):
            self.session.problem("tools offered %s, wanted %s" % (offered, sorted(self.script.document["tools"])))
        if "# MCP Server Instructions" not in json.dumps(body["messages"]):
            self.session.problem("the server's instructions were not shown")

    def read(self, block):
        """What the model sees of one result, without the reminders that the client adds."""
        if block is None:
            return frame.Got(problems=["no output came back"])
        content = block.get("content")
        if isinstance(content, str):
            text = re.sub(r"\n\n<system-reminder>.*\Z", "", content, flags=re.DOTALL)
        else:
            parts = [part["text"] if part.get("type") == "text" else json.dumps(part)[:200] for part in content or []]
            own = [part for part in parts if not part.startswith("<system-reminder>")]
            text = "\n".join(own)
            if len(own) < len(parts):
                text = text[:-1]  # the newline by which the client keeps its reminder apart
        problems = ["refused by the client"] if text.startswith(REFUSALS) else []
        return frame.Got(text, is_error=bool(block.get("is_error")), problems=problems)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--claude", required=True, type=os.path.abspath, help="the Claude Code binary (clients.py prints it)"
    )
    parser.add_argument(
        "--defer", action="store_true", help="leave the tools behind ToolSearch, as the client does by default"
    )
    frame.common_arguments(parser)
    arguments = parser.parse_args()
    arguments.no_tap |= arguments.setup
    isolated = not arguments.no_netns and isolation.isolate_network()
    session = frame.Session("claude", arguments)
    script = frame.Script(arguments.script, session.root)
    model = Model(arguments.defer, arguments.server_name, session, script)
    service = models.Messages(model.decide, session.root / "model.jsonl")
    command, server_environment = session.server_command(arguments)
    settings = session.root / "mcp.json"
    settings.write_text(
        json.dumps(
            {
                "mcpServers": {
                    arguments.server_name: {
                        "type": "stdio",
                        "command": command[0],
                        "args": command[1:],
                        "env": server_environment,
                    }
                }
            }
        )
    )
    home = session.root / "claude-config"
    home.mkdir()
    if not arguments.setup:
        # what README.md tells users to write
        (home / "settings.json").write_text(json.dumps({"permissions": {"allow": [model.prefix[:-2]]}}))
    environment = session.environment(
        CLAUDE_CONFIG_DIR=str(home),
        ANTHROPIC_BASE_URL=service.url,
        ANTHROPIC_API_KEY="scripted",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        DISABLE_TELEMETRY="1",
        DISABLE_AUTOUPDATER="1",
        DISABLE_ERROR_REPORTING="1",
        ENABLE_TOOL_SEARCH="true" if arguments.defer else "false",
    )
    version = subprocess.run(
        [arguments.claude, "--version"], env=environment, capture_output=True, text=True
    ).stdout.strip()
    session.report.update(version=version, network_isolated=isolated)
    client = [
        arguments.claude,
        "-p",
        "Run the script.",
        *([] if arguments.setup else ["--mcp-config", str(settings), "--strict-mcp-config"]),
        "--output-format",
        "stream-json",
        "--verbose",
        "--model",
        "claude-sonnet-4-5",
    ]
    with session.set_up(arguments, "claude-code", environment, home / ".claude.json"):
        run_client(client, environment, arguments, session, script)
    if not arguments.no_tap:
        wire.check(session, script)
    return session.finish(model.player, script)


if __name__ == "__main__":
    frame.run_main(main)
