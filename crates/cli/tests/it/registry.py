"""A stand-in for the registries of real tools, all at one address; every request is a line of the log.

registry.py ADDRESS NAME FOLDER [CERTIFICATE KEY]: prints its port. FOLDER/git has bare repositories.
"""

import base64
import hashlib
import http.server
import io
import json
import os
import ssl
import subprocess
import sys
import tarfile
import zipfile

ADDRESS, NAME, FOLDER = sys.argv[1:4]
WORD = "from the registry"


def archive(files):
    """A gzipped tar of names and texts."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def zipped(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


PACKAGE = archive(
    {
        "package/package.json": '{"name":"sampled","version":"1.0.0","main":"index.js"}',
        "package/index.js": "module.exports = %r" % WORD,
    }
)
WHEEL = zipped(
    {
        "sampled.py": "WORD = %r\n" % WORD,
        "sampled-1.0.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: sampled\nVersion: 1.0.0\n",
        "sampled-1.0.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "sampled-1.0.0.dist-info/RECORD": "sampled.py,,\nsampled-1.0.0.dist-info/METADATA,,\n"
        "sampled-1.0.0.dist-info/WHEEL,,\nsampled-1.0.0.dist-info/RECORD,,\n",
    }
)
CRATE = archive(
    {
        "sampled-1.0.0/Cargo.toml": '[package]\nname = "sampled"\nversion = "1.0.0"\nedition = "2021"\n',
        "sampled-1.0.0/src/lib.rs": "pub const WORD: &str = %s;\n" % json.dumps(WORD),
    }
)
MODULE = "module example.com/sampled\n"
MODULE_ZIP = zipped(
    {
        "example.com/sampled@v1.0.0/go.mod": MODULE,
        "example.com/sampled@v1.0.0/sampled.go": "package sampled\n\nconst Word = %s\n" % json.dumps(WORD),
    }
)


def pages(base):
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(PACKAGE).digest()).decode()
    version = {
        "name": "sampled",
        "version": "1.0.0",
        "dist": {"tarball": base + "/npm/sampled/-/sampled-1.0.0.tgz", "integrity": integrity},
    }
    crate = {
        "name": "sampled",
        "vers": "1.0.0",
        "deps": [],
        "cksum": hashlib.sha256(CRATE).hexdigest(),
        "features": {},
        "yanked": False,
    }
    return {
        "/hello": WORD,
        "/api/v3/hello": json.dumps({"word": WORD}),
        "/npm/sampled": json.dumps(
            {"name": "sampled", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
        ),
        "/npm/sampled/-/sampled-1.0.0.tgz": PACKAGE,
        "/simple/sampled/": '<html><body><a href="/files/sampled-1.0.0-py3-none-any.whl">sampled</a></body></html>',
        "/files/sampled-1.0.0-py3-none-any.whl": WHEEL,
        "/cargo/config.json": json.dumps({"dl": base + "/crates"}),
        "/cargo/sa/mp/sampled": json.dumps(crate) + "\n",
        "/crates/sampled/1.0.0/download": CRATE,
        "/go/example.com/sampled/@v/list": "v1.0.0\n",
        "/go/example.com/sampled/@v/v1.0.0.info": '{"Version":"v1.0.0"}',
        "/go/example.com/sampled/@v/v1.0.0.mod": MODULE,
        "/go/example.com/sampled/@v/v1.0.0.zip": MODULE_ZIP,
    }


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        with open(os.path.join(FOLDER, "log"), "a") as log:
            log.write("%s %s\n" % (self.command, self.path))

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        data = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def answer(self, status, body, kind="application/octet-stream"):
        body = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def git(self, path, query, body):
        variables = {
            "GIT_PROJECT_ROOT": os.path.join(FOLDER, "git"),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_USER": "somebody",
            "CONTENT_LENGTH": str(len(body)),
        }
        ran = subprocess.run(["git", "http-backend"], input=body, capture_output=True, env={**os.environ, **variables})
        head, _, out = ran.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        self.answer(int(fields.get("Status", "200").split()[0]), out, fields.get("Content-Type", "text/plain"))

    def serve(self):
        path, _, query = self.path.partition("?")
        body = self.body()
        if path.startswith("/git/"):
            return self.git(path[len("/git") :], query, body)
        page = pages(BASE).get(path)
        if page is None:
            return self.answer(404, "nothing here")
        if path.startswith("/api/") and self.headers.get("Authorization") != "token of mine":
            return self.answer(401, '{"message":"who are you?"}')
        kind = "text/html" if path.startswith("/simple") else "application/octet-stream"
        return self.answer(200, page, kind)

    do_GET = do_HEAD = do_POST = serve


server = http.server.ThreadingHTTPServer((ADDRESS, 0), Handler)
secure = len(sys.argv) > 4
BASE = "%s://%s:%d" % ("https" if secure else "http", NAME, server.server_port)
if secure:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*sys.argv[4:6])
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
