"""An MCP client over pipes, what /proc tells about a process, and small statistics."""

import json
import os
import select
import signal
import statistics
import subprocess
import threading
import time

TICKS = os.sysconf("SC_CLK_TCK")


class Client:
    """One server process; blocking calls, one thread, so that latencies are the server's."""

    def __init__(self, command, cwd, environment):
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
        self.pid = self.process.pid
        self.output = self.process.stdout.fileno()
        self.rest = b""
        self.last = 0

    def send(self, method, parameters, notification=False):
        message = {"jsonrpc": "2.0", "method": method, "params": parameters}
        if not notification:
            self.last += 1
            message["id"] = self.last
        self.process.stdin.write(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        return self.last

    def receive(self, identity, timeout):
        """The answer with this identity; others are dropped."""
        deadline = time.perf_counter() + timeout
        while True:
            line, found, rest = self.rest.partition(b"\n")
            if found:
                self.rest = rest
                message = json.loads(line)
                if message.get("id") == identity and "method" not in message:
                    return message
                continue
            left = deadline - time.perf_counter()
            if left <= 0 or not select.select([self.output], [], [], left)[0]:
                raise TimeoutError("no answer within %.0f s" % timeout)
            data = os.read(self.output, 1 << 20)
            if not data:
                raise EOFError("the server ended")
            self.rest += data

    def request(self, method, parameters, timeout=120):
        return self.receive(self.send(method, parameters), timeout)

    def handshake(self):
        """`initialize` and `tools/list`; seconds from the spawn to the answer of each."""
        self.request(
            "initialize",
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
        )
        initialized = time.perf_counter() - self.began
        self.send("notifications/initialized", {}, notification=True)
        self.list = self.request("tools/list", {})["result"]
        return initialized, time.perf_counter() - self.began

    def call(self, tool, arguments, timeout=300):
        """One tool call: its text, whether it failed, and seconds."""
        began = time.perf_counter()
        answer = self.request("tools/call", {"name": tool, "arguments": arguments}, timeout)
        seconds = time.perf_counter() - began
        result = answer.get("result", {})
        text = "\n".join(item.get("text", "") for item in result.get("content", []))
        return text, bool(result.get("isError")) or "error" in answer, seconds

    def close(self):
        """End of input, then signals to this server's own group; seconds to its end."""
        began = time.perf_counter()
        self.process.stdin.close()
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number:
                os.killpg(self.pid, number)
            try:
                self.process.wait(3)
                break
            except subprocess.TimeoutExpired:
                continue
        self.process.stdout.close()
        return time.perf_counter() - began


def status(pid, field):
    """A number of /proc/PID/status; memory in bytes."""
    with open("/proc/%d/status" % pid) as file:
        for line in file:
            if line.startswith(field + ":"):
                words = line.split()
                return int(words[1]) * (1024 if words[-1] == "kB" else 1)
    return 0


def proportional_bytes(pid):
    try:
        with open("/proc/%d/smaps_rollup" % pid) as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))
    except OSError:
        return 0


def cpu_seconds(pid):
    """User and system time of a process and its reaped children."""
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rpartition(")")[2].split()
    return sum(int(value) for value in fields[11:15]) / TICKS


def forget_peak(pid):
    """Resets the peak of resident memory to what it is now."""
    with open("/proc/%d/clear_refs" % pid, "w") as file:
        file.write("5")


def wait_quiet(pid, quiet=0.4, timeout=120):
    """Waits until a process uses no processor time for `quiet` seconds; returns when it last did."""
    last, used, deadline = time.perf_counter(), cpu_seconds(pid), time.perf_counter() + timeout
    while time.perf_counter() - last < quiet and time.perf_counter() < deadline:
        time.sleep(0.02)
        now = cpu_seconds(pid)
        if now != used:
            last, used = time.perf_counter(), now
    return last


class Peak(threading.Thread):
    """Samples the resident memory of a process while it is open (for kernels without a reset)."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.bytes, self.over = pid, 0, threading.Event()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()

    def run(self):
        while not self.over.is_set():
            try:
                self.bytes = max(self.bytes, status(self.pid, "VmRSS"))
            except OSError:
                return
            self.over.wait(0.005)


def summary(values):
    """Median, 95th percentile, least and number."""
    ordered = sorted(values)
    return {
        "median": statistics.median(ordered),
        "p95": ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))],
        "min": ordered[0],
        "n": len(ordered),
    }
