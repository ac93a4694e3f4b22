"""One database with three servers under load, and the figures of one scenario."""

import os
import time

import checks
import load
from programs import PROJECT, Concord, Postgres, sourced

#: Settings of the servers that make a drill short: the limits in use are in docs/reference/configuration.md.
SERVER_SETTINGS = {
    "CONCORD_LOG_FORMAT": "json",
    "CONCORD_LOG_LEVEL": "warning",
    "CONCORD_LISTEN_HOST": "127.0.0.1",
}


class Figures:
    """What a scenario measured: a row of the table."""

    def __init__(self, name):
        self.name = name
        self.faults = 0
        self.acknowledged = 0
        self.unknown = 0
        #: Acknowledged writes that are not in the database.
        self.lost = []
        #: Writes that an asynchronous standby did not have when its primary died, which that setting allows.
        self.lost_within_lag = 0
        #: Answers that contradict earlier ones, halves of writes, findings of the audit.
        self.wrong = []
        #: Seconds from the end of a fault to the last request that failed: the longest of all faults.
        self.interruption = 0.0
        self.slowest = 0.0
        self.note = ""
        #: Why the scenario could not run; empty if it ran.
        self.skipped = ""

    @property
    def has_passed(self):
        return not self.lost and not self.wrong


class Stage:
    """A cluster, a development server and two production servers.

    - `url`: the connection string of the servers, if not that of the cluster.
    - `settings`: of PostgreSQL.
    - `environment`: of the servers, beside what they need.
    """

    def __init__(self, options, name, settings=None, directory=None):
        self.options = options
        self.figures = Figures(name)
        self.directory = (directory or options.directory) / name.replace(" ", "-")
        # PostgreSQL runs as another user, who must be able to enter.
        self.directory.mkdir(parents=True, mode=0o711)
        self.directory.chmod(0o711)
        self.postgres = Postgres("primary", self.directory)
        self.postgres.make_directory(self.directory / "archive")
        self.settings = settings or {}
        self.servers = []
        self.programs = [self.postgres]
        self.load = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.load:
            self.load.stop()
        for program in self.servers + list(reversed(self.programs)):
            program.stop()

    def open(self, url=None, environment=None, prepare=None):
        """Starts everything, makes the project, and starts the load.

        - `prepare`: runs when the database is there and before servers use `url`.
        """
        self.postgres.create({"autovacuum_naptime": "10s", **self.settings})
        self.postgres.start()
        self.postgres.sql("CREATE DATABASE concord", database="postgres")
        base = {"PATH": os.environ["PATH"], "HOME": str(self.directory), **SERVER_SETTINGS}
        # The first server migrates, creates the project and writes the key that all servers share.
        first = Concord(
            self.options.binary, "setup", self.directory, {**base, "CONCORD_DATABASE_URL": self.postgres.url}, True)
        self.servers.append(first)
        first.start()
        self._configure(first)
        first.stop()
        self.servers.clear()
        if prepare:
            prepare()
        key = sourced(self.directory / "key/environment", ["CONCORD_KEYS_ENCRYPTION"])
        self.environment = {**base, **key, **(environment or {}), "CONCORD_DATABASE_URL": url or self.postgres.url}
        self.servers = [
            Concord(self.options.binary, f"serve-{number}", self.directory, self.environment, False)
            for number in (1, 2)
        ] + [Concord(self.options.binary, "dev", self.directory, self.environment, True)]
        for server in self.servers:
            server.start(is_ready=False)
        for server in self.servers:
            server.wait_until_ready()
        self.load = load.Load(
            self.servers, self.api_key, self.options.seed, self.options.workers, self.options.pace)
        self.load.start()

    def _configure(self, server):
        """Reads the API key, and turns off the limits on mails, which the load would reach."""
        path = f"/v2/projects/{PROJECT}/config"
        config = server.call("GET", path, None)
        self.api_key = config["client"]["apiKey"]
        scopes = [f"per{scope}Per{span}" for scope in ("Mailbox", "Address", "Project")
                  for span in ("Minute", "Hour", "Day")]
        known = config.get("concord", {}).get("mail", {})
        config.setdefault("concord", {})["mail"] = {**known, **{name: 0 for name in scopes if name in known}}
        server.call("PATCH", path, config)

    def run_for(self, seconds):
        time.sleep(seconds)

    def recovered(self, since, seconds=60):
        """Waits until every server answers again, and notes the interruption since `since`."""
        for server in self.servers:
            server.wait_until_ready(seconds)
        # Requests that began before the recovery end here.
        time.sleep(1)
        self.figures.interruption = max(self.figures.interruption, self.load.failures_since(since))

    def close(self, postgres=None, allowed_findings=frozenset()):
        """Stops the load and compares the database with what the clients were told."""
        postgres = postgres or self.postgres
        figures, journal = self.figures, self.load.journal
        self.load.stop()
        for server in self.servers:
            server.stop()
        figures.acknowledged += journal.counts["acknowledged"]
        figures.unknown += journal.counts["unknown"]
        figures.slowest = journal.slowest
        figures.wrong += journal.wrong
        lost, forgiven = checks.lost_writes(postgres, self.load.accounts)
        figures.lost += lost
        figures.lost_within_lag += forgiven
        figures.wrong += checks.halves(postgres)
        found = checks.findings(self.options.binary, self.environment, postgres.url)
        figures.wrong += [
            f"audit: {count} × {rule}" for rule, count in sorted(found.items()) if rule not in allowed_findings
        ]
        self.load = None
        return found
