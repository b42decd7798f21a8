"""One acceptance session: an isolated place, a script of calls, and what is checked about each.

`codex.py` and `claude.py` bring a real client; everything that does not depend on the client
is here.
"""
import atexit
import ctypes
import errno
import fcntl
import hashlib
import json
import os
import re
import runpy
import shutil
import socket
import struct
import sys
import tempfile
import threading
import time
import uuid
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HERE = Path(__file__).resolve().parent
MARK = "ACCEPTANCE_MARK"
MOST_PAGES = 40            # a reference that needs more pages than this does not end


# ---------------------------------------------------------------- network


def isolate_network():
    """Moves this process into a network namespace that has only loopback; True when it worked.

    Must run before any thread starts.
    """
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    new_network, new_user = 0x40000000, 0x10000000
    user, group = os.getuid(), os.getgid()
    if libc.unshare(new_network) != 0:
        if ctypes.get_errno() != errno.EPERM or libc.unshare(new_user | new_network) != 0:
            return False
        try:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text("%d %d 1" % (user, user))
            Path("/proc/self/gid_map").write_text("%d %d 1" % (group, group))
        except OSError:
            return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        get_flags, set_flags, up = 0x8913, 0x8914, 1
        try:
            request = struct.pack("16sH14x", b"lo", 0)
            flags = struct.unpack("16sH14x", fcntl.ioctl(control, get_flags, request))[1]
            fcntl.ioctl(control, set_flags, struct.pack("16sH14x", b"lo", flags | up))
        except OSError:
            return False
    return True


class Pages(ThreadingHTTPServer):
    """Serves the script's pages on loopback and remembers which paths were asked for."""

    daemon_threads = True

    def __init__(self, pages):
        super().__init__(("127.0.0.1", 0), PageHandler)
        self.pages = {path: page if isinstance(page, dict) else {"body": page} for path, page in pages.items()}
        self.asked = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def host_port(self):
        return "127.0.0.1:%d" % self.server_address[1]


