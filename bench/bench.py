#!/usr/bin/env python3
"""Side by side: this server, a peer from npm, and what the bare machine does, in one run.

    bench/bench.py [--quick] [--only start,idle,...] [--no-peer] -- target/release/quietcontext

Prints one Markdown table per suite and writes every figure to .cache/bench/results.json. Latencies
are taken in turns (bare, ours, peer, bare, ...), so that a busy machine is busy for all of them:
read ratios, not milliseconds. Python 3.9 or newer, standard library only; npm for the peer.
"""

import argparse
import json
import os
import re
import shutil
import sqlite3
import sys
import time

sys.dont_write_bytecode = True
import daemon  # noqa: E402
import mcp  # noqa: E402
import report  # noqa: E402
import runs  # noqa: E402
import session  # noqa: E402
from machine import CACHE, MB, WORDS, Place, big_output, corpus, database_bytes, raw_fts, spawn, which  # noqa: E402
from servers import ours, peer  # noqa: E402


def found(server, client, word):
    """Whether a search shows the line with the word, not only the question."""
    text, failed, seconds = server.call(client, "search", queries=[word], preview=True)
    return not failed and re.search(r"INFO\s+" + word, text) is not None, seconds


def start(servers, quick):
    """Spawn to `initialize`, to `tools/list`, to the first `execute` done; bare spawns beside it."""
    takes = {"true (bare spawn)": {"spawn": []}, "bash (bare spawn)": {"spawn": []}}
    takes.update(
        {server.name: {"initialize": [], "tools/list": [], "first execute": [], "end": []} for server in servers}
    )
    bash, true = which("bash"), which("true")
    for round_number in range(5 if quick else 25):
        takes["true (bare spawn)"]["spawn"].append(spawn([true]))
        takes["bash (bare spawn)"]["spawn"].append(spawn([bash, "-c", "true"]))
        for server in servers:
            with Place() as place:
                client = server.start(place)
                initialized, listed = client.handshake()
                server.call(client, "execute", code="true")
                first, end = time.perf_counter() - client.began, client.close()
            if round_number:  # the first round warms the page cache
                for name, value in zip(
                    ("initialize", "tools/list", "first execute", "end"), (initialized, listed, first, end)
                ):
                    takes[server.name][name].append(value)
    return {name: {what: mcp.summary(values) for what, values in rows.items()} for name, rows in takes.items()}


def idle(servers, quick):
    """Resident memory and threads: after the handshake, and after some work."""
    result, text = {}, corpus() / "part-00.md"
    for server in servers:
        with Place() as place:
            client = server.start(place)
            client.handshake()
            time.sleep(1.5)
            rows = {
                "RSS MiB": status_mib(client, "VmRSS"),
                "PSS MiB": mcp.proportional_bytes(client.pid) / 2**20,
                "threads": mcp.status(client.pid, "Threads"),
            }
            used = mcp.cpu_seconds(client.pid)
            time.sleep(2)
            rows["idle CPU ms in 2 s"] = (mcp.cpu_seconds(client.pid) - used) * 1000
            shutil.copy(text, place / "project" / "text.md")
            server.call(client, "index", path=place / "project" / "text.md", source="text")
            for number in range(5 if quick else 20):
                server.call(client, "execute", code="echo %d" % number)
                server.call(client, "search", queries=["error handling"])
            mcp.wait_quiet(client.pid)
            rows["RSS after work MiB"] = status_mib(client, "VmRSS")
            client.close()
            result[server.name] = rows
    return result


def status_mib(client, field):
    return mcp.status(client.pid, field) / 2**20


def execute(servers, quick):
    """`execute` of `true`, python and javascript beside the same interpreter started bare."""
    return runs.languages(servers, quick, ("shell", "python", "javascript"))


