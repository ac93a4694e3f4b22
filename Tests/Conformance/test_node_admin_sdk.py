"""The Admin SDK for Node, with its emulator setting, verifies tokens and cookies."""

import json
import pathlib
import subprocess
import time

import jwt
import pytest
from firebase_admin import auth

from conftest import PROJECT, for_each_algorithm

SCRIPT = pathlib.Path(__file__).with_name("verify_token.js")
ID_TOKEN = "https://securetoken.google.com/"
COOKIE = "https://session.firebase.google.com/"


def verify(token, issuer):
    """Verifies the token with the SDK's checks. Returns `claims` or `error`."""
    result = subprocess.run(
        ["node", SCRIPT, issuer, PROJECT], input=token, stdout=subprocess.PIPE, text=True, check=True, timeout=60
    )
    return json.loads(result.stdout)


def unsigned(claims):
    """Returns a forged unsigned token."""
    return jwt.encode(claims, key=None, algorithm="none")


@pytest.fixture
def person(server):
    return server.sign_up()


@pytest.fixture
def cookie(app, person):
    return auth.create_session_cookie(person["idToken"], expires_in=600)


def test_id_tokens_and_session_cookies_are_accepted(person, cookie):
    for token, issuer in ((person["idToken"], ID_TOKEN), (cookie, COOKIE)):
        claims = verify(token, issuer)["claims"]
        assert claims["sub"] == person["localId"]
        assert jwt.get_unverified_header(token) == {"alg": "none", "typ": "JWT"}


def test_tokens_of_a_refresh_and_of_a_custom_token_are_accepted(app, server, person):
    status, answer = server.refresh(person["refreshToken"])
    assert status == 200 and verify(answer["id_token"], ID_TOKEN)["claims"]["sub"] == person["localId"]
    uid = f"custom-{time.time_ns()}"
    custom = auth.create_custom_token(uid, {"level": 3}).decode()
    status, answer = server.client("signInWithCustomToken", {"token": custom, "returnSecureToken": True})
    claims = verify(answer["idToken"], ID_TOKEN)["claims"]
    assert (status, claims["sub"], claims["level"]) == (200, uid, 3)


def test_a_cookie_and_a_custom_token_are_refused_as_id_tokens(app, person, cookie):
    assert "issuer" in verify(cookie, ID_TOKEN)["error"]
    assert "issuer" in verify(person["idToken"], COOKIE)["error"]
    assert "audience" in verify(auth.create_custom_token("somebody").decode(), ID_TOKEN)["error"]


@for_each_algorithm
def test_signed_tokens_and_cookies_are_refused(person, cookie):
    """The reason why development does not sign tokens by default."""
    for token, issuer in ((person["idToken"], ID_TOKEN), (cookie, COOKIE)):
        assert verify(token, issuer) == {"error": "secret or public key must be provided"}


def test_concord_refuses_a_forged_token_that_the_sdk_accepts(server, person):
    claims = verify(person["idToken"], ID_TOKEN)["claims"]
    other = server.sign_up()
    without = {name: value for name, value in claims.items() if name != "concord_signature"}
    for forged in (claims | {"sub": other["localId"], "user_id": other["localId"]}, without):
        token = unsigned(forged)
        assert verify(token, ID_TOKEN)["claims"] == forged
        status, answer = server.client("lookup", {"idToken": token})
        assert (status, answer["error"]["message"]) == (400, "INVALID_ID_TOKEN")
    assert server.client("lookup", {"idToken": person["idToken"]})[0] == 200
