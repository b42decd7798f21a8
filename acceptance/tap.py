#!/usr/bin/env python3
"""tap.py LOG -- SERVER ARGS: runs an MCP server and records every line in both directions.

Bytes pass through unchanged. The server's standard error also goes to LOG.stderr. End of input,
SIGTERM, SIGINT and SIGHUP are passed on; the server's exit status becomes ours.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

STARTED = time.monotonic()
LOCK = threading.Lock()


def main():
    path, command = sys.argv[1], sys.argv[3:]
    log = open(path, "a", encoding="utf-8")

    def record(**row):
        row["t"] = round(time.monotonic() - STARTED, 5)
        with LOCK:
            log.write(json.dumps(row, ensure_ascii=False) + "\n")
            log.flush()

    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    record(dir="tap", event="start", pid=server.pid, cwd=os.getcwd())

    def pass_signal(number, _frame):
        record(dir="tap", event="signal", name=signal.Signals(number).name)
        try:
            server.send_signal(number)
        except OSError:
            pass

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, pass_signal)

    def record_line(direction, raw):
        try:
            record(dir=direction, bytes=len(raw), msg=json.loads(raw))
        except ValueError:
            record(dir=direction, bytes=len(raw), raw=raw[:2000].decode("utf-8", "replace"))

    def pump(source, sink, direction):
        for raw in source:
            record_line(direction, raw)
            try:
                sink.write(raw)
                sink.flush()
            except (BrokenPipeError, ValueError):
                return

    def pump_in():
        pump(sys.stdin.buffer, server.stdin, "to-server")
        record(dir="tap", event="end-of-input")
        try:
            server.stdin.close()
        except OSError:
            pass

    def pump_errors():
        with open(path + ".stderr", "ab") as file:
            for raw in server.stderr:
                file.write(raw)
                file.flush()
                try:
                    sys.stderr.buffer.write(raw)
                    sys.stderr.buffer.flush()
                except (BrokenPipeError, ValueError):
                    pass

    threading.Thread(target=pump_in, daemon=True).start()
    threading.Thread(target=pump_errors, daemon=True).start()
    output = threading.Thread(target=pump, args=(server.stdout, sys.stdout.buffer, "from-server"), daemon=True)
    output.start()
    status = server.wait()
    output.join(2)
    record(dir="tap", event="exit", status=status)
    os._exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
