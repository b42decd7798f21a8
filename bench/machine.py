"""The inputs of the benchmark, and what the bare machine does with them."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
CACHE = TOP / ".cache" / "bench"
MB = 1_000_000


class Place:
    """A new home and project; gone afterwards."""

    def __enter__(self):
        (CACHE / "run").mkdir(parents=True, exist_ok=True)
        self.path = Path(tempfile.mkdtemp(dir=CACHE / "run"))
        for name in ("home", "project"):
            (self.path / name).mkdir()
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def corpus():
    """10 MB of Markdown and 13 files of 1 MB: the texts of the crates in Cargo.lock, so the same everywhere."""
    folder = CACHE / "corpus"
    if (folder / "done").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    listed = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--locked"], cwd=TOP, check=True, capture_output=True
    ).stdout
    packages = sorted(json.loads(listed)["packages"], key=lambda package: package["id"])
    roots = [Path(package["manifest_path"]).parent for package in packages if package["source"]]

    def texts(*suffixes):
        for root in roots:
            for path in sorted(path for suffix in suffixes for path in root.rglob("*" + suffix)):
                if 500 < path.stat().st_size < 400_000:
                    yield "\n\n# %s/%s\n\n%s\n" % (
                        root.name,
                        path.name,
                        path.read_text(encoding="utf-8", errors="replace"),
                    )

    def fill(name, source, limit):
        size = 0
        with open(folder / name, "w", encoding="utf-8") as file:
            for text in source:
                file.write(text)
                size += len(text.encode())
                if size >= limit:
                    return

    prose = texts(".md", ".rs")
    fill("prose.md", prose, 10 * MB)
    for number in range(30):
        fill("part-%02d.md" % number, prose, MB)
    (folder / "done").touch()
    return folder


def big_output(megabytes):
    """A log with a word that occurs once in its first, middle and last line."""
    path = CACHE / ("output-%d.log" % megabytes)
    if not path.exists():
        lines = megabytes * MB // 100
        with open(path, "w") as file:
            for n in range(lines):
                word = {0: "firstwombat", lines // 2: "middlequokka", lines - 1: "lastnumbat"}.get(
                    n, "worker%d" % (n * 7919 % 64)
                )
                file.write(
                    (
                        "%08d  INFO  %s took %d ms for request %012x"
                        % (n, word, n * 37 % 9000, n * 2654435761 % (1 << 44))
                    ).ljust(99)
                    + "\n"
                )
    return path


WORDS = ("firstwombat", "middlequokka", "lastnumbat")


# Without launchers that choose a version at each start: they would be measured, not the interpreter.
PATH = os.pathsep.join(entry for entry in os.environ["PATH"].split(os.pathsep) if not entry.endswith("/shims"))


def which(name):
    """The program that this name means to the servers."""
    return shutil.which(name, path=PATH)


def environment(place):
    """What every process of the benchmark gets; the caller's own variables slow some interpreters down."""
    rustup = os.environ.get("RUSTUP_HOME", os.path.expanduser("~/.rustup"))
    return {"PATH": PATH, "RUSTUP_HOME": rustup, "HOME": str(place / "home"), "LANG": "C.UTF-8", "TMPDIR": str(place)}


def spawn(arguments):
    """Seconds for a process: posix_spawn, its output read to the end, its status taken."""
    began = time.perf_counter()
    reading, writing = os.pipe()
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, writing, 1),
        (os.POSIX_SPAWN_CLOSE, reading),
    ]
    pid = os.posix_spawn(arguments[0], arguments, environment(CACHE), file_actions=actions)
    os.close(writing)
    while os.read(reading, 1 << 16):
        pass
    os.close(reading)
    os.waitpid(pid, 0)
    return time.perf_counter() - began


def raw_fts(path):
    """Seconds to insert a text into a porter FTS5 table, in rows of about 1,500 bytes, one transaction."""
    rows, row, size = [], [], 0
    for paragraph in path.read_text(encoding="utf-8").split("\n\n"):
        row.append(paragraph)
        size += len(paragraph) + 2
        if size >= 1500:
            rows.append((row[0][:60], "\n\n".join(row)))
            row, size = [], 0
    rows.append(("end", "\n\n".join(row)))
    with Place() as place:
        database = sqlite3.connect(str(place / "raw.db"), isolation_level=None)
        database.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-65536;"
            "CREATE VIRTUAL TABLE raw USING fts5(title, body, tokenize='porter unicode61');"
        )
        began, cpu = time.perf_counter(), time.process_time()
        database.execute("BEGIN")
        database.executemany("INSERT INTO raw VALUES (?, ?)", rows)
        database.execute("COMMIT")
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()
        return {"seconds": seconds, "cpu": cpu, "bytes": (place / "raw.db").stat().st_size, "rows": len(rows)}


def database_bytes(place):
    """Store files of either server, wherever below its home or project."""
    return sum(
        path.stat().st_size
        for path in place.rglob("*")
        if path.is_file() and re.search(r"\.(db|sqlite3?)(-wal|-shm)?$", path.name)
    )
