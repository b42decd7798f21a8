"""One acceptance session: a script of calls, what is checked about each, and the report.

`codex.py` and `claude.py` bring a real client; everything that does not depend on the client
is here.
"""

import atexit
import contextlib
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections import deque
from pathlib import Path

from isolation import MARK, Pages, processes_of

HERE = Path(__file__).resolve().parent
MOST_PAGES = 40  # a reference that needs more pages than this does not end


class Script:
    """The calls of one session; README.md describes the form."""

    def __init__(self, path, root):
        sys.path.insert(0, str(Path(path).parent))  # scripts share their helpers
        self.document = runpy.run_path(str(path))["SCRIPT"]
        self.project = root / "project"
        self.project.mkdir(parents=True, exist_ok=True)
        self.pages = Pages(self.document.get("pages", {}))
        self.forbidden = Pages({"/": "<p>nobody may read this</p>"})
        self.values = {
            "PROJECT": str(self.project),
            "PAGES": self.pages.host_port,
            "FORBIDDEN": self.forbidden.host_port,
        }
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
        return next(
            (call["find"] for step in self.steps for call in step if call["tool"] == tool and "find" in call),
            tool.replace("-", " "),
        )


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
    body = text[: left.start()] if left else text
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
            self.current = [
                dict(call, arguments=self.script.fill(call.get("arguments", {}))) for call in self.waiting.popleft()
            ]
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
            return dict(
                call, id="%s_%d" % (call["id"].split("_p")[0] + "_p", page + 1), page=page + 1, arguments={"refs": left}
            )
        wanted = (self.script.project / call["joins_to"]).read_bytes()
        if joined.encode() != wanted:
            problems.append(
                "%d pages join to %d bytes that are not the %d bytes of %s"
                % (page, len(joined.encode()), len(wanted), call["joins_to"])
            )
        if page < call.get("min_pages", 1):
            problems.append("came back in %d pages, at least %d expected" % (page, call["min_pages"]))
        return None


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
        self.report["calls"].append(
            {
                "id": call["id"],
                "tool": call["tool"],
                "problems": problems,
                "is_error": got.is_error,
                "bytes": len(got.text.encode()),
                "text": got.text[:4000],
            }
        )
        if problems:
            self.problem("%s: %s | got: %s" % (label, "; ".join(problems), got.text[:400].replace("\n", "\\n")))
        else:
            print("ok    " + label, file=sys.stderr)

    def environment(self, **more):
        """A scrubbed environment with a home of its own."""
        base = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": str(self.root / "home"),
            "TMPDIR": str(self.root / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "NO_COLOR": "1",
        }
        return dict(base, **more)

    def server_command(self, arguments):
        """The command by which the client starts the server, and the environment it must add."""
        command = [word for word in arguments.server if word != "--"]
        command = [str(Path(word).resolve()) if os.path.isfile(word) else word for word in command]
        command[0] = shutil.which(command[0]) or command[0]
        if not arguments.no_tap:
            command = [sys.executable, str(HERE / "tap.py"), str(self.root / "wire.jsonl"), "--"] + command
        return command, {MARK: self.mark}

    @contextlib.contextmanager
    def set_up(self, arguments, client, environment, file):
        """Entered into the client's file by the server's own `setup` if so asked, and taken out again at the end."""
        if not arguments.setup:
            yield
            return
        binary = self.server_command(arguments)[0][0]
        self.settle([binary, "setup", client, "--approve", "--yes"], environment)
        yield
        self.settle([binary, "setup", client, "--undo"], environment)
        if arguments.server_name in file.read_text():
            self.problem("still in %s after --undo" % file.name)

    def settle(self, command, environment):
        """Runs a command that has to end well."""
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            self.problem("%s ended with %d: %s" % (" ".join(command[1:]), done.returncode, done.stderr[-600:]))

    def finish(self, player, script):
        """Last checks, the report, and the exit status."""
        if not player.done:
            self.problem("the script stopped with %d of %d steps left" % (len(player.waiting) + 1, len(script.steps)))
        answered = sum(call["bytes"] for call in self.report["calls"])
        if answered > script.document.get("max_session_bytes", answered):
            self.problem("%d bytes of answers, at most %d wanted" % (answered, script.document["max_session_bytes"]))
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
            Path(self.report_path).write_text(
                json.dumps(self.report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
            )
        bad = sum(1 for call in self.report["calls"] if call["problems"])
        print(
            "%d calls passed, %d failed, %d problems, %d bytes of answers"
            % (len(self.report["calls"]) - bad, bad, len(self.problems), answered),
            file=sys.stderr,
        )
        if self.keep:
            print("kept: %s" % self.root, file=sys.stderr)
        return 1 if self.problems else 0


def common_arguments(parser):
    parser.add_argument("--script", required=True, help="Python file with SCRIPT = {...} (README.md)")
    parser.add_argument("--server-name", default="quietcontext", help="name under which the client knows the server")
    parser.add_argument("--no-tap", action="store_true", help="start the server directly, without the recording pipe")
    parser.add_argument(
        "--setup", action="store_true", help="entered by the server's own `setup`, as users do it; without a tap"
    )
    parser.add_argument("--no-netns", action="store_true", help="stay out of a loopback-only network namespace")
    parser.add_argument("--timeout", type=float, default=180.0, help="seconds for the whole session")
    parser.add_argument("--keep", action="store_true", help="keep the session's folder with every log")
    parser.add_argument("--report", help="write the JSON report here")
    parser.add_argument("server", nargs="+", help="-- COMMAND ARGS of the MCP server")


def run_main(main):
    """Exit status: 0 all expectations met, 1 some not, 2 the bench itself failed."""
    try:
        sys.exit(main())
    except Exception as error:  # a broken bench must not look like a broken server
        print("bench failed: %r" % error, file=sys.stderr)
        sys.exit(2)
