#!/usr/bin/env python3
"""A tiny MCP server by which the bench proves itself: right by default, wrong on request.

A call is answered with the text it orders: the first string argument that holds a JSON object
with the key "answer", e.g. {"answer": "stored", "isError": true, "sleep": 0.2}. `search` with
`refs` gives `data.txt` back in three pages.

    probe.py [--wrong KIND]

KIND: echo (answers with what was submitted) | noise (a line on stdout that is not JSON-RPC) |
leave-child | late (starts after 1.5 s) | five-tools | die (in the second call) | cut (loses one
byte of a page) | structured | two-items | rpc-error | long (an answer over every limit) |
quiet-error (isError, and a text that does not say so) | trespass (reads the forbidden page)
"""

import argparse
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request

LOCK = threading.Lock()
TOOLS = ["batch", "exec-file", "execute", "fetch-index", "index", "search"]
WORDS = {
    "batch": "Run several commands",
    "exec-file": "Run code over a file",
    "execute": "Run code in a process",
    "fetch-index": "Fetch a page and store it",
    "index": "Store text for later search",
    "search": "Search stored text",
}
CHUNKS = 3


def send(message):
    with LOCK:
        sys.stdout.write(json.dumps(dict(message, jsonrpc="2.0")) + "\n")
        sys.stdout.flush()


def strings_in(value):
    """All strings in a value, outermost first."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings_in(inner)


def order_in(arguments):
    for text in strings_in(arguments):
        if '"answer"' in text:
            return json.loads(text)
    return {"answer": "nothing ordered"}


def page(reference, wrong):
    """One third of data.txt in the form of an answer to `search {refs}`."""
    number = int(re.search(r"\d+", reference).group())
    data = open("data.txt", encoding="utf-8", newline="").read()
    size = len(data) // CHUNKS + 1
    text = data[(number - 1) * size : number * size]
    if wrong == "cut" and number == 2:
        text = text[:-1]
    more = "more: r:%d-%d" % (number + 1, CHUNKS) if number < CHUNKS else ""
    return "[r:%d] data (data.txt)\n%s\n%s" % (number, text, more)


class Server:
    def __init__(self, wrong):
        self.wrong = wrong
        self.calls = 0

    def call(self, identity, name, arguments):
        self.calls += 1
        wrong, order = self.wrong, order_in(arguments)
        if wrong == "die" and self.calls == 2:
            os._exit(1)
        if wrong == "leave-child" and self.calls == 1:
            subprocess.Popen(
                ["sleep", "60"],
                start_new_session=True,
                env={},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        if wrong == "trespass" and "forbidden" in order:
            urllib.request.urlopen(order["forbidden"]).read()
        if wrong == "rpc-error" and self.calls == 1:
            send({"id": identity, "error": {"code": -32603, "message": "no"}})
            return
        time.sleep(order.get("sleep", 0))
        failed = order.get("isError", False)
        if wrong == "echo":
            text, failed = "\n".join(strings_in(arguments)), False
        elif "refs" in arguments:
            text = page(arguments["refs"][0], wrong)
        else:
            text = order["answer"]
        if wrong == "quiet-error" and failed:
            text = text.replace("error: ", "")
        if wrong == "long" and self.calls == 1:
            text += "x" * 20000
        result = {"content": [{"type": "text", "text": text}], "isError": failed}
        if wrong == "two-items":
            result["content"] *= 2
        if wrong == "structured":
            result["structuredContent"] = {"a": 1}
        send({"id": identity, "result": result})

    def answer(self, method, parameters):
        """The result of a request that is not a call, or None."""
        if method == "initialize":
            return {
                "protocolVersion": parameters.get("protocolVersion"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "probe", "version": "1"},
                "instructions": "A probe.",
            }
        if method == "ping":
            return {}
        if method == "tools/list":
            tools = [
                {"name": name, "description": WORDS[name], "inputSchema": {"type": "object", "properties": {}}}
                for name in TOOLS
            ]
            return {"tools": tools[1:] if self.wrong == "five-tools" else tools}
        return None

    def handle(self, message):
        method, identity, parameters = message.get("method"), message.get("id"), message.get("params") or {}
        if identity is None or method is None:
            return
        if method == "tools/call":
            call = (identity, parameters["name"], parameters.get("arguments") or {})
            threading.Thread(target=self.call, args=call, daemon=True).start()
            return
        result = self.answer(method, parameters)
        if result is None:
            send({"id": identity, "error": {"code": -32601, "message": "Method not found: " + method}})
        else:
            send({"id": identity, "result": result})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wrong")
    wrong = parser.parse_args().wrong
    if wrong == "late":
        time.sleep(1.5)
    if wrong == "noise":
        print("starting up", flush=True)
    server = Server(wrong)
    for line in sys.stdin:
        if line.strip():
            server.handle(json.loads(line))


if __name__ == "__main__":
    main()
