"""An agent's session of 21 tasks: what goes back and forth, beside what would have had to be read."""

import csv
import json
import random
import re

from machine import Place, corpus

REPORT = '''import collections, re, sys
text = FILE_CONTENT
lines = text.splitlines()
starts = [n for n, line in enumerate(lines) if re.match(r"\\s*(pub |async |unsafe )*fn \\w+", line)]
sizes = sorted(((after - start, start + 1) for start, after in zip(starts, starts[1:] + [len(lines)])), reverse=True)
used = collections.Counter(match[1] for line in lines if (match := re.match(r"\\s*use (\\w+)", line)))
print(len(lines), "lines,", len(starts), "functions, longest", sizes[:3])
print("uses", used.most_common(5), "marks", sum("TODO" in line for line in lines), "report-done")
'''


def project(folder):
    """The files that the session is about; the same in every run. Bytes by name."""
    draw = random.Random(7)
    levels = ["INFO"] * 90 + ["WARN"] * 8 + ["ERROR"] * 2
    log = [
        "2026-01-%02dT%02d:%02d:00Z %s worker-%d took %d ms for order %d"
        % (n // 1440 % 28 + 1, n // 60 % 24, n % 60, draw.choice(levels), n % 16, draw.randrange(2000), n)
        for n in range(30_000)
    ]
    log.insert(20_000, "2026-01-14T21:20:00Z FATAL payments: ledger mismatch code=E7731 order=88412")
    (folder / "app.log").write_text("\n".join(log) + "\n")
    items = [
        {"number": n, "author": "author-%d" % (n * n % 23), "labels": ["outage"] if n == 611 else ["bug"], "title": "x" * 200}
        for n in range(1200)
    ]
    (folder / "api.json").write_text(json.dumps({"items": items}))
    tests = ["test_%d (suite.Case%d) ... ok" % (n, n % 40) for n in range(4000)]
    tests[2500:2500] = ["test_rounding (billing.Invoice) ... FAIL"]
    tests += ["", "=" * 70, "FAIL: test_rounding (billing.Invoice)", "-" * 70, "Traceback (most recent call last):",
              '  File "billing.py", line 214, in test_rounding', "AssertionError: Decimal('10.23') != Decimal('10.22')",
              "", "-" * 70, "Ran 4001 tests in 9.120s", "", "FAILED (failures=1)"]
    (folder / "tests.txt").write_text("\n".join(tests) + "\n")
    with open(folder / "accounts.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "region", "plan", "seats", "revenue"])
        rows.writerows(
            [n, draw.choice(["eu", "us", "apac"]), draw.choice(["free", "team"]), draw.randrange(400), draw.randrange(90_000)]
            for n in range(8000)
        )
    prose = (corpus() / "prose.md").read_text(encoding="utf-8")
    (folder / "docs").mkdir()
    parts = [part for part in prose.split("\n\n# ") if len(part) > 2000]
    for number, part in enumerate(parts[:40]):
        (folder / "docs" / ("%02d.md" % number)).write_text("# " + part)
    (folder / "docs" / "rollout.md").write_text(
        "# Rollout\n\n## Canary\n\nA canary gets 3 percent of traffic for 45 minutes; it is aborted at 0.7 percent errors.\n"
    )
    (folder / "history.txt").write_text(prose[2_000_000:2_600_000])
    code = [part for part in parts if part.count("\nfn ") + part.count(" fn ") > 20][:5]
    for number, part in enumerate(code):
        (folder / ("source%d.rs" % number)).write_text(part)
    return {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*") if path.is_file()}


def tasks(size):
    """What is asked, the bytes that reading by hand would take, and a pattern of the answer."""

    def shell(code, **more):
        return ("execute", {"language": "shell", "code": code, **more})

    def python(code, **more):
        return ("execute", {"language": "python", "code": code, **more})

    def over(path, code):
        return ("exec-file", {"path": path, "language": "python", "code": code})

    def ask(*queries, **more):
        return ("search", {"queries": list(queries), "preview": True, "limit": 3, **more})

    log, docs = size["app.log"], sum(bytes_ for name, bytes_ in size.items() if name.startswith("docs"))
    yield [shell("grep -oE 'INFO|WARN|ERROR|FATAL' app.log | sort | uniq -c")], log, r"FATAL"
    yield [shell("grep -n FATAL app.log")], 0, r"E7731"
    yield [python("import collections,re\nc=collections.Counter()\nfor l in open('app.log'):\n m=re.search(r'(worker-\\d+) took (\\d+)',l)\n if m: c[m[1]]+=int(m[2])\nprint(c.most_common(3))")], 0, r"worker-"
    yield [shell("cat app.log", intent="ledger mismatch")], log, r"E7731"
    yield [ask("ledger mismatch E7731")], 0, r"88412"
    yield [over("api.json", "import json,collections\nprint(collections.Counter(i['author'] for i in json.loads(FILE_CONTENT)['items']).most_common(3))")], size["api.json"], r"author-"
    yield [over("api.json", "import json\nprint([i['number'] for i in json.loads(FILE_CONTENT)['items'] if 'outage' in i['labels']])")], 0, r"611"
    yield [("batch", {"commands": [{"label": "history", "command": "cat history.txt"}, {"label": "size", "command": "wc history.txt"}], "queries": ["error handling", "release notes", "how are tests run"]})], size["history.txt"], r"(?i)error"
    yield [ask("thread safety", "memory allocation")], 0, r"(?i)(thread|memory)"
    yield [shell("cat tests.txt; exit 1", intent="failing assertion")], size["tests.txt"], r"(?i)rounding|assert"
    yield [ask("test_rounding AssertionError")], 0, r"10\.23"
    for number in range(5):
        name = "source%d.rs" % number
        yield [over(name, REPORT)], size[name], r"report-done"
    yield [("index", {"path": "docs", "source": "docs"}), ask("when is a canary aborted", "licence", "minimum supported version", source="docs")], docs, r"0\.7 percent"
    yield [("batch", {"commands": ["ls -la . docs", "head -n 40 source*.rs", "grep -rn TODO docs || true", "wc -l *", "head -n 200 accounts.csv"], "queries": ["TODO", "columns of the accounts: region plan"], "concurrency": 4})], 30_000, r"region"
    yield [python("import csv,collections\nd=collections.Counter()\nfor r in csv.DictReader(open('accounts.csv')): d[r['region']]+=int(r['revenue'])\nprint(dict(d))")], size["accounts.csv"], r"apac"
    yield [shell("seq -f 'step %g of the build' 1 3000; echo 'main.c:3:5: error: no such thing'; exit 2")], 70_000, r"main\.c:3:5"
    yield [shell("date +%Y; pwd")], 40, r"20\d\d"


def session(servers, quick):
    """21 tasks on generated files: bytes of requests and answers, beside the bytes of what they replace."""
    result = {}
    for server in servers:
        with Place() as place:
            size = project(place / "project")
            client = server.start(place)
            client.handshake()
            known, asked, answered, raw, good, count, missing = {}, 0, 0, 0, 0, 0, []
            for calls, instead, wanted in tasks(size):
                texts = []
                for tool, arguments in calls:
                    if arguments.get("code") in known:
                        arguments = {key: value for key, value in arguments.items() if key not in ("code", "language")}
                        arguments["script_ref"] = known[REPORT]
                    text, _, _ = client.call(tool, arguments)
                    asked += len(json.dumps({"name": tool, "arguments": arguments}).encode())
                    reference = re.search(r"\[(s:[0-9a-f]{16})\]\s*$", text)
                    if reference and arguments.get("code") == REPORT:
                        known[REPORT] = reference[1]
                    texts.append(text)
                answered += sum(len(text.encode()) for text in texts)
                found = re.search(wanted, "\n".join(texts)) is not None
                good, count, raw = good + found, count + 1, raw + instead
                if not found:
                    missing.append(wanted)
            listed = len(json.dumps(client.list, ensure_ascii=False, separators=(",", ":")).encode())
            client.close()
            result[server.name] = {
                "tasks answered": "%d of %d" % (good, count),
                "requests B": asked,
                "answers B": answered,
                "tool list B": listed,
                "read instead B": raw,
                "answers / read instead": answered / raw,
                "without an answer": ", ".join(missing) or "none",
            }
    return result
