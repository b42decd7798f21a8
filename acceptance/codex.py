#!/usr/bin/env python3
"""Runs real Codex, in a home of its own and with a scripted model, against an MCP server.

    codex.py --codex BIN --mode direct|search|code --script scripts/six_tools.py -- SERVER ARGS

Exit status: 0 all expectations met, 1 some not, 2 the bench itself failed.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
import frame  # noqa: E402
import isolation  # noqa: E402
import models  # noqa: E402
import wire  # noqa: E402

# The three ways in which current models get MCP tools from Codex, and a model name for each:
# in the request; behind `tool_search`; as JavaScript functions inside `exec`.
MODEL = {"direct": "acceptance-direct", "search": "gpt-5.5", "code": "gpt-6.2-sol"}

REFUSALS = (
    "unsupported call:",
    "MCP tool call requires approval",
    "user cancelled MCP tool call",
    "tool call error: tool call failed",
)


def clean(name):
    """The name as Codex gives it to a model."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)


class Model:
    """Plays the model: one step of the script per request, reading the outputs of the step before."""

    def __init__(self, mode, server_name, session, script):
        self.mode, self.session, self.script = mode, session, script
        self.player = frame.Player(script, session)
        self.namespace = "mcp__" + clean(server_name)

    def decide(self, body, turn):
        try:
            if turn == 0:
                self.check_offer(body)
                if self.mode == "search":
                    return [
                        models.response_find(self.script.find_words(tool), "find_%d" % number)
                        for number, tool in enumerate(self.script.tools)
                    ]
            elif turn == 1 and self.mode == "search":
                self.check_found(body)
            outputs = {
                item.get("call_id"): item for item in body["input"] if str(item.get("type", "")).endswith("_output")
            }
            calls = self.player.advance(lambda call: self.read(outputs.get(call["id"])))
            return [self.item(call) for call in calls] or [models.response_text("DONE")]
        except Exception as error:  # a broken bench must not look like a broken server
            self.session.problem("bench: %r" % error)
            return [models.response_text("bench error")]

    def check_offer(self, body):
        """The very first request must already offer the tools: a late server is a server without tools."""
        wanted = sorted(clean(name) for name in self.script.document["tools"])
        offered = next(
            (
                sorted(tool["name"] for tool in entry["tools"])
                for entry in body.get("tools", [])
                if entry.get("type") == "namespace" and entry.get("name") == self.namespace
            ),
            None,
        )
        line = re.search(r"- %s(?:: (.*?))?(?:\\n|</tools>)" % re.escape(self.namespace), json.dumps(body["input"]))
        self.session.report["offered"] = offered if offered is not None else line and line.group(1)
        if offered is None and line is None:
            self.session.problem(
                "the first request offers nothing of %s: not ready in time, or not started" % self.namespace
            )
        elif offered is not None and offered != wanted:
            self.session.problem("tools offered %s, wanted %s" % (offered, wanted))
        elif offered is None and not line.group(1):
            self.session.problem("the tools are announced by a bare name: the server gives no instructions")

    def check_found(self, body):
        """Each tool must be found by the words a model would type for it."""
        for item in body["input"]:
            if item.get("type") == "tool_search_output":
                tool = self.script.tools[int(item["call_id"][len("find_") :])]
                found = [
                    entry["name"]
                    for space in item.get("tools", [])
                    if space.get("name") == self.namespace
                    for entry in space.get("tools", [])
                ]
                if clean(tool) not in found:
                    self.session.problem("tool search for %r finds %s" % (self.script.find_words(tool), found))

    def item(self, call):
        if self.mode != "code":
            return models.response_call(clean(call["tool"]), call["arguments"], call["id"], self.namespace)
        source = (
            "const r = await tools.%s__%s(%s);\n"
            "text(JSON.stringify({error: r.isError === true, structured: r.structuredContent !== undefined,\n"
            "  text: r.content.map(b => b.type === 'text' ? b.text : JSON.stringify(b)).join('\\n')}));\n"
            % (self.namespace, clean(call["tool"]), json.dumps(call["arguments"]))
        )
        return models.response_script(source, call["id"])

    def read(self, item):
        """What the model sees of one answer, without the wrapping that Codex puts around it."""
        if item is None:
            return frame.Got(problems=["no output came back"])
        output = item.get("output")
        text = output if isinstance(output, str) else "\n".join(part.get("text", "") for part in output or [])
        if self.mode == "code":
            for line in text.splitlines():
                if line.startswith('{"error":'):
                    seen = json.loads(line)
                    return frame.Got(seen["text"], seen["error"], seen["structured"])
            return frame.Got(text, problems=["the script in code mode did not finish"])
        text = re.sub(r"\AWall time: [0-9.]+ seconds\nOutput:\n?", "", text)
        problems = ["refused by the client"] if text.startswith(REFUSALS) else []
        return frame.Got(text, problems=problems)


