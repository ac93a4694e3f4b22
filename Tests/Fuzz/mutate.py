"""Mutates valid requests: the structure of the JSON, the bytes of the body, and HTTP itself."""

import copy
import json
import re
import urllib.parse

import wire


class Raw(bytes):
    """Bytes in a document that are written without encoding."""


class Pairs:
    """A JSON object as pairs. Names may repeat."""

    def __init__(self, pairs):
        self.pairs = list(pairs)


class Deep:
    """`depth` nested arrays or objects, built without recursion."""

    def __init__(self, opening, closing, depth, inner=b"1"):
        self.raw = opening * depth + inner + closing * depth


def encode(value):
    """Returns `value` as JSON. `value` may contain `Raw`, `Deep` and `Pairs`."""
    match value:
        case Raw():
            return bytes(value)
        case Deep():
            return value.raw
        case Pairs():
            members = [encode(name) + b":" + encode(member) for name, member in value.pairs]
            return b"{" + b",".join(members) + b"}"
    try:
        return json.dumps(value).encode()
    except TypeError:
        pass
    match value:
        case dict():
            return encode(Pairs(value.items()))
        case _:
            return b"[" + b",".join(map(encode, value)) + b"]"


HUGE = Raw(b'"' + b"x" * 100_000 + b'"')

NASTY = [
    0, -1, 1, 1.5, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 10**30, Raw(b"-0"), Raw(b"1e400"),
    Raw(b"-1e-400"), Raw(b"01"), Raw(b"1."), Raw(b"1E+"), Raw(b"NaN"), Raw(b"-Infinity"), Raw(b"0x10"), Raw(b"9" * 400),
    True, False, None, "true", "0", "-1", "9223372036854775808", "1e3", "",  " ", "\n", "{}", "[]", "null", "owner",
    "\x00", "a\x00b", "\x01\x7f\x9f", "\u202e\u200d\ufeff", "\ud800", "\udfff\ud800", "🙂" * 40, "ｆｕｌｌ", "ǅ", "İ", "ß",
    "a@example.com\r\nBcc: b@example.com", "' OR 1=1 --", "${jndi:ldap://x}", "../../etc/passwd", "%00%ff%", "a" * 129,
    "a" * 257, "a@" + "b" * 300 + ".example", "é" * 2049, HUGE,
    Raw(b'"\xff\xfe"'), Raw(b'"\xc0\xaf"'), Raw(b'"\xed\xa0\x80"'), Raw(b'"\xf4\x90\x80\x80"'), Raw(b'"\\u12"'),
    Raw(b'"\\x"'), Raw(b'"a\nb"'), Raw(b'"open'), Raw(b"'single'"), Raw(b"undefined"), Raw(b""), Raw(b"/* */1"),
    [], {}, [None], [[]], [{}], {"": 1}, {"a": {"b": [1]}},
    *(Raw(encode(many)) for many in [["x"] * 2000, list(range(1001)), [{"a": 1}] * 1001, {f"{n}": n for n in range(300)}]),
    Deep(b"[", b"]", 62), Deep(b"[", b"]", 64), Deep(b'{"a":', b"}", 63), Deep(b"[", b"]", 3000), Deep(b"[", b"", 5000),
    Deep(b'{"a":', b"}", 2000),
]  # fmt: skip


def places(value, found=None):
    """Returns each container in `value` with each of its keys or indexes."""
    found = [] if found is None else found
    if isinstance(value, dict):
        keys = list(value)
    elif isinstance(value, list):
        keys = range(len(value))
    else:
        return found
    for key in keys:
        found.append((value, key))
        places(value[key], found)
    return found


def snake_case(name):
    return re.sub(r"[A-Z]", lambda letter: "_" + letter[0].lower(), name)


def odd_text(rng, text):
    """Returns `text` with a small change."""
    at = rng.randrange(len(text) + 1)
    return rng.choice(
        [
            text[:at], text[at:], text.upper(), text + text, text[:at] + rng.choice("\x00 🙂\n\\\"%.é") + text[at:],
            text[:at] + chr(rng.randrange(0x20, 0x250)) + text[at + 1 :], text[::-1], " " + text, text + "\t",
            text[:at] + rng.choice("AZaz09-_=") + text[at + 1 :],
        ]
    )  # fmt: skip


