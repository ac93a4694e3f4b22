"""Fuzzes the HTTP API of `concord dev` and `concord serve` for a number of seconds or requests.

Checks for each request: the server answers, a 5xx is one of docs/reference/errors.md, the JSON parses, and a failure
has a code of that page. Checks at the end: both programs run, have logged no error, and exit with 0.
"""

import argparse
import collections
import itertools
import multiprocessing
import os
import queue
import random
import signal
import sys
import tempfile
import time
import urllib.parse

import mutate
import oracle
import servers
import shapes
import wire

#: A run ends after this number of different failures: more would have the same causes.
FAILURES_MAX = 10
#: Average number of requests of a worker until it restores the configuration of the project.
CONFIGURED_EVERY = 400
GOLDEN = servers.REPOSITORY / "Tests/AccountAPITests/Golden"
REPORTS = servers.REPOSITORY / ".build/fuzz"


class Route:
    def __init__(self, method, path, access):
        self.method = method
        self.paths = [path]
        self.access = access
        self.name = f"{method} {path}"


def routes():
    """Returns every route of the program by name, from golden files."""
    found = []
    for file in ["routes.txt", "other-routes.txt"]:
        for line in (GOLDEN / file).read_text().splitlines():
            if line.startswith(" "):
                found[-1].paths.append(line.strip())
            else:
                method, path, access = line.split()
                found.append(Route(method, path, access.strip("()")))
    return {route.name: route for route in found}