def write_config(arguments, session, service):
    command, environment = session.server_command(arguments)
    name = json.dumps(arguments.server_name)
    lines = [
        "model = %s" % json.dumps(MODEL[arguments.mode]),
        'model_provider = "scripted"',
        "check_for_update_on_startup = false",
        "[analytics]",
        "enabled = false",
        "[features]",
        "plugins = false",
        "apps = false",
        "remote_plugin = false",
        "tool_suggest = false",
        "multi_agent = false",
        "[model_providers.scripted]",
        'name = "scripted"',
        'base_url = "%s/v1"' % service.url,
        'wire_api = "responses"',
        "requires_openai_auth = false",
        "supports_websockets = false",
        "request_max_retries = 0",
        "stream_max_retries = 0",
    ]
    entry = [
        "[mcp_servers.%s]" % name,
        "command = %s" % json.dumps(command[0]),
        "args = %s" % json.dumps(command[1:]),
        'default_tools_approval_mode = "approve"',
        "required = %s" % ("false" if arguments.not_required else "true"),
        "[mcp_servers.%s.env]" % name,
    ] + ["%s = %s" % (key, json.dumps(value)) for key, value in environment.items()]
    home = session.root / "codex-home"
    home.mkdir()
    lines += [] if arguments.setup else entry
    (home / "config.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return home


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--codex", required=True, type=os.path.abspath, help="the Codex binary (clients.py prints it)")
    parser.add_argument("--mode", choices=sorted(MODEL), default="direct")
    parser.add_argument(
        "--not-required",
        action="store_true",
        help="leave the server optional, as for a user: then it must be ready within about a second",
    )
    frame.common_arguments(parser)
    arguments = parser.parse_args()
    arguments.no_tap |= arguments.setup
    isolated = not arguments.no_netns and isolation.isolate_network()
    session = frame.Session("codex-" + arguments.mode, arguments)
    script = frame.Script(arguments.script, session.root)
    model = Model(arguments.mode, arguments.server_name, session, script)
    service = models.Responses(model.decide, session.root / "model.jsonl")
    environment = session.environment(CODEX_HOME=str(write_config(arguments, session, service)))
    version = subprocess.run(
        [arguments.codex, "--version"], env=environment, capture_output=True, text=True
    ).stdout.strip()
    session.report.update(version=version, network_isolated=isolated)
    command = [
        arguments.codex,
        "exec",
        "--json",
        "--skip-git-repo-check",
        "-s",
        "read-only",
        "-C",
        str(script.project),
        "Run the script.",
    ]
    config = Path(environment["CODEX_HOME"], "config.toml")
    with session.set_up(arguments, "codex", environment, config):
        # Elsewhere: it is -C that says where the server works.
        run_client(command, environment, arguments, session, script, session.root)
    if not arguments.no_tap:
        wire.check(session, script)
    return session.finish(model.player, script)


def run_client(command, environment, arguments, session, script, folder=None):
    """Starts a client in `folder`, or in the project, and waits for its end."""
    began = time.monotonic()
    with open(session.root / "events.jsonl", "wb") as out, open(session.root / "client.stderr", "wb") as errors:
        client = subprocess.Popen(
            command, env=environment, cwd=folder or script.project, stdin=subprocess.DEVNULL, stdout=out, stderr=errors
        )
        try:
            status = client.wait(arguments.timeout)
            if status:
                tail = (session.root / "client.stderr").read_text(errors="replace")[-600:]
                session.problem("the client ended with %d: %s" % (status, tail))
        except subprocess.TimeoutExpired:
            client.kill()
            client.wait()
            session.problem("the client was still running after %.0f s" % arguments.timeout)
    session.report["seconds"] = round(time.monotonic() - began, 2)


if __name__ == "__main__":
    frame.run_main(main)
