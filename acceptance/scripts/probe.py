"""For probe.py: proves the bench itself, every kind of expectation once."""

import json


def order(answer, **more):
    return json.dumps(dict(more, answer=answer))


SCRIPT = {
    "tools": ["batch", "exec-file", "execute", "fetch-index", "index", "search"],
    "max_list_bytes": 4096,
    "max_answer_bytes": {"execute": 8192},
    "max_error_bytes": 512,
    "error_opening": "error: ",
    "files": {"data.txt": "".join("line %d, é and 日本\n" % n for n in range(300)) + "\n\nno newline at the end"},
    "pages": {"/page": "<p>a page</p>"},
    "calls": [
        {
            "tool": "execute",
            "find": "run code in a process",
            "arguments": {"language": "python", "code": order("stored as id-4711")},
            "expect": {"matches": [r"\Astored as id-\d+\Z"], "max_bytes": 40},
            "save": {"ID": "(id-[0-9]+)"},
        },
        {
            "tool": "search",
            "arguments": {"queries": [order("found ${ID}")]},
            "expect": {"contains": ["found id-4711"], "absent": ["$"]},
        },
        {
            "tool": "exec-file",
            "arguments": {"path": "data.txt", "code": order("error: no", isError=True)},
            "expect": {"matches": [r"\Aerror: no"], "is_error": True},
        },
        {
            "parallel": [
                {
                    "tool": "batch",
                    "arguments": {"commands": [{"label": "a", "command": order("slow one", sleep=0.2)}]},
                    "expect": {"matches": [r"\Aslow one\Z"]},
                },
                {
                    "tool": "index",
                    "arguments": {"content": order("quick one")},
                    "expect": {"matches": [r"\Aquick one\Z"]},
                },
            ]
        },
        {
            "tool": "fetch-index",
            "arguments": {"url": "http://${PAGES}/page", "source": order("page", forbidden="http://${FORBIDDEN}/")},
            "expect": {"matches": [r"\Apage\Z"]},
        },
        {"tool": "search", "arguments": {"refs": ["r:1-3"]}, "joins_to": "data.txt", "min_pages": 3},
    ],
}
