"""What running programs costs: per language, several at once, batches, compiled programs."""

import json
import os
import time

import mcp
from machine import CACHE, Place, environment, spawn, which

# Language: a program, the bare command that runs its file, the file's ending, rounds.
LANGUAGES = {
    "shell": ("true", ["bash"], ".sh", 100),
    "python": ("print(1)", ["python3"], ".py", 20),
    "javascript": ("console.log(1)", ["node"], ".js", 20),
    "ruby": ("puts 1", ["ruby"], ".rb", 12),
    "php": ("<?php echo 1;", ["php"], ".php", 12),
    "perl": ("print 1", ["perl"], ".pl", 20),
    "r": ("cat(1)", ["Rscript"], ".R", 6),
    "elixir": ("IO.puts(1)", ["elixir"], ".exs", 4),
}

PROGRAMS = {
    "go": 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println(1) }\n// ' + "x" * 256,
    "rust": "fn main() { println!(\"{}\", 1); }\n// " + "x" * 256,
}

# The same layers as far as that tool has them: a limit for what a box of its own for each program can do.
BUBBLEWRAP = (
    "bwrap --unshare-all --die-with-parent --new-session --ro-bind / / --proc /proc --dev /dev --tmpfs /tmp"
    " --tmpfs /run --bind {cache} {cache}"
)


def wrapped(command):
    """The command in bubblewrap; `None` where that is missing."""
    words = BUBBLEWRAP.format(cache=CACHE).split()
    return [which(words[0]), *words[1:], *command] if which(words[0]) else None


def opened(servers):
    """Clients of all servers after their first run, with their places."""
    places = [Place() for _ in servers]
    clients = [server.start(place.__enter__()) for server, place in zip(servers, places)]
    for server, client in zip(servers, clients):
        client.handshake()
        server.call(client, "execute", code="true")
    return places, clients


def closed(places, clients):
    for place, client in zip(places, clients):
        client.close()
        place.__exit__()


def languages(servers, quick, names=tuple(LANGUAGES)):
    """`execute` of the smallest program beside the same interpreter started bare, in turns."""
    result = {"bare": {}, **{server.name: {} for server in servers}}
    places, clients = opened(servers)
    for language in names:
        code, command, suffix, rounds = LANGUAGES[language]
        command = [which(command[0]), *command[1:]]
        if not command[0]:
            continue
        file = CACHE / ("bare" + suffix)
        file.write_text(code + "\n")
        bare, takes = [], [[] for _ in servers]
        for _ in range(3 if quick else rounds + 1):
            bare.append(spawn([*command, str(file)]))
            for server, client, row in zip(servers, clients, takes):
                text, failed, seconds = server.call(client, "execute", code=code, language=language)
                if failed:
                    raise RuntimeError("%s: %s" % (server.name, text[:200]))
                row.append(seconds)
        result["bare"][language] = mcp.summary(bare[1:])
        for server, row in zip(servers, takes):
            result[server.name][language] = mcp.summary(row[1:])
    closed(places, clients)
    return result


def bare_flight(command, count, together):
    """Seconds for so many spawns of a command, so many of them at one time."""
    running, began = 0, time.perf_counter()
    null = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    for number in range(count + together):
        if number >= together:
            os.wait()
            running -= 1
        if number < count:
            os.posix_spawn(command[0], command, environment(CACHE), file_actions=null)
            running += 1
    return time.perf_counter() - began


def calls_flight(server, client, count, together):
    """Seconds for so many calls that run `true`, so many of them under way at one time."""
    tool, arguments = server.tools["execute"](code="true")
    began, sent, answered = time.perf_counter(), 0, 0
    while answered < count:
        while sent < count and sent - answered < together:
            client.send("tools/call", {"name": tool, "arguments": arguments})
            sent += 1
        line, found, rest = client.rest.partition(b"\n")
        if found:
            client.rest = rest
            answered += "result" in json.loads(line)
        else:
            client.rest += os.read(client.output, 1 << 20)
    return time.perf_counter() - began