def output(servers, quick):
    """`execute` that prints 1, 10 and 100 MB: time to the answer, memory, and what can be found afterwards."""
    result = {}
    for server in servers:
        for megabytes in (1, 10) if quick or server.name != "quietcontext" else (1, 10, 100, 500):
            result["%s, %d MB" % (server.name, megabytes)] = {
                **left_alone(server, big_output(megabytes)),
                **asked_at_once(server, big_output(megabytes)),
            }
    size = 1 if quick else 100
    result["cat into a pipe, %d MB" % size] = {"answer s": spawn([which("cat"), str(big_output(size))])}
    return result


def left_alone(server, path):
    """A big output, and nothing else until the index is at rest."""
    with Place() as place:
        client = server.start(place)
        client.handshake()
        server.call(client, "execute", code="seq 30000; echo earlierbilby")
        before = status_mib(client, "VmRSS")
        with mcp.Peak(client.pid) as peak:
            _, failed, seconds = server.call(client, "execute", code="cat %s" % path)
            answered, growth_to_answer = time.perf_counter(), peak.bytes / 2**20 - before
            rest = mcp.wait_quiet(client.pid) - answered
        good = [found(server, client, word)[0] for word in WORDS]
        earlier, _, _ = server.call(client, "search", queries=["earlierbilby"], preview=True)
        client.close()
        return {
            "answer s": seconds,
            "failed": failed,
            "RSS growth to the answer MiB": growth_to_answer,
            "to the index at rest MiB": peak.bytes / 2**20 - before,
            "at rest after s": max(0.0, rest),
            "first, middle, last found": good,
            "earlier output found": earlier.count("earlierbilby") > 1,
            "database / output": database_bytes(place) / path.stat().st_size,
        }


def asked_at_once(server, path):
    """A big output, and searches the moment it is answered."""
    with Place() as place:
        client = server.start(place)
        client.handshake()
        server.call(client, "execute", code="true")
        before = status_mib(client, "VmRSS")
        with mcp.Peak(client.pid) as peak:
            server.call(client, "execute", code="cat %s" % path)
            asked = [found(server, client, word) for word in WORDS]
            mcp.wait_quiet(client.pid)
        client.close()
        return {
            "found at once": [good for good, _ in asked],
            "slowest of these searches s": max(seconds for _, seconds in asked),
            "RSS growth with them MiB": peak.bytes / 2**20 - before,
        }


def index(servers, quick):
    """One Markdown file of 10 MB beside a raw porter FTS5 insert of the same text; then unchanged again."""
    whole = corpus() / "prose.md"
    text = whole
    if quick:
        text = CACHE / "prose-2.md"
        text.write_bytes(whole.read_bytes()[: 2 * MB])
    size = text.stat().st_size / MB
    raws, rows = [], {server.name: [] for server in servers}
    for _ in range(1 if quick else 3):
        raws.append(raw_fts(text))
        for server in servers:
            if server.name != "quietcontext" and rows[server.name]:
                continue  # the peer takes ten times as long: once is enough
            with Place() as place:
                client = server.start(place)
                client.handshake()
                target = place / "project" / "prose.md"
                shutil.copy(text, target)
                cpu, began = mcp.cpu_seconds(client.pid), time.perf_counter()
                answer, failed, seconds = server.call(client, "index", path=target, source="prose")
                at_rest = max(seconds, mcp.wait_quiet(client.pid) - began)
                cpu = mcp.cpu_seconds(client.pid) - cpu
                again = server.call(client, "index", path=target, source="prose")[2]
                peak = status_mib(client, "VmHWM")
                client.close()
                stored = database_bytes(place)
                rows[server.name].append(
                    {
                        "seconds": seconds,
                        "at rest": at_rest,
                        "cpu": cpu,
                        "bytes": stored,
                        "again": again,
                        "peak": peak,
                        "failed": failed,
                        "answer": answer[:200],
                    }
                )
    raw = min(raws, key=lambda row: row["seconds"])
    result = {
        "raw porter FTS5": {
            "MB/s": size / raw["seconds"],
            "MB per CPU s": size / min(row["cpu"] for row in raws),
            "database / text": raw["bytes"] / text.stat().st_size,
        }
    }
    for name, takes in rows.items():
        best = min(takes, key=lambda row: row["at rest"])
        result[name] = {
            "failed": best["failed"],
            "MB/s": size / best["at rest"],
            "MB/s to the answer": size / best["seconds"],
            "of raw": raw["seconds"] / best["at rest"],
            "MB per CPU s": size / best["cpu"],
            "database / text": best["bytes"] / text.stat().st_size,
            "unchanged again / first": best["again"] / best["seconds"],
            "peak RSS MiB": best["peak"],
            "said": best["answer"].split("\n")[0],
        }
    return result


