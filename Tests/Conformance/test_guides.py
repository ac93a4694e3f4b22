"""The code of the guides for app developers.

The snippets for Python and those that use `fetch` or `concord.js` run against a server. `test_clients.py` compiles
those for the Swift client. No registry that the tests reach has the SDKs for apps, so `sdks/` has their part that the
guides use: for the web a module that runs against the server, for iOS and Android declarations to check the code
against. `FIREBASE_SDK` may name a `node_modules` folder with the SDK for the web, which the tests then use instead.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

import pytest

from conftest import PROJECT, REPOSITORY, address, fenced, free_port

GUIDES = ["sdks.md", "account-exists-with-different-credential.md"]
#: Its commands and its Python run in `GuideTests`.
MOVING = "moving-from-firebase.md"
SDKS = pathlib.Path(__file__).with_name("sdks")
PASSWORD = "correct horse"


def blocks(language, guides=GUIDES):
    """Returns the blocks of this language in the guides."""
    texts = [(REPOSITORY / "docs" / "guides" / guide).read_text() for guide in guides]
    return [code for text in texts for found, code in fenced(text) if found == language]


def block(language, part):
    """Returns the only block of this language that contains `part`, a name or a sentence."""
    found = [block for block in blocks(language) if part in block]
    assert len(found) == 1, (part, found)
    return found[0]


def at(server, code):
    """Returns the code with the values of the test's server."""
    values = {"https://id.example.com": server.base, "API-KEY": "any", "PROJECT-ID": PROJECT}
    for value, actual in values.items():
        code = code.replace(value, actual)
    return code


def run(command, folder, environment=None, **options):
    """Runs a command and returns its output."""
    result = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300,
        **options,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


# Web

#: The names that the snippets export. Each is called by a test below.
EXPORTED = {
    "auth", "concord", "call", "signInOrLink", "signInOrProve", "keep", "kept", "openConflict", "takeSessionAlong",
}


@pytest.fixture
def web(server, tmp_path):
    """Runs a JavaScript module beside the guides' snippets, and returns what it prints as JSON."""
    modules = pathlib.Path(os.environ.get("FIREBASE_SDK", tmp_path / "stub"))
    if "FIREBASE_SDK" not in os.environ:
        firebase = modules / "firebase"
        firebase.mkdir(parents=True)
        names = {"./app": "./firebase-app.mjs", "./auth": "./firebase-auth.mjs"}
        (firebase / "package.json").write_text(json.dumps({"name": "firebase", "exports": names}))
        for name in names.values():
            shutil.copy(SDKS / name, firebase)
    (tmp_path / "node_modules").symlink_to(modules)
    shutil.copy(REPOSITORY / "clients" / "web" / "concord.js", tmp_path)
    (tmp_path / "package.json").write_text(json.dumps({"type": "module"}))
    exports = set()
    for code in blocks("js", [*GUIDES, MOVING]):
        names = re.findall(r"^export (?:async )?(?:function|const) (\w+)", code, re.MULTILINE)
        exports |= set(names)
        (tmp_path / f"{names[0]}.mjs").write_text(at(server, code))
    assert exports == EXPORTED

    def run_module(code):
        (tmp_path / "test.mjs").write_text(code + "\nprocess.exit(0)\n")
        return json.loads(run(["node", "test.mjs"], tmp_path))

    return run_module


#: A user with a password whose GitHub account has the same address.
STORY = """
import { auth } from './auth.mjs'
import {
  OAuthProvider, createUserWithEmailAndPassword, signInWithCredential, signInWithEmailAndPassword,
} from 'firebase/auth'

const [email, password] = ['EMAIL', 'correct horse']
await createUserWithEmailAndPassword(auth, email, password)
const credential = new OAuthProvider('github.com').credential({ idToken: JSON.stringify({ sub: email, email }) })
const signIn = () => signInWithCredential(auth, credential)
const providers = (user) => user.providerData.map((provider) => provider.providerId).sort()
"""


