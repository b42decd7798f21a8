"""All six tools through a real client, right and wrong calls, on real files and pages.

Every expectation is a word that the call does not contain: a value that was computed, or another
word of the passage that was searched. A server that echoes or agrees meets none of them
(selftest.py holds this script to that).
"""

import hashlib

# ---------------------------------------------------------------- what lies in the project

READINGS = [n * n % 9973 for n in range(1, 4001)]
LOG_LINES = [
    "%05d  step %s-%d took %d ms, é and 日本 checked"
    % (n, "valve gasket rotor sluice".split()[n % 4], n * 7 % 61, n * 37 % 991)
    for n in range(1, 601)
]
LOG_LINES[299] = "00300  the pelican valve sticks at 1187 kilopascal"
LOG = "\n".join(LOG_LINES) + "\n\n  600 steps, two blank lines follow\n\n\n"

# Sections too long to be joined into one chunk.
FILLER = "\n\n".join("Paragraph %d is about tides, berths and dues, and nobody looks for it. " % n * 3 for n in range(6))
NOTES = """# Harbour notes

{0}

## Lamps

The lighthouse keeper counts 4711 lamps each winter; spare wicks lie in the copper chest.

{0}

## Ropes

Hemp is stored dry. Splices are renewed by the deckhand named Ottilie.

{0}
""".format(FILLER)
BIRDS = """Wrens nest low.

The grey heron has a wingspan of 185 centimetres and hunts at dawn near the weir.

Swifts sleep on the wing.
"""
SOURCE = """//! Keys.

/// Rotates the ledger key and burns the previous one in the furnace.
pub fn apply_secrets(count: u32) -> u32 {
    count + 1
}
"""
GUIDE = """<!doctype html><html><head><title>Orchard guide</title></head><body>
<nav><a href="/">Start</a> <a href="/more">More</a></nav>
<main><h1>Orchard guide</h1><p>This guide is about keeping apple trees healthy through the year.</p>
<h2>Ladders</h2><p>The tall orchard ladder is inspected every 17 days by the warden, and its rungs are of ash wood.</p>
<h2>Grafting</h2><p>Scions are cut in January and kept in damp sand until the sap rises in the rootstock.</p>
<table><tr><th>Tree</th><th>Age</th></tr><tr><td>Bramley</td><td>93</td></tr></table></main></body></html>
"""

# Long enough to be remembered (256 bytes and more), and of use both without a file and over one.
TOTAL = """import sys

# Adds the second column of comma-separated lines that come on standard input.
# Lines without a number there, such as the header, are left out of the count.
total = rows = 0
for line in sys.stdin:
    fields = line.strip().split(",")
    if len(fields) == 2 and fields[1].isdigit():
        total += int(fields[1])
        rows += 1
print("rows", rows, "total", total)
"""
DIGEST = (
    "import hashlib, sys\ndata = sys.stdin.buffer.read()\nprint(len(data), hashlib.sha256(data).hexdigest()[:12])\n"
)

HANDLE = r"^\[indexed %s bytes, %s lines as (execute:\d+) · r:(\d+-\d+) · exit 0\]$"
BIG = HANDLE % ("{:,}".format(len(LOG.encode())), "{:,}".format(LOG.count("\n")))


def call(tool, expect=None, **arguments):
    """One call; `find`, `save` and the page check are lifted out of the arguments."""
    entry = {"tool": tool, "arguments": arguments, "expect": expect or {}}
    for name in ("find", "save", "joins_to", "min_pages"):
        if name in arguments:
            entry[name] = arguments.pop(name)
    return entry


def failing(*words):
    """A wrong call: told as an error, in one line."""
    return {"is_error": True, "contains": list(words), "matches": [r"\Aerror: [^\n]+\n?\Z"]}


EXECUTE = [
    call(
        "execute",
        {"contains": ["qc-42", "project"]},
        find="run code",
        language="shell",
        code='echo qc-$((6*7)); basename "$PWD"',
    ),
    call(
        "execute",
        {"matches": [r"^out-71$", r"^\[stderr\]$", r"^err-77$", r"^\[exit 3\]$"]},
        language="shell",
        code="echo out-$((70+1)); echo err-$((70+7)) >&2; exit 3",
    ),
    call(
        "execute",
        {"matches": [r"^before-25$", r"^\[timed out after 700 ms\]$"]},
        language="shell",
        code="echo before-$((5*5)); sleep 30",
        timeout_ms=700,
    ),
    call(
        "execute",
        {"matches": [r"^7-14-21$"]},
        language="javascript",
        code="console.log([1, 2, 3].map(x => x * 7).join('-'))",
    ),
    # the client's keys, and what the client gave the server, are not for programs
    call(
        "execute",
        {"matches": [r"^seen-0$"]},
        language="shell",
        code="echo seen-$(env | cut -d= -f1 | grep -ciE 'key|token|anthropic|codex|acceptance')",
    ),
    call("execute", {"matches": [r"^\[no output\]$"]}, language="shell", code="true"),
    call("execute", failing("256", "8192"), language="shell", code="touch must-not-exist", max_bytes=100),
    call("execute", failing("timeout_ms"), language="shell", code="touch must-not-exist", timeoutms=100),
    call("execute", failing("language"), code="touch must-not-exist"),
]

