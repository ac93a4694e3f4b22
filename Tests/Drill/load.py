"""The load of a drill: clients that remember each answer, so that every acknowledged write can be looked for.

A write has three outcomes: acknowledged (it must be there), refused by a rule (it must not be there), and unknown (a
failure or no answer: both are right). Each account belongs to one worker, so its writes are in order.
"""

import collections
import http.client
import json
import random
import threading
import time
import urllib.parse

#: Seconds until a request without an answer counts as unknown. Longer than any limit of the server.
PATIENCE = 20
#: Accounts that a worker goes on using; older ones are only looked for at the end.
ACCOUNTS_USED = 24
PASSWORD = "correct horse battery"


class Unknown(Exception):
    """The request failed, or had no answer: its write may or may not be there."""


class Refused(Exception):
    """A rule refused the request: 4xx."""

    def __init__(self, status, message):
        super().__init__(f"{status} {message}")
        self.message = message


class Account:
    """What a client knows about one account. `None` in a set of allowed values stands for "absent"."""

    def __init__(self, uid):
        self.uid = uid
        self.refresh_token = None
        self.id_token = None
        self.email = None
        self.subject = None
        #: Display names that the database may hold: the last acknowledged one, and later ones without an answer.
        self.names = {None}
        #: Providers that are certainly linked, and those that may be.
        self.linked = set()
        self.maybe_linked = set()
        #: `True` once the deletion was acknowledged, `None` if it may have happened.
        self.is_deleted = False
        #: The last acknowledged write, by the monotonic clock.
        self.written_at = 0.0
        #: A promotion of an asynchronous standby may have lost the last writes of this account.
        self.is_forgiven = False

    def acknowledge(self):
        self.written_at = time.monotonic()


class Journal:
    """Counters of all workers, and everything that contradicts an earlier answer."""

    def __init__(self):
        self.lock = threading.Lock()
        self.counts = collections.Counter()
        self.wrong = []
        #: Time of each refusal or failure, and of each success, by server: for the length of an interruption.
        self.failed_at = collections.defaultdict(list)
        self.slowest = 0.0

    def count(self, name):
        with self.lock:
            self.counts[name] += 1

    def contradict(self, what):
        with self.lock:
            self.wrong.append(what)


class Client:
    """One keep-alive connection to one server."""

    def __init__(self, server, api_key, journal):
        self.server = server
        self.api_key = api_key
        self.journal = journal
        self.connection = None

    def post(self, path, body, form=False):
        """Returns the answer's JSON. Raises `Refused` or `Unknown`."""
        if form:
            data, kind = urllib.parse.urlencode(body), "application/x-www-form-urlencoded"
        else:
            data, kind = json.dumps(body), "application/json"
        start = time.monotonic()
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
            self.connection.request("POST", f"{path}?key={self.api_key}", data, {"Content-Type": kind})
            answer = self.connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            self._failed(start)
            raise Unknown(f"{type(error).__name__}") from None
        if answer.status == 200:
            self.journal.count("answered")
            self._took(start)
            return json.loads(text)
        said = text.decode("utf-8", "replace")
        if answer.status >= 500:
            # 503 is the documented answer while the database is away. No other failure is.
            if answer.status != 503:
                self.journal.contradict(f"{answer.status} from {self.server.name} for {path}: {said[:200]}")
            self._failed(start)
            raise Unknown(str(answer.status))
        try:
            message = json.loads(said)["error"]["message"]
        except (ValueError, KeyError, TypeError):
            message = said[:200]
        raise Refused(answer.status, message)

    def _took(self, start):
        with self.journal.lock:
            self.journal.slowest = max(self.journal.slowest, time.monotonic() - start)

    def _failed(self, start):
        self._took(start)
        with self.journal.lock:
            self.journal.counts["failed"] += 1
            self.journal.failed_at[self.server.name].append(time.monotonic())

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None


