"""Soak: many sessions of a daemon and many servers on pipes, mixed calls for minutes."""

import os
import random
import statistics
import threading
import time

import mcp
from daemon import Daemon, Http
from trials import Pages, damage, digest, left_over, surroundings, text_of

SESSIONS, SERVERS = 24, 8
# Roots of the daemon; each has four of its sessions.
ROOTS = 6
WORDS = "harbour lantern gasket orchard pelican rotor sluice valve".split()
# Most bytes of a tool's answer.
CAPS = {"batch": 12_288, "index": 4_096, "fetch-index": 4_096}
# What may grow between the second and the last quarter.
GROWTH = {"RSS MiB": 24, "threads": 8, "descriptors": 16}
# The daemon's threads come and go with what is under way, and medians of quarters say little of them. The most at
# any time: a call and the three commands of its batch for each session, and what a root and the daemon have.
DAEMON_THREADS = 4 * SESSIONS + 4 * ROOTS + 8


class Session:
    """One client that goes on calling; every answer is judged."""

    def __init__(self, number, client, folder, pages, problems):
        self.client, self.folder, self.pages, self.problems = client, folder, pages, problems
        self.number, self.chance, self.calls, self.jobs, self.late = number, random.Random(number), 0, 0, 0

    def call(self, tool, arguments, failed=False, wanted=None):
        text, wrong, _ = self.client.call(tool, arguments)
        self.calls += 1
        if wrong and " · timed out: " in text:
            # A page that did not come in time on a machine with too much to do: said, so no failure of ours.
            self.late += 1
            return None
        most = min(CAPS.get(tool, 8_192), arguments.get("max_bytes", 1 << 20))
        secret = "secret-of-%s-" % self.folder.name
        for problem, found in (
            ("over its budget", len(text.encode()) > most),
            ("a failure" if wrong else "no failure", wrong != failed),
            ("text of another root", "secret-of-" in text.replace(secret, "")),
            ("%s is missing" % wanted, wanted is not None and wanted not in text),
        ):
            if found:
                self.problems.append("%s %s: %s: %s" % (self.folder.name, tool, problem, text[:300]))
        return text

    def turn(self):
        """One of each kind; what is stored carries the root's secret."""
        n, chance = self.calls, self.chance
        secret = "secret-of-%s-%d-%d" % (self.folder.name, self.number, n)
        words = " ".join(chance.choices(WORDS, k=200))
        self.call("execute", {"language": "shell", "code": "echo " + secret}, wanted=secret)
        lines = chance.randrange(1, 30_000)
        self.call("execute", {"language": "shell", "code": "seq %d; echo %s" % (lines, secret)}, wanted=secret)
        self.call("execute", {"language": "shell", "code": "sleep 5", "timeout_ms": 20}, wanted="[timed out")
        note = "note %d-%d" % (self.number, n % 50)
        self.call("index", {"content": "# %s\n\n%s\n" % (secret, words), "source": note}, wanted=note)
        self.call("search", {"queries": chance.sample(WORDS, 2), "preview": True})
        self.call("search", {"queries": ["secret"], "limit": 20, "preview": True, "max_bytes": 3_000}, wanted="secret")
        self.call("batch", {"commands": ["echo a", "false", "seq 3000"], "queries": ["17"], "concurrency": 3})
        self.call("execute", {"language": "nothing", "code": "x"}, failed=True)
        self.call("exec-file", {"path": note, "language": "shell", "code": "wc -c; head -1"})
        seed = self.number * 1_000 + n % 20
        url = self.pages.url(seed)
        if self.call("fetch-index", {"url": url, "force": n % 3 == 0}, wanted=url):
            sum_of = {"path": url, "language": "shell", "code": "sha256sum"}
            self.call("exec-file", sum_of, wanted=digest(text_of(seed, 300_000)))
        if self.jobs < 5 or chance.random() < 0.1:
            code = "while sleep 0.05; do echo working; done"
            begun = {"language": "shell", "code": code, "background": True, "timeout_ms": 100}
            told = self.call("execute", begun, wanted=" · running")
            label = next((word for word in told.replace("[", " ").split() if word.startswith("execute:")), None)
            if label:
                self.call("execute", {"stop": label})
            self.jobs += 1

    def run(self, end):
        try:
            while time.monotonic() < end:
                self.turn()
        except (OSError, EOFError, RuntimeError, TimeoutError) as error:
            self.problems.append("%s, session %d: %s: %s" % (self.folder.name, self.number, type(error).__name__, error))