def test_a_web_app_links_the_credential_of_the_error(web):
    email = address()
    assert web(STORY.replace("EMAIL", email) + """
import { signInOrLink } from './signInOrLink.mjs'
let asked
const { user } = await signInOrLink(signIn, (address) => {
  asked = address
  return signInWithEmailAndPassword(auth, address, password)
})
const again = await signInOrLink(signIn, () => { throw new Error('no conflict is left') })
console.log(JSON.stringify({ asked, providers: providers(user), again: again.user.uid === user.uid }))
""") == {"asked": email, "providers": ["github.com", "password"], "again": True}


@pytest.mark.parametrize("agrees", [True, False])
def test_the_web_client_settles_a_conflict_by_a_code(web, server, agrees):
    person = server.sign_up(email := address())
    found = web(f"""
globalThis.localStorage = {{ getItem: () => null, setItem() {{}}, removeItem() {{}} }}
const {{ concord }} = await import('./concord.mjs')
const {{ signInOrProve }} = await import('./signInOrProve.mjs')
const postBody = new URLSearchParams({{
  providerId: 'github.com', id_token: JSON.stringify({{ sub: '{email}', email: '{email}' }}),
}}).toString()
const signIn = () => concord.signIn('v1/accounts:signInWithIdp', {{ requestUri: 'http://localhost', postBody }})
const askForCode = async () => {{
  const answer = await fetch('{server.base}/emulator/v1/projects/{PROJECT}/conflictProofs')
  return (await answer.json()).conflictProofs.findLast(({{ email }}) => email === '{email}').code
}}
let suspended
const confirm = async (methods) => {{
  suspended = methods.map(({{ method }}) => method)
  return {json.dumps(agrees)}
}}
await signInOrProve(concord, signIn, askForCode, confirm)
console.log(JSON.stringify({{ uid: concord.uid ?? null, suspended }}))
""")
    assert found == {"uid": person["localId"] if agrees else None, "suspended": ["password"]}


def test_a_credential_survives_a_redirect_and_is_used_once(web):
    assert web(STORY.replace("EMAIL", address()) + """
import { signInOrLink } from './signInOrLink.mjs'
import { keep, kept } from './keep.mjs'
const stored = new Map()
globalThis.sessionStorage = {
  setItem: (name, value) => stored.set(name, value),
  getItem: (name) => stored.get(name) ?? null,
  removeItem: (name) => stored.delete(name),
}
let linked
try {
  await signIn()
} catch (error) {
  keep(OAuthProvider.credentialFromError(error))
  const { user } = await signInWithEmailAndPassword(auth, email, password)
  const { linkWithCredential } = await import('firebase/auth')
  linked = (await linkWithCredential(user, kept())).user
}
console.log(JSON.stringify({ providers: providers(linked), left: kept() }))
""") == {"providers": ["github.com", "password"], "left": None}


def test_the_page_for_conflicts_opens_with_the_handle(web, server):
    target = web(STORY.replace("EMAIL", address()) + """
import { openConflict } from './openConflict.mjs'
let target
globalThis.location = { assign: (url) => { target = url } }
await signIn().catch((error) => openConflict(OAuthProvider.credentialFromError(error)))
console.log(JSON.stringify(target))
""")
    page, handle = target.split("#")
    assert page == f"{server.base}/conflict"
    request = {"headers": {"Authorization": f"Bearer {handle}"}}
    conflict = web(f"""
const answer = await fetch('{server.base}/concord/v1/conflict', {json.dumps(request)})
console.log(JSON.stringify(await answer.json()))
""")
    assert (conflict["state"], conflict["providerId"]) == ("open", "github.com")


def test_fetch_alone_signs_in_and_reports_errors(web, server):
    person = server.sign_up(email := address())
    assert web(f"""
import {{ call }} from './call.mjs'
const session = await call('signInWithPassword', {{ email: '{email}', password: '{PASSWORD}' }})
const error = await call('lookup', {{ idToken: 'none' }}).catch((error) => error.message)
console.log(JSON.stringify({{ uid: session.localId, error }}))
""") == {"uid": person["localId"], "error": "INVALID_ID_TOKEN"}