class Worker(threading.Thread):
    """A client of one server, with its accounts."""

    def __init__(self, number, server, api_key, journal, seed, pace):
        super().__init__(name=f"worker-{number}", daemon=True)
        self.number = number
        self.journal = journal
        self.client = Client(server, api_key, journal)
        self.random = random.Random(f"{seed}:{number}")
        #: Seconds between two requests.
        self.pace = pace
        self.accounts = []
        self.made = 0
        self.is_stopping = threading.Event()
        #: Set while the scenario makes failures that a client cannot tell from a rule (a clock step).
        self.lenient = threading.Event()

    def run(self):
        steps = [self.sign_up, self.rename, self.rename, self.refresh, self.refresh, self.look_up, self.look_up]
        if self.client.server.is_development:
            steps += [self.sign_in_with_provider, self.sign_in_with_provider, self.resolve_conflict]
        else:
            steps += [self.add_password]
        steps += [self.delete]
        weights = [4] + [6] * (len(steps) - 2) + [1]
        while not self.is_stopping.is_set():
            step = self.random.choices(steps, weights)[0]
            try:
                step()
            except Unknown:
                self.journal.count("unknown")
                # A client waits before it tries again.
                self.is_stopping.wait(0.05)
            except Refused as refusal:
                if self.lenient.is_set():
                    self.journal.count("refused")
                else:
                    self.journal.contradict(f"{step.__name__} on {self.client.server.name} was refused: {refusal}")
            self.is_stopping.wait(self.pace)
        self.client.close()

    def account(self):
        """A random account that is certainly there; `None` if there is none."""
        usable = [account for account in self.accounts[-ACCOUNTS_USED:] if account.is_deleted is False]
        usable = [account for account in usable if not account.is_forgiven and account.id_token]
        return self.random.choice(usable) if usable else None

    def unique(self):
        self.made += 1
        return f"{self.number}-{self.made}"

    def keep(self, answer):
        account = Account(answer["localId"])
        account.refresh_token, account.id_token = answer["refreshToken"], answer["idToken"]
        account.acknowledge()
        self.accounts.append(account)
        self.journal.count("acknowledged")
        return account

    def acknowledged(self, account):
        account.acknowledge()
        self.journal.count("acknowledged")

    def sign_up(self):
        self.keep(self.client.post("/v1/accounts:signUp", {"returnSecureToken": True}))

    def rename(self):
        account = self.account()
        if not account:
            return self.sign_up()
        name = f"name {self.unique()}"
        account.names.add(name)
        self.with_token(account, lambda token: self.client.post(
            "/v1/accounts:update", {"idToken": token, "displayName": name}))
        account.names = {name}
        self.acknowledged(account)

    def refresh(self):
        account = self.account()
        if not account:
            return self.sign_up()
        answer = self.client.post(
            "/v1/token", {"grant_type": "refresh_token", "refresh_token": account.refresh_token}, form=True)
        account.id_token, account.refresh_token = answer["id_token"], answer["refresh_token"]

    def with_token(self, account, call):
        """Calls with the ID token, and once more with a new one if it has expired."""
        try:
            return call(account.id_token)
        except Refused as refusal:
            if refusal.message not in ("TOKEN_EXPIRED", "INVALID_ID_TOKEN") or not self.lenient.is_set():
                raise
        answer = self.client.post(
            "/v1/token", {"grant_type": "refresh_token", "refresh_token": account.refresh_token}, form=True)
        account.id_token = answer["id_token"]
        return call(account.id_token)

    def look_up(self):
        account = self.account()
        if not account:
            return self.sign_up()
        answer = self.with_token(
            account, lambda token: self.client.post("/v1/accounts:lookup", {"idToken": token}))
        user = answer["users"][0]
        if user["localId"] != account.uid or user.get("displayName") not in account.names:
            self.journal.contradict(f"account {account.uid} is {user.get('displayName')}, expected {account.names}")
        if not account.linked <= {info["providerId"] for info in user.get("providerUserInfo", [])}:
            self.journal.contradict(f"account {account.uid} lacks one of {account.linked}")

    def add_password(self):
        account = self.account()
        if not account or account.email or "password" in account.maybe_linked:
            return self.refresh()
        email = f"w{self.unique()}@drill.example.com"
        account.maybe_linked.add("password")
        # A new password ends the session. If its answer is lost, the client can only sign in again: it stops here.
        token, account.id_token = account.id_token, None
        answer = self.client.post(
            "/v1/accounts:update",
            {"idToken": token, "email": email, "password": PASSWORD, "returnSecureToken": True})
        account.email = email
        account.linked.add("password")
        account.refresh_token, account.id_token = answer["refreshToken"], answer["idToken"]
        self.acknowledged(account)

    def provider_post(self, claims, extra=()):
        body = urllib.parse.urlencode({"id_token": json.dumps(claims), "providerId": "google.com"})
        return self.client.post(
            "/v1/accounts:signInWithIdp",
            {"requestUri": "http://localhost", "postBody": body, "returnSecureToken": True, **dict(extra)},
        )

    def sign_in_with_provider(self):
        """A new account of a provider, or a known one again."""
        known = [account for account in self.accounts[-ACCOUNTS_USED:] if account.subject]
        known = [account for account in known if account.is_deleted is False and not account.is_forgiven]
        if known and self.random.random() < 0.7:
            account = self.random.choice(known)
            answer = self.provider_post({"sub": account.subject})
            if answer.get("localId") != account.uid:
                self.journal.contradict(f"subject {account.subject} reached {answer.get('localId')}, not {account.uid}")
            account.id_token, account.refresh_token = answer["idToken"], answer["refreshToken"]
            return self.acknowledged(account)
        subject = f"s{self.unique()}"
        account = self.keep(self.provider_post({"sub": subject}))
        account.subject = subject
        account.linked.add("google.com")
        account.names = {None}
        return None

    def resolve_conflict(self):
        """An account with a password meets its address at a provider; its owner proves the password and links."""
        email = f"c{self.unique()}@drill.example.com"
        account = self.keep(self.client.post(
            "/v1/accounts:signUp", {"email": email, "password": PASSWORD, "returnSecureToken": True}))
        account.email = email
        account.linked.add("password")
        subject = f"s{self.unique()}"
        account.maybe_linked.add("google.com")
        conflict = self.provider_post({"sub": subject, "email": email, "email_verified": False})
        if not conflict.get("needConfirmation"):
            return self.journal.contradict(f"no conflict for {email}: {sorted(conflict)}")
        session = self.client.post(
            "/v1/accounts:signInWithPassword", {"email": email, "password": PASSWORD, "returnSecureToken": True})
        self.client.post(
            "/v1/accounts:signInWithIdp",
            {
                "requestUri": "http://localhost", "pendingToken": conflict["pendingToken"],
                "idToken": session["idToken"], "returnSecureToken": True,
            },
        )
        account.subject = subject
        account.linked.add("google.com")
        return self.acknowledged(account)

    def delete(self):
        account = self.account()
        if not account:
            return self.sign_up()
        account.is_deleted = None
        try:
            self.with_token(account, lambda token: self.client.post("/v1/accounts:delete", {"idToken": token}))
        except Refused:
            account.is_deleted = False
            raise
        account.is_deleted = True
        self.acknowledged(account)


