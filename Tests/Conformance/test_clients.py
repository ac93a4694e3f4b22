"""The documents and archives of the clients.

Code in documents compiles or is in an example, the terminal session of the Swift app is what it prints, and the archives
have the files that apps need.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tarfile

import pytest

from conftest import PROJECT, REPOSITORY, fenced
from test_transcripts import fresh, steps  # noqa: F401

CLIENT = REPOSITORY / "clients" / "swift"
CATALOG = CLIENT / "Sources" / "ConcordAuth" / "ConcordAuth.docc"
GUIDES = REPOSITORY / "docs" / "guides"
START = REPOSITORY / "docs" / "start"
#: Documents whose Swift code imports ConcordAuth. The blocks of a document are one file.
DOCUMENTS = [
    CLIENT / "README.md", CATALOG / "GettingStarted.md", GUIDES / "sdks.md",
    GUIDES / "account-exists-with-different-credential.md",
]


def compile_with_build(*arguments):
    """Runs the compiler with the modules of the debug build, among them the client's, and returns what it prints."""
    modules = pathlib.Path(os.environ["CONCORD"]).parent / "Modules"
    command = ["swiftc", "-warnings-as-errors", "-swift-version", "6", "-I", modules, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_code_of_a_document_for_the_swift_client_compiles(document, tmp_path):
    blocks = [code for language, code in fenced(document.read_text()) if language == "swift"]
    code = "\n".join(block for block in blocks if ".package(" not in block and "import FirebaseAuth" not in block)
    assert "import ConcordAuth" in code
    file = tmp_path / "Code.swift"
    file.write_text(code)
    compile_with_build("-typecheck", file)


@pytest.mark.parametrize("file", sorted(CATALOG.rglob("*.swift")), ids=lambda path: path.name)
def test_the_code_of_a_step_of_the_tutorial_compiles(file):
    compile_with_build("-typecheck", file)


def test_every_step_of_the_tutorial_has_code_that_a_step_shows():
    tutorials = "".join(path.read_text() for path in CATALOG.rglob("*.tutorial"))
    unused = [path.name for path in CATALOG.rglob("*.swift") if f'"{path.name}"' not in tutorials]
    assert unused == [] and "Conflicts-1.swift" in tutorials


def test_the_documentation_of_the_swift_client_builds(tmp_path):
    """The only warnings are links to types that exist on Apple's systems alone."""
    sources = [path for path in CLIENT.glob("Sources/**/*.swift") if CATALOG not in path.parents]
    features = re.findall(r'enableUpcomingFeature\("(\w+)"\)', (CLIENT / "Package.swift").read_text())
    compile_with_build(
        "-emit-module", "-emit-module-path", tmp_path / "ConcordAuth.swiftmodule", "-module-name", "ConcordAuth",
        "-emit-symbol-graph", "-emit-symbol-graph-dir", tmp_path, "-parse-as-library",
        *(option for feature in features for option in ("-enable-upcoming-feature", feature)), *sources,
    )
    docc = pathlib.Path(shutil.which("swiftc")).resolve().with_name("docc")
    result = subprocess.run(
        [docc, "convert", CATALOG, "--additional-symbol-graph-dir", tmp_path, "--output-dir", tmp_path / "out",
         "--fallback-display-name", "ConcordAuth", "--fallback-bundle-identifier", "ConcordAuth"],
        capture_output=True, text=True, timeout=300,
    )
    warnings = re.findall(r"^(?:warning|error): .*$", result.stdout + result.stderr, re.MULTILINE)
    missing = re.compile(r"'(?:AppleAppPushes|AppleWebAuthentication|KeychainSessionStore)' doesn't exist")
    assert [line for line in warnings if not missing.search(line)] == []
    assert result.returncode == 0 and len(warnings) == 3
    assert (tmp_path / "out" / "data" / "tutorials" / "concordauth" / "settleaconflict.json").exists()


@pytest.mark.parametrize(("page", "example"), [("swift-app.md", "swift"), ("web-app.md", "web")])
def test_the_code_that_a_tutorial_shows_is_in_the_example(page, example):
    files = [path.read_text() for path in (REPOSITORY / "examples" / example).rglob("*") if path.is_file()]
    blocks = [code for language, code in fenced((START / page).read_text()) if language]
    assert len(blocks) >= 4
    assert [code for code in blocks if not any(code in file for file in files)] == []


#: A line of the session that asks. The rest of the line is the answer; `^C` stands for the end of the program.
QUESTION = re.compile(r"(.*(?:Password|decline|yes or no|Code of the mail): )(.*)")


def test_the_swift_app_prints_what_the_tutorial_shows(fresh, tmp_path):  # noqa: F811
    server, _ = fresh
    program = pathlib.Path(server.binary).with_name("concord-example")
    options = ["--server", server.base, "--project", PROJECT, "--store", tmp_path / "store.json"]
    session = [step for step in steps((START / "swift-app.md").read_text()) if step[0].startswith("concord-example ")]
    assert len(session) >= 6
    for command, shown in session:
        answers, expected = "", ""
        for line in shown.splitlines():
            asked = QUESTION.fullmatch(line)
            expected += asked[1] if asked else f"{line}\n"
            if asked and asked[2] == "^C":
                expected += "\n"
            elif asked:
                answers += f"{asked[2]}\n"
        result = subprocess.run(
            [program, *options, *shlex.split(command)[1:]], input=answers, capture_output=True, text=True, timeout=60
        )
        assert result.stdout == expected, (command, result.stderr)
        assert result.returncode == (1 if "^C" in shown else 0), (command, result.stderr)


def test_the_archives_have_what_apps_need_and_are_equal_in_two_runs(tmp_path):
    contents = []
    for name in ("first", "second"):
        command = [REPOSITORY / "scripts" / "package-clients", tmp_path / name]
        subprocess.run(command, check=True, env=os.environ | {"SOURCE_DATE_EPOCH": "1790000000"}, timeout=60)
        contents.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    assert contents[0] == contents[1] and len(contents[0]) == 2
    files = set()
    for path in (tmp_path / "first").iterdir():
        with tarfile.open(path) as archive:
            files |= {member.name.split("-")[1] + "/" + member.name.partition("/")[2] for member in archive}
            assert all(member.uid == 0 and member.mode & 0o022 == 0 for member in archive)
    assert {
        "swift/ConcordAuth/Package.swift", "swift/ConcordAuth/Sources/ConcordAuth/Auth/Auth.swift", "swift/LICENSE",
        "swift/vectors.json", "web/concord.js", "web/concord.d.ts", "web/README.md", "web/NOTICE",
    } <= files
    assert not any(".build" in file or "test" in file.lower() for file in files if file.startswith("web/"))
