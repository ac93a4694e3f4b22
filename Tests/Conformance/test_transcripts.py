"""The sessions that README and tutorials show: each `$` command runs, and prints what the page shows."""

import os
import re
import subprocess
import threading

import pytest

from conftest import PROJECT, REPOSITORY, Server, UNSIGNED, data_directory, fenced, serve

MARK = "--- end of output ---"
#: Parts of the output that differ in each run, and their patterns. `…` stands for the rest of a long value.
VARYING = {
    r"(?:[\w-]{6,})?…": r"[^\n]*?",
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",
    r"\d{4}-\d\d-\d\d": r"\d{4}-\d\d-\d\d",
    r"\b\d{8}\b": r"\d{8}",
    r"\b\d+\.\d+\.\d+\b(?!\.)": r"\d+\.\d+\.\d+",
}
#: The id of an account. It must be the same wherever a page shows it.
ACCOUNT = r"\b(?=\w*\d)[A-Za-z0-9]{28}\b"


def is_whole(command):
    """Returns true if the shell needs no further line."""
    result = subprocess.run(["bash", "-n", "-c", command], capture_output=True)
    return result.returncode == 0 and not command.endswith("\\")


def steps(document):
    """Returns the commands with the output that the page shows, and the assignments in blocks without output."""
    found = []
    for language, text in fenced(document):
        lines = text.splitlines()
        if language == "" and all(re.match(r"[A-Z_]+='", line) for line in lines):
            found += [[line, ""] for line in lines]
        elif language == "" and text.startswith("$ "):
            for line in lines:
                if line.startswith("$ "):
                    found.append([line[2:], ""])
                elif not is_whole(found[-1][0]):
                    found[-1][0] += "\n" + line
                else:
                    found[-1][1] += line + "\n"
    return found


def pattern(shown, accounts):
    """Returns the pattern of the shown output in another run, and the ids of accounts that its groups capture."""
    found, captured = "", {}
    for part in re.split("(" + "|".join([ACCOUNT, *VARYING]) + ")", shown):
        varying = next((pattern for kind, pattern in VARYING.items() if re.fullmatch(kind, part)), None)
        if part in accounts:
            found += accounts[part]
        elif part in captured:
            found += f"(?P={captured[part]})"
        elif re.fullmatch(ACCOUNT, part):
            captured[part] = f"account{len(captured)}"
            found += f"(?P<{captured[part]}>[A-Za-z0-9]{{28}})"
        else:
            found += varying or re.escape(part)
    return found, captured


def compare(command, shown, printed, accounts):
    """Fails unless the output is as shown. `accounts` maps the ids of the page to those of this run."""
    expression, captured = pattern(shown.rstrip("\n"), accounts)
    match = re.fullmatch(expression, printed.rstrip("\n"))
    assert match, f"$ {command}\n{printed}\nThe page shows:\n{shown}"
    accounts.update({name: match[group] for name, group in captured.items()})


@pytest.fixture
def fresh(tmp_path):
    """A development server without accounts, and what it prints until it is ready."""
    with data_directory() as directory:
        (tmp_path / ".concord").symlink_to(directory)
        process, host = serve(os.environ["CONCORD"], directory, UNSIGNED)
        try:
            yield Server(host, UNSIGNED, os.environ["CONCORD"], directory), process.banner
        finally:
            process.terminate()
            process.wait(timeout=60)


#: The pages, each with the commands that lead to the state in which it begins.
PAGES = {
    "README.md": [],
    "docs/start/first-run.md": [],
    "docs/start/conflict.md": [],
    "docs/reference/project-configuration.md": [
        ". .concord/environment",
        "echo 'emailPrivacyConfig: {enableImprovedEmailPrivacy: true}' >on.yaml",
        "concord policy apply --yes on.yaml >/dev/null",
    ],
}


@pytest.mark.parametrize("page", PAGES)
def test_each_command_prints_what_the_page_shows(page, fresh, tmp_path):
    server, banner = fresh
    text = (REPOSITORY / page).read_text().replace("127.0.0.1:9099", server.host).replace("demo-concord", PROJECT)
    found = steps(text)
    assert len(found) >= 2
    accounts = {}
    if found[0][0] == "make run":
        printed = banner[banner.index("Concord "):].replace(server.directory + "/", ".concord/")
        shown = "\n".join(found.pop(0)[1].splitlines()[:printed.count("\n")])
        compare("make run", shown, printed, accounts)
    shell = subprocess.Popen(
        ["bash"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    timer = threading.Timer(120, shell.kill)
    timer.start()
    with shell:
        for command, shown in [[command, ""] for command in PAGES[page]] + found:
            for name, actual in accounts.items():
                command = command.replace(name, actual)
            shell.stdin.write(f"{command}\nprintf '\\n%s\\n' '{MARK}'\n")
            shell.stdin.flush()
            printed = ""
            while line := shell.stdout.readline():
                if line == f"{MARK}\n":
                    break
                printed += line
            compare(command, shown, printed, accounts)
        timer.cancel()
