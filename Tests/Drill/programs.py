"""The programs of a drill: PostgreSQL clusters, `concord serve`, `concord dev` and PgBouncer. Linux only."""

import base64
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PROJECT = "demo-drill"
#: Seconds until a program that does not start fails the drill.
STARTED_WITHIN = 120


class DrillError(Exception):
    """The drill itself could not go on; says nothing about Concord."""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_until(condition, seconds, what):
    """Polls `condition` until it returns a true value, and returns it."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.02)
    raise DrillError(f"{what}: not within {seconds} s")


def signal_tree(process_id, number):
    """Sends a signal to a process and all its descendants, the parent first."""
    children = pathlib.Path(f"/proc/{process_id}/task/{process_id}/children")
    try:
        descendants = [int(child) for child in children.read_text().split()]
        os.kill(process_id, number)
    except (OSError, ProcessLookupError):
        return
    for child in descendants:
        signal_tree(child, number)


class Program:
    """A process of the drill that writes its output to a file."""

    def __init__(self, name, log):
        self.name = name
        self.log = log
        self.process = None

    def launch(self, arguments, environment=None, user=None):
        with open(self.log, "ab") as output:
            self.process = subprocess.Popen(
                [str(argument) for argument in arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=REPOSITORY,
                user=user,
                # Ctrl-C ends the drill, which then stops its programs in order.
                start_new_session=True,
            )

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def send(self, number):
        """Sends a signal to the program and to what it started."""
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def kill(self):
        if self.process:
            self.send(signal.SIGKILL)
            self.process.wait()

    def stop(self, seconds=60):
        """Ends the program with SIGTERM. Returns its exit code."""
        if not self.is_running():
            return self.process.returncode if self.process else 0
        self.send(signal.SIGTERM)
        try:
            return self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.send(signal.SIGKILL)
            return self.process.wait()

    def tail(self):
        return self.log.read_text(errors="replace")[-4000:] if self.log.exists() else ""


class Postgres(Program):
    """A PostgreSQL cluster in a directory. Root's clusters belong to the user `postgres`."""

    def __init__(self, name, directory, port=None):
        super().__init__(name, directory / f"{name}.log")
        self.data = directory / name
        self.port = port or free_port()
        self.binaries = pathlib.Path(
            subprocess.run(["pg_config", "--bindir"], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
            if shutil.which("pg_config")
            else sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]
        )
        self.user = "postgres" if os.getuid() == 0 else None

    @property
    def url(self):
        return f"postgresql://postgres@127.0.0.1:{self.port}/concord"

    def own(self, path):
        if self.user:
            account = pwd.getpwnam(self.user)
            os.chown(path, account.pw_uid, account.pw_gid)

    def make_directory(self, path):
        path.mkdir(mode=0o700, exist_ok=True)
        self.own(path)
        return path

    def run(self, tool, *arguments, seconds=120):
        """Runs a tool of PostgreSQL as the owner of the cluster."""
        made = subprocess.run(
            [str(self.binaries / tool), *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            user=self.user,
            cwd="/",
            timeout=seconds,
        )
        if made.returncode != 0:
            raise DrillError(f"{tool} of {self.name}: {made.stdout[-2000:]}")
        return made.stdout

    def create(self, settings):
        """Makes an empty cluster."""
        self.make_directory(self.data)
        self.run("initdb", "--pgdata", self.data, "--username", "postgres", "--auth", "trust", "--no-sync")
        self.configure(settings)

    def configure(self, settings):
        """Adds settings, which win over earlier ones."""
        # fsync stays on: a drill is about what survives.
        with open(self.data / "postgresql.conf", "a") as file:
            for name, value in settings.items():
                file.write(f"{name} = '{value}'\n")

    def start(self):
        self.launch(
            [
                self.binaries / "postgres", "-D", self.data, "-p", self.port, "-h", "127.0.0.1",
                "-c", "unix_socket_directories=", "-c", "max_connections=200",
            ],
            user=self.user,
        )
        wait_until(self.answers, STARTED_WITHIN, f"{self.name} starts:\n{self.tail()}")

    def answers(self):
        if not self.is_running():
            raise DrillError(f"{self.name} ended:\n{self.tail()}")
        return self.try_sql("SELECT 1", database="postgres") == "1"

    def sql(self, statement, database="concord", seconds=120):
        """Returns the output of psql: a row a line, columns separated by U+001F."""
        made = subprocess.run(
            [
                "psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--field-separator", "\x1f",
                "--set", "ON_ERROR_STOP=1", "--command", statement,
                f"postgresql://postgres@127.0.0.1:{self.port}/{database}?connect_timeout=5",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=seconds,
        )
        if made.returncode != 0:
            raise DrillError(f"psql on {self.name}: {made.stderr[-1000:]}")
        return made.stdout.rstrip("\n")

    def try_sql(self, statement, database="concord"):
        try:
            return self.sql(statement, database, seconds=10)
        except (DrillError, subprocess.TimeoutExpired):
            return None

    def rows(self, statement):
        return [line.split("\x1f") for line in self.sql(statement).splitlines()]

    def crash(self):
        """Kills the postmaster and every backend at once, as a power cut would, but for the kernel's own buffers."""
        if self.process:
            signal_tree(self.process.pid, signal.SIGSTOP)
            signal_tree(self.process.pid, signal.SIGKILL)
            self.process.wait()
        # The backends' shared memory goes when the last one has gone.
        wait_until(lambda: not self.has_processes(), 30, f"the processes of {self.name} end")

    def has_processes(self):
        made = subprocess.run(["pgrep", "--full", f"^postgres.*{self.data}|-D {self.data}"], stdout=subprocess.PIPE)
        return made.returncode == 0

    def pause(self):
        signal_tree(self.process.pid, signal.SIGSTOP)

    def resume(self):
        signal_tree(self.process.pid, signal.SIGCONT)

    def stop(self, seconds=60):
        if self.is_running():
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                self.crash()

    def back_up(self, target, *options):
        """Copies a running cluster to the directory of `target`."""
        target.make_directory(target.data)
        self.run(
            "pg_basebackup", "--pgdata", target.data, "--dbname", f"host=127.0.0.1 port={self.port} user=postgres",
            "--checkpoint", "fast", *options,
        )

    def promote(self):
        self.run("pg_ctl", "promote", "-D", self.data, "--wait")


class Bouncer(Program):
    """PgBouncer in transaction mode in front of a cluster."""

    def __init__(self, directory):
        super().__init__("pgbouncer", directory / "pgbouncer.log")
        self.directory = directory
        self.port = free_port()

    @staticmethod
    def version():
        """Returns the version as a tuple; `None` if PgBouncer is not installed."""
        program = shutil.which("pgbouncer")
        if not program:
            return None
        said = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True).stdout
        found = re.search(r"PgBouncer (\d+)\.(\d+)", said)
        return (int(found[1]), int(found[2])) if found else None

    @property
    def url(self):
        return f"postgresql://postgres@127.0.0.1:{self.port}/concord"

    @classmethod
    def has_named_statements(cls):
        return (cls.version() or (0, 0)) >= (1, 22)

    @classmethod
    def settings(cls):
        """The settings of a server behind this version: docs/guides/operations.md, "PgBouncer"."""
        if cls.has_named_statements():
            return {"CONCORD_DATABASE_SESSION_SETTINGS": "transaction"}
        return {"CONCORD_DATABASE_STATEMENT_MODE": "unnamed"}

    def start(self, upstream):
        users = self.directory / "pgbouncer-users"
        users.write_text('"postgres" ""\n')
        users.chmod(0o644)
        configuration = self.directory / "pgbouncer.ini"
        configuration.write_text(
            "\n".join(
                [
                    "[databases]", f"concord = host=127.0.0.1 port={upstream.port} dbname=concord", "[pgbouncer]",
                    "listen_addr = 127.0.0.1", f"listen_port = {self.port}", "unix_socket_dir =",
                    "auth_type = trust", f"auth_file = {users}", "pool_mode = transaction", "default_pool_size = 20",
                    "max_client_conn = 500",
                    *(["max_prepared_statements = 2000"] if self.has_named_statements() else []),
                    "",
                ]
            )
        )
        configuration.chmod(0o644)
        self.launch([shutil.which("pgbouncer"), configuration], user="postgres" if os.getuid() == 0 else None)
        wait_until(self.accepts, 30, f"pgbouncer starts:\n{self.tail()}")

    def accepts(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            return True
        except OSError:
            return False


class Concord(Program):
    """`concord serve`, or `concord dev` on a database: a development server accepts simulated providers."""

    def __init__(self, binary, name, directory, environment, is_development):
        super().__init__(name, directory / f"{name}.log")
        self.binary = binary
        self.directory = directory
        self.environment = environment
        self.is_development = is_development
        self.port = free_port()
        #: Words before the command, such as a program that changes the clock.
        self.prefix = []

    def start(self, is_ready=True):
        arguments = [self.binary, "serve"]
        if self.is_development:
            arguments = [
                self.binary, "dev", "--port", self.port, "--project", PROJECT, "--data-dir", self.directory / "key",
                "--database-url", self.environment["CONCORD_DATABASE_URL"],
                "--migrations", REPOSITORY / "migrations",
            ]
        self.launch(self.prefix + arguments, {**self.environment, "CONCORD_LISTEN_PORT": str(self.port)})
        if is_ready:
            self.wait_until_ready()

    def wait_until_ready(self, seconds=STARTED_WITHIN):
        wait_until(self.is_ready, seconds, f"{self.name} is ready:\n{self.tail()}")

    def is_ready(self):
        if not self.is_running():
            raise DrillError(f"{self.name} ended with {self.process.returncode}:\n{self.tail()}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5) as answer:
                return answer.status == 200
        except (OSError, urllib.error.URLError):
            return False

    def call(self, method, path, body):
        """Calls as administrator. Only of a development server."""
        fields = {"Authorization": "Bearer owner", "Content-Type": "application/json"}
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            None if body is None else json.dumps(body).encode(),
            fields,
            method=method,
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def token_time(self, api_key):
        """Signs up, and returns the time at which the ID token says that it was issued: the server's clock."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/v1/accounts:signUp?key={api_key}",
            b'{"returnSecureToken":true}',
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            claims = json.load(answer)["idToken"].split(".")[1]
        return json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["iat"]


def sourced(path, names):
    """Returns the values of shell variables that the file at `path` sets."""
    script = f'. "$0"; for name in {" ".join(names)}; do eval "printf \'%s\\\\0\' \\"\\$$name\\""; done'
    said = subprocess.run(["sh", "-c", script, str(path)], check=True, stdout=subprocess.PIPE, timeout=60).stdout
    return dict(zip(names, said.decode().split("\0")))
