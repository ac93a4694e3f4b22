"""HTTP/1.1 over one socket, byte for byte as given. Standard clients would correct or refuse broken requests."""

import json
import socket

#: Seconds until a request without an answer counts as a failure.
PATIENCE = 60


class NoAnswer(Exception):
    """The server closed the connection, or did not answer in time."""


class Request:
    """The bytes of a request (`raw`), and the answers that it allows."""

    def __init__(self, route, method, raw, is_rude=False, half_closes=False, mutations=()):
        self.route = route
        self.method = method
        self.raw = raw
        #: The request breaks HTTP: the server may close the connection, or answer 400 without a body.
        self.is_rude = is_rude
        #: The client closes its side of the connection after the request.
        self.half_closes = half_closes
        self.mutations = mutations

    def curl(self, base):
        """Returns a shell command that sends the same request."""
        head, _, body = self.raw.partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        try:
            method, target, _ = lines[0].decode("ascii").split(" ")
            fields = [line.decode("ascii") for line in lines[1:]]
        except ValueError:
            return self.netcat(base)
        chunked = any("transfer-encoding" in field.lower() for field in fields)
        if self.is_rude or chunked:
            return self.netcat(base)
        command = ["curl", "-sS", "-i", "--path-as-is", "-X", quoted(method)]
        for field in fields:
            if not field.lower().startswith(("host:", "content-length:")):
                command += ["-H", quoted(field)]
        if body:
            command += ["--data-binary", quoted(body)]
        return " ".join(command + [quoted(base + target)])

    def netcat(self, base):
        host, port = base.removeprefix("http://").split(":")
        return f"printf %s {quoted(self.raw)} | nc -q 5 {host} {port}"


def quoted(text):
    """Returns `text`, or bytes, as a quoted word of bash."""
    data = text.encode() if isinstance(text, str) else text
    if data and all(0x20 < byte < 0x7F and byte != 0x27 for byte in data):
        return "'" + data.decode("ascii") + "'"
    escaped = "".join(chr(byte) if 0x20 <= byte < 0x7F and byte not in b"'\\" else f"\\x{byte:02x}" for byte in data)
    return f"$'{escaped}'"


class Answer:
    def __init__(self, status, fields, body):
        self.status = status
        self.fields = fields
        self.body = body
        #: The parsed body. The oracle sets it.
        self.json = None

    @property
    def media_type(self):
        return self.fields.get("content-type", "").split(";")[0].strip().lower()

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")


class Connection:
    """A keep-alive connection, which opens on demand."""

    def __init__(self, host, port):
        self.address = (host, port)
        self.socket = None
        self.buffer = b""

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket = None
        self.buffer = b""

    def exchange(self, request):
        """Sends `request` and returns the answer. Raises `NoAnswer` if there is none."""
        is_reused = self.socket is not None
        try:
            return self._exchange(request)
        except (OSError, NoAnswer) as error:
            self.close()
            # The server may close an idle connection while the request is on its way: retry once.
            if is_reused and not request.is_rude:
                try:
                    return self._exchange(request)
                except (OSError, NoAnswer) as again:
                    self.close()
                    raise NoAnswer(f"{type(again).__name__} {again}") from None
            raise NoAnswer(f"{type(error).__name__} {error}") from None

    def _exchange(self, request):
        if self.socket is None:
            self.socket = socket.create_connection(self.address, timeout=PATIENCE)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self.socket.sendall(request.raw)
            if request.half_closes:
                self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            # The server may answer a broken request before it has read all of it.
            if not request.is_rude:
                raise
        answer = self._read(request.method)
        if request.is_rude or request.half_closes or answer.fields.get("connection", "").lower() == "close":
            self.close()
        return answer

    def _fill(self):
        more = self.socket.recv(1 << 16)
        if not more:
            raise NoAnswer("connection closed")
        self.buffer += more

    def _line(self):
        while b"\r\n" not in self.buffer:
            self._fill()
        line, _, self.buffer = self.buffer.partition(b"\r\n")
        return line

    def _bytes(self, count):
        while len(self.buffer) < count:
            self._fill()
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def _read(self, method):
        while True:
            version, status, _ = (self._line() + b" ").split(b" ", 2)
            if not version.startswith(b"HTTP/1."):
                raise NoAnswer(f"the answer is not HTTP: {version[:40]!r}")
            fields = {}
            while line := self._line():
                name, _, value = line.decode("latin-1").partition(":")
                fields[name.lower()] = value.strip()
            status = int(status)
            if status >= 200:
                break
        body = b""
        if method == "HEAD" or status in (204, 304):
            pass
        elif "content-length" in fields:
            body = self._bytes(int(fields["content-length"]))
        elif fields.get("transfer-encoding", "").lower() == "chunked":
            while size := int(self._line().split(b";")[0], 16):
                body += self._bytes(size)
                self._line()
            while self._line():
                pass
        return Answer(status, fields, body)


def parsed(body):
    """Returns the JSON in `body`. Raises `ValueError` if it is not JSON or not UTF-8."""
    return json.loads(body.decode("utf-8", "strict"))