@pytest.mark.parametrize("works", [True, False])
def test_a_session_of_firebase_is_taken_along_once_the_exchange_works(web, server, works):
    config = {"apiKey": "any", "projectId": PROJECT}
    found = web(f"""
import {{ initializeApp }} from 'firebase/app'
import {{ connectAuthEmulator, createUserWithEmailAndPassword, getAuth }} from 'firebase/auth'
import {{ auth }} from './auth.mjs'
import {{ takeSessionAlong }} from './takeSessionAlong.mjs'

const config = {json.dumps(config)}
await takeSessionAlong(config, auth)
const none = auth.currentUser
const old = getAuth(initializeApp(config, 'firebase'))
connectAuthEmulator(old, '{server.base}', {{ disableWarnings: true }})
const {{ user }} = await createUserWithEmailAndPassword(old, '{address()}', '{PASSWORD}')
const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
const now = Math.floor(Date.now() / 1000)
const aud = 'https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit'
const claims = {{ aud, iat: now, exp: now + 60, iss: 'backend', sub: 'backend', uid: user.uid }}
const customToken = `${{part({{ alg: 'none', typ: 'JWT' }})}}.${{part(claims)}}.`
const send = globalThis.fetch
let exchanged
globalThis.fetch = async (url, options) => {{
  if (url !== '/exchange') return send(url, options)
  exchanged = options.body.split('.').length
  return new Response(customToken, {{ status: {200 if works else 503} }})
}}
await takeSessionAlong(config, auth)
console.log(JSON.stringify({{
  none, exchanged, same: auth.currentUser?.uid === user.uid, left: old.currentUser !== null,
}}))
""")
    assert found == {"none": None, "exchanged": 3, "same": works, "left": not works}


def test_fetch_is_allowed_from_every_origin(server):
    for method in ("OPTIONS", "POST"):
        headers = ["Origin: https://app.example.com", "Access-Control-Request-Method: POST"]
        arguments = [argument for header in headers for argument in ("-H", header)]
        url = f"{server.base}/v1/accounts:signUp?key=any"
        answer = run(["curl", "-s", "-i", "-X", method, *arguments, "-d", "{}", url], None)
        assert re.search(r"(?im)^access-control-allow-origin: (\*|https://app\.example\.com)\r?$", answer), answer


# iOS

def test_the_code_for_ios_compiles(tmp_path):
    run(["swiftc", "-emit-module", "-module-name", "FirebaseAuth", SDKS / "FirebaseAuth.swift"], tmp_path)
    code = [block for block in blocks("swift") if "import ConcordAuth" not in block]
    assert len(code) == 2
    for number, text in enumerate(code):
        file = tmp_path / f"{number}.swift"
        file.write_text(text)
        for version in ("5", "6"):
            run(["swiftc", "-typecheck", "-warnings-as-errors", "-swift-version", version, "-I", ".", file], tmp_path)


# Android

#: Names of Kotlin and Java in the snippets.
STANDARD = {
    "HttpURLConnection", "URL", "net", "openConnection", "requestMethod", "setRequestProperty", "doOutput",
    "outputStream", "use", "write", "toByteArray", "responseCode", "inputStream", "errorStream", "bufferedReader",
    "readText",
}


