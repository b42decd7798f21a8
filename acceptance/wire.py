"""What only the tap can see: bytes of the tool list, form and size of every answer."""

import hashlib
import json
import re


def read_rows(path):
    try:
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.strip()]
    except FileNotFoundError:
        return []


def check(session, script):
    """Checks every line that went over the wire, and adds what it saw to the report."""
    rows = read_rows(session.root / "wire.jsonl")
    sent, answered = {}, []
    for row in rows:
        message = row.get("msg")
        if row["dir"] == "from-server" and "raw" in row:
            session.problem("not JSON-RPC on the server's stdout: %r" % row["raw"][:200])
        if not isinstance(message, dict):
            continue
        identity = json.dumps(message.get("id"))
        if row["dir"] == "to-server" and "method" in message and "id" in message:
            sent[identity] = (row["t"], message)
        elif row["dir"] == "from-server" and "method" not in message and identity in sent:
            began, request = sent.pop(identity)
            answered.append((request, message, round(row["t"] - began, 4)))
    for _, request in sent.values():
        session.problem("never answered: %s" % json.dumps(request)[:200])
    facts = session.report["wire"] = {"calls": [], "lifecycle": [row for row in rows if row["dir"] == "tap"]}
    for request, answer, seconds in answered:
        if request["method"] == "tools/list":
            facts.update(check_list(session, script, answer))
        elif request["method"] in ("initialize", "server/discover") and "result" in answer:
            facts[request["method"]] = {"seconds": seconds, "instructions": answer["result"].get("instructions")}
        elif request["method"] == "tools/call":
            check_answer(session, script, request, answer)
            facts["calls"].append({"tool": request["params"].get("name"), "seconds": seconds})


def check_list(session, script, answer):
    tools = answer.get("result", {}).get("tools", [])
    compact = json.dumps(answer.get("result"), ensure_ascii=False, separators=(",", ":")).encode()
    most = script.document.get("max_list_bytes")
    if most and len(compact) > most:
        session.problem("the tools/list result takes %d bytes, at most %d wanted" % (len(compact), most))
    return {
        "list_bytes": len(compact),
        "tools": [tool["name"] for tool in tools],
        "list_sha256": hashlib.sha256(json.dumps(tools, ensure_ascii=False).encode()).hexdigest(),
    }


def check_answer(session, script, request, answer):
    tool = request["params"].get("name")
    label = "%s %s on the wire" % (tool, json.dumps(request["params"].get("arguments"))[:80])
    result = answer.get("result")
    if result is None:
        session.problem("%s: a JSON-RPC error: %s" % (label, json.dumps(answer.get("error"))[:200]))
        return
    content = result.get("content")
    if not isinstance(content, list) or len(content) != 1 or content[0].get("type") != "text":
        session.problem("%s: not exactly one text item: %s" % (label, json.dumps(content)[:200]))
        return
    if "structuredContent" in result:
        session.problem("%s: structuredContent is there" % label)
    text = content[0]["text"]
    most = script.document.get("max_answer_bytes", {}).get(tool)
    if result.get("isError"):
        most = script.document.get("max_error_bytes", most)
        opening = script.document.get("error_opening")
        if opening and not re.match(opening, text):
            session.problem("%s: the text of a failed call does not say so: %r" % (label, text[:80]))
    if tool in ("batch", "exec-file", "execute") and text.startswith("[unconfined]"):
        session.problem("%s: the run was not confined: %r" % (label, text[:80]))
    if most and len(text.encode()) > most:
        session.problem("%s: %d bytes, at most %d wanted" % (label, len(text.encode()), most))
