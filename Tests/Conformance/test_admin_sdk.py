"""The calls of a backend with the unmodified Admin SDK for Python."""

import base64
import hashlib
import hmac
import time
import urllib.parse

import pytest
from firebase_admin import auth, exceptions

from conftest import PROJECT, address, for_each_form


def test_a_user_is_created_and_found_by_every_identifier(app):
    email, phone = address(), f"+1555{time.time_ns() % 10**7:07d}"
    user = auth.create_user(
        email=email, email_verified=True, phone_number=phone, display_name="Ann", photo_url="https://example.com/a.png",
        password="correct horse",
    )
    for found in (auth.get_user(user.uid), auth.get_user_by_email(email), auth.get_user_by_phone_number(phone)):
        assert found.uid == user.uid
        assert (found.email, found.phone_number, found.display_name) == (email, phone, "Ann")
        assert found.email_verified and not found.disabled
        assert found.user_metadata.last_sign_in_timestamp is None
        assert abs(found.user_metadata.creation_timestamp - time.time() * 1000) < 60_000
        assert {row.provider_id for row in found.provider_data} == {"password", "phone"}
        assert found.custom_claims is None


def test_a_user_without_fields_gets_an_id_and_a_chosen_id_is_used_once(app):
    assert len(auth.create_user().uid) == 28
    uid = f"chosen-{time.time_ns()}"
    assert auth.create_user(uid=uid).uid == uid
    with pytest.raises(auth.UidAlreadyExistsError):
        auth.create_user(uid=uid)


def test_a_taken_address_and_a_taken_number_are_different_errors(app):
    email, phone = address(), f"+1556{time.time_ns() % 10**7:07d}"
    auth.create_user(email=email, phone_number=phone)
    with pytest.raises(auth.EmailAlreadyExistsError):
        auth.create_user(email=email.upper())
    with pytest.raises(auth.PhoneNumberAlreadyExistsError):
        auth.create_user(phone_number=phone)
    other = auth.create_user()
    with pytest.raises(auth.EmailAlreadyExistsError):
        auth.update_user(other.uid, email=email)


def test_an_unknown_user_is_not_found(app):
    for call in (
        lambda: auth.get_user("nobody"), lambda: auth.get_user_by_email(address()),
        lambda: auth.update_user("nobody", display_name="A"), lambda: auth.delete_user("nobody"),
    ):
        with pytest.raises(auth.UserNotFoundError):
            call()


def test_users_are_fetched_in_bulk(app):
    users = [auth.create_user(email=address()) for _ in range(3)]
    found = auth.get_users([
        auth.UidIdentifier(users[0].uid), auth.EmailIdentifier(users[1].email), auth.UidIdentifier(users[2].uid),
        auth.UidIdentifier("nobody"), auth.ProviderIdentifier("google.com", "nobody"),
    ])
    assert {user.uid for user in found.users} == {user.uid for user in users}
    assert len(found.not_found) == 2


def test_users_are_listed_page_by_page(app, empty):
    uids = {auth.create_user(uid=f"user-{number:03d}").uid for number in range(25)}
    page = auth.list_users(max_results=10)
    assert len(page.users) == 10 and page.has_next_page
    assert [user.uid for user in auth.list_users(max_results=10).iterate_all()] == sorted(uids)
    assert len(auth.list_users().users) == 25


def test_an_update_changes_and_clears_fields(app):
    user = auth.create_user(email=address(), display_name="Ann", photo_url="https://example.com/a.png",
                            phone_number=f"+1557{time.time_ns() % 10**7:07d}")
    email = address()
    changed = auth.update_user(user.uid, email=email, email_verified=True, display_name="Anne")
    assert (changed.email, changed.email_verified, changed.display_name) == (email, True, "Anne")
    gone = auth.DELETE_ATTRIBUTE
    cleared = auth.update_user(user.uid, display_name=gone, photo_url=gone, phone_number=gone)
    assert cleared.display_name is None and cleared.photo_url is None and cleared.phone_number is None


def test_custom_claims_are_in_the_next_token(app, server):
    person = server.sign_up()
    auth.set_custom_user_claims(person["localId"], {"role": "admin"})
    assert auth.get_user(person["localId"]).custom_claims == {"role": "admin"}
    _, refreshed = server.refresh(person["refreshToken"])
    assert auth.verify_id_token(refreshed["id_token"])["role"] == "admin"
    auth.set_custom_user_claims(person["localId"], None)
    assert not auth.get_user(person["localId"]).custom_claims