def search(servers, quick):
    """One query and ten queries a call over 10,000 chunks of real text, none asked twice; a fifth misses."""
    result, files = {}, sorted(corpus().glob("part-*.md"))
    text = "".join(file.read_text(encoding="utf-8") for file in files[:3])
    words = re.findall(r"[A-Za-z]{4,14}", text)[::97]
    queries = [
        "xq%s %s" % (words[n + 3][::-1], words[n]) if n % 5 == 4 else " ".join(words[n : n + 1 + n % 3])
        for n in range(1200)
    ]
    for server in servers:
        with Place() as place:
            client = server.start(place)
            client.handshake()
            chunks = used = 0
            while chunks < (1000 if quick else 10_000) and used < len(files):
                target = place / "project" / files[used].name
                shutil.copy(files[used], target)
                text, failed, _ = server.call(client, "index", path=target, source="part %d" % used)
                number = re.search(r"([\d,]+) (?:sections|chunks)", text)
                if failed or not number:
                    raise RuntimeError("%s: %s" % (server.name, text[:200]))
                chunks, used = chunks + int(number.group(1).replace(",", "")), used + 1
            mcp.wait_quiet(client.pid)
            ones, tens = [], []
            for n in range(0, 60 if quick else 1200, 20):
                for query in queries[n : n + 10]:
                    ones.append(server.call(client, "search", queries=[query])[2])
                tens.append(server.call(client, "search", queries=queries[n + 10 : n + 20])[2])
            result[server.name] = {
                "chunks": chunks,
                "one query": mcp.summary(ones[5:]),
                "ten queries": mcp.summary(tens[1:]),
                "RSS MiB": status_mib(client, "VmRSS"),
            }
            client.close()
    return result


SUITES = {"start": start, "idle": idle, "execute": execute, "output": output, "index": index, "search": search}
# These call what only this server has; beside it stands the same server without confinement.
OWN = {**runs.SUITES, "session": session.session, **daemon.SUITES}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join([*SUITES, *OWN]), help="suites, separated by commas: %(default)s")
    parser.add_argument(
        "--quick", action="store_true", help="few rounds and small inputs: shows that it works, no more"
    )
    parser.add_argument("--no-peer", action="store_true", help="without the peer from npm")
    parser.add_argument("server", nargs="+", help="-- COMMAND ARGS of this server")
    options = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    command = [word for word in options.server if word != "--"]
    command[0] = os.path.abspath(shutil.which(command[0]) or command[0])
    servers = [ours(command)] + ([] if options.no_peer else [peer()])
    results = {
        "machine": {
            "cores": os.cpu_count(),
            "kernel": os.uname().release,
            "sqlite": sqlite3.sqlite_version,
            "quick": options.quick,
        }
    }
    for name in options.only.split(","):
        load = os.getloadavg()[0]
        began = time.perf_counter()
        if name in OWN:
            results[name] = OWN[name]([servers[0], ours([*command, "--sandbox", "off"], "unconfined")], options.quick)
        else:
            results[name] = SUITES[name](servers, options.quick)
        results["machine"].setdefault("load", {})[name] = [round(load, 1), round(os.getloadavg()[0], 1)]
        print(
            "%s\n\nLoad %.1f before, %.1f after; %.0f s.\n"
            % (
                report.table(name, {**SUITES, **OWN}[name].__doc__, results[name]),
                load,
                os.getloadavg()[0],
                time.perf_counter() - began,
            ),
            flush=True,
        )
        (CACHE / "results.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
