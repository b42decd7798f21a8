"""Scripted stand-ins for the two model services that the real clients talk to.

`Responses` speaks enough of the Responses API for Codex, `Messages` enough of the Messages API
for Claude Code. Both listen on a free loopback port, log every request, and take each answer
from `decide(body, turn) -> [item, ...]`.
"""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Service(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    handler = None

    def __init__(self, decide, log_path):
        super().__init__(("127.0.0.1", 0), self.handler)
        self.decide = decide
        self.log_path = log_path
        self.turn = 0
        self.lock = threading.Lock()
        self.started = time.monotonic()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return "http://127.0.0.1:%d" % self.server_address[1]

    def note(self, **row):
        row["t"] = round(time.monotonic() - self.started, 4)
        with self.lock, open(self.log_path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def next_items(self, path, body):
        with self.lock:
            turn, self.turn = self.turn, self.turn + 1
        self.note(kind="request", turn=turn, path=path, body=body)
        items = self.decide(body, turn)
        self.note(kind="answer", turn=turn, items=items)
        return turn, items

    def handle_error(self, request, client_address):
        pass  # a client that goes away mid-answer is not news


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def body(self):
        length = int(self.headers.get("Content-Length") or 0)
        if not length and "chunked" in (self.headers.get("Transfer-Encoding") or ""):
            parts = []
            while True:
                size = int(self.rfile.readline().split(b";")[0], 16)
                parts.append(self.rfile.read(size))
                self.rfile.readline()
                if size == 0:
                    break
            raw = b"".join(parts)
        else:
            raw = self.rfile.read(length)
        try:
            return json.loads(raw)
        except ValueError:
            return {}

    def reply(self, value, status=200):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def start_events(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, name, **value):
        data = json.dumps(dict(value, type=name))
        self.wfile.write(("event: %s\ndata: %s\n\n" % (name, data)).encode())
        self.wfile.flush()

    def do_GET(self):
        self.server.note(kind="other", method="GET", path=self.path)
        self.reply({"data": [], "models": [], "has_more": False})

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def refuse(self, body):
        self.server.note(kind="other", method="POST", path=self.path, body=body)
        self.reply({"type": "error", "error": {"type": "not_found_error", "message": "not offered here"}}, 404)


# ---------------------------------------------------------------- Responses API


class ResponsesHandler(Handler):
    def do_POST(self):
        body = self.body()
        if not self.path.split("?")[0].endswith("/responses"):
            self.refuse(body)
            return
        turn, items = self.server.next_items(self.path, body)
        identity = "resp_%04d" % turn
        self.start_events()
        self.event("response.created", response={"id": identity})
        for index, item in enumerate(items):
            item = dict(item, id="item_%04d_%d" % (turn, index))
            self.event("response.output_item.added", output_index=index, item=item)
            self.event("response.output_item.done", output_index=index, item=item)
        usage = {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 10,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 110,
        }
        self.event("response.completed", response={"id": identity, "end_turn": None, "usage": usage})


class Responses(Service):
    handler = ResponsesHandler


def response_text(text):
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def response_call(name, arguments, call_id, namespace):
    return {
        "type": "function_call",
        "name": name,
        "call_id": call_id,
        "namespace": namespace,
        "arguments": json.dumps(arguments),
    }


def response_script(source, call_id):
    return {"type": "custom_tool_call", "name": "exec", "call_id": call_id, "input": source}


def response_find(query, call_id):
    return {
        "type": "tool_search_call",
        "call_id": call_id,
        "execution": "client",
        "status": "completed",
        "arguments": {"query": query},
    }


# ---------------------------------------------------------------- Messages API


class MessagesHandler(Handler):
    def do_POST(self):
        body = self.body()
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens"):
            self.reply({"input_tokens": max(1, len(json.dumps(body)) // 4)})
            return
        if not path.endswith("/messages"):
            self.refuse(body)
            return
        turn, blocks = self.server.next_items(self.path, body)
        stop = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
        head = {
            "id": "msg_%04d" % turn,
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "scripted"),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {
                "input_tokens": 100,
                "output_tokens": 1,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
            },
        }
        if not body.get("stream"):
            self.reply(dict(head, content=blocks, stop_reason=stop))
            return
        self.start_events()
        self.event("message_start", message=head)
        for index, block in enumerate(blocks):
            if block["type"] == "text":
                opening, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                opening = dict(block, input={})
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            self.event("content_block_start", index=index, content_block=opening)
            self.event("content_block_delta", index=index, delta=delta)
            self.event("content_block_stop", index=index)
        self.event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage={"output_tokens": 10})
        self.event("message_stop")


class Messages(Service):
    handler = MessagesHandler


def message_text(text):
    return {"type": "text", "text": text}


def message_call(name, arguments, use_id):
    return {"type": "tool_use", "id": use_id, "name": name, "input": arguments}