class Worker:
    """A client: one connection for each listener, values of earlier answers, and a random generator."""

    def __init__(self, number, seed, settings, counters, failures):
        self.number = number
        self.rng = random.Random(f"{seed}:{number}")
        self.addresses, api_key, self.config = settings
        self.routes = routes()
        # A page is a file, and an unimplemented route has one answer: few requests are enough for them.
        common = {name: 1 if route.access in ("page", "unimplemented") else 10 for name, route in self.routes.items()}
        common = {name: 0 if name in shapes.RARE else weight for name, weight in common.items()}
        self.names, self.weights = list(common), list(itertools.accumulate(common.values()))
        self.oracle = oracle.Oracle((servers.REPOSITORY / "docs/reference/errors.md").read_text())
        self.worlds = {
            family: shapes.World(self.rng, servers.PROJECT, api_key, f"{family}{number}") for family in ["dev", "serve"]
        }
        self.connections = {role: wire.Connection(*address) for role, address in self.addresses.items()}
        self.counters = counters
        self.failures = failures
        self.statuses = collections.Counter()
        self.reached = set()
        self.history = collections.deque(maxlen=30)

    def run(self, is_over):
        # Development reveals mailed codes, `serve` is the public listener, `operators` the administrators' listener.
        for role in itertools.cycle(["dev", "serve", "dev", "operators"]):
            if is_over():
                return
            if self.rng.randrange(CONFIGURED_EVERY) == 0:
                self._restore()
            if self.rng.random() < 0.08:
                self._tell(role, self.rng.choice(shapes.STORIES))
            else:
                name = self.rng.choices(self.names, cum_weights=self.weights)[0]
                if self.rng.random() < 0.0005:
                    name = self.rng.choice(sorted(shapes.RARE))
                self._send(role, name, None, self.rng.random() < 0.75)

    def _restore(self):
        shape = shapes.Shape(self.config, bearer="administrator")
        self._send("dev", "PATCH /v2/projects/{project}/config", shape, False)
        self._send("dev", "PUT /concord/v1/policy", shapes.Shape({}, bearer="administrator"), False)

    def _tell(self, role, story):
        """Plays a story, with one step mutated."""
        world = self._world(role)
        steps = story(world)
        broken = self.rng.randrange(10)
        answer = None
        for number in range(100):
            try:
                name, shape = steps.send(answer)
            except StopIteration:
                return
            at = role
            if name.split("/")[1] == "emulator":
                at = "dev"
            elif shape.bearer == "administrator" and role == "serve":
                at = "operators"
            answer = self._send(at, name, shape, number == broken)

    def _world(self, role):
        return self.worlds["dev" if role == "dev" else "serve"]

    def _send(self, role, name, shape, is_mutated):
        """Sends one request, checks the answer and returns its JSON."""
        world = self._world(role)
        route = self.routes[name]
        if shape is None:
            make = shapes.SHAPES.get(name)
            shape = make(world) if make else shapes.Shape(None if route.method == "GET" else {})
        request = self._request(role, world, route, shape, is_mutated)
        connection = self.connections[role]
        self.history.append((role, request))
        try:
            answer = connection.exchange(request)
            self.oracle.judge(request, answer)
        except wire.NoAnswer as error:
            if not (request.is_rude and "timed out" not in str(error)):
                self._failed(role, request, f"no answer: {error}", None)
            self.statuses["none"] += 1
            return None
        except oracle.Wrong as wrong:
            self._failed(role, request, str(wrong), answer)
        finally:
            with self.counters.get_lock():
                self.counters.value += 1
        self.statuses[answer.status] += 1
        if answer.status < 400 and request.method == route.method:
            self.reached.add(name)
            world.learn(answer.json)
            if "concord-decision" in answer.fields:
                world.kept["decision"].append(answer.fields["concord-decision"])
        return answer.json

    def _request(self, role, world, route, shape, is_mutated):
        rng = self.rng
        path = rng.choice(route.paths) if rng.random() < 0.3 else route.paths[0]
        captures = {"project": world.project, "tenant": "t1", "provider": "oidc.fuzz", "message": "x", **shape.captures}
        for capture, value in captures.items():
            path = path.replace("{" + capture + "}", urllib.parse.quote(str(value), safe=""))
        query = [(name, urllib.parse.quote(str(value), safe=",")) for name, value in shape.query]
        bearer = shape.bearer or self._bearer(role, route, path)
        fields = [("Authorization", f"Bearer {'owner' if bearer == 'administrator' else bearer}")] if bearer else []
        if route.access == "client" and (bearer != "administrator" or rng.random() < 0.2):
            query.append(("key", world.api_key))
        is_pinned = isinstance(shape.body, dict) and not shapes.PINNED.isdisjoint(shape.body)
        draft = mutate.Draft(route.method, path, query, fields + shape.fields, shape.body, shape.form, is_pinned)
        while is_mutated:
            draft.mutate(rng, shapes.PINNED.union(shapes.ADDRESSES), shapes.ALL_NAMES)
            is_mutated = rng.random() < 0.3
        return draft.request(rng, route.name, "%s:%d" % self.addresses[role])

    def _bearer(self, role, route, path):
        """Returns the token that the route's access requires; `None` if it requires none."""
        names_project = f"/projects/{servers.PROJECT}" in path and route.access != "development"
        if route.access == "administrator" or names_project:
            return "administrator"
        # Administrators may call the routes of clients.
        if route.access == "client" and role != "serve" and self.rng.random() < 0.15:
            return "administrator"
        return None

    def _failed(self, role, request, what, answer):
        base = "http://%s:%d" % self.addresses[role]
        REPORTS.mkdir(parents=True, exist_ok=True)
        script = REPORTS / f"worker-{self.number}.sh"
        script.write_text(
            "".join(
                f"# {at}: {sent.route} {list(sent.mutations)}\n{sent.curl('http://%s:%d' % self.addresses[at])}\n\n"
                for at, sent in self.history
            )
        )
        command = request.curl(base)
        if len(command) > 2000:
            command = f"the last command in {script}"
        self.failures.put(
            (
                f"{request.route}: {what}",
                f"{role}: {request.route} {list(request.mutations)}\n  {what}\n  {command}\n"
                + (f"  answer: {answer.status} {answer.text[:300]}\n" if answer else "")
                + f"  earlier requests: {script}\n",
            )
        )


