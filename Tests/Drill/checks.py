"""Looks in the database for every acknowledged write, and for halves of writes."""

import collections
import csv
import io
import subprocess

#: Rows that belong to no account, each a half of a write.
HALVES = {
    "identifier without its account": """
        SELECT count(*) FROM identifiers AS i WHERE reserved_until IS NULL AND NOT EXISTS (
            SELECT FROM users AS u WHERE u.tenant_id = i.tenant_id AND u.user_id = i.user_id)""",
    "provider without its identifier": """
        SELECT count(*) FROM linked_providers AS l WHERE NOT EXISTS (
            SELECT FROM identifiers AS i WHERE i.tenant_id = l.tenant_id AND i.kind = 'federated'
                AND i.user_id = l.user_id)""",
    "e-mail address without its identifier": """
        SELECT count(*) FROM users AS u WHERE u.email IS NOT NULL AND NOT EXISTS (
            SELECT FROM identifiers AS i WHERE i.tenant_id = u.tenant_id AND i.kind = 'email'
                AND i.value = lower(u.email) AND i.user_id = u.user_id)""",
    "account without an event": """
        SELECT count(*) FROM users AS u WHERE NOT EXISTS (
            SELECT FROM account_events AS e WHERE e.tenant_id = u.tenant_id AND e.user_id = u.user_id)""",
    "resolved conflict without its provider": """
        SELECT count(*) FROM conflicts AS c JOIN users AS u USING (tenant_id, user_id)
        WHERE c.state = 'resolved' AND NOT EXISTS (
            SELECT FROM linked_providers AS l WHERE l.tenant_id = c.tenant_id AND l.user_id = c.user_id
                AND l.provider_id = c.provider_id)""",
    "prepared transaction": "SELECT count(*) FROM pg_prepared_xacts",
}


def lost_writes(postgres, accounts):
    """Returns one line for each acknowledged write that is not there, and the number lost within a standby's lag."""
    users = {row[0]: row[1:] for row in postgres.rows(
        "SELECT user_id, coalesce(display_name, ''), coalesce(email, '') FROM users")}
    linked = collections.defaultdict(set)
    for user, provider, subject in postgres.rows("SELECT user_id, provider_id, subject FROM linked_providers"):
        linked[user].add((provider, subject))
    passwords = {row[0] for row in postgres.rows("SELECT user_id FROM password_credentials")}
    claims = {(row[0], row[1]): row[2] for row in postgres.rows("SELECT kind, value, user_id FROM identifiers")}
    sessions = {row[0] for row in postgres.rows("SELECT DISTINCT user_id FROM sessions")}
    lost, forgiven = [], 0

    def problem(account):
        user = users.get(account.uid)
        if account.is_deleted:
            return "deleted, but there" if user else None
        if user is None:
            return None if account.is_deleted is None else "not there"
        name, email = user
        if (name or None) not in account.names:
            return f"display name {name!r}, expected {sorted(map(str, account.names))}"
        if account.email and (email != account.email or claims.get(("email", account.email)) != account.uid):
            return f"e-mail address {email!r}, expected {account.email!r}"
        if "password" in account.linked and account.uid not in passwords:
            return "no password"
        if account.subject and ("google.com", account.subject) not in linked[account.uid]:
            return "no linked provider"
        if account.uid not in sessions:
            return "no session"
        return None

    for account in accounts:
        if found := problem(account):
            if account.is_forgiven:
                forgiven += 1
            else:
                lost.append(f"account {account.uid}: {found}")
    return lost, forgiven


def halves(postgres):
    """Returns one line for each kind of half that is there."""
    counts = {name: int(postgres.sql(statement)) for name, statement in HALVES.items()}
    return [f"{count} × {name}" for name, count in counts.items() if count]


def findings(binary, environment, url):
    """Returns the number of findings of `concord audit run` by rule."""
    made = subprocess.run(
        [str(binary), "audit", "run", "--format", "csv", "--fail-on", "never"],
        env={**environment, "CONCORD_DATABASE_URL": url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
    )
    if made.returncode != 0:
        return {f"the audit failed: {made.stderr[-500:]}": 1}
    return dict(collections.Counter(row["rule"] for row in csv.DictReader(io.StringIO(made.stdout))))
