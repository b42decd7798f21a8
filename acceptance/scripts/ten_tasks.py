"""Ten tasks of an agent on this repository itself, through a real client.

What is right is computed from the checkout when the script is read, so that it holds for any commit. The
answers together keep a budget: reading the files instead would be some hundred times as much.
"""

import re
import subprocess
from pathlib import Path

from six_tools import call

TOP = Path(__file__).resolve().parent.parent.parent
TURNS = "docs/adr/0013-turns.md"


def checkout():
    """Texts that git knows here, by name; not this script, which would answer its own questions."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, capture_output=True, check=True).stdout
    files = {}
    for name in filter(None, listed.decode().split("\0")):
        path = TOP / name
        if path.is_file() and not path.is_symlink() and not name.startswith(("fuzz/seeds/", "acceptance/scripts/")):
            data = path.read_bytes()
            try:
                files[name] = data.decode()
            except UnicodeDecodeError:
                continue
    return files


FILES = checkout()
SOURCES = {name: text for name, text in FILES.items() if name.endswith(".rs")}
LONGEST = max(SOURCES, key=lambda name: SOURCES[name].count("\n"))
VERSIONS = {}
for name, version in re.findall(r'\[\[package\]\]\nname = "(.+?)"\nversion = "(.+?)"', FILES["Cargo.lock"]):
    VERSIONS.setdefault(name, []).append(version)
DOUBLE = sorted(name for name, versions in VERSIONS.items() if len(versions) > 1)

LOCK = r"""import collections, re
versions = collections.defaultdict(list)
for name, version in re.findall(r'\[\[package\]\]\nname = "(.+?)"\nversion = "(.+?)"', FILE_CONTENT):
    versions[name].append(version)
double = sorted(name for name in versions if len(versions[name]) > 1)
print(len(double), "twice, first", double[0], "last", double[-1])
"""

TASKS = [
    # 1. take the whole repository in
    call("index", {"matches": [r"^\d{3,} files · [\d,]+ sections"], "max_bytes": 300}, path="."),
    # 2. where is something, in other words than the file's
    call(
        "search",
        {"contains": ["crates/tools/src/salient/table.rs"], "max_bytes": 1000},
        queries=["which patterns of test runners and compilers does a digest look for"],
        limit=5,
    ),
    # 3. an identifier, written wrongly
    call(
        "search",
        {"contains": ["crates/tools/src/schedule/mod.rs"], "max_bytes": 600},
        queries=["enter_bloking"],
        limit=2,
    ),
    # 4. a question to a big file
    call(
        "exec-file",
        {"matches": ["^%d twice, first %s last %s$" % (len(DOUBLE), DOUBLE[0], DOUBLE[-1])], "max_bytes": 200},
        path="Cargo.lock",
        language="python",
        code=LOCK,
    ),
    # 5. a count over many files
    call(
        "execute",
        {"contains": [LONGEST, str(SOURCES[LONGEST].count("\n"))], "max_bytes": 200},
        language="shell",
        code="find . -name '*.rs' | xargs wc -l | sort -rn | sed -n 2p",
    ),
    # 6. much text, and one thing that is wanted of it
    call(
        "execute",
        {"contains": ["130"], "matches": [r"^\[indexed [\d,]+ bytes.* exit 0\]$"], "max_bytes": 1600},
        language="shell",
        code="cat *.md docs/*.md docs/adr/*.md",
        intent="exit code of an interrupted command",
    ),
    # 7. a test run that fails: the cause without a second call
    call(
        "execute",
        {
            "contains": ["left == right", "80 passed; 3 failed"],
            "matches": [r"exit 101\]$"],
            "max_bytes": 1600,
        },
        language="shell",
        code="seq -f 'test many::case_%g ... ok' 400; cat crates/tools/tests/outputs/cargo-test.txt; exit 101",
    ),
    # 8. several commands, and questions to what they print
    call(
        "batch",
        {
            "contains": ["fetch.mode", "allowlist"],
            "matches": [r"^settings: exit 0", r"^marks: exit 0", r"^sizes: exit 0"],
            "max_bytes": 3000,
        },
        commands=[
            {"label": "settings", "command": "cat docs/settings.md"},
            {"label": "marks", "command": "grep -rnE 'TODO|FIXME' crates || echo none"},
            {"label": "sizes", "command": "find crates -name '*.rs' | xargs wc -l"},
        ],
        concurrency=3,
        queries=["which setting turns fetching off"],
    ),
    # 9. one document, exactly
    call(
        "search",
        {"max_bytes": 1000},
        queries=["0013 calls take turns"],
        source=TURNS,
        limit=1,
        save={"TURNS": r"^\[(r:\d+)\]"},
    ),
    call("index", {"matches": [r"r:\d+-\d+"]}, path=TURNS, source="turns", save={"WHOLE": r"(r:\d+-\d+)"}),
    call("search", refs=["${WHOLE}"], joins_to=TURNS),
    # 10. a file that has changed since it was indexed
    call("execute", language="shell", code='echo "The walrus limit is $((600+17))." >> CONTRIBUTING.md'),
    call(
        "search",
        {"contains": ["617", "CONTRIBUTING.md"], "max_bytes": 1200},
        queries=["walrus limit"],
        preview=True,
        limit=1,
    ),
]

SCRIPT = {
    "tools": ["batch", "exec-file", "execute", "fetch-index", "index", "search"],
    "max_list_bytes": 4096,
    "max_session_bytes": 11_000,
    "max_answer_bytes": {"execute": 8192, "exec-file": 8192, "search": 8192, "batch": 12288, "index": 4096},
    "max_error_bytes": 512,
    "error_opening": r"error: ",
    "files": FILES,
    "calls": TASKS,
}