def work(number, seed, settings, counters, failures, results, ends_at, requests_max):
    """Runs one worker in its process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    worker = Worker(number, seed, settings, counters, failures)

    def is_over():
        return time.monotonic() >= ends_at.value or counters.value >= requests_max

    try:
        worker.run(is_over)
    finally:
        results.put((worker.statuses, worker.reached))


def options():
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60, help="duration (default: 60)")
    parser.add_argument("--requests", type=int, default=sys.maxsize, help="maximum number of requests (default: none)")
    parser.add_argument("--seed", type=int, default=None, help="seed of the random numbers (default: random)")
    parser.add_argument("--connections", type=int, default=8, help="number of concurrent clients (default: 8)")
    chosen = parser.parse_args()
    if chosen.connections < 1 or chosen.seconds <= 0 or chosen.requests < 1:
        parser.error("--connections and --requests must be at least 1, --seconds more than 0")
    return chosen


def main():
    chosen = options()
    seed = chosen.seed if chosen.seed is not None else random.SystemRandom().randrange(1 << 32)
    binary = os.environ.get("CONCORD") or str(servers.REPOSITORY / ".build/debug/concord")
    print(f"fuzz: seed {seed}, {chosen.connections} connections", flush=True)
    with tempfile.TemporaryDirectory(prefix="concord-fuzz-") as directory:
        running = servers.Servers(binary, directory)
        try:
            problems = fuzz(running, chosen, seed)
            for program in running.programs:
                problems += [f"{program.name} logged: {line[:1000]}" for line in program.errors()[:5]]
        finally:
            ends = running.stop()
        problems += [f"{name} exited with {code}" for name, code in ends.items() if code != 0]
    for problem in problems:
        print(f"\nfuzz: {problem}", file=sys.stderr)
    if problems:
        print(f"\nfuzz: to repeat the run: scripts/fuzz --seed {seed}", file=sys.stderr)
        sys.exit(1)


def fuzz(running, chosen, seed):
    """Runs the workers and prints the report. Returns the failures as texts."""
    context = multiprocessing.get_context("fork")
    counters = context.Value("q", 0)
    failures, results = context.Queue(), context.Queue()
    before = {program.name: program.kilobytes() for program in running.programs}
    began = time.monotonic()
    ends_at = context.Value("d", began + chosen.seconds)
    settings = (running.addresses, running.api_key, running.config)
    workers = [
        context.Process(
            target=work,
            args=(number, seed, settings, counters, failures, results, ends_at, chosen.requests),
            daemon=True,
        )
        for number in range(chosen.connections)
    ]
    for worker in workers:
        worker.start()
    found, statuses, reached, finished = {}, collections.Counter(), set(), 0
    said_at = began
    ended = None
    while finished < len(workers):
        try:
            what, text = failures.get_nowait()
            if len(found) < FAILURES_MAX:
                found.setdefault(what, text)
            if len(found) >= FAILURES_MAX:
                ends_at.value = 0
            continue
        except queue.Empty:
            pass
        try:
            its_statuses, its_routes = results.get(timeout=0.2)
            statuses += its_statuses
            reached |= its_routes
            finished += 1
            continue
        except queue.Empty:
            pass
        except KeyboardInterrupt:
            ends_at.value = 0
        if ended is None and (ended := running.ended()):
            ends_at.value = 0
        now = time.monotonic()
        if now - said_at >= 30:
            said_at = now
            print(f"fuzz: {counters.value} requests in {now - began:.0f} s", flush=True)
        if now > ends_at.value + wire.PATIENCE + 30 and ends_at.value:
            found.setdefault("workers", "the workers did not exit in time")
            break
        if any(worker.exitcode not in (None, 0) for worker in workers):
            found.setdefault("worker", "a worker crashed; see its traceback above")
            ends_at.value = 0
            break
    seconds = time.monotonic() - began
    for worker in workers:
        worker.join(timeout=5)
    while not failures.empty():
        what, text = failures.get()
        found.setdefault(what, text)
    report(running, counters.value, seconds, statuses, reached, before)
    return ([ended] if ended else []) + list(found.values())


def report(running, count, seconds, statuses, reached, before):
    known = {name for name, route in routes().items() if route.access != "unimplemented"}
    groups = collections.Counter()
    for status, times in statuses.items():
        groups[str(status) if status == "none" or status >= 500 else f"{status // 100}xx"] += times
    print(f"fuzz: {count} requests in {seconds:.1f} s, {count / seconds:.0f} a second")
    print("fuzz: " + ", ".join(f"{name} {times}" for name, times in sorted(groups.items())))
    print(f"fuzz: {len(reached & known)} of {len(known)} routes succeeded at least once")
    if os.environ.get("FUZZ_VERBOSE"):
        print("fuzz: routes that never succeeded: " + ", ".join(sorted(known - reached)))
    for program in running.programs:
        (memory, files), (memory_now, files_now) = before[program.name], program.kilobytes()
        print(f"fuzz: {program.name}: {memory >> 10} to {memory_now >> 10} MiB, {files} to {files_now} open files")


if __name__ == "__main__":
    main()
