"""The programs under test: `concord dev` with its PostgreSQL, and `concord serve` on the same database."""

import json
import os
import pathlib
import re
import signal
import subprocess
import time
import urllib.request

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PROJECT = "demo-fuzz"
STARTED_WITHIN = 180


class Program:
    """A server process that writes its output to a file."""

    def __init__(self, name, arguments, log, environment=None):
        self.name = name
        self.log = log
        with open(log, "wb") as output:
            self.process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=REPOSITORY,
                # Ctrl-C must not stop the servers before the workers.
                start_new_session=True,
            )

    def wait_for(self, pattern):
        """Waits for `pattern` in the output of the program and returns the first match."""
        deadline = time.monotonic() + STARTED_WITHIN
        while time.monotonic() < deadline:
            said = self.log.read_text(errors="replace")
            if found := re.search(pattern, said):
                return found
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise SystemExit(f"fuzz: {self.name} did not start:\n{self.log.read_text(errors='replace')[-4000:]}")

    @property
    def end(self):
        """The exit code; `None` while the process runs."""
        return self.process.poll()

    def kilobytes(self):
        """Returns resident memory in KiB and the number of open files."""
        try:
            status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
            files = len(os.listdir(f"/proc/{self.process.pid}/fd"))
        except OSError:
            return 0, 0
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]), files

    def errors(self):
        """Returns the lines of the log with level error or critical, or of a crash."""
        lines = self.log.read_text(errors="replace").splitlines()
        return [line for line in lines if re.search(r'"level":"(error|critical)"| (error|critical) |Fatal error', line)]

    def stop(self):
        if self.end is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Servers:
    """Both programs. `addresses`: host and port by role. `dev` and `operators` accept the token `owner`."""

    def __init__(self, binary, directory):
        directory = pathlib.Path(directory)
        # PostgreSQL does not run as root: root's cluster belongs to another user, who must be able to enter.
        directory.chmod(0o711)
        data = directory / "data"
        self.programs = []
        self.addresses = {}
        try:
            self._start(binary, directory, data)
        except BaseException:
            self.stop()
            raise

    def _start(self, binary, directory, data):
        development = Program(
            "concord dev",
            [binary, "dev", "--port", "0", "--project", PROJECT, "--data-dir", str(data), "--migrations", "migrations"],
            directory / "dev.log",
        )
        self.programs.append(development)
        port = int(development.wait_for(r"FIREBASE_AUTH_EMULATOR_HOST=127\.0\.0\.1:(\d+)")[1])
        self.addresses["dev"] = ("127.0.0.1", port)
        self._configure(port)

        operators = free_port()
        serving = Program(
            "concord serve",
            [binary, "serve"],
            directory / "serve.log",
            {
                **shell_environment(data / "environment"),
                "CONCORD_LISTEN_PORT": "0",
                "CONCORD_LISTEN_ADMIN_ADDRESS": f"127.0.0.1:{operators}",
                "CONCORD_LOG_FORMAT": "json",
            },
        )
        self.programs.append(serving)
        port = int(serving.wait_for(r'"address":"[^"]*?:(\d+)"')[1])
        self.addresses["serve"] = ("127.0.0.1", port)
        self.addresses["operators"] = ("127.0.0.1", operators)

    def _configure(self, port):
        """Turns off the limits on mails and messages, which would refuse most requests of the fuzzer."""
        scopes = ["Number", "Mailbox", "Address", "Project"]
        none = {f"per{scope}Per{span}": 0 for scope in scopes for span in ["Minute", "Hour", "Day"]}
        limits = {
            "sms": {name: none[name] for name in none if "Mailbox" not in name and self._is_known("sms", name)},
            "mail": {name: none[name] for name in none if "Number" not in name and self._is_known("mail", name)},
            "shortCodes": {name: none[name] for name in none if self._is_known("shortCodes", name)},
        }
        base = f"http://127.0.0.1:{port}/v2/projects/{PROJECT}/config"
        config = call("GET", base)
        self.api_key = config["client"]["apiKey"]
        self.config = {**config, "concord": {**config.get("concord", {}), **limits}}
        call("PATCH", base, self.config)

    @staticmethod
    def _is_known(group, name):
        document = (REPOSITORY / "docs/reference/project-configuration.md").read_text()
        return f"`concord.{group}.{name}`" in document

    def ended(self):
        """Returns a message about a program that has exited; `None` while both run."""
        for program in self.programs:
            if program.end is not None:
                return f"{program.name} exited with {program.end}:\n" + program.log.read_text(errors="replace")[-4000:]
        return None

    def stop(self):
        """Stops both programs. Returns their exit codes by name."""
        return {program.name: program.stop() for program in reversed(self.programs)}


def call(method, url, body=None):
    data = json.dumps(body).encode() if body is not None else None
    fields = {"Authorization": "Bearer owner", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, data, fields, method=method), timeout=60) as answer:
        return json.load(answer)


def shell_environment(path):
    """Returns the environment that connects `concord serve` to the database and keys of the development server."""
    names = "CONCORD_DATABASE_URL CONCORD_KEYS_ENCRYPTION".split()
    script = f'. "$0"; for name in {" ".join(names)}; do eval "printf \'%s\\\\0\' \\"\\$$name\\""; done'
    said = subprocess.run(["sh", "-c", script, str(path)], check=True, stdout=subprocess.PIPE, timeout=60).stdout
    values = dict(zip(names, said.decode().split("\0")))
    return {"PATH": os.environ.get("PATH", ""), "HOME": os.environ.get("HOME", "/"), **values}


def free_port():
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
