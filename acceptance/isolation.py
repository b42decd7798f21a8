"""Where a session runs: a network of its own, page servers on loopback, and what it leaves behind."""

import ctypes
import errno
import fcntl
import os
import socket
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

MARK = "ACCEPTANCE_MARK"


def isolate_network():
    """Moves this process into a network namespace that has only loopback; True when it worked.

    Must run before any thread starts.
    """
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    new_network, new_user = 0x40000000, 0x10000000
    user, group = os.getuid(), os.getgid()
    if libc.unshare(new_network) != 0:
        if ctypes.get_errno() != errno.EPERM or libc.unshare(new_user | new_network) != 0:
            return False
        try:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text("%d %d 1" % (user, user))
            Path("/proc/self/gid_map").write_text("%d %d 1" % (group, group))
        except OSError:
            return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        get_flags, set_flags, up = 0x8913, 0x8914, 1
        try:
            request = struct.pack("16sH14x", b"lo", 0)
            flags = struct.unpack("16sH14x", fcntl.ioctl(control, get_flags, request))[1]
            fcntl.ioctl(control, set_flags, struct.pack("16sH14x", b"lo", flags | up))
        except OSError:
            return False
    return True


class Pages(ThreadingHTTPServer):
    """Serves the script's pages on loopback and remembers which paths were asked for."""

    daemon_threads = True

    def __init__(self, pages):
        super().__init__(("127.0.0.1", 0), PageHandler)
        self.pages = {path: page if isinstance(page, dict) else {"body": page} for path, page in pages.items()}
        self.asked = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def host_port(self):
        return "127.0.0.1:%d" % self.server_address[1]


class PageHandler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        self.server.asked.append(self.path)
        page = self.server.pages.get(self.path)
        if page is None:
            self.send_error(404)
            return
        data = page["body"].encode()
        self.send_response(int(page.get("status", 200)))
        self.send_header("Content-Type", page.get("type", "text/html; charset=utf-8"))
        for name, value in page.get("headers", {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def processes_of(mark, folder):
    """Processes that carry the session's mark or work below its folder: {pid: command line}."""
    wanted, below, found = ("%s=%s" % (MARK, mark)).encode(), str(folder) + os.sep, {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            command = (
                Path("/proc", name, "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
            )
            marked = wanted in Path("/proc", name, "environ").read_bytes().split(b"\0")
            inside = (os.readlink("/proc/%s/cwd" % name) + os.sep).startswith(below)
        except OSError:
            continue
        if command and (marked or inside):  # a zombie has no command line
            found[int(name)] = command[:200]
    return found