def test_users_are_deleted_one_by_one_and_in_bulk(app):
    user = auth.create_user(email=address())
    auth.delete_user(user.uid)
    with pytest.raises(auth.UserNotFoundError):
        auth.get_user(user.uid)
    uids = [auth.create_user().uid for _ in range(5)]
    result = auth.delete_users(uids + ["nobody"])
    assert (result.success_count, result.failure_count) == (6, 0)
    assert auth.get_users([auth.UidIdentifier(uid) for uid in uids]).users == []


@for_each_form
def test_an_id_token_is_verified(app, server):
    person = server.sign_up()
    claims = auth.verify_id_token(person["idToken"], check_revoked=True)
    assert claims["uid"] == person["localId"]
    assert claims["firebase"]["sign_in_provider"] == "password"


def test_a_custom_token_signs_in_with_its_claims(app, server):
    uid = f"custom-{time.time_ns()}"
    token = auth.create_custom_token(uid, {"tier": "gold"}).decode()
    status, answer = server.client("signInWithCustomToken", {"token": token, "returnSecureToken": True})
    assert status == 200 and answer["isNewUser"] is True
    claims = auth.verify_id_token(answer["idToken"])
    assert (claims["uid"], claims["tier"]) == (uid, "gold")
    assert claims["firebase"]["sign_in_provider"] == "custom"
    _, again = server.client("signInWithCustomToken", {"token": token})
    assert again["isNewUser"] is False


def test_a_user_signs_in_with_a_number_which_the_sdk_finds_and_clears(app, server):
    number = f"+1650555{time.time_ns() % 9000 + 1000}"
    status, sent = server.client("sendVerificationCode", {"phoneNumber": number, "recaptchaToken": "app"})
    assert status == 200, sent
    codes = server.get(f"/emulator/v1/projects/{PROJECT}/verificationCodes")["verificationCodes"]
    code = next(each["code"] for each in codes if each["sessionInfo"] == sent["sessionInfo"])
    body = {"sessionInfo": sent["sessionInfo"], "code": code}
    status, answer = server.client("signInWithPhoneNumber", body)
    assert status == 200 and answer["isNewUser"] is True, answer
    claims = auth.verify_id_token(answer["idToken"], check_revoked=True)
    assert claims["phone_number"] == number
    assert claims["firebase"]["sign_in_provider"] == "phone"
    user = auth.get_user_by_phone_number(number)
    assert user.uid == answer["localId"]
    assert [(row.provider_id, row.phone_number) for row in user.provider_data] == [("phone", number)]
    assert auth.update_user(user.uid, phone_number=auth.DELETE_ATTRIBUTE).phone_number is None
    with pytest.raises(auth.UserNotFoundError):
        auth.get_user_by_phone_number(number)