class PageHandler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        self.server.asked.append(self.path)
        page = self.server.pages.get(self.path)
        if page is None:
            self.send_error(404)
            return
        data = page["body"].encode()
        self.send_response(int(page.get("status", 200)))
        self.send_header("Content-Type", page.get("type", "text/html; charset=utf-8"))
        for name, value in page.get("headers", {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


# ---------------------------------------------------------------- script


class Script:
    """The calls of one session; README.md describes the form."""

    def __init__(self, path, root):
        self.document = runpy.run_path(str(path))["SCRIPT"]
        self.project = root / "project"
        self.project.mkdir(parents=True, exist_ok=True)
        self.pages = Pages(self.document.get("pages", {}))
        self.forbidden = Pages({"/": "<p>nobody may read this</p>"})
        self.values = {"PROJECT": str(self.project), "PAGES": self.pages.host_port,
                       "FORBIDDEN": self.forbidden.host_port}
        self.pages.pages = self.fill(self.pages.pages)
        for folder, files in ((self.project, "files"), (root / "home", "home")):
            for name, text in self.document.get(files, {}).items():
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(self.fill(text), encoding="utf-8", newline="")
        self.steps = numbered(self.document["calls"])

    def fill(self, value):
        """Puts known values in the place of ${NAME}, in strings however deep."""
        if isinstance(value, str):
            return re.sub(r"\$\{(\w+)\}", lambda m: str(self.values.get(m.group(1), m.group(0))), value)
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        if isinstance(value, dict):
            return {key: self.fill(item) for key, item in value.items()}
        return value

    @property
    def tools(self):
        """Names of the tools that the script calls, in order of first use."""
        return list(dict.fromkeys(call["tool"] for step in self.steps for call in step))

    def find_words(self, tool):
        """What a model would type into a tool search for this tool."""
        return next((call["find"] for step in self.steps for call in step if call["tool"] == tool and "find" in call),
                    tool.replace("-", " "))


def numbered(calls):
    """Calls as steps (lists of calls made in one turn), each call with an identity."""
    steps, number = [], 0
    for entry in calls:
        step = []
        for call in entry["parallel"] if "parallel" in entry else [entry]:
            step.append(dict(call, id="call_%03d" % number))
            number += 1
        steps.append(step)
    return steps


class Got:
    """What came back for one call, as the model sees it; None where this client does not show it."""

    def __init__(self, text="", is_error=None, structured=None, problems=()):
        self.text, self.is_error, self.structured, self.problems = text, is_error, structured, list(problems)


def unmet(expect, arguments, got):
    """The expectations that `got` does not meet, as texts."""
    text, bad = got.text, []
    for part in expect.get("contains", []):
        if part not in text:
            bad.append("lacks %r" % part)
    for part in expect.get("absent", []):
        if part in text:
            bad.append("holds %r" % part)
    for pattern in expect.get("matches", []):
        if not re.search(pattern, text, re.MULTILINE):
            bad.append("does not match %r" % pattern)
    if len(text.encode()) > expect.get("max_bytes", 1 << 40):
        bad.append("%d bytes, at most %d wanted" % (len(text.encode()), expect["max_bytes"]))
    for name, seen in (("is_error", got.is_error), ("structured", got.structured)):
        if seen is not None and seen != expect.get(name, False):
            bad.append("%s is %s" % (name, seen))
    for name in ("code", "content"):
        submitted = arguments.get(name, "")
        if len(submitted) > 40 and submitted.strip() in text:
            bad.append("echoes %r" % name)
    return bad


# ---------------------------------------------------------------- exact retrieval

PASSAGE = re.compile(r"^\[r:\d+(?:@\d+)?\] [^\n]*\n", re.MULTILINE)
MORE = re.compile(r"^more: (.+)\s*\Z", re.MULTILINE)


def passages(text):
    """The stored text in one answer to `search {refs}`, and the references that it leaves over.

    An answer is, per chunk, a header line, the text exactly and one added newline; then `more:`.
    """
    left = MORE.search(text)
    body = text[:left.start()] if left else text
    found = PASSAGE.split(body)
    if found[0]:
        raise ValueError("text before the first header line: %r" % found[0][:80])
    return "".join(cut_newline(part) for part in found[1:]), left.group(1).split() if left else []


def cut_newline(part):
    if not part.endswith("\n"):
        raise ValueError("a passage does not end with the added newline: %r" % part[-40:])
    return part[:-1]


class Player:
    """Plays the script: takes what came back for one step, says which calls come next."""

    def __init__(self, script, session):
        self.script, self.session = script, session
        self.waiting = deque(script.steps)
        self.current = []
        self.collected = {}
        self.done = False

    def advance(self, read):
        """`read(call) -> Got` for the current step; returns the next step's calls, empty at the end."""
        follow_ups = []
        for call in self.current:
            got = read(call)
            follow_up = self.judge(call, got)
            if follow_up:
                follow_ups.append(follow_up)
        if follow_ups:
            self.current = follow_ups
        elif self.waiting:
            self.current = [dict(call, arguments=self.script.fill(call.get("arguments", {})))
                            for call in self.waiting.popleft()]
        else:
            self.current, self.done = [], True
        return self.current

    def judge(self, call, got):
        """Records one call with its problems; returns a further call where its answer has more pages."""
        expect = self.script.fill(call.get("expect", {}))
        problems = got.problems + unmet(expect, call.get("arguments", {}), got)
        for name, pattern in call.get("save", {}).items():
            match = re.search(pattern, got.text, re.MULTILINE)
            if match:
                self.script.values[name] = match.group(1)
            else:
                problems.append("nothing to save for %s" % name)
        follow_up = None
        if "joins_to" in call and not problems:
            follow_up = self.next_page(call, got, problems)
        self.session.record_call(call, got, problems)
        return follow_up

    def next_page(self, call, got, problems):
        page = call.get("page", 1)
        try:
            text, left = passages(got.text)
        except ValueError as error:
            problems.append(str(error))
            return None
        joined = self.collected.get(call["joins_to"], "") + text
        self.collected[call["joins_to"]] = joined
        if left and page < MOST_PAGES:
            return dict(call, id="%s_%d" % (call["id"].split("_p")[0] + "_p", page + 1), page=page + 1,
                        arguments={"refs": left})
        wanted = (self.script.project / call["joins_to"]).read_bytes()
        if joined.encode() != wanted:
            problems.append("%d pages join to %d bytes that are not the %d bytes of %s"
                            % (page, len(joined.encode()), len(wanted), call["joins_to"]))
        if page < call.get("min_pages", 1):
            problems.append("came back in %d pages, at least %d expected" % (page, call["min_pages"]))
        return None


# ---------------------------------------------------------------- processes


def processes_of(mark, folder):
    """Processes that carry the session's mark or work below its folder: {pid: command line}."""
    wanted, below, found = ("%s=%s" % (MARK, mark)).encode(), str(folder) + os.sep, {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            command = Path("/proc", name, "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
            marked = wanted in Path("/proc", name, "environ").read_bytes().split(b"\0")
            inside = (os.readlink("/proc/%s/cwd" % name) + os.sep).startswith(below)
        except OSError:
            continue
        if command and (marked or inside):        # a zombie has no command line
            found[int(name)] = command[:200]
    return found


class Session:
    """A temporary folder, a mark by which its processes are known, and a report."""

    def __init__(self, name, arguments):
        self.keep = arguments.keep
        self.report_path = arguments.report
        self.root = Path(tempfile.mkdtemp(prefix="acceptance-%s-" % name)).resolve()
        if not self.keep:
            atexit.register(shutil.rmtree, self.root, True)
        self.mark = uuid.uuid4().hex
        self.problems = []
        self.report = {"client": name, "calls": [], "problems": self.problems}
        for folder in ("home", "tmp"):
            (self.root / folder).mkdir()

    def problem(self, text):
        self.problems.append(text)
        print("FAIL  " + text, file=sys.stderr)

    def record_call(self, call, got, problems):
        label = "%s %s" % (call["id"], call["tool"])
        self.report["calls"].append({"id": call["id"], "tool": call["tool"], "problems": problems,
                                     "is_error": got.is_error, "text": got.text[:4000]})
        if problems:
            self.problem("%s: %s | got: %s" % (label, "; ".join(problems), got.text[:400].replace("\n", "\\n")))
        else:
            print("ok    " + label, file=sys.stderr)

    def environment(self, **more):
        """A scrubbed environment with a home of its own."""
        base = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(self.root / "home"),
                "TMPDIR": str(self.root / "tmp"), "LANG": "C.UTF-8", "TERM": "dumb", "NO_COLOR": "1"}
        return dict(base, **more)

    def server_command(self, arguments):
        """The command by which the client starts the server, and the environment it must add."""
        command = [word for word in arguments.server if word != "--"]
        command = [str(Path(word).resolve()) if os.path.isfile(word) else word for word in command]
        command[0] = shutil.which(command[0]) or command[0]
        if not arguments.no_tap:
            command = [sys.executable, str(HERE / "tap.py"), str(self.root / "wire.jsonl"), "--"] + command
        return command, {MARK: self.mark}

    def finish(self, player, script):
        """Last checks, the report, and the exit status."""
        if not player.done:
            self.problem("the script stopped with %d of %d steps left" % (len(player.waiting) + 1, len(script.steps)))
        if script.forbidden.asked:
            self.problem("the server read a page that it must refuse: %s" % script.forbidden.asked)
        deadline = time.monotonic() + 5
        left = processes_of(self.mark, self.root)
        while left and time.monotonic() < deadline:
            time.sleep(0.05)
            left = processes_of(self.mark, self.root)
        if left:
            self.problem("left running after the client had gone: %s" % left)
            for pid in left:
                try:
                    os.kill(pid, 9)
                except OSError:
                    pass
        errors = self.root / "wire.jsonl.stderr"
        if errors.exists():
            self.report["server_stderr"] = errors.read_text(errors="replace")[-2000:]
        self.report["ok"] = not self.problems
        if self.report_path:
            Path(self.report_path).write_text(json.dumps(self.report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        bad = sum(1 for call in self.report["calls"] if call["problems"])
        print("%d calls passed, %d failed, %d problems" % (len(self.report["calls"]) - bad, bad, len(self.problems)), file=sys.stderr)
        if self.keep:
            print("kept: %s" % self.root, file=sys.stderr)
        return 1 if self.problems else 0


def read_rows(path):
    try:
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.strip()]
    except FileNotFoundError:
        return []


# ---------------------------------------------------------------- the wire


def check_wire(session, script):
    """What only the tap can see: bytes of the list, form and size of every answer."""
    rows = read_rows(session.root / "wire.jsonl")
    sent, answered = {}, []
    for row in rows:
        message = row.get("msg")
        if row["dir"] == "from-server" and "raw" in row:
            session.problem("not JSON-RPC on the server's stdout: %r" % row["raw"][:200])
        if not isinstance(message, dict):
            continue
        identity = json.dumps(message.get("id"))
        if row["dir"] == "to-server" and "method" in message and "id" in message:
            sent[identity] = (row["t"], message)
        elif row["dir"] == "from-server" and "method" not in message and identity in sent:
            began, request = sent.pop(identity)
            answered.append((request, message, round(row["t"] - began, 4)))
    for _, request in sent.values():
        session.problem("never answered: %s" % json.dumps(request)[:200])
    facts = session.report["wire"] = {"calls": [], "lifecycle": [row for row in rows if row["dir"] == "tap"]}
    for request, answer, seconds in answered:
        if request["method"] == "tools/list":
            facts.update(check_list(session, script, answer))
        elif request["method"] in ("initialize", "server/discover") and "result" in answer:
            facts[request["method"]] = {"seconds": seconds, "instructions": answer["result"].get("instructions")}
        elif request["method"] == "tools/call":
            check_answer(session, script, request, answer)
            facts["calls"].append({"tool": request["params"].get("name"), "seconds": seconds})


def check_list(session, script, answer):
    tools = answer.get("result", {}).get("tools", [])
    compact = json.dumps(answer.get("result"), ensure_ascii=False, separators=(",", ":")).encode()
    most = script.document.get("max_list_bytes")
    if most and len(compact) > most:
        session.problem("the tools/list result takes %d bytes, at most %d wanted" % (len(compact), most))
    return {"list_bytes": len(compact), "tools": [tool["name"] for tool in tools],
            "list_sha256": hashlib.sha256(json.dumps(tools, ensure_ascii=False).encode()).hexdigest()}


def check_answer(session, script, request, answer):
    tool = request["params"].get("name")
    label = "%s %s on the wire" % (tool, json.dumps(request["params"].get("arguments"))[:80])
    result = answer.get("result")
    if result is None:
        session.problem("%s: a JSON-RPC error: %s" % (label, json.dumps(answer.get("error"))[:200]))
        return
    content = result.get("content")
    if not isinstance(content, list) or len(content) != 1 or content[0].get("type") != "text":
        session.problem("%s: not exactly one text item: %s" % (label, json.dumps(content)[:200]))
        return
    if "structuredContent" in result:
        session.problem("%s: structuredContent is there" % label)
    text = content[0]["text"]
    most = script.document.get("max_answer_bytes", {}).get(tool)
    if result.get("isError"):
        most = script.document.get("max_error_bytes", most)
        opening = script.document.get("error_opening")
        if opening and not re.match(opening, text):
            session.problem("%s: the text of a failed call does not say so: %r" % (label, text[:80]))
    opening = script.document.get("run_opening")
    if opening and tool in ("batch", "exec-file", "execute") and not result.get("isError") and not re.match(opening, text):
        session.problem("%s: the answer of a run does not begin with %r: %r" % (label, opening, text[:80]))
    if most and len(text.encode()) > most:
        session.problem("%s: %d bytes, at most %d wanted" % (label, len(text.encode()), most))


# ---------------------------------------------------------------- arguments


def common_arguments(parser):
    parser.add_argument("--script", required=True, help="Python file with SCRIPT = {...} (README.md)")
    parser.add_argument("--server-name", default="quietcontext", help="name under which the client knows the server")
    parser.add_argument("--no-tap", action="store_true", help="start the server directly, without the recording pipe")
    parser.add_argument("--no-netns", action="store_true", help="stay out of a loopback-only network namespace")
    parser.add_argument("--timeout", type=float, default=180.0, help="seconds for the whole session")
    parser.add_argument("--keep", action="store_true", help="keep the session's folder with every log")
    parser.add_argument("--report", help="write the JSON report here")
    parser.add_argument("server", nargs="+", help="-- COMMAND ARGS of the MCP server")


def run_main(main):
    """Exit status: 0 all expectations met, 1 some not, 2 the bench itself failed."""
    try:
        sys.exit(main())
    except Exception as error:               # a broken bench must not look like a broken server
        print("bench failed: %r" % error, file=sys.stderr)
        sys.exit(2)
