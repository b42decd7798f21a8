"""Kill loop: servers ended with SIGKILL at random moments; what was answered must be there and exact afterwards."""

import json
import os
import re
import select
import shutil
import time

import mcp
from daemon import Daemon, Http
from trials import REFERENCE, Pages, damage, digest, left_over, processes, surroundings, text_of

# Rounds after which a new root, and with it a new store, is begun.
YOUNG = 25


class Root:
    """A workspace root, and what servers have said is stored for it: name or reference, and SHA-256."""

    def __init__(self, folder):
        self.folder, self.known = folder, {}
        folder.mkdir()

    def files(self, seed):
        """A folder of files to index; their digests by label."""
        name = "d%d" % seed
        (self.folder / name).mkdir()
        digests = {}
        for n in range(25):
            text = text_of(seed * 100 + n, 60_000)
            (self.folder / name / ("%d.txt" % n)).write_text(text)
            digests["%s/%d.txt" % (name, n)] = digest(text)
        return name, digests


def work(root, pages, seed, chance):
    """A call, and what reads its answer: the names and digests that the answer promises."""
    kind = chance.choice(("run", "batch", "content", "files", "fetch"))
    if kind in ("run", "batch"):
        # Made ready as files, so that the server's work is storing and not waiting for a program.
        texts = [text_of(seed), text_of(seed + 1)][: 1 if kind == "run" else 2]
        for n, text in enumerate(texts):
            (root.folder / ("%d-%d.txt" % (seed, n))).write_text(text)
        commands = ["cat %d-%d.txt" % (seed, n) for n in range(len(texts))]
        if kind == "run":
            first = re.compile(r"^\[indexed .*? · r:(\d+-\d+|\d+) · exit 0", re.MULTILINE)
            call = ("execute", {"language": "shell", "code": commands[0]})
        else:
            first = re.compile(r"^\d+: exit 0 .*?r:(\d+-\d+|\d+)", re.MULTILINE)
            call = ("batch", {"commands": commands, "concurrency": 2})
        return call, lambda answer: {
            "r:" + found: digest(text) for found, text in zip(first.findall(answer), texts, strict=False)
        }
    if kind == "content":
        text = "# Note %d\n\nThe word is zz%dzz.\n\n%s" % (seed, seed, text_of(seed))
        return ("index", {"content": text, "source": "note %d" % seed}), lambda _: {"note %d" % seed: digest(text)}
    if kind == "files":
        name, digests = root.files(seed)
        return ("index", {"path": name}), lambda answer: digests if answer.startswith("25 files ") else {}
    url = pages.url(seed)
    return ("fetch-index", {"url": url}), lambda answer: (
        {url: digest(text_of(seed, 300_000))} if REFERENCE.search(answer) else {}
    )


def stored(client, name):
    """SHA-256 of what a name leads to, computed by a program that gets it as its input."""
    text, failed, _ = client.call("exec-file", {"path": name, "language": "shell", "code": "sha256sum"})
    found = re.search(r"^([0-9a-f]{64})\b", text, re.MULTILINE)
    return found.group(1) if found and not failed else text[:200]


class Pipes:
    """A server on pipes, with several calls under way."""

    def __init__(self, binary, root, environment):
        self.client = mcp.Client([binary], root.folder, environment)
        self.client.handshake()

    def begin(self, calls):
        return [self.client.send("tools/call", {"name": tool, "arguments": given}) for tool, given in calls]

    def kill(self, begun):
        """Texts of the calls that were answered, also of answers that were on their way."""
        self.client.process.kill()
        self.client.process.wait()
        told = {}
        for line in (self.client.rest + drained(self.client.output)).split(b"\n")[:-1]:
            message = json.loads(line)
            told[message.get("id")] = message
        self.client.process.stdin.close()
        self.client.process.stdout.close()
        return [told.get(identity) for identity in begun]


class Web:
    """A daemon, with a connection for each call under way."""

    def __init__(self, binary, root, environment):
        self.daemon = Daemon([binary], root.folder.parent, root.folder, environment)
        self.client = Http(self.daemon, root.folder)

    def begin(self, calls):
        sessions = [Http(self.daemon, self.client.root) for _ in calls]
        for session, (tool, given) in zip(sessions, calls, strict=True):
            session.send("tools/call", {"name": tool, "arguments": given})
        return sessions

    def kill(self, begun):
        self.daemon.process.kill()
        self.daemon.process.wait()
        told = []
        for session in begun:
            try:
                told.append(session.receive())
            except (OSError, EOFError, ValueError, RuntimeError):
                told.append(None)
            session.close()
        self.client.close()
        return told


def drained(descriptor):
    """What is left in a pipe that nobody writes to any more."""
    data = b""
    while select.select([descriptor], [], [], 0)[0]:
        piece = os.read(descriptor, 1 << 20)
        if not piece:
            break
        data += piece
    return data


def wrong(client, root, names, where):
    for name in names:
        got = stored(client, name)
        if got != root.known[name]:
            yield "%s: %s gives %s" % (where, name, got)


def kill(binary, place, chance, rounds):
    """Half of the rounds on a store that grows all the time, half on stores that were made a moment ago."""
    pages = Pages()
    environment = surroundings(place, pages)
    old, problems = Root(place / "old"), []
    young, counts = None, {"busy": 0, "answered": 0, "read": 0}
    for number in range(rounds):
        if number % YOUNG == 0:
            young = Root(place / ("young-%d" % number))
        root = (old, young)[number % 2]
        server = chance.choice((Pipes, Pipes, Web))(binary, root, environment)
        # What the servers before this one had answered.
        names = sorted(root.known)
        some = set(chance.sample(names, min(2, len(names))) + list(root.known)[-2:])
        problems += wrong(server.client, root, some, "round %d" % number)
        counts["read"] += len(some)
        notes = [name for name in names if name.startswith("note ")]
        if notes:
            note = chance.choice(notes)
            text, _, _ = server.client.call("search", {"queries": ["zz%szz" % note.split()[1]]})
            if note not in text:
                problems.append("round %d: the word of %s is not found: %s" % (number, note, text[:200]))
        under_way = [work(root, pages, number * 10 + 2 * n, chance) for n in range(3)]
        begun = server.begin([call for call, _ in under_way])
        time.sleep(chance.uniform(0.0, chance.choice((0.05, 0.3, 0.8))))
        told = server.kill(begun)
        for (_, promised), message in zip(under_way, told, strict=True):
            result = (message or {}).get("result", {})
            if result and not result.get("isError"):
                root.known.update(promised(result["content"][0]["text"]))
                counts["answered"] += 1
        counts["busy"] += None in told
        # A file beside the store would be taken for what the store has.
        for folder in root.folder.glob("d*"):
            shutil.rmtree(folder)
        deadline = time.monotonic() + 5
        while processes(place) and time.monotonic() < deadline:
            time.sleep(0.02)
        if processes(place):
            problems.append("round %d: left running: %s" % (number, processes(place)))
        if number % YOUNG == YOUNG - 1 or number == rounds - 1:
            for root in (young, old) if number == rounds - 1 else (young,):
                server = Pipes(binary, root, environment)
                problems += wrong(server.client, root, root.known, "at the end of %s" % root.folder.name)
                counts["read"] += len(root.known)
                server.client.close()
            print("%5d kills, %d problems" % (number + 1, len(problems)), flush=True)
    problems += left_over(place)
    problems += damage(place)
    print(
        "%d kills, %d of them with calls under way; %d answers, %d documents they spoke of read back"
        % (rounds, counts["busy"], counts["answered"], counts["read"])
    )
    return problems