REUSE = [
    call(
        "execute",
        {"matches": [r"^rows 0 total 0$"]},
        language="python",
        code=TOTAL,
        save={"PROGRAM": r"^\[(s:[0-9a-f]{16})\]$"},
    ),
    call(
        "exec-file",
        {"matches": ["^rows %d total %d$" % (len(READINGS), sum(READINGS))], "absent": ["[s:"]},
        path="readings.csv",
        script_ref="${PROGRAM}",
    ),
    call("execute", failing("code"), script_ref="${PROGRAM}", code="touch must-not-exist", language="shell"),
    call("execute", failing("python"), script_ref="${PROGRAM}", language="shell"),
    call("execute", failing("script_ref"), script_ref="s:0123456789abcdef"),
    call(
        "execute", {"matches": [r"^absent-9$"]}, language="shell", code="test -e must-not-exist || echo absent-$((3*3))"
    ),
]

OVERSIZED = [
    call(
        "execute",
        {"matches": [BIG], "max_bytes": 1600},
        language="shell",
        code="cat steps.log",
        save={"LABEL": BIG, "RANGE": r"· r:(\d+-\d+) ·"},
    ),
    call("search", refs=["r:${RANGE}"], joins_to="steps.log", min_pages=4),
    call("search", {"contains": ["1187"]}, queries=["where does the pelican stick"], source="${LABEL}", preview=True),
    call(
        "exec-file",
        {"contains": ["%d %s" % (len(LOG.encode()), hashlib.sha256(LOG.encode()).hexdigest()[:12])]},
        path="r:${RANGE}",
        language="python",
        code=DIGEST,
    ),
    call(
        "execute",
        {"max_bytes": 400, "matches": [r"· r:\d+-\d+ · exit 0\]"]},
        language="shell",
        code="cat steps.log readings.csv",
        max_bytes=400,
    ),
]

EXEC_FILE = [
    call(
        "exec-file",
        {"matches": [r"^4001 lines$"], "absent": ["8976"]},
        find="run code over a file",
        path="readings.csv",
        language="python",
        code='print(FILE_CONTENT.count(chr(10)), "lines")',
    ),
    call("exec-file", failing("directory"), path="source", language="shell", code="cat"),
    call("exec-file", failing("missing.csv"), path="missing.csv", language="shell", code="cat"),
    call("exec-file", failing("root"), path="../home/.config/quietcontext/config.toml", language="shell", code="cat"),
]

BATCH = [
    call(
        "batch",
        {
            "matches": [r"^.*sum.*exit 0.*r:\d+", r"^.*fails.*exit 4", r"^.*birds.*exit 0.*r:\d+", r"(?i)no match"],
            "contains": ["gone-64", "185 centimetres", "weir"],
            "absent": ["1234"],
        },
        find="run several commands",
        commands=[
            {"label": "sum", "command": "expr 1200 + 34"},
            {"label": "fails", "command": "echo partly; echo gone-$((8*8)) >&2; exit 4"},
            {"label": "birds", "command": "cat birds.txt"},
        ],
        queries=["heron hunts", "zzqx unfindable"],
    ),
    call(
        "batch",
        {"matches": [r"^.*one.*exit 0", r"^.*two.*exit 0"], "contains": ["11-22", "ab-7"]},
        commands=[
            {"label": "one", "command": "for n in 11 22; do printf %s- $n; done; echo"},
            {"label": "two", "command": "cat <<EOF\nab-$((3+4))\nEOF\n# a comment at the end"},
        ],
        concurrency=2,
    ),
    call("batch", failing("commands"), commands="ls"),
]

