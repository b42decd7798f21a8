"""The daemon beside a server on pipes: what a call costs, many sessions at once, memory."""

import contextlib
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import threading
import time

import mcp
from machine import CACHE, Place, corpus, environment

SESSIONS, ROUNDS = 24, 4
CROWD = 200
PAUSE = 0.5


class Http:
    """One session of a daemon: requests over a connection that stays, in one root. By hand: Python's own HTTP
    client takes longer than the daemon."""

    def __init__(self, daemon, root):
        self.root = root
        self.socket = socket.create_connection(("127.0.0.1", daemon.port), timeout=300)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.head = (
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n"
            "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
            "MCP-Protocol-Version: 2025-06-18\r\nX-QuietContext-Root: %s\r\nContent-Length: %%d\r\n\r\n"
            % (daemon.token, root)
        )

    def request(self, method, parameters, timeout=None):
        self.send(method, parameters)
        return self.receive()

    def send(self, method, parameters):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
        self.socket.sendall((self.head % len(body)).encode() + body)

    def receive(self):
        data = self.socket.recv(1 << 20)
        while b"\r\n\r\n" not in data:
            data += self.more()
        head, _, body = data.partition(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
        while len(body) < length:
            body += self.more()
        if b" 200 " not in head.split(b"\r\n", 1)[0]:
            raise RuntimeError("%s: %s" % (head, body[:200]))
        return json.loads(body)

    def more(self):
        data = self.socket.recv(1 << 20)
        if not data:
            raise EOFError("the daemon closed the connection")
        return data

    call = mcp.Client.call

    def close(self):
        self.socket.close()


class Daemon:
    """A daemon of its own home, with one registered root."""

    def __init__(self, command, place, root, own=None):
        own = {**(own or environment(place)), "QUIETCONTEXT_DAEMON_PORT": "0"}
        self.register(command, root, own)
        began = time.perf_counter()
        self.process = subprocess.Popen(
            [*command, "daemon"], cwd=place, env=own, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        folder = place / "home/.local/share/quietcontext/daemon"
        # A daemon that was killed leaves its state behind.
        while (state := self.state(folder / "state.json")) is None:
            if self.process.poll() is not None or time.perf_counter() - began > 20:
                raise RuntimeError("the daemon did not start")
            time.sleep(0.002)
        self.seconds, self.pid = time.perf_counter() - began, self.process.pid
        self.port = state["port"]
        self.token = (folder / "token").read_text().strip()

    def register(self, command, root, own):
        subprocess.run([*command, "roots", "add", str(root)], env=own, check=True, stdout=subprocess.DEVNULL)

    def state(self, file):
        """What it says of itself, once it does."""
        try:
            state = json.loads(file.read_text())
        except (OSError, ValueError):
            return None
        return state if state["pid"] == self.process.pid else None

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(10)


@contextlib.contextmanager
def running(server):
    with Place() as place:
        daemon = Daemon(server.command, place, place / "project")
        try:
            yield daemon, place / "project"
        finally:
            daemon.close()


def text(word):
    """50 kB of Markdown with a word in it that no other session has."""
    whole = (corpus() / "part-00.md").read_bytes()[:50_000].decode("utf-8", "replace")
    return "# Session\n\nThe word of this session is %s.\n\n%s" % (word, whole)


CALLS = {
    "ping": lambda client: client.request("ping", {}),
    "search": lambda client: client.call("search", {"queries": ["error handling"]}),
    "execute": lambda client: client.call("execute", {"language": "shell", "code": "true"}),
}


def took(action, client):
    began = time.perf_counter()
    answer = action(client)
    if (answer.get("error") if isinstance(answer, dict) else answer[1]):
        raise RuntimeError(str(answer)[:200])
    return time.perf_counter() - began


def per_call(server, quick):
    """The same calls over pipes and over HTTP, in turns."""
    rounds = {"ping": 60, "search": 60, "execute": 20} if quick else {"ping": 1500, "search": 600, "execute": 200}
    with running(server) as (daemon, project), Place() as place:
        pipes, session = server.start(place), Http(daemon, project)
        pipes.handshake()
        for client in (pipes, session):
            client.call("index", {"content": text("one"), "source": "text"})
        rows = {"stdio": {}, "daemon": {}, "daemon / stdio": {}}
        for name, action in CALLS.items():
            takes = {"stdio": [], "daemon": []}
            for _ in range(rounds[name]):
                takes["stdio"].append(took(action, pipes))
                takes["daemon"].append(took(action, session))
            both = {what: mcp.summary(values[5:]) for what, values in takes.items()}
            rows["stdio"][name], rows["daemon"][name] = both["stdio"], both["daemon"]
            rows["daemon / stdio"][name] = both["daemon"]["median"] / both["stdio"]["median"]
        pipes.close()
        session.close()
    return rows


def together(count, work):
    """Runs `work(number)` in so many threads that begin at one moment; seconds, and what went wrong."""
    barrier, wrong = threading.Barrier(count + 1), []

    def thread(number):
        barrier.wait()
        try:
            work(number)
        except Exception as error:  # noqa: BLE001
            wrong.append("%d: %r" % (number, error))

    threads = [threading.Thread(target=thread, args=(number,)) for number in range(count)]
    for one in threads:
        one.start()
    barrier.wait()
    began = time.perf_counter()
    for one in threads:
        one.join()
    return time.perf_counter() - began, wrong


def session_round(client, word, number, takes):
    """Index 50 kB, execute, search; the search has to show this session's word and no other's."""
    for name, tool, arguments in (
        ("index", "index", {"content": text(word), "source": "text"}),
        ("execute", "execute", {"language": "shell", "code": "echo %d" % number}),
        ("search", "search", {"queries": ["what is the word of this session"], "preview": True}),
    ):
        answer, failed, seconds = client.call(tool, arguments)
        if failed or (tool == "search" and (answer.count("wombat") != answer.count(word) or word not in answer)):
            raise RuntimeError("%s: %s" % (name, answer[:200]))
        takes[name].append(seconds)


def many(server, quick):
    """24 sessions in roots of their own, each four times: index 50 kB, execute, search."""
    count = 6 if quick else SESSIONS
    with running(server) as (daemon, project):
        roots = [project / ("session-%d" % number) for number in range(count)]
        for root in roots:
            root.mkdir()
        idle = mcp.status(daemon.pid, "VmRSS") / 2**20
        takes = {"index": [], "execute": [], "search": []}

        def work(number):
            client = Http(daemon, roots[number])
            for turn in range(ROUNDS):
                session_round(client, "wombat%dx" % number, turn, takes)
            client.close()

        with mcp.Peak(daemon.pid) as peak:
            seconds, wrong = together(count, work)
        mcp.wait_quiet(daemon.pid)
        row = {
            "sessions": count,
            "calls/s": count * ROUNDS * 3 / seconds,
            **{name: mcp.summary(values) for name, values in takes.items() if values},
            "refused or foreign": len(wrong),
            "RSS idle MiB": idle,
            "RSS peak MiB": peak.bytes / 2**20,
            "RSS after load MiB": mcp.status(daemon.pid, "VmRSS") / 2**20,
            "PSS after load MiB": mcp.proportional_bytes(daemon.pid) / 2**20,
        }
        if wrong:
            row["first"] = wrong[0]
        return row


def load(daemon, roots, over, wrong):
    """In a process of its own, so that the clients do not wait for each other's Python: rounds without a pause."""

    def work(number):
        session, takes = Http(daemon, roots[number]), {"index": [], "execute": [], "search": []}
        while not over.is_set():
            session_round(session, "wombat%dx" % number, 1, takes)

    for line in together(len(roots), work)[1]:
        wrong.put(line)


def busy(server, quick):
    """Trivial calls of a session that asks twice a second, alone and while 24 others do their rounds without a
    pause. One that asks without a pause itself is a busy one more."""
    count, rounds = (6, 5) if quick else (SESSIONS, 30)
    own = multiprocessing.get_context("fork")
    with running(server) as (daemon, project):
        roots = [project / ("session-%d" % number) for number in range(count + 1)]
        for root in roots:
            root.mkdir()
        client, over, wrong = Http(daemon, roots[-1]), own.Event(), own.SimpleQueue()
        client.call("index", {"content": text("wombat"), "source": "text"})

        def measure():
            takes = {name: [] for name in CALLS}
            for _ in range(rounds):
                time.sleep(PAUSE)
                for name, action in CALLS.items():
                    takes[name].append(took(action, client))
            return {name: mcp.summary(values[2:]) for name, values in takes.items()}

        alone = measure()
        crowded = own.Process(target=load, args=(daemon, roots[:-1], over, wrong))
        crowded.start()
        time.sleep(2)
        among = measure()
        over.set()
        crowded.join()
        if not wrong.empty():
            raise RuntimeError(wrong.get())
        ratio = {name: among[name]["median"] / alone[name]["median"] for name in CALLS}
        return {"alone": alone, "among %d busy" % count: among, "busy / alone": ratio}


def crowd(server, quick):
    """200 sessions at one moment: each indexes a note with its own word and finds it."""
    count = 40 if quick else CROWD
    with running(server) as (daemon, project):
        takes = []

        def work(number):
            root, word = project / ("session-%d" % number), "wombat%dx" % number
            root.mkdir()
            client, began = Http(daemon, root), time.perf_counter()
            client.call("index", {"content": "# Note\n\nThe word of this session is %s." % word, "source": "note"})
            answer, failed, _ = client.call("search", {"queries": ["word of this session"], "preview": True})
            if failed or word not in answer or answer.count("wombat") != answer.count(word):
                raise RuntimeError(answer[:200])
            takes.append(time.perf_counter() - began)

        seconds, wrong = together(count, work)
        row = {"sessions": count, "all answered s": seconds, "one session": mcp.summary(takes)}
        return {**row, "refused or foreign": len(wrong), **({"first": wrong[0]} if wrong else {})}


def daemon(servers, quick):
    """The daemon beside stdio: a call, in turns; 24 sessions (50 kB index, execute, search, four rounds each);
    trivial calls among them; 200 sessions at once."""
    os.makedirs(CACHE, exist_ok=True)
    server = servers[0]
    return {
        **per_call(server, quick),
        "many sessions": many(server, quick),
        **busy(server, quick),
        "a crowd": crowd(server, quick),
    }


SUITES = {"daemon": daemon}
