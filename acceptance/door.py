"""A way into the daemon for clients that can send no header of their own: adds the token and the root.

Everything else passes as it comes, the client's Host and Origin too, one request a connection; but a
tool that is known here by another name is called by its own.
"""

import json
import re
import socket
import threading


class Door:
    """Listens on a loopback port of its own until it is closed."""

    def __init__(self, port, headers, stand_ins=None):
        self.port, self.stand_ins = port, stand_ins or {}
        self.headers = "".join("%s: %s\r\n" % pair for pair in headers.items()).encode()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d/mcp" % self.listener.getsockname()[1]
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client, socket.create_connection(("127.0.0.1", self.port)) as server:
            data = b""
            while b"\r\n\r\n" not in data:
                piece = client.recv(65536)
                if not piece:
                    return
                data += piece
            head, _, body = data.partition(b"\r\n\r\n")
            line, *given = head.split(b"\r\n")
            size = re.search(rb"^content-length: *(\d+)", head, re.IGNORECASE | re.MULTILINE)
            while size and len(body) < int(size.group(1)):
                body += client.recv(65536)
            body = self.translated(body)
            ours = (b"connection:", b"content-length:")
            kept = [header for header in given if not header.lower().startswith(ours)]
            lines = b"".join(header + b"\r\n" for header in [line, *kept])
            length = b"Content-Length: %d\r\n" % len(body) if size else b""
            server.sendall(lines + self.headers + length + b"Connection: close\r\n\r\n" + body)
            back = threading.Thread(target=copy, args=(server, client), daemon=True)
            back.start()
            copy(client, server, end=False)
            back.join()

    def translated(self, body):
        try:
            message = json.loads(body)
            stand_in = self.stand_ins[message["params"]["name"]]
        except (ValueError, KeyError, TypeError):
            return body
        message["params"].update(stand_in)
        return json.dumps(message).encode()

    def close(self):
        self.listener.close()


def copy(source, target, end=True):
    """Until the source ends, or the target; a client that has gone is no failure."""
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    if end:
        for side in (source, target):
            try:
                side.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