def test_the_code_for_android_uses_names_of_the_sdk(tmp_path):
    stubs = [SDKS / "auth.kt", SDKS / "tasks.kt"]
    declared = set()
    for text in (stub.read_text() for stub in stubs):
        declared |= set(re.findall(r"\b(?:class|interface|val|fun(?: <\w+>)?) (\w+)", text))
        declared |= set(re.findall(r"^package ([\w.]+)$", text, re.MULTILINE))
    code = blocks("kotlin")
    assert len(code) == 3
    for text in code:
        imports = re.findall(r"^import ([\w.]+)\.(\w+)$", text, re.MULTILINE)
        for package, name in imports:
            assert {package, name} <= declared or package == "java.net", name
        body = re.sub(r'^import .*$|"[^"]*"', "", text, flags=re.MULTILINE)
        used = set(re.findall(r"\.(\w+)", body)) | set(re.findall(r"\b([A-Z]\w+)(?=[.(<])", body))
        assert used - STANDARD <= declared | {"Task"}, used - STANDARD - declared
    if shutil.which("kotlinc"):
        for number, text in enumerate(code):
            (tmp_path / f"{number}.kt").write_text(f"package guide{number}\n{text}")
        run(["kotlinc", "-d", "out", *stubs, *tmp_path.glob("*.kt")], tmp_path)


# Admin SDK for Python

@pytest.fixture
def python(server, tmp_path, empty):
    """Runs Python code in its own process, with or without the emulator setting, and returns what it prints as JSON."""
    (tmp_path / "backend.json").write_text(json.dumps(server.service_account(f"guide-{address()[:8]}")))

    def run_python(code, emulator):
        environment = dict(os.environ)
        environment.pop("FIREBASE_AUTH_EMULATOR_HOST", None)
        if emulator:
            environment["FIREBASE_AUTH_EMULATOR_HOST"] = server.host
        code = "import json\n" + at(server, code)
        return json.loads(run([sys.executable, "-c", code], tmp_path, environment))

    return run_python


def test_every_python_snippet_is_run():
    assert len(blocks("python")) == 3


def test_a_backend_manages_users_and_finds_them_over_http(python):
    uid = python(block("python", "set_custom_user_claims") + "print(json.dumps(user.uid))", emulator=True)
    users = python(block("python", "AuthorizedSession") + "print(json.dumps(users))", emulator=False)
    assert [(user["localId"], user["customAttributes"]) for user in users] == [(uid, '{"role": "admin"}')]


@pytest.fixture
def serving(server):
    """The hosts of `concord serve` with the data of the server: the one for apps, and the admin listener."""
    command = '. "$0/environment" && unset CONCORD_DEVELOPMENT && exec "$1" serve'
    app, administration = free_port(), f"127.0.0.1:{free_port()}"
    listeners = {"CONCORD_LISTEN_PORT": str(app), "CONCORD_LISTEN_ADMIN_ADDRESS": administration}
    process = subprocess.Popen(
        ["sh", "-c", command, server.directory, server.binary], env=os.environ | listeners,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )
    try:
        lines = iter(process.stderr.readline, "")
        assert any(" ready " in line for line in lines)
        yield f"127.0.0.1:{app}", administration
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_only_the_admin_listener_of_production_accepts_admin_sdks(server, tmp_path, empty, serving):
    code = at(server, block("python", "set_custom_user_claims")) + "print(user.uid)"
    results = []
    for host in serving:
        environment = os.environ | {"FIREBASE_AUTH_EMULATOR_HOST": host}
        results.append(subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
        ))
    app, administration = results
    assert app.returncode == 1 and "UnauthenticatedError" in app.stderr, app.stderr
    assert administration.returncode == 0, administration.stderr


def test_a_backend_signs_custom_tokens_without_the_emulator_setting(python, server):
    token = python(block("python", "create_custom_token") + "print(json.dumps(token.decode()))", emulator=False)
    status, answer = server.client("signInWithCustomToken", {"token": token, "returnSecureToken": True})
    assert (status, answer.get("isNewUser")) == (200, True), answer


# Plain HTTP

def test_the_requests_of_plain_http_link_the_credential(server, tmp_path, empty):
    text = (REPOSITORY / "docs" / "guides" / GUIDES[1]).read_text()
    section = text.split("## Plain HTTP")[1].split("\n## ")[0]
    script = "".join(blocks("sh")).replace("127.0.0.1:9099", server.host)
    expected = "".join(output for language, output in fenced(section) if language == "")
    assert run(["bash", "-euo", "pipefail", "-c", script], tmp_path) == expected
