"""The rules that every answer must follow. `docs/reference/errors.md` lists the allowed failures."""

import re

import wire


class Wrong(Exception):
    """The answer breaks a rule."""


class Oracle:
    def __init__(self, errors_document):
        rows = {"Code": {}, "`error.status`": {}, "Type": {}}
        table = None
        for line in errors_document.splitlines():
            cells = [cell.strip() for cell in line.split("|")[1:-1]]
            if cells and cells[0] in rows:
                table = rows[cells[0]]
            elif not cells:
                table = None
            elif table is not None and cells[0].startswith("`"):
                for name in cells[0].split(", "):
                    table.setdefault(name.strip("`"), set()).add(int(cells[1]))
        self.codes, self.statuses, self.problems = rows.values()
        if not (len(self.codes) > 50 and len(self.statuses) > 5 and len(self.problems) > 20):
            raise SystemExit("fuzz: cannot read the tables of docs/reference/errors.md; adapt Tests/Fuzz/oracle.py")

    def judge(self, request, answer):
        """Checks the answer and sets `answer.json`. Raises `Wrong` if the answer breaks a rule."""
        media_type = answer.media_type
        if media_type in ("application/json", "application/problem+json"):
            try:
                answer.json = wire.parsed(answer.body) if answer.body else None
            except ValueError as error:
                raise Wrong(f"JSON that does not parse: {error}") from None
            if answer.json is None and request.method != "HEAD" and answer.status // 100 != 3:
                raise Wrong("JSON without a body")
        if answer.status < 400:
            return
        if answer.status == 503 and "retry-after" not in answer.fields:
            raise Wrong("503 without Retry-After")
        if request.method == "HEAD":
            return self._server_error(answer, answer.status in (501, 503))
        if not answer.body:
            if answer.status == 400 and request.is_rude:
                return None
            raise Wrong(f"{answer.status} without a body")
        if media_type == "application/problem+json":
            return self._problem(answer)
        if media_type == "application/json":
            return self._envelope(answer)
        if media_type == "text/plain" and answer.status == 503:
            return None
        raise Wrong(f"{answer.status} with media type {media_type or 'none'}")

    def _envelope(self, answer):
        document = answer.json
        if not isinstance(document, dict):
            raise Wrong("the failure is not a JSON object")
        # The development page that applies mailed links.
        if isinstance(document.get("authEmulator"), dict) and answer.status == 400:
            return
        error = document.get("error")
        if not isinstance(error, dict) or not isinstance(error.get("message"), str):
            raise Wrong("the failure has no error.message")
        if error.get("code") != answer.status:
            raise Wrong(f"error.code is {error.get('code')}, the status {answer.status}")
        # SDKs for iOS read every member of `errors` as a string.
        items = error.get("errors")
        if not items or not all(isinstance(value, str) for item in items for value in item.values()):
            raise Wrong("error.errors is empty or has a member that is not a string")
        code = error["message"].split(" : ")[0]
        is_known = answer.status in self.codes.get(code, ())
        is_known = is_known or answer.status in self.statuses.get(error.get("status"), ())
        if not is_known:
            raise Wrong(f"{answer.status} {code[:60]} is not in docs/reference/errors.md")
        self._server_error(answer, error.get("status") in ("UNIMPLEMENTED", "UNAVAILABLE"))

    def _problem(self, answer):
        document = answer.json
        if not isinstance(document, dict) or document.get("status") != answer.status:
            raise Wrong(f"the status of the problem is not {answer.status}")
        name = re.fullmatch(r"urn:concord:problem:([a-z-]+)", str(document.get("type")))
        if not name or answer.status not in self.problems.get(name[1], ()):
            raise Wrong(f"{answer.status} {document.get('type')} is not in docs/reference/errors.md")
        self._server_error(answer, name[1] == "unavailable")

    @staticmethod
    def _server_error(answer, is_allowed):
        if answer.status >= 500 and not is_allowed:
            raise Wrong(f"unexpected {answer.status}")
