"""What the kill loop and the soak share: a page server, what belongs to a trial, and what must not be left of it."""

import functools
import hashlib
import http.server
import multiprocessing
import os
import re
import sqlite3
import time
from pathlib import Path

REFERENCE = re.compile(r"r:(\d+-\d+|\d+)")


@functools.lru_cache(maxsize=2_000)
def text_of(seed, most=1_200_000):
    """Text that is the same for the same seed, between 12 kB and about `most` bytes; mostly small."""
    line = "%d %d %s\n"
    lines = 200 * (1 + seed % 97 % 7 * (seed % 3) * 12)
    lines = min(lines, most // 34 + 1)
    made = "".join(line % (seed, n, hashlib.md5(b"%d %d" % (seed, n)).hexdigest()) for n in range(lines))
    return made[:most]


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


class Pages:
    """A page server on loopback, in a process of its own: `/N` is the text of seed N. Made before any thread."""

    def __init__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = text_of(int(self.path.strip("/")), 300_000).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:
                    pass  # the server was killed meanwhile

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        serving = multiprocessing.get_context("fork").Process(target=server.serve_forever, daemon=True)
        serving.start()
        server.socket.close()
        self.place = "127.0.0.1:%d" % server.server_address[1]

    def url(self, seed):
        return "http://%s/%d" % (self.place, seed)


def surroundings(place, pages):
    """The environment of servers under trial: a home and a temporary folder of their own."""
    for name in ("home", "tmp"):
        (place / name).mkdir(exist_ok=True)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(place / "home"),
        "TMPDIR": str(place / "tmp"),
        "LANG": "C.UTF-8",
        "QUIETCONTEXT_FETCH_ALLOW": pages.place,
    }


def processes(place):
    """Processes that work below the folder, or were started from it."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            works = os.readlink("/proc/%s/cwd" % name)
            given = Path("/proc/%s/environ" % name).read_bytes()
        except OSError:
            continue
        if int(name) != os.getpid() and (
            (works + "/").startswith(str(place) + "/") or b"HOME=%s/home" % str(place).encode() in given
        ):
            found.append(int(name))
    return found


def dead_groups():
    """Control groups of boxes whose supervisor is gone: the next run of any server removes them."""
    found = []
    for folder, names, _ in os.walk("/sys/fs/cgroup"):
        for name in names:
            number = name.removeprefix("quietcontext-")
            if number != name and not os.path.exists("/proc/" + number):
                found.append(os.path.join(folder, name))
    return found


def left_over(place, patience=10):
    """What is left of a trial after its servers have ended: one line for each kind."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline and (processes(place) or dead_groups()):
        time.sleep(0.05)
    lines = []
    if processes(place):
        lines.append("left running: %s" % processes(place))
    if dead_groups():
        lines.append("control groups left: %s" % dead_groups())
    files = [str(file) for file in (place / "tmp").rglob("*")]
    data = place / "home/.local/share/quietcontext"
    # A lock file is all that stays of a scratch folder, so that its name is not used twice at once.
    files += [str(file) for file in (data / "scratch").rglob("*") if file.suffix != ".lock"]
    if files:
        lines.append("%d files left, such as %s" % (len(files), files[0]))
    return lines


def damage(place):
    """Stores that fail SQLite's own check."""
    for file in sorted(place.rglob("*.db")):
        verdict = sqlite3.connect("file:%s?mode=ro" % file, uri=True).execute("PRAGMA integrity_check").fetchone()[0]
        if verdict != "ok":
            yield "%s: %s" % (file.name, verdict)