def test_an_enrolled_second_factor_is_required_and_named_in_the_token(app, server):
    # The SDK for Python does not support second factors. These are the requests of the SDKs for Node and Go.
    number, email = f"+1650555{time.time_ns() % 9000 + 1000}", address()
    user = auth.create_user(email=email, email_verified=True, password="correct horse")
    path = f"/identitytoolkit.googleapis.com/v1/projects/{PROJECT}/accounts:"
    factor = {"phoneInfo": number, "displayName": "work"}
    update = {"localId": user.uid, "mfa": {"enrollments": [factor]}}
    status, answer = server.post(path + "update", update, bearer="owner")
    assert status == 200, answer
    _, found = server.post(path + "lookup", {"localId": [user.uid]}, bearer="owner")
    (enrolled,) = found["users"][0]["mfaInfo"]
    assert (enrolled["phoneInfo"], enrolled["displayName"]) == (number, "work")

    status, asked = server.client("signInWithPassword", {"email": email, "password": "correct horse"})
    assert status == 200 and "idToken" not in asked, asked
    assert asked["mfaInfo"][0]["phoneInfo"] == "+*******" + number[-4:]
    start = {
        "mfaPendingCredential": asked["mfaPendingCredential"], "mfaEnrollmentId": enrolled["mfaEnrollmentId"],
        "phoneSignInInfo": {"recaptchaToken": "app"},
    }
    second = "/identitytoolkit.googleapis.com/v2/accounts/mfaSignIn"
    status, sent = server.post(f"{second}:start?key=any", start)
    assert status == 200, sent
    session = sent["phoneResponseInfo"]["sessionInfo"]
    codes = server.get(f"/emulator/v1/projects/{PROJECT}/verificationCodes")["verificationCodes"]
    code = next(each["code"] for each in codes if each["sessionInfo"] == session)
    finish = {
        "mfaPendingCredential": asked["mfaPendingCredential"],
        "phoneVerificationInfo": {"sessionInfo": session, "code": code},
    }
    status, answer = server.post(f"{second}:finalize?key=any", finish)
    assert status == 200, answer
    claims = auth.verify_id_token(answer["idToken"], check_revoked=True)
    assert claims["firebase"]["sign_in_second_factor"] == "phone"
    assert claims["firebase"]["second_factor_identifier"] == enrolled["mfaEnrollmentId"]

    # An update replaces the whole list. An empty list removes all factors and ends the sessions that used one.
    status, answer = server.post(path + "update", {"localId": user.uid, "mfa": {}}, bearer="owner")
    assert status == 200, answer
    _, answer = server.client("signInWithPassword", {"email": email, "password": "correct horse"})
    assert "mfaPendingCredential" not in answer and "idToken" in answer


@for_each_form
def test_a_session_cookie_is_created_and_verified(app, server):
    person = server.sign_up()
    cookie = auth.create_session_cookie(person["idToken"], expires_in=3600)
    claims = auth.verify_session_cookie(cookie, check_revoked=True)
    assert claims["uid"] == person["localId"]
    assert claims["exp"] - claims["iat"] == 3600
    with pytest.raises(exceptions.InvalidArgumentError):
        auth.create_session_cookie("nonsense", expires_in=3600)


@for_each_form
def test_revoking_ends_sessions_and_invalidates_tokens_and_cookies(app, server):
    person = server.sign_up()
    cookie = auth.create_session_cookie(person["idToken"], expires_in=3600)
    # The SDK compares whole seconds.
    time.sleep(1.1)
    auth.revoke_refresh_tokens(person["localId"])
    with pytest.raises(auth.RevokedIdTokenError):
        auth.verify_id_token(person["idToken"], check_revoked=True)
    with pytest.raises(auth.RevokedSessionCookieError):
        auth.verify_session_cookie(cookie, check_revoked=True)
    status, answer = server.refresh(person["refreshToken"])
    assert (status, answer["error"]["message"]) == (400, "TOKEN_EXPIRED")


def test_a_disabled_user_is_refused_everywhere(app, server):
    email = address()
    person = server.sign_up(email)
    assert auth.update_user(person["localId"], disabled=True).disabled
    with pytest.raises(auth.UserDisabledError):
        auth.verify_id_token(person["idToken"], check_revoked=True)
    for status, answer in (
        server.client("signInWithPassword", {"email": email, "password": "correct horse"}),
        server.client("lookup", {"idToken": person["idToken"]}),
        server.refresh(person["refreshToken"]),
    ):
        assert (status, answer["error"]["message"]) == (400, "USER_DISABLED")
    auth.update_user(person["localId"], disabled=False)
    assert server.client("signInWithPassword", {"email": email, "password": "correct horse"})[0] == 200


def code_in(link):
    return urllib.parse.parse_qs(urllib.parse.urlsplit(link).query)["oobCode"][0]


def test_a_reset_link_sets_a_password(app, server):
    email = address()
    auth.create_user(email=email)
    code = code_in(auth.generate_password_reset_link(email))
    assert server.client("resetPassword", {"oobCode": code})[1]["email"] == email
    assert server.client("resetPassword", {"oobCode": code, "newPassword": "another horse"})[0] == 200
    assert server.client("signInWithPassword", {"email": email, "password": "another horse"})[0] == 200
    status, answer = server.client("resetPassword", {"oobCode": code, "newPassword": "a third horse"})
    assert (status, answer["error"]["message"]) == (400, "INVALID_OOB_CODE")