def mutate_document(rng, body, pinned, all_names):
    """Changes one member in a copy of `body`, and none that is `pinned`. Returns the copy and a name for the change."""
    body = copy.deepcopy(body)
    found = [(container, key) for container, key in places(body) if key not in pinned]
    names = [(container, key) for container, key in found if isinstance(container, dict)]
    choice = rng.randrange(10)
    if not found or choice == 0:
        # A field of another route, or of no route.
        body[rng.choice(all_names)] = rng.choice(NASTY)
        return body, "more"
    container, key = rng.choice(found)
    if choice == 1:
        del container[key]
        return body, f"no {key}"
    if choice == 2 and names:
        container, key = rng.choice(names)
        container[snake_case(key)] = container.pop(key)
        return body, f"snake {key}"
    if choice == 3 and names:
        container, key = rng.choice(names)
        others = [(key, rng.choice(NASTY)) for _ in range(rng.choice([1, 1, 1, 2000]))]
        pairs = Pairs([*container.items(), *others])
        if rng.random() < 0.5:
            pairs.pairs.reverse()
        replaced = replace(body, container, pairs)
        return replaced, f"twice {key}"
    if choice == 4 and isinstance(container[key], str):
        container[key] = odd_text(rng, container[key])
        return body, f"odd {key}"
    if choice == 5:
        container[key] = [container[key]] if rng.random() < 0.5 else {"value": container[key]}
        return body, f"wrapped {key}"
    if choice == 6:
        return rng.choice(NASTY), "nasty document"
    container[key] = rng.choice(NASTY)
    return body, f"nasty {key}"


def replace(value, old, new):
    """Returns `value` with `new` in place of the container `old`."""
    if value is old:
        return new
    if isinstance(value, dict):
        return {name: replace(member, old, new) for name, member in value.items()}
    if isinstance(value, list):
        return [replace(member, old, new) for member in value]
    return value


def mutate_bytes(rng, data):
    """Changes the bytes of a body. Returns them and a name for the change."""
    at = rng.randrange(len(data) + 1)
    match rng.randrange(9):
        case 0:
            return data[:at], "cut"
        case 1:
            return data[:at] + bytes(rng.randrange(256) for _ in range(rng.randrange(1, 9))) + data[at:], "noise"
        case 2 if data:
            at %= len(data)
            return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :], "bit"
        case 3:
            return data + data, "two documents"
        case 4:
            return b"\xef\xbb\xbf" + data, "byte order mark"
        case 5:
            return b" \r\n\t" * rng.choice([1, 1000]) + data, "blanks"
        case 6:
            return b"", "empty"
        case 7 if rng.random() < 0.02:
            return data[:-1] + b" " * (2 << 20) + data[-1:], "2 MiB"
        case _:
            return urllib.parse.urlencode({"grant_type": "refresh_token", "a": "%", "": "é"}).encode() + data, "form"


CONTENT_TYPES = [
    "application/json", "application/json; charset=utf-16", "text/plain", "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x", "application/xml", "", "x" * 300, "application/json, text/html", "/", "*/*; q=é",
]  # fmt: skip

ODD_FIELDS = [
    ("X-Firebase-Locale", "de"), ("X-Firebase-Locale", "&x=1"), ("X-Firebase-Locale", "a" * 4000),
    ("Accept-Language", "zh-TW,en;q=0.5"), ("Accept-Language", ";;;"), ("X-Ios-Bundle-Identifier", "com.example.app"),
    ("X-Ios-Bundle-Identifier", "é" * 200), ("Idempotency-Key", "key-1"), ("Idempotency-Key", ""),
    ("Idempotency-Key", "x" * 256), ("If-Match", '"1"'), ("If-Match", "*"), ("If-Match", '"99999999999999999999"'),
    ("If-Match", 'W/"1"'), ("If-None-Match", "*"), ("Concord-Proof", "nonsense"), ("Origin", "https://evil.example"),
    ("Origin", "null"), ("X-Forwarded-For", "1.2.3.4, é"), ("Forwarded", "for=_x"), ("X-Goog-Api-Key", ""),
    ("X-Goog-Api-Key", "nonsense"), ("Authorization", "Bearer"), ("Authorization", "Bearer "), ("Authorization", "Basic eA=="),
    ("Authorization", "bearer   nonsense"), ("Authorization", "Bearer " + "a." * 3000), ("Authorization", "Bearer ya29.x"),
    ("Expect", "100-continue"), ("Accept-Encoding", "gzip"), ("Cookie", "a=" + "b" * 3000), ("Range", "bytes=0-1"),
    ("Access-Control-Request-Method", "POST"), ("Access-Control-Request-Headers", "x, é"), ("X-Nothing", ""),
]  # fmt: skip


