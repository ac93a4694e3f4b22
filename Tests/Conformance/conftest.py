"""Fixtures of the conformance tests: a development server, and functions to call it."""

import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request
import uuid

import pytest

PROJECT = "demo-conformance"
ALGORITHMS = ["ES256", "RS256"]
#: The form of the tokens of a development server without `--signed-tokens`.
UNSIGNED = "none"
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


class Server:
    """A running server, called over HTTP without an SDK."""

    def __init__(self, host, algorithm, binary, directory):
        self.host = host
        self.algorithm = algorithm
        self.binary = binary
        self.directory = directory
        self.base = f"http://{host}"

    def get(self, path):
        with urllib.request.urlopen(self.base + path, timeout=20) as answer:
            return json.load(answer)

    def service_account(self, name):
        """Creates a service account and returns its credentials file."""
        command = '. "$0/environment" && "$1" service-account create --name "$2" --base-url "$3"'
        arguments = ["sh", "-c", command, self.directory, self.binary, name, self.base]
        return json.loads(subprocess.run(arguments, check=True, stdout=subprocess.PIPE, timeout=120).stdout)

    def post(self, path, body, bearer=None):
        """Returns the status and the JSON of the answer."""
        headers = {"Content-Type": "application/json"}
        if bearer:
            headers["Authorization"] = f"Bearer {bearer}"
        data = json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data=data, headers=headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def client(self, method, body):
        """Calls `accounts:METHOD` as an app with an API key does."""
        return self.post(f"/identitytoolkit.googleapis.com/v1/accounts:{method}?key=any", body)

    def refresh(self, refresh_token):
        body = {"grantType": "refresh_token", "refreshToken": refresh_token}
        return self.post("/securetoken.googleapis.com/v1/token?key=any", body)

    def sign_up(self, email=None, password="correct horse"):
        """Signs up a new user and returns the answer."""
        body = {"email": email or address(), "password": password, "returnSecureToken": True}
        status, answer = self.client("signUp", body)
        assert status == 200, answer
        return answer


#: Runs a test once for each signing algorithm.
for_each_algorithm = pytest.mark.parametrize("server", ALGORITHMS, indirect=True, scope="session")
#: Runs a test once for each signing algorithm, and once with the unsigned tokens of development.
for_each_form = pytest.mark.parametrize("server", [UNSIGNED, *ALGORITHMS], indirect=True, scope="session")


def fenced(document):
    """Returns language and text of each fenced block of a Markdown document."""
    return re.findall(r"^```(\w*)\n(.*?)^```\n", document, re.DOTALL | re.MULTILINE)


def address():
    """Returns an unused e-mail address."""
    return f"{uuid.uuid4().hex}@example.com"


def free_port():
    """Returns a port of the loopback interface on which no process listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def serve(binary, directory, algorithm):
    signed = [] if algorithm == UNSIGNED else ["--signed-tokens", "--signing-algorithm", algorithm]
    process = subprocess.Popen(
        [binary, "dev", "--port", "0", "--project", PROJECT, "--data-dir", directory,
         "--migrations", str(REPOSITORY / "migrations"), *signed],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    # Kills a server that does not become ready, which ends the loop below.
    timer = threading.Timer(120, process.kill)
    timer.start()
    said = []
    for line in process.stdout:
        said.append(line)
        found = re.search(r"FIREBASE_AUTH_EMULATOR_HOST=(\S+)", line)
        if found:
            timer.cancel()
            # Reads the rest of the output, because a full pipe would block the server.
            threading.Thread(target=process.stdout.read, daemon=True).start()
            process.banner = "".join(said)
            return process, found[1]
    timer.cancel()
    process.wait()
    pytest.exit("the server did not start:\n" + "".join(said), returncode=1)


@contextlib.contextmanager
def data_directory():
    """Creates a directory for a server, and deletes it with all data at the end."""
    with tempfile.TemporaryDirectory(prefix="concord-conformance-") as directory:
        # PostgreSQL's user must pass through it; otherwise Concord stores the data elsewhere.
        os.chmod(directory, 0o711)
        yield directory


@pytest.fixture(scope="session")
def server(request):
    """A development server. It signs tokens only if the test is parametrized with an algorithm."""
    algorithm = getattr(request, "param", UNSIGNED)
    with data_directory() as directory:
        binary = os.environ["CONCORD"]
        process, host = serve(binary, directory, algorithm)
        try:
            yield Server(host, algorithm, binary, directory)
        finally:
            process.terminate()
            process.wait(timeout=60)


@pytest.fixture(scope="session")
def app(server):
    """The Admin SDK, with its emulator setting pointed at the server."""
    os.environ["FIREBASE_AUTH_EMULATOR_HOST"] = server.host
    import firebase_admin

    app = firebase_admin.initialize_app(options={"projectId": PROJECT})
    yield app
    firebase_admin.delete_app(app)


@pytest.fixture
def empty(server):
    """Deletes all accounts before the test."""
    request = urllib.request.Request(
        f"{server.base}/emulator/v1/projects/{PROJECT}/accounts", method="DELETE"
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        assert json.load(answer) == {}