INDEX_AND_SEARCH = [
    call(
        "index",
        {"matches": [r"^indexed [\d,]+ bytes, \d+ lines, [3-9] sections as harbour · r:\d+-\d+"]},
        find="index content for search",
        path="notes.md",
        source="harbour",
    ),
    call(
        "search",
        {
            "matches": [r"^query: lighthouse keeper$", r"^\[r:\d+\] .*Lamps.*\(harbour:L\d+-\d+\)$"],
            "absent": ["4711", "copper"],
        },
        find="search indexed content",
        queries=["lighthouse keeper"],
        save={"LAMPS": r"^\[(r:\d+)\] .*Lamps"},
    ),
    # as models do: one query for a list, a truth value as a word
    call(
        "search",
        {"contains": ["4711", "copper chest"], "absent": ["Ottilie"]},
        queries="lighthouse keeper",
        preview="true",
    ),
    call("search", {"contains": ["4711 lamps", "wicks"], "absent": ["Ottilie"]}, refs=["[${LAMPS}]"]),
    call("search", {"matches": [r"(?i)no match"], "absent": ["[r:"]}, queries=["zzqx unfindable"]),
    call("search", failing("unknown"), refs=["r:1"]),
    call("search", failing("refs"), limit=3),
    call(
        "index",
        {"matches": [r"\b\d+ sections?\b"]},
        content="# Broth\n\nThe saffron broth simmers for 95 minutes.\n",
        source="recipe",
    ),
    call(
        "index",
        {"matches": [r"(?i)replaced"]},
        content="# Broth\n\nThe saffron broth simmers for 110 minutes.\n",
        source="recipe",
    ),
    call(
        "search",
        {"contains": ["110 minutes"], "absent": ["95 minutes"]},
        queries=["how long does it simmer"],
        source="recipe",
        preview=True,
    ),
    call("index", failing("path"), content="a", source="b", path="notes.md"),
    call("index", {"matches": [r"^2 files · 2 sections.* · 2 added$"]}, path="source"),
    call("index", {"matches": [r"^2 files .*\b2 unchanged\b"]}, path="source"),
    call("search", {"contains": ["furnace"]}, queries=["apply_secrets"], content_type="code", preview=True),
    {
        "parallel": [
            call("search", {"contains": ["Ottilie"]}, queries=["who renews splices"], preview=True),
            call("search", {"contains": ["4711"]}, queries=["copper wicks"], preview=True),
        ]
    },
]

FETCH = [
    call(
        "fetch-index",
        {"matches": [r"\br:\d+"], "contains": ["html"], "absent": ["warden", "ash wood"]},
        find="fetch a page",
        url="http://${PAGES}/guide",
        source="orchard",
    ),
    call(
        "search",
        {"contains": ["17 days", "warden"], "absent": ["Scions"]},
        queries=["ladder inspection"],
        source="orchard",
        preview=True,
    ),
    call("fetch-index", failing("allow"), url="http://${FORBIDDEN}/"),
    call("fetch-index", failing("allow"), url="http://${PAGES}/jump"),
    call("fetch-index", failing("404"), url="http://${PAGES}/missing"),
    call(
        "fetch-index",
        {"contains": ["404"], "matches": [r"cached"]},
        requests=[{"url": "http://${PAGES}/guide", "source": "orchard"}, {"url": "http://${PAGES}/missing"}],
    ),
]

BACKGROUND = [
    call(
        "execute",
        {"contains": ["ready-81"], "matches": [r"execute:\d+ · r:\d+- · running"]},
        language="shell",
        background=True,
        code="echo ready-$((9*9)); while :; do sleep 0.2; done",
        save={"JOB": r"(execute:\d+) · r:\d+- · running", "GROWING": r"(r:\d+-) · running"},
    ),
    call("search", {"contains": ["ready-81"], "matches": [r"^\[running\]$"]}, refs=["${GROWING}"]),
    call("execute", {"matches": [r"execute:\d+ · r:\d+", r"(?i)signal|stopped|cancelled"]}, stop="${JOB}"),
    # this one is still running when the client goes: it must not be left behind
    call(
        "execute",
        {"contains": ["ready-49"], "matches": [r"execute:\d+ · r:\d+- · running"]},
        language="shell",
        background=True,
        code="echo ready-$((7*7)); trap '' TERM; while :; do sleep 0.2; done",
    ),
]

SCRIPT = {
    "tools": ["batch", "exec-file", "execute", "fetch-index", "index", "search"],
    "max_list_bytes": 4096,
    "max_answer_bytes": {
        "execute": 8192,
        "exec-file": 8192,
        "search": 8192,
        "batch": 12288,
        "index": 4096,
        "fetch-index": 4096,
    },
    "max_error_bytes": 512,
    "error_opening": r"error: ",
    "files": {
        "readings.csv": "n,value\n" + "".join("%d,%d\n" % row for row in enumerate(READINGS, 1)),
        "steps.log": LOG,
        "notes.md": NOTES,
        "birds.txt": BIRDS,
        "source/keys.rs": SOURCE,
        "source/Makefile": "all:\n\techo built\n",
    },
    # the operator allows one loopback server and no other
    "home": {".config/quietcontext/config.toml": '[fetch]\nallow = ["${PAGES}"]\n'},
    "pages": {
        "/guide": GUIDE,
        "/jump": {"body": "", "status": 302, "headers": {"Location": "http://${FORBIDDEN}/"}},
    },
    "calls": EXECUTE + REUSE + OVERSIZED + EXEC_FILE + BATCH + INDEX_AND_SEARCH + FETCH + BACKGROUND,
}