class Load:
    """Workers on several servers."""

    def __init__(self, servers, api_key, seed, workers_each, pace):
        self.journal = Journal()
        self.workers = []
        for index, server in enumerate(servers * workers_each):
            self.workers.append(Worker(index, server, api_key, self.journal, seed, pace))

    def start(self):
        for worker in self.workers:
            worker.start()

    def stop(self):
        for worker in self.workers:
            worker.is_stopping.set()
        for worker in self.workers:
            worker.join(PATIENCE + 10)
            if worker.is_alive():
                self.journal.contradict(f"{worker.name} has had no answer for {PATIENCE + 10} s")

    def set_lenient(self, is_lenient):
        for worker in self.workers:
            (worker.lenient.set if is_lenient else worker.lenient.clear)()

    def forgive_since(self, instant):
        """Accounts written since may have lost their last writes. Returns their number."""
        accounts = [account for account in self.accounts if account.written_at >= instant]
        for account in accounts:
            account.is_forgiven = True
        return len(accounts)

    @property
    def accounts(self):
        return [account for worker in self.workers for account in list(worker.accounts)]

    def failures_since(self, instant):
        """The last failed request after `instant`, in seconds after it; 0 if there was none."""
        with self.journal.lock:
            after = [moment - instant for moments in self.journal.failed_at.values() for moment in moments]
        return max([moment for moment in after if moment > 0], default=0.0)