def flight(servers, quick):
    """Eight runs of `true` under way at a time, per second; beside it bare spawns of the same file."""
    count, together = (40 if quick else 200), 8
    places, clients = opened(servers)
    file = CACHE / "bare.sh"
    file.write_text("true\n")
    bare = [which("bash"), str(file)]
    ways = {name: way for name, way in (("bare", bare), ("bubblewrap", wrapped(bare))) if way}
    takes = {name: [] for name in [*ways, *(server.name for server in servers)]}
    for _ in range(2 if quick else 5):
        for name, way in ways.items():
            takes[name].append(count / bare_flight(way, count, together))
        for server, client in zip(servers, clients):
            takes[server.name].append(count / calls_flight(server, client, count, together))
    closed(places, clients)
    ratios = {
        name: sorted(own / bare for own, bare in zip(values, takes["bare"])) for name, values in takes.items()
    }
    return {
        name: {"a second": sorted(values)[len(values) // 2], "of bare": row[len(row) // 2], "best of bare": row[-1]}
        for (name, values), row in zip(takes.items(), ratios.values())
    }


def batch(servers, quick):
    """`batch` of 8 x `sleep 0.2` at concurrency 8 beside eight such processes at once, and of 20 x `echo`, in
    order, beside twenty bare spawns of bash and twenty in bubblewrap."""
    places, clients = opened(servers)
    bash, rounds = which("bash"), 3 if quick else 12
    sleep, echo = CACHE / "sleep.sh", CACHE / "echo.sh"
    sleep.write_text("for i in 1 2 3 4 5 6 7 8; do sleep 0.2 & done; wait\n")
    echo.write_text("echo hello\n")
    bare = {"8 sleeps": ([bash, str(sleep)], 1), "20 echoes": ([bash, str(echo)], 20)}
    boxed = {what: (wrapped(command), times) for what, (command, times) in bare.items()}
    ways = {"bare": bare, **({"bubblewrap": boxed} if wrapped([]) else {})}
    takes = {name: {what: [] for what in bare} for name in [*ways, *(server.name for server in servers)]}
    for _ in range(rounds):
        for name, rows in ways.items():
            for what, (command, times) in rows.items():
                takes[name][what].append(sum(spawn(command) for _ in range(times)))
        for server, client in zip(servers, clients):
            for what, commands, concurrency in (("8 sleeps", ["sleep 0.2"] * 8, 8), ("20 echoes", ["echo hello"] * 20, 1)):
                arguments = {"commands": commands, "concurrency": concurrency, "queries": ["hello"]}
                text, failed, seconds = client.call("batch", arguments)
                if failed:
                    raise RuntimeError(text[:200])
                takes[server.name][what].append(seconds)
    closed(places, clients)
    return {name: {what: mcp.summary(values) for what, values in row.items()} for name, row in takes.items()}


def compiled(servers, quick):
    """The first run of a compiled program, and the same by its `[s:…]`: the compiler does not run again."""
    result = {}
    for server in servers:
        for language, code in PROGRAMS.items():
            with Place() as place:
                client = server.start(place)
                client.handshake()
                server.call(client, "execute", code="true")
                text, failed, first = server.call(client, "execute", code=code, language=language)
                if failed or not text.startswith(("1\n", "[unconfined]\n1\n")):
                    client.close()
                    continue
                reference = text[text.rindex("[s:") + 1 :].rstrip("]\n")
                takes = [client.call("execute", {"script_ref": reference})[2] for _ in range(3 if quick else 10)]
                client.close()
                warm = mcp.summary(takes)
                result["%s, %s" % (server.name, language)] = {
                    "first s": first,
                    "by reference": warm,
                    "of the first": warm["median"] / first,
                }
    return result


SUITES = {"languages": languages, "flight": flight, "batch": batch, "compiled": compiled}