def sample(pids):
    return {
        pid: {
            "RSS MiB": mcp.status(pid, "VmRSS") / 2**20,
            "threads": mcp.status(pid, "Threads"),
            "descriptors": len(os.listdir("/proc/%d/fd" % pid)),
        }
        for pid in pids
    }


def growth(samples, pid):
    """Medians of the second and of the last quarter of the time."""
    quarter = len(samples) // 4
    if not quarter:
        return {}
    middle = {name: statistics.median(s[pid][name] for s in samples[quarter : 2 * quarter]) for name in GROWTH}
    last = {name: statistics.median(s[pid][name] for s in samples[-quarter:]) for name in GROWTH}
    return {name: (middle[name], last[name]) for name in GROWTH}


def soak(binary, place, _chance, seconds):
    pages, problems = Pages(), []
    environment = surroundings(place, pages)
    roots = [place / ("web-%d" % n) for n in range(ROOTS)]
    pipes = [place / ("pipe-%d" % n) for n in range(SERVERS)]
    for folder in roots + pipes:
        folder.mkdir()
    daemon = Daemon([binary], place, roots[0], environment)
    for root in roots[1:]:
        daemon.register([binary], root, environment)
    clients = [(Http(daemon, roots[n % ROOTS]), roots[n % ROOTS]) for n in range(SESSIONS)]
    servers = [mcp.Client([binary], folder, environment) for folder in pipes]
    for server in servers:
        server.handshake()
    clients += list(zip(servers, pipes, strict=True))
    sessions = [Session(n, client, folder, pages, problems) for n, (client, folder) in enumerate(clients)]
    end = time.monotonic() + seconds
    threads = [threading.Thread(target=session.run, args=(end,), daemon=True) for session in sessions]
    for thread in threads:
        thread.start()
    samples, pids, told = [], [daemon.pid] + [server.pid for server in servers], time.monotonic()
    while any(thread.is_alive() for thread in threads):
        time.sleep(min(2, seconds / 40))
        try:
            samples.append(sample(pids))
        except OSError as error:
            problems.append("a server is gone: %s" % error)
            break
        if time.monotonic() - told > 30:
            told = time.monotonic()
            shown = "  ".join("%s %.0f" % pair for pair in samples[-1][daemon.pid].items())
            print("%6d calls  daemon %s" % (sum(session.calls for session in sessions), shown), flush=True)
    for name, pid in zip(["daemon"] + [folder.name for folder in pipes], pids, strict=True):
        for what, (middle, last) in growth(samples, pid).items():
            judged_by_most = name == "daemon" and what == "threads"
            if last - middle > GROWTH[what] and not judged_by_most:
                problems.append("%s: %s grew from %.1f to %.1f" % (name, what, middle, last))
            elif name in ("daemon", "pipe-0"):
                print("%-7s %-11s %6.1f in the second quarter, %6.1f in the last" % (name, what, middle, last))
    most = max((one[daemon.pid]["threads"] for one in samples), default=0)
    print("daemon  threads     %6d at most" % most)
    if most > DAEMON_THREADS:
        problems.append("daemon: %d threads, more than %d" % (most, DAEMON_THREADS))
    for client, _ in clients[:SESSIONS]:
        client.close()
    for server, folder in zip(servers, pipes, strict=True):
        ended = server.close()
        if ended > 2:
            problems.append("%s ended %.1f s after the end of input" % (folder.name, ended))
    daemon.close()
    # Empty folders of a server that did not wait for its threads are swept by the next one.
    sweeper = mcp.Client([binary], pipes[0], environment)
    sweeper.handshake()
    sweeper.call("execute", {"language": "shell", "code": "true"})
    sweeper.close()
    problems += left_over(place)
    problems += damage(place)
    calls, late = sum(s.calls for s in sessions), sum(s.late for s in sessions)
    print("%d calls of %d sessions in %d roots, %d pages late" % (calls, len(sessions), len(roots + pipes), late))
    return problems[:40]