def test_a_verification_link_verifies_the_address(app, server):
    user = auth.create_user(email=address())
    code = code_in(auth.generate_email_verification_link(user.email))
    assert not auth.get_user(user.uid).email_verified
    assert server.client("update", {"oobCode": code})[0] == 200
    assert auth.get_user(user.uid).email_verified


def test_a_sign_in_link_signs_in(app, server):
    email = address()
    settings = auth.ActionCodeSettings(url="http://localhost/done", handle_code_in_app=True)
    code = code_in(auth.generate_sign_in_with_email_link(email, settings))
    status, answer = server.client("signInWithEmailLink", {"email": email, "oobCode": code})
    assert status == 200 and answer["isNewUser"] is True
    assert auth.verify_id_token(answer["idToken"])["email_verified"] is True


PASSWORD, SALT = b"password", b"NaCl"


def hash_kinds():
    """Yields every kind of hash that the SDK imports, built as in its documentation and tests."""
    digest = hashlib.md5(SALT + PASSWORD).hexdigest().encode()
    scrypt_key = base64.b64decode(
        "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=="
    )
    scrypt_hash = base64.b64decode(
        "V358E8LdWJXAO7muq0CufVpEOXaj8aFiC7T/rcaGieN04q/ZPJ08WhJEHGjj9lz/2TT+/86N5VjVoc5DdBhBiw=="
    )
    kinds = auth.UserImportHash
    yield kinds.md5(rounds=0), digest, SALT
    for make, name in ((kinds.sha1, "sha1"), (kinds.sha256, "sha256"), (kinds.sha512, "sha512")):
        yield make(rounds=1), hashlib.new(name, SALT + PASSWORD).digest(), SALT
    for make, name in (
        (kinds.hmac_md5, "md5"), (kinds.hmac_sha1, "sha1"), (kinds.hmac_sha256, "sha256"),
        (kinds.hmac_sha512, "sha512"),
    ):
        yield make(key=b"secret"), hmac.new(b"secret", PASSWORD + SALT, name).digest(), SALT
    yield kinds.pbkdf_sha1(rounds=1000), hashlib.pbkdf2_hmac("sha1", PASSWORD, SALT, 1000), SALT
    yield kinds.pbkdf2_sha256(rounds=1000), hashlib.pbkdf2_hmac("sha256", PASSWORD, SALT, 1000, 64), SALT
    yield (
        kinds.standard_scrypt(memory_cost=1024, parallelization=16, block_size=8, derived_key_length=64),
        hashlib.scrypt(PASSWORD, salt=SALT, n=1024, r=8, p=16, dklen=64), SALT,
    )
    yield kinds.scrypt(key=scrypt_key, rounds=8, memory_cost=14, salt_separator=b"\x07"), scrypt_hash, SALT
    yield kinds.bcrypt(), b"$2b$10$abcdefghijklmnopqrstuu5Lo0g67CiD3M4RpN1BmBb4Crp5w7dbK", None


def test_imported_users_sign_in_with_their_old_passwords(app, server):
    for kind, password_hash, salt in hash_kinds():
        email = address()
        user = auth.ImportUserRecord(
            uid=f"imported-{time.time_ns()}", email=email, email_verified=True, display_name="Ann",
            password_hash=password_hash, password_salt=salt, custom_claims={"level": 3},
            provider_data=[auth.UserProvider(uid=f"g-{time.time_ns()}", provider_id="google.com", email=email)],
        )
        result = auth.import_users([user], hash_alg=kind)
        assert (result.success_count, result.failure_count) == (1, 0), result.errors
        assert server.client("signInWithPassword", {"email": email, "password": "passwore"})[0] == 400
        assert server.client("signInWithPassword", {"email": email, "password": "password"})[0] == 200
        found = auth.get_user(user.uid)
        assert found.email_verified and found.custom_claims == {"level": 3}
        assert {row.provider_id for row in found.provider_data} == {"password", "google.com"}


def test_an_import_reports_the_users_that_it_skipped(app):
    taken = auth.create_user(email=address())
    users = [
        auth.ImportUserRecord(uid=f"a-{time.time_ns()}", email=address()),
        auth.ImportUserRecord(uid=f"b-{time.time_ns()}", email=taken.email),
    ]
    result = auth.import_users(users)
    assert (result.success_count, result.failure_count) == (1, 1)
    assert [(error.index, error.reason) for error in result.errors] == [
        (1, "email exists in other account in database")
    ]

