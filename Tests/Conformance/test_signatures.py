"""Common JWT libraries verify tokens and cookies of Concord, and sign tokens for it."""

import time

import jwt
import pytest
from cryptography import x509
from firebase_admin import auth

from conftest import PROJECT, REPOSITORY, for_each_algorithm

pytestmark = for_each_algorithm
ID_TOKEN_ISSUER = f"https://securetoken.google.com/{PROJECT}"
COOKIE_ISSUER = f"https://session.firebase.google.com/{PROJECT}"
ACCOUNT = "securetoken@system.gserviceaccount.com"


@pytest.fixture
def id_token(server):
    return server.sign_up()["idToken"]


@pytest.fixture
def cookie(app, id_token):
    return auth.create_session_cookie(id_token, expires_in=600)


def key_of(keys, token):
    """Returns the key of a JSON Web Key Set that the token names."""
    return jwt.PyJWKSet.from_dict(keys)[jwt.get_unverified_header(token)["kid"]].key


def certified_key(certificates, token):
    """Returns the public key of the certificate that the token names."""
    pem = certificates[jwt.get_unverified_header(token)["kid"]]
    return x509.load_pem_x509_certificate(pem.encode()).public_key()


def verify(server, token, key, issuer):
    options = {"require": ["iss", "aud", "sub", "iat", "exp", "auth_time"]}
    return jwt.decode(token, key, algorithms=[server.algorithm], audience=PROJECT, issuer=issuer, options=options)


def with_one_bit_flipped(token, part):
    """Returns the token with one bit flipped in the middle of one part."""
    parts = token.split(".")
    raw = bytearray(jwt.utils.base64url_decode(parts[part]))
    raw[len(raw) // 2] ^= 1
    parts[part] = jwt.utils.base64url_encode(bytes(raw)).decode()
    return ".".join(parts)


def test_the_example_in_the_documentation_verifies_an_id_token(server, id_token):
    document = (REPOSITORY / "docs" / "guides" / "verifying-tokens.md").read_text()
    lines = document.split("```python\n")[1].split("```")[0]
    lines = lines.replace("https://HOST", server.base).replace("PROJECT-ID", PROJECT).replace("ES256", server.algorithm)
    names = {"token": id_token}
    exec(lines, names)
    assert names["claims"]["sub"] == names["claims"]["user_id"]


def test_an_id_token_verifies_with_the_published_keys_and_certificates(server, id_token):
    keys = server.get(f"/service_accounts/v1/jwk/{ACCOUNT}")
    certificates = server.get(f"/robot/v1/metadata/x509/{ACCOUNT}")
    for key in (key_of(keys, id_token), certified_key(certificates, id_token)):
        claims = verify(server, id_token, key, ID_TOKEN_ISSUER)
        assert claims["sub"] == claims["user_id"]


def test_a_cookie_verifies_with_keys_that_do_not_sign_id_tokens(server, cookie):
    keys = server.get("/identitytoolkit.googleapis.com/v1/sessionCookiePublicKeys")
    certificates = server.get("/www.googleapis.com/identitytoolkit/v3/relyingparty/publicKeys")
    for key in (key_of(keys, cookie), certified_key(certificates, cookie)):
        verify(server, cookie, key, COOKIE_ISSUER)
    id_keys = server.get(f"/service_accounts/v1/jwk/{ACCOUNT}")
    assert {key["kid"] for key in keys["keys"]}.isdisjoint(key["kid"] for key in id_keys["keys"])


@pytest.mark.parametrize("part", [0, 1, 2])
def test_one_flipped_bit_is_refused(server, id_token, cookie, part):
    id_key = key_of(server.get(f"/service_accounts/v1/jwk/{ACCOUNT}"), id_token)
    cookie_key = key_of(server.get("/v1/sessionCookiePublicKeys"), cookie)
    for token, key, issuer in ((id_token, id_key, ID_TOKEN_ISSUER), (cookie, cookie_key, COOKIE_ISSUER)):
        verify(server, token, key, issuer)
        with pytest.raises(jwt.InvalidTokenError):
            verify(server, with_one_bit_flipped(token, part), key, issuer)
    status, answer = server.client("lookup", {"idToken": with_one_bit_flipped(id_token, part)})
    assert (status, answer["error"]["message"]) == (400, "INVALID_ID_TOKEN")


def test_the_discovery_document_names_the_keys(server, id_token):
    document = server.get(f"/{PROJECT}/.well-known/openid-configuration")
    assert document["issuer"] == ID_TOKEN_ISSUER
    header = jwt.get_unverified_header(id_token)
    assert header["alg"] in document["id_token_signing_alg_values_supported"]
    assert document["jwks_uri"].startswith(server.base)
    keys = server.get(document["jwks_uri"][len(server.base):])
    verify(server, id_token, key_of(keys, id_token), document["issuer"])


@pytest.mark.parametrize("names_key", [True, False])
def test_tokens_of_a_service_account_are_accepted_with_and_without_a_key_id(server, names_key):
    account = server.service_account("signer-with" if names_key else "signer-without")
    headers = {"kid": account["private_key_id"]} if names_key else None

    def sign(claims):
        now = int(time.time())
        email = account["client_email"]
        claims = {"iss": email, "sub": email, "iat": now, "exp": now + 3600} | claims
        token = jwt.encode(claims, account["private_key"], algorithm="RS256", headers=headers)
        assert ("kid" in jwt.get_unverified_header(token)) == names_key
        return token

    uid = f"signed-{time.time_ns()}"
    audience = "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"
    token = sign({"aud": audience, "uid": uid})
    status, answer = server.client("signInWithCustomToken", {"token": token, "returnSecureToken": True})
    assert status == 200 and jwt.decode(answer["idToken"], options={"verify_signature": False})["sub"] == uid, answer
    assertion = sign({"aud": account["token_uri"], "scope": "https://www.googleapis.com/auth/identitytoolkit"})
    body = {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": assertion}
    status, answer = server.post("/oauth2/token", body)
    assert (status, answer.get("token_type")) == (200, "Bearer"), answer
    status, answer = server.client("signInWithCustomToken", {"token": with_one_bit_flipped(token, 2)})
    assert (status, answer["error"]["message"]) == (400, "INVALID_CUSTOM_TOKEN : Invalid signature")