def mutate_target(rng, path, query):
    """Changes path or query. Returns both and a name for the change."""
    at = rng.randrange(1, len(path) + 1)
    match rng.randrange(10):
        case 0:
            return path.replace(":", "%3A").replace("/v1", "//v1"), query, "escaped"
        case 1:
            return path + rng.choice(["/", "/x", ":x", "%00", "%2F", "?", ";a=b", "%FF", "%zz"]), query, "path end"
        case 2:
            return (
                path[:at] + rng.choice(["%", "%C3%A9", "..", "/./", "/../", "'", '"', "{", "|"]) + path[at:],
                query,
                "path",
            )
        case 3:
            return path.swapcase(), query, "case"
        case 4:
            return path + "/" + "a" * rng.choice([200, 5000, 30_000]), query, "long path"
        case 5:
            return path, [pair for pair in query if rng.random() < 0.5], "less query"
        case 6:
            return path, query + query, "query twice"
        case _:
            name = rng.choice(
                [
                    "key",
                    "tenantId",
                    "pageSize",
                    "pageToken",
                    "maxResults",
                    "nextPageToken",
                    "updateMask",
                    "localId",
                    "uid",
                    "version",
                    "clientType",
                    "idpId",
                    "oauthIdpConfigId",
                    "apiKey",
                    "é",
                ]
            )
            value = rng.choice(["", "0", "-1", "9" * 30, "x", "%00", "%", "%ff", "a,b..c", "é", "a" * 3000, "owner"])
            others = [pair for pair in query if pair[0] != name]
            return path, others + [(name, value)], f"query {name}"


def chunks(rng, body):
    """Returns `body` in valid chunks of random size."""
    parts = []
    while body:
        size = min(len(body), rng.choice([1, 3, 16, 1000, 65536]))
        extension = rng.choice([b"", b"", b";a=b", b';q="x"'])
        parts.append(f"{size:{rng.choice(['x', 'X', '08x'])}}".encode() + extension + b"\r\n" + body[:size] + b"\r\n")
        body = body[size:]
        if len(parts) > 200:
            parts.append(f"{len(body):x}\r\n".encode() + body + b"\r\n" if body else b"")
            break
    return b"".join(parts) + b"0\r\n" + rng.choice([b"", b"", b"X-Trailer: 1\r\n"]) + b"\r\n"


class Draft:
    """A request before its bytes are written."""

    def __init__(self, method, path, query, fields, body, is_form, is_pinned):
        self.method = method
        self.path = path
        self.query = query
        self.fields = fields
        #: JSON, bytes, or `None`.
        self.body = body
        self.content_type = "application/x-www-form-urlencoded" if is_form else "application/json"
        #: The unchanged body of a form. A mutated body is not encoded as a form.
        self.form = body if is_form else None
        #: The body names hosts that the server calls. They are not mutated, so that it calls no foreign hosts.
        self.is_pinned = is_pinned
        self.mutations = []

    def data(self):
        """Returns the bytes of the body."""
        if self.body is None or isinstance(self.body, bytes) and not isinstance(self.body, Raw):
            return self.body
        if self.form is not None and self.body is self.form:
            return urllib.parse.urlencode(self.body).encode()
        return encode(self.body)

    def mutate(self, rng, pinned, all_names):
        """Applies one random mutation."""
        while (what := self._mutate(rng, pinned, all_names)) is None:
            pass
        self.mutations.append(what)

    def _mutate(self, rng, pinned, all_names):
        what = None
        match rng.randrange(12):
            case 0 | 1 | 2 | 3 | 4 if isinstance(self.body, dict):
                body, what = mutate_document(rng, self.body, pinned, all_names)
                if isinstance(body, dict) or not self.is_pinned:
                    self.body = body
            case 5 | 6 if self.body is not None and not self.is_pinned:
                self.body, what = mutate_bytes(rng, self.data())
            case 7:
                self.path, self.query, what = mutate_target(rng, self.path, self.query)
            case 8:
                self.fields = [*self.fields, rng.choice(ODD_FIELDS)]
                what = f"field {self.fields[-1][0]}"
            case 9:
                self.fields = [field for field in self.fields if rng.random() < 0.5]
                what = "fewer fields"
            case 10:
                self.content_type = rng.choice(CONTENT_TYPES)
                what = f"type {self.content_type[:20]}"
            case 11 if not self.is_pinned:
                self.method = rng.choice(METHODS)
                what = f"method {self.method}"
        return what

    def request(self, rng, route, host):
        """Returns the request. If the draft was mutated, HTTP itself may be broken as well."""
        data = self.data()
        fields = self.fields if data is None else [*self.fields, ("Content-Type", self.content_type)]
        query = "&".join(f"{name}={value}" for name, value in self.query)
        target = self.path + ("?" + query if query else "")
        target = target.replace(" ", "%20").replace("\r", "%0D").replace("\n", "%0A").encode("utf-8", "surrogatepass")
        lines = [self.method.encode() + b" " + target + b" HTTP/1.1", b"Host: " + host.encode()]
        lines += [f"{name}: {value}".encode() for name, value in fields]
        # HTTP does not allow such methods and targets.
        is_rude = not self.method.isupper() or len(self.method) < 3 or bool(re.search(rb"[^!-~]", target))
        payload = data or b""
        broken = None
        if self.mutations and not self.is_pinned and rng.random() < 0.12:
            broken = rng.choice(BROKEN)(rng, lines, payload)
        if broken:
            payload, what, breaks_http = broken
            self.mutations.append(what)
            is_rude = is_rude or breaks_http
        elif data is not None or self.method not in ("GET", "HEAD", "DELETE", "OPTIONS"):
            lines.append(length(payload))
        head = b"\r\n".join(lines) + b"\r\n\r\n"
        # The server limits the head and each of its lines (docs/reference/errors.md).
        is_rude = is_rude or len(head) > 60_000 or max(map(len, lines)) > 32_000
        # A broken request ends the client's side of the connection, so the server does not wait for more.
        return wire.Request(route, self.method, head + payload, is_rude, is_rude, tuple(self.mutations))


METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "get", "X"]


def length(payload, more=0):
    return f"Content-Length: {len(payload) + more}".encode()


# Mutations of HTTP. Each changes the lines of the head and returns the payload, a name for the change, and `True` if
# the change breaks HTTP. Returns `None` if the request has nothing to change.


def chunked(rng, lines, payload):
    if payload:
        lines.append(b"Transfer-Encoding: chunked")
        return chunks(rng, payload), "chunked", False


def chunked_badly(rng, lines, payload):
    if payload:
        lines.append(b"Transfer-Encoding: chunked")
        payload = chunks(rng, payload)
        at = rng.randrange(len(payload))
        noise = rng.choice([b"", b"zz\r\n", b"-1\r\n", b"ffffffffffffffff\r\n", b"\r\n"])
        return payload[:at] + noise + payload[at + 1 :], "bad chunks", True


def truncated(rng, lines, payload):
    if payload:
        lines.append(length(payload, rng.randrange(1, 99)))
        return payload, "truncated", True


def two_lengths(rng, lines, payload):
    lines += [b"Content-Length: 1", b"Content-Length: 2"]
    return payload, "two lengths", True


def length_and_chunks(rng, lines, payload):
    lines += [length(payload), b"Transfer-Encoding: chunked"]
    return payload, "length and chunks", True


def large_head(rng, lines, payload):
    lines += [b"X-Filler: " + b"y" * rng.choice([4000, 40_000])] * rng.choice([1, 3])
    lines += [b"X-%d: 1" % number for number in range(rng.choice([1, 150]))]
    lines.append(length(payload))
    return payload, "large head", True


def odd_request_line(rng, lines, payload):
    first = lines[0]
    lines[0] = rng.choice(
        [b"GET /\x00 HTTP/1.1", b"POST", first[:-1] + b"0", first[:-3] + b"9.9", b"\x16\x03\x01", first + b" x"]
    )
    return payload, "request line", True


def odd_host(rng, lines, payload):
    lines[1] = rng.choice(
        [
            b"Host:",
            b"Host: evil.example",
            b"Host: a b",
            b"X: 1",
            b"Host: a\r\nHost: b",
            b"Host: [::1",
            b"Host: \xc3\xa9",
        ]
    )
    lines.append(length(payload))
    return payload, "host", True


def odd_field(rng, lines, payload):
    lines.append(rng.choice([b"Name : x", b": x", b"\xff: x", b"X: \x00", b"X: \r", b" folded", b"X" * 9000 + b": 1"]))
    lines.append(length(payload))
    return payload, "field", True


BROKEN = [
    chunked, chunked, chunked_badly, truncated, two_lengths, length_and_chunks, large_head, odd_request_line, odd_host,
    odd_field,
]  # fmt: skip
