"""Valid requests: an example for every route, made of values of earlier answers, and stories of several requests."""

import base64
import collections
import hashlib
import hmac
import json
import re
import time
import urllib.parse

#: Members of answers that later requests use.
KEPT = {
    "idToken", "refreshToken", "id_token", "refresh_token", "access_token", "localId", "pendingToken", "oobCode",
    "sessionInfo", "mfaPendingCredential", "mfaEnrollmentId", "temporaryProof", "nextPageToken", "sessionCookie", "id",
    "proofToken", "email", "phoneNumber", "sharedSecretKey", "code", "shortCode", "linkSecret", "sessionId", "secret",
    "deviceToken", "deviceId",
}  # fmt: skip
#: Members of answers that are stored under another name.
SAME = {"id_token": "idToken", "access_token": "idToken", "refresh_token": "refreshToken"}

#: Members that are never mutated: they name hosts that the server calls, and it must call no foreign hosts.
PINNED = {"addresses", "issuer", "url"}
NOWHERE = "https://127.0.0.1:9/nowhere"
ADDRESSES = dict.fromkeys(
    ["requestToken", "authorization", "token", "keySet", "profile", "emails", "tokenInfo", "revocation"], NOWHERE
)


class World:
    """The values of answers that one worker has received."""

    def __init__(self, rng, project, api_key, worker):
        self.rng = rng
        self.project = project
        self.api_key = api_key
        self.worker = worker
        self.kept = collections.defaultdict(lambda: collections.deque(maxlen=12))
        self.count = 0

    def learn(self, document, depth=0):
        """Stores the members of an answer that later requests use."""
        if depth > 6:
            return
        if isinstance(document, dict):
            for name, value in document.items():
                if name in KEPT and isinstance(value, str) and 0 < len(value) < 5000:
                    self.kept[SAME.get(name, name)].append(value)
                elif isinstance(value, dict | list):
                    self.learn(value, depth + 1)
        elif isinstance(document, list):
            for value in document[:20]:
                self.learn(value, depth + 1)

    def one(self, name, otherwise="nonsense"):
        """Returns a stored value of that name, most often the newest."""
        known = self.kept.get(name)
        if not known or self.rng.random() < 0.03:
            return otherwise
        return known[-1] if self.rng.random() < 0.6 else self.rng.choice(known)

    def pick(self, *values):
        return self.rng.choice(values)

    def new(self):
        self.count += 1
        return f"{self.worker}-{self.count}"

    def new_email(self):
        return f"u{self.new()}@example.com"

    def new_number(self):
        return f"+1650{self.rng.randrange(2_010_000, 9_999_999)}"

    def email(self):
        return self.one("email", "nobody@example.com") if self.rng.random() < 0.7 else self.new_email()

    def uid(self):
        return self.one("localId", f"uid-{self.worker}")

    def password(self):
        # Hashing is slow: most passwords are too short to be hashed.
        return self.pick("correct horse", "short", "short", "short")

    def fake_token(self, subject=None, **claims):
        """Returns an unsigned ID token, which development accepts."""
        claims = {"sub": subject or f"s{self.rng.randrange(50)}", **claims}
        if self.rng.random() < 0.5:
            claims["email"] = claims.get("email") or self.email()
            claims["email_verified"] = self.rng.random() < 0.5
        return json.dumps(claims)

    def custom_token(self):
        claims = {"uid": self.uid(), "claims": {"role": "x"}, "iat": int(time.time()), "exp": int(time.time()) + 3600}
        if self.rng.random() < 0.5:
            return json.dumps(claims)
        return ".".join([base64url(b'{"alg":"none","typ":"JWT"}'), base64url(json.dumps(claims).encode()), ""])


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def totp(secret):
    """Returns the current code of an authenticator app."""
    try:
        key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    except ValueError:
        return "000000"
    digest = hmac.digest(key, (int(time.time()) // 30).to_bytes(8), hashlib.sha1)
    offset = digest[-1] & 15
    return f"{(int.from_bytes(digest[offset : offset + 4]) & 0x7FFFFFFF) % 1_000_000:06}"


class Shape:
    """A valid request to a route."""

    def __init__(self, body=None, query=(), bearer=None, fields=(), captures=None, form=False):
        self.body = body
        self.query = list(query)
        #: The token of the `Authorization` field; `None` for the token that the route's access requires.
        self.bearer = bearer
        self.fields = list(fields)
        self.captures = captures or {}
        self.form = form


def provider_config(world):
    return {
        "enabled": True, "clientId": "client-1", "clientSecret": "secret", "addresses": ADDRESSES,
        "appleSignInConfig": {
            "bundleIds": ["com.example.app"], "codeFlowConfig": {"teamId": "T", "keyId": "K", "privateKey": "none"},
        },
    }  # fmt: skip


def oauth_config(world):
    return {
        "displayName": "Fuzz", "enabled": True, "clientId": "client-1", "clientSecret": "secret", "issuer": NOWHERE,
        "responseType": {"code": True, "idToken": world.pick(True, False)}, "addresses": ADDRESSES,
    }  # fmt: skip


def imported_user(world):
    return {
        "localId": f"import-{world.new()}", "email": world.new_email(), "emailVerified": True, "displayName": "Ann",
        "phoneNumber": world.new_number(), "passwordHash": "aGFzaA==", "salt": "c2FsdA==", "createdAt": "1600000000000",
        "customAttributes": '{"level":3}', "disabled": False, "lastLoginAt": "1600000001000",
        "providerUserInfo": [{"providerId": "google.com", "rawId": world.new(), "email": world.email()}],
        "mfaInfo": [{"phoneInfo": "+16505550123", "displayName": "work", "enrolledAt": "2024-01-01T00:00:00.000Z"}],
    }  # fmt: skip


def project_config(world):
    return {
        "signIn": {
            "email": {"enabled": True, "passwordRequired": False}, "anonymous": {"enabled": True},
            "phoneNumber": {"enabled": True, "testPhoneNumbers": {"+16505550199": "123456"}},
            "allowDuplicateEmails": world.pick(True, False),
        },
        "emailPrivacyConfig": {"enableImprovedEmailPrivacy": world.pick(True, False)},
        "mfa": {
            "state": "ENABLED", "enabledProviders": ["PHONE_SMS"],
            "providerConfigs": [{"state": "ENABLED", "totpProviderConfig": {"adjacentIntervals": 5}}],
        },
        "passwordPolicyConfig": {
            "passwordPolicyEnforcementState": "ENFORCE",
            "passwordPolicyVersions": [{"customStrengthOptions": {"minPasswordLength": 8}}],
        },
        "smsRegionConfig": {"allowByDefault": {"disallowedRegions": ["FR"]}},
        "authorizedDomains": ["localhost", "demo-fuzz.firebaseapp.com"],
        "notification": {"defaultLocale": "de", "sendSms": {"smsTemplate": {"content": "%LOGIN_CODE%"}}},
        "concord": {
            "quarantineSeconds": 60, "keepsLastSignInMethod": True, "linkDomains": ["app.example.com"],
            "apps": [{"appId": "1:2:ios:3", "bundleId": "com.example.app"}],
        },
    }  # fmt: skip


def mail_settings(world):
    return world.pick(
        {}, {}, {"continueUrl": "http://localhost/next?a=b"},
        {"continueUrl": "http://localhost/", "canHandleCodeInApp": True, "iOSBundleId": "com.example.app",
         "androidPackageName": "com.example", "androidInstallApp": True, "androidMinimumVersion": "12",
         "linkDomain": "app.example.com", "dynamicLinkDomain": "x.example"},
    )  # fmt: skip


def send_oob_code(world):
    kind = world.pick("PASSWORD_RESET", "EMAIL_SIGNIN", "VERIFY_EMAIL", "VERIFY_AND_CHANGE_EMAIL", 6)
    return Shape({
        "requestType": kind, "email": world.email(), "newEmail": world.new_email(), "idToken": world.one("idToken"),
        "returnOobLink": False, **mail_settings(world),
    })  # fmt: skip


def send_oob_code_as_administrator(world):
    kind = world.pick("PASSWORD_RESET", "EMAIL_SIGNIN", "VERIFY_EMAIL", "VERIFY_AND_CHANGE_EMAIL")
    return Shape({
        "requestType": kind, "email": world.email(), "newEmail": world.new_email(),
        "returnOobLink": world.pick(True, False), **mail_settings(world),
    })  # fmt: skip


def sign_up(world):
    return world.pick(
        Shape({"returnSecureToken": True}), Shape({"returnSecureToken": True}),
        Shape({"email": world.new_email(), "password": world.password(), "displayName": "Ann"}),
        Shape({"email": world.new_email(), "password": world.password(), "idToken": world.one("idToken")}),
        Shape({
            "localId": f"made-{world.new()}", "email": world.new_email(), "emailVerified": True, "displayName": "Ann",
            "phoneNumber": world.new_number(), "photoUrl": "https://example.com/a.png", "disabled": False,
            "mfaInfo": [{"phoneInfo": world.new_number(), "displayName": "work"}],
        }),
    )  # fmt: skip


def update(world):
    return world.pick(
        Shape({"idToken": world.one("idToken"), "displayName": "Ann", "photoUrl": None, "deleteAttribute": ["PHOTO_URL"]}),
        Shape({"idToken": world.one("idToken"), "email": world.new_email(), "password": world.password()}),
        Shape({"idToken": world.one("idToken"), "deleteProvider": ["phone", "google.com"]}),
        Shape({"oobCode": world.one("oobCode")}),
        Shape({
            "localId": world.uid(), "email": world.new_email(), "emailVerified": True, "phoneNumber": world.new_number(),
            "customAttributes": world.pick('{"role":"x"}', "{}"), "validSince": "1700000000", "disableUser": False,
            "deleteAttribute": [1, "PASSWORD"], "deleteProvider": ["github.com"],
            "linkProviderUserInfo": {"providerId": "google.com", "rawId": world.new(), "email": world.email()},
            "mfa": {"enrollments": [{"phoneInfo": world.new_number(), "displayName": "x", "mfaEnrollmentId": "x"}]},
        }),
    )  # fmt: skip


def sign_in_with_idp(world):
    provider = world.pick(
        "google.com", "github.com", "facebook.com", "apple.com", "microsoft.com", "twitter.com", "oidc.fuzz"
    )
    post = {
        "providerId": provider, "id_token": world.fake_token(), "access_token": world.pick("", "token", world.fake_token()),
        "oauth_token_secret": "secret", "nonce": "nonce", "code": world.pick("", "", "code"),
        "user": '{"name":{"firstName":"Ann","lastName":"Ä"}}',
    }  # fmt: skip
    body = {
        "requestUri": "http://localhost/?state=x&code=y#id_token=z" if world.rng.random() < 0.1 else "http://localhost",
        "postBody": urllib.parse.urlencode({name: value for name, value in post.items() if value}),
        "returnIdpCredential": world.pick(True, False), "returnSecureToken": True, "returnRefreshToken": True,
        "autoCreate": world.pick(True, True, False), "sessionId": world.one("sessionId"),
        "asksFirst": world.pick(True, False, False),
    }  # fmt: skip
    if world.rng.random() < 0.3:
        body["idToken"] = world.one("idToken")
    if world.rng.random() < 0.2:
        del body["postBody"], body["requestUri"]
        body["pendingToken"] = world.one("pendingToken")
    return Shape(body)


def token(world):
    fields = {"grant_type": "refresh_token", "refresh_token": world.one("refreshToken")}
    if world.rng.random() < 0.5:
        return Shape(fields, form=True)
    return Shape({"grantType": "refresh_token", "refreshToken": world.one("refreshToken")})


def lookup(world):
    return world.pick(
        Shape({"idToken": world.one("idToken")}),
        Shape({
            "localId": [world.uid(), "nobody"], "email": [world.email()], "phoneNumber": [world.one("phoneNumber")],
            "federatedUserId": [{"providerId": "google.com", "rawId": "s1"}], "initialEmail": [world.email()],
        }),
    )  # fmt: skip


def query_accounts(world):
    return Shape({
        "returnUserInfo": world.pick(True, False), "limit": "20", "offset": 0, "sortBy": world.pick("USER_ID", "CREATED_AT"),
        "order": "DESC", "expression": [{"email": world.email()}, {"userId": world.uid()}],
    })  # fmt: skip


def batch_create(world):
    return Shape({
        "users": [imported_user(world) for _ in range(world.pick(1, 2, 20))], "hashAlgorithm": world.pick("SHA256", "SCRYPT"),
        "rounds": 1, "memoryCost": 8, "signerKey": "a2V5", "saltSeparator": "Bw==", "sanityCheck": world.pick(True, False),
        "allowOverwrite": True, "targetProjectId": world.project,
    })  # fmt: skip


def app_proof(world):
    return world.pick(
        {"recaptchaToken": "token"}, {"recaptchaToken": "token"}, {"iosReceipt": "r", "iosSecret": "s"},
        {"playIntegrityToken": "t"}, {"captchaResponse": "NO_RECAPTCHA", "clientType": "CLIENT_TYPE_IOS"},
    )  # fmt: skip


def start_enrollment(world):
    return Shape({
        "idToken": world.one("idToken"),
        **world.pick({"phoneEnrollmentInfo": {"phoneNumber": world.new_number(), **app_proof(world)}}, {"totpEnrollmentInfo": {}}),
    })  # fmt: skip


def finish_enrollment(world):
    code = totp(world.one("sharedSecretKey", "AAAA"))
    return Shape({
        "idToken": world.one("idToken"), "displayName": "mine",
        **world.pick(
            {"totpVerificationInfo": {"sessionInfo": world.one("sessionInfo"), "verificationCode": code}},
            {"phoneVerificationInfo": {"sessionInfo": world.one("sessionInfo"), "code": world.one("code")}},
        ),
    })  # fmt: skip


def finish_sign_in(world):
    code = totp(world.one("sharedSecretKey", "AAAA"))
    return Shape({
        "mfaPendingCredential": world.one("mfaPendingCredential"), "mfaEnrollmentId": world.one("mfaEnrollmentId"),
        **world.pick(
            {"totpVerificationInfo": {"verificationCode": code}},
            {"phoneVerificationInfo": {"sessionInfo": world.one("sessionInfo"), "code": world.one("code")}},
        ),
    })  # fmt: skip


def merge(world):
    if world.rng.random() < 0.5:
        body = {"survivor": world.uid(), "absorbed": world.uid(), "reason": "one person"}
        bearer = "administrator"
    else:
        body = {"absorbedIdToken": world.one("idToken")}
        bearer = world.one("idToken")
    body |= {"choices": {"email": "survivor", "displayName": "absorbed"}, "validateOnly": world.pick(True, False)}
    return Shape(body, bearer=bearer, fields=idempotency(world))


def idempotency(world):
    return [("Idempotency-Key", f"key-{world.rng.randrange(40)}")] if world.rng.random() < 0.3 else []


def policy(world):
    return Shape({
        "emailTrust": [{"provider": "github.com", "issuer": "none", "domain": "example.com", "trust": "asserting"}],
        "conflictProofs": [{"method": "password", "provider": "google.com", "proofs": ["mailbox", "session"]}],
    })  # fmt: skip


# The verifier and the challenge of RFC 7636, appendix B.
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def way_back(world):
    return {
        "continueUrl": world.pick("http://localhost:3000/back", "https://localhost/?a=b#c"),
        "state": "state",
        "codeChallenge": CHALLENGE,
    }


def of_conflict(body=None):
    """Returns the shape for a route whose bearer token is the handle of a conflict."""

    def shape(world):
        made = body(world) if body else None
        proof = [("Concord-Proof", world.one("proofToken"))] if world.rng.random() < 0.3 else []
        return Shape(made, bearer=world.one("pendingToken"), fields=idempotency(world) + proof)

    return shape


def of_session(body=None):
    """Returns the shape for a route whose bearer token is an ID token."""

    def shape(world):
        made = body(world) if body else None
        captures = {"method": world.pick("password", "google.com", "phone", "emailLink", "github.com", "nothing")}
        return Shape(made, bearer=world.one("idToken"), fields=idempotency(world), captures=captures)

    return shape


def of_id(body=None):
    """Returns the shape for a route with the id of an object in its path."""

    def shape(world):
        captures = {"id": world.one("id"), "decision": world.one("decision"), "message": world.one("id")}
        return Shape(body(world) if body else None, fields=idempotency(world), captures=captures)

    return shape


def new_config(name, ids, body):
    return lambda world: Shape(body(world), query=[(name, world.pick(*ids))])


def config_item(ids, body=None):
    def shape(world):
        mask = [("updateMask", world.pick("enabled", "clientId,enabled", "responseType.code", "display_name"))]
        return Shape(body(world) if body else None, query=mask if body else [], captures={"id": world.pick(*ids)})

    return shape


OAUTH_IDS = ["oidc.fuzz", "oidc.other"]
#: Google, Apple, Facebook and GitHub keep the configuration of development, so that simulated users can sign in.
SUPPORTED_IDS = ["twitter.com", "yahoo.com", "microsoft.com", "linkedin.com"]
ACCOUNTS = "/v1/accounts:"
PROJECT = "/v1/projects/{project}"
FACTORS = "/v2/accounts/mfa"
RELYING = "/identitytoolkit/v3/relyingparty/"
CONCORD = "/concord/v1/"
# A PNG image of 16 × 16 pixels.
LOGO = (
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFklEQVR42mPg"
    "SvMhCTGMahjVMHw1AACx4bwBwbiMCwAAAABJRU5ErkJggg=="
)

#: Shapes by method and first path. A route without a shape gets an empty body.
SHAPES = {
    f"POST {ACCOUNTS}signUp": sign_up,
    f"POST {ACCOUNTS}signInWithPassword": lambda world: Shape({
        "email": world.email(), "password": world.pick("correct horse", ""), "pendingToken": world.one("pendingToken"),
        "returnDeviceToken": world.pick(True, False), "deviceToken": world.one("deviceToken"),
    }),
    f"POST {ACCOUNTS}signInWithIdp": sign_in_with_idp,
    f"POST {ACCOUNTS}signInWithCustomToken": lambda world: Shape({"token": world.custom_token()}),
    f"POST {ACCOUNTS}createAuthUri": lambda world: world.pick(
        Shape({
            "identifier": world.email(), "continueUri": "http://localhost", "deviceToken": world.one("deviceToken"),
        }),
        Shape({
            "providerId": world.pick("google.com", "oidc.fuzz"), "continueUri": "http://localhost/__/auth/handler",
            "customParameter": {"prompt": "x"}, "oauthScope": '{"google.com":"a,b"}', "sessionId": "s", "context": "c",
        }),
    ),
    "POST /v2/accounts:revokeToken": lambda world: Shape({
        "providerId": "apple.com", "tokenType": world.pick("3", 1), "token": "t", "idToken": world.one("idToken"),
    }),
    f"POST {ACCOUNTS}lookup": lookup,
    f"POST {ACCOUNTS}update": update,
    f"POST {ACCOUNTS}signOutUser": lambda world: world.pick(
        Shape({"idToken": world.one("idToken")}),
        Shape({"localId": world.uid(), "instanceId": "app"}, bearer="administrator"),
    ),
    f"POST {ACCOUNTS}delete": lambda world: world.pick(
        Shape({"idToken": world.one("idToken")}), Shape({"localId": world.uid()}), Shape({"localId": "nobody"})
    ),
    f"GET {PROJECT}/accounts:batchGet": lambda world: Shape(
        query=[("maxResults", world.pick("1", "5", "20")), ("nextPageToken", world.pick("", world.one("nextPageToken"), world.uid()))]
    ),
    f"POST {RELYING}downloadAccount": lambda world: Shape({
        "maxResults": 3, "nextPageToken": world.one("nextPageToken", ""), "targetProjectId": world.project,
    }),
    f"POST {PROJECT}/accounts:batchCreate": batch_create,
    f"POST {RELYING}uploadAccount": batch_create,
    f"POST {PROJECT}/accounts:batchDelete": lambda world: Shape({
        "localIds": ["nobody", world.uid()], "force": world.pick(True, False),
    }),
    f"POST {PROJECT}/accounts:query": query_accounts,
    f"POST {PROJECT}:createSessionCookie": lambda world: Shape({"idToken": world.one("idToken"), "validDuration": "3600"}),
    "POST /v1/token": token,
    f"POST {ACCOUNTS}sendOobCode": send_oob_code,
    f"POST {PROJECT}/accounts:sendOobCode": send_oob_code_as_administrator,
    f"POST {ACCOUNTS}resetPassword": lambda world: world.pick(
        Shape({"oobCode": world.one("oobCode")}), Shape({"oobCode": world.one("oobCode"), "newPassword": world.password()}),
        Shape({"email": world.email(), "oldPassword": "short", "newPassword": world.password()}),
    ),
    f"POST {ACCOUNTS}signInWithEmailLink": lambda world: Shape({
        "email": world.email(), "oobCode": world.one("oobCode"), "idToken": world.one("idToken"),
    }),
    f"POST {ACCOUNTS}verifyIosClient": lambda world: Shape({"appToken": "ab" * 32, "isSandbox": True}),
    f"POST {ACCOUNTS}sendVerificationCode": lambda world: Shape({
        "phoneNumber": world.pick(world.new_number(), "+1 650-555-0199"), **app_proof(world),
        "autoRetrievalInfo": {"appSignatureHash": "x"},
    }),
    f"POST {ACCOUNTS}signInWithPhoneNumber": lambda world: world.pick(
        Shape({"sessionInfo": world.one("sessionInfo"), "code": world.one("code", "123456"), "operation": world.pick("LINK", 1)}),
        Shape({"temporaryProof": world.one("temporaryProof"), "phoneNumber": world.one("phoneNumber"), "idToken": world.one("idToken")}),
    ),
    f"POST {FACTORS}Enrollment:start": start_enrollment,
    f"POST {FACTORS}Enrollment:finalize": finish_enrollment,
    f"POST {FACTORS}Enrollment:withdraw": lambda world: Shape({
        "idToken": world.one("idToken"), "mfaEnrollmentId": world.one("mfaEnrollmentId"),
    }),
    f"POST {FACTORS}SignIn:start": lambda world: Shape({
        "mfaPendingCredential": world.one("mfaPendingCredential"), "mfaEnrollmentId": world.one("mfaEnrollmentId"),
        "phoneSignInInfo": app_proof(world),
    }),
    f"POST {FACTORS}SignIn:finalize": finish_sign_in,
    "POST /oauth2/token": lambda world: Shape(
        {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": world.custom_token()}, form=True
    ),
    "GET /v1/projects": lambda world: Shape(
        query=[(world.pick("iosBundleId", "androidPackageName", "firebaseAppId", "sha1Cert", "returnDynamicLink"), "com.example.app")]
    ),
    "GET /v2/recaptchaConfig": lambda world: Shape(
        query=[("clientType", world.pick("CLIENT_TYPE_WEB", "1", "x")), ("version", "RECAPTCHA_ENTERPRISE")]
    ),
    f"GET {CONCORD}conflict": of_conflict(),
    f"POST {CONCORD}conflict/proof": of_conflict(lambda world: {
        "kind": world.pick("mailbox", "session"), "idToken": world.one("idToken"),
    }),
    f"POST {CONCORD}conflict/proof:complete": of_conflict(lambda world: world.pick(
        {"code": world.one("shortCode", "1234 5678")}, {"linkSecret": world.one("linkSecret")}
    )),
    f"POST {CONCORD}conflict:resolve": of_conflict(lambda world: {"proofToken": world.one("proofToken")}),
    f"POST {CONCORD}conflict:decline": of_conflict(lambda world: {}),
    f"POST {CONCORD}conflict/return": of_conflict(way_back),
    f"POST {CONCORD}conflict/return:issueCode": of_conflict(lambda world: {"idToken": world.one("idToken")}),
    f"POST {CONCORD}signIn/return:issueCode": lambda world: Shape(
        way_back(world) | {"refreshToken": world.one("refreshToken")}, fields=idempotency(world)
    ),
    f"POST {CONCORD}session:exchange": lambda world: Shape(
        {"code": world.one("concordCode", "x" * 43), "codeVerifier": world.pick(VERIFIER, "v" * 43)}, fields=idempotency(world)
    ),
    f"POST {CONCORD}signUp/pending:prove": of_conflict(lambda world: world.pick(
        {"code": world.one("shortCode", "1234 5678")}, {"linkSecret": world.one("linkSecret")}
    )),
    f"POST {CONCORD}signUp/pending:create": of_conflict(lambda world: {
        "proofToken": world.one("proofToken"), "password": "correct horse", "displayName": "Ann",
    }),
    f"POST {CONCORD}signUp/pending:link": of_conflict(lambda world: {"proofToken": world.one("proofToken")}),
    f"POST {CONCORD}emailCode:disown": lambda world: Shape({"oobCode": world.one("oobCode")}),
    f"POST {CONCORD}shortCode:exchange": lambda world: Shape({
        "requestType": world.pick("PASSWORD_RESET", "EMAIL_SIGNIN"), "email": world.email(), "code": world.one("shortCode", "12345678"),
    }),
    f"POST {CONCORD}lookup": lambda world: Shape({
        "email": world.email(), "continueUrl": world.pick("http://localhost/welcome", "https://evil.example/x"),
        "deviceToken": world.one("deviceToken"),
    }),
    f"POST {CONCORD}lookup:prove": lambda world: Shape(world.pick(
        {"email": world.email(), "code": world.one("shortCode", "12345678")}, {"linkSecret": world.one("linkSecret")}
    )),
    f"POST {CONCORD}lookup:continue": lambda world: Shape({
        "proofToken": world.one("proofToken"), "way": world.pick("signIn", "setPassword", "linkProvider"),
        "pendingToken": world.one("pendingToken"),
    }, fields=idempotency(world)),
    f"GET {CONCORD}decisions/{{decision}}": of_id(),
    f"GET {CONCORD}decisions": lambda world: Shape(
        query=[("localId", world.uid()), ("pageSize", world.pick("1", "5"))]
        + world.pick([], [("pageToken", world.one("nextPageToken"))])
    ),
    f"GET {CONCORD}policy": lambda world: Shape(query=[("version", world.pick("1", "2"))]),
    f"PUT {CONCORD}policy": policy,
    f"PUT {CONCORD}branding/{{logo}}": lambda world: Shape(
        {"image": world.pick(LOGO, LOGO[:40], "PHN2Zy8+")}, captures={"logo": world.pick("logo", "logoDark", "other")}
    ),
    f"DELETE {CONCORD}branding/{{logo}}": lambda world: Shape(captures={"logo": world.pick("logo", "logoDark")}),
    f"GET {CONCORD}account/methods": of_session(),
    f"DELETE {CONCORD}account/methods/{{method}}": of_session(),
    f"GET {CONCORD}account/sessions": of_session(),
    f"DELETE {CONCORD}account/sessions/{{session}}": lambda world: Shape(
        bearer=world.one("idToken"), captures={"session": world.one("sessionId", "AAAAAAAAAAAAAAAAAAAAAA")}
    ),
    f"DELETE {CONCORD}account/sessions": lambda world: Shape(
        bearer=world.one("idToken"), query=world.pick([], [("keepCurrent", "true")])
    ),
    f"GET {CONCORD}account/events": lambda world: Shape(
        bearer=world.one("idToken"),
        query=[("pageSize", world.pick("1", "5"))] + world.pick([], [("pageToken", world.one("nextPageToken"))]),
    ),
    f"GET {CONCORD}account/export": of_session(),
    f"GET {CONCORD}account/merges": of_session(),
    f"POST {CONCORD}account/merges/{{id}}:undo": lambda world: Shape(
        {}, bearer=world.one("idToken"), captures={"id": world.one("id")}
    ),
    f"DELETE {CONCORD}account/devices/{{device}}": lambda world: Shape(
        bearer=world.one("idToken"), captures={"device": world.one("deviceId", "A" * 43)}, fields=idempotency(world)
    ),
    f"GET {CONCORD}sessions": lambda world: Shape(
        query=[("localId", world.uid()), ("pageSize", world.pick("1", "5"))]
        + world.pick([], [("pageToken", world.one("nextPageToken"))])
    ),
    f"GET {CONCORD}account/quarantine": of_session(),
    f"POST {CONCORD}account/quarantine/password:restore": of_session(lambda world: {"password": world.password()}),
    f"DELETE {CONCORD}account/quarantine/{{method}}": of_session(),
    f"POST {CONCORD}providers/{{provider}}:disable": lambda world: Shape(
        {"force": world.pick(True, False)}, captures={"provider": world.pick("oidc.fuzz", "twitter.com", "nothing")}
    ),
    f"POST {CONCORD}webhooks": lambda world: Shape({"url": NOWHERE}, fields=idempotency(world)),
    f"GET {CONCORD}webhooks/{{id}}": of_id(),
    f"DELETE {CONCORD}webhooks/{{id}}": of_id(),
    f"POST {CONCORD}webhooks/{{id}}/secret": of_id(lambda world: {}),
    f"POST {CONCORD}webhooks/{{id}}/enable": of_id(lambda world: {}),
    f"GET {CONCORD}webhooks/{{id}}/failures": of_id(),
    f"POST {CONCORD}merges": merge,
    f"GET {CONCORD}merges": lambda world: Shape(query=[("uid", world.uid())]),
    f"GET {CONCORD}merges/{{id}}": of_id(),
    f"POST {CONCORD}merges/{{id}}/abort": of_id(lambda world: {}),
    f"POST {CONCORD}merges/{{id}}/undo": of_id(lambda world: {
        "keepLaterChanges": world.pick(True, False), "validateOnly": world.pick(True, False),
    }),
    "POST /v2/projects/{project}/oauthIdpConfigs": new_config("oauthIdpConfigId", OAUTH_IDS, oauth_config),
    "GET /v2/projects/{project}/oauthIdpConfigs": lambda world: Shape(query=[("pageSize", "1"), ("pageToken", world.pick("", "oidc.a"))]),
    "GET /v2/projects/{project}/oauthIdpConfigs/{id}": config_item(OAUTH_IDS),
    "PATCH /v2/projects/{project}/oauthIdpConfigs/{id}": config_item(OAUTH_IDS, oauth_config),
    "DELETE /v2/projects/{project}/oauthIdpConfigs/{id}": config_item(OAUTH_IDS),
    "POST /v2/projects/{project}/defaultSupportedIdpConfigs": new_config("idpId", SUPPORTED_IDS, provider_config),
    "GET /v2/projects/{project}/defaultSupportedIdpConfigs/{id}": config_item(SUPPORTED_IDS),
    "PATCH /v2/projects/{project}/defaultSupportedIdpConfigs/{id}": config_item(SUPPORTED_IDS, provider_config),
    "DELETE /v2/projects/{project}/defaultSupportedIdpConfigs/{id}": config_item(SUPPORTED_IDS),
    **{
        f"PATCH {prefix}/projects/{{project}}/config": lambda world: Shape(
            project_config(world), query=world.pick([], [("updateMask", "signIn.email,mfa.state")], [("updateMask", "concord")])
        )
        for prefix in ["/v2", "/admin/v2"]
    },
    "PATCH /emulator/v1/projects/{project}/config": lambda world: Shape({
        "signIn": {"allowDuplicateEmails": False}, "emailPrivacyConfig": {"enableImprovedEmailPrivacy": False},
    }),
    "GET /emulator/action": lambda world: Shape(query=[
        ("mode", world.pick("resetPassword", "verifyEmail", "signIn", "recoverEmail", "verifyAndChangeEmail")), ("lang", "en"),
        ("oobCode", world.one("oobCode")), ("apiKey", "any"), ("newPassword", "short"), ("continueUrl", "http://localhost/"),
    ]),
    "GET /inbox/messages/{message}": of_id(),
    "GET /__/concord/branding/mails/{mail}": lambda world: Shape(
        captures={"mail": world.pick("PASSWORD_RESET.th", "CONFLICT_PROOF.en", "none")}
    ),
}  # fmt: skip

#: Routes that delete the accounts or the messages of all workers.
RARE = {"DELETE /emulator/v1/projects/{project}/accounts", "DELETE /inbox/messages"}

#: Names of members, which a mutation adds to bodies of other routes.
ALL_NAMES = sorted({
    "idToken", "localId", "email", "password", "tenantId", "targetProjectId", "oobCode", "pendingToken", "phoneNumber",
    "customAttributes", "mfaInfo", "mfa", "validSince", "createdAt", "disableUser", "linkProviderUserInfo", "requestType",
    "continueUrl", "returnOobLink", "captchaResponse", "users", "hashAlgorithm", "argon2Parameters", "expression", "limit",
    "nothing", "", "é", "__proto__", "a.b",
})  # fmt: skip


# Stories: sequences of requests. Each yields a route and its shape, and receives the JSON of the answer.


def story_password(world):
    email = world.new_email()
    yield f"POST {ACCOUNTS}signUp", Shape({"email": email, "password": "correct horse"})
    yield f"POST {ACCOUNTS}signInWithPassword", Shape({"email": email, "password": "correct horse"})
    yield "POST /v1/token", token(world)
    yield f"POST {ACCOUNTS}update", Shape({"idToken": world.one("idToken"), "email": world.new_email()})
    yield f"POST {ACCOUNTS}delete", Shape({"idToken": world.one("idToken")})


def mailed(world, kind, email):
    """Returns the code of the newest mail of this kind to the address."""
    listed = yield "GET /emulator/v1/projects/{project}/oobCodes", Shape()
    codes = listed.get("oobCodes", []) if isinstance(listed, dict) else []
    mine = [code for code in codes if code.get("requestType") == kind and code.get("email") == email]
    return mine[-1]["oobCode"] if mine else world.one("oobCode")


def story_email_link(world):
    email = world.new_email()
    body = {"requestType": "EMAIL_SIGNIN", "email": email, "continueUrl": "http://localhost/"}
    yield f"POST {ACCOUNTS}sendOobCode", Shape(body)
    code = yield from mailed(world, "EMAIL_SIGNIN", email)
    yield f"POST {ACCOUNTS}signInWithEmailLink", Shape({"email": email, "oobCode": code})
    for kind in ["VERIFY_EMAIL", "VERIFY_AND_CHANGE_EMAIL"]:
        body = {"requestType": kind, "idToken": world.one("idToken"), "newEmail": world.new_email()}
        yield f"POST {ACCOUNTS}sendOobCode", Shape(body)
        code = yield from mailed(world, kind, email)
        yield f"POST {ACCOUNTS}resetPassword", Shape({"oobCode": code})
        yield f"POST {ACCOUNTS}update", Shape({"oobCode": code})


def story_takeover(world):
    """The first proof of an address suspends the password; the user restores or deletes it."""
    email = world.new_email()
    yield f"POST {ACCOUNTS}signUp", Shape({"email": email, "password": "correct horse"})
    yield f"POST {ACCOUNTS}sendOobCode", Shape({"requestType": "EMAIL_SIGNIN", "email": email})
    code = yield from mailed(world, "EMAIL_SIGNIN", email)
    yield f"POST {ACCOUNTS}signInWithEmailLink", Shape({"email": email, "oobCode": code})
    session = world.one("idToken")
    yield f"GET {CONCORD}account/quarantine", Shape(bearer=session)
    if world.rng.random() < 0.5:
        yield f"POST {CONCORD}account/quarantine/password:restore", Shape({"password": "correct horse"}, bearer=session)
    else:
        captures = {"method": "password"}
        yield f"DELETE {CONCORD}account/quarantine/{{method}}", Shape(bearer=session, captures=captures)


def story_short_code(world):
    email = world.new_email()
    yield f"POST {ACCOUNTS}sendOobCode", Shape({"requestType": "EMAIL_SIGNIN", "email": email})
    listed = yield "GET /inbox/messages", Shape()
    messages = listed.get("messages", []) if isinstance(listed, dict) else []
    mine = next((message for message in messages if message.get("to") == email), {})
    yield "GET /inbox/messages/{message}", Shape(captures={"message": mine.get("id", "none")})
    digits = re.search(r"\b\d{4}[ -]?\d{4}\b", mine.get("text", ""))
    body = {"requestType": "EMAIL_SIGNIN", "email": email, "code": digits[0] if digits else "1234 5678"}
    yield f"POST {CONCORD}shortCode:exchange", Shape(body)


def story_number_as_factor(world):
    email, number = world.new_email(), world.new_number()
    made = {
        "localId": f"factor-{world.new()}", "email": email, "emailVerified": True, "mfaInfo": [{"phoneInfo": number}],
        "linkProviderUserInfo": {"providerId": "google.com", "rawId": world.new()},
    }  # fmt: skip
    yield f"POST {ACCOUNTS}signUp", Shape({**made, "password": "correct horse"}, bearer="administrator")
    yield f"POST {ACCOUNTS}signInWithPassword", Shape({"email": email, "password": "correct horse"})
    pending = {"mfaPendingCredential": world.one("mfaPendingCredential")}
    body = {**pending, "mfaEnrollmentId": world.one("mfaEnrollmentId"), "phoneSignInInfo": {"recaptchaToken": "token"}}
    yield f"POST {FACTORS}SignIn:start", Shape(body)
    message = yield from texted(world, number)
    shown = {"sessionInfo": message["sessionInfo"], "code": message["code"]}
    yield f"POST {FACTORS}SignIn:finalize", Shape({**pending, "phoneVerificationInfo": shown})


def story_reset(world):
    email = world.new_email()
    made = {"email": email, "localId": f"reset-{world.new()}", "emailVerified": True}
    yield f"POST {ACCOUNTS}signUp", Shape(made, bearer="administrator")
    yield f"POST {ACCOUNTS}sendOobCode", Shape({"requestType": "PASSWORD_RESET", "email": email})
    code = yield from mailed(world, "PASSWORD_RESET", email)
    yield f"POST {ACCOUNTS}resetPassword", Shape({"oobCode": code, "newPassword": world.password()})


def texted(world, number):
    listed = yield "GET /emulator/v1/projects/{project}/verificationCodes", Shape()
    codes = listed.get("verificationCodes", []) if isinstance(listed, dict) else []
    mine = [code for code in codes if code.get("phoneNumber") == number]
    return mine[-1] if mine else {"sessionInfo": world.one("sessionInfo"), "code": "123456"}


def story_phone(world):
    number = world.new_number()
    yield f"POST {ACCOUNTS}sendVerificationCode", Shape({"phoneNumber": number, "recaptchaToken": "token"})
    message = yield from texted(world, number)
    body = {"sessionInfo": message["sessionInfo"], "code": message["code"]}
    if world.rng.random() < 0.3:
        body["idToken"] = world.one("idToken")
    yield f"POST {ACCOUNTS}signInWithPhoneNumber", Shape(body)


def story_second_factor(world):
    email = world.new_email()
    fake = {"providerId": "google.com", "id_token": world.fake_token(world.new(), email=email)}
    signed_in = {"requestUri": "http://localhost", "postBody": urllib.parse.urlencode(fake)}
    answer = yield f"POST {ACCOUNTS}signInWithIdp", Shape(signed_in)
    uid = answer.get("localId", world.uid()) if isinstance(answer, dict) else world.uid()
    proven = {"localId": uid, "email": email, "emailVerified": True}
    yield f"POST {ACCOUNTS}update", Shape(proven, bearer="administrator")
    yield f"POST {ACCOUNTS}signInWithIdp", Shape(signed_in)
    answer = yield f"POST {FACTORS}Enrollment:start", Shape({"idToken": world.one("idToken"), "totpEnrollmentInfo": {}})
    info = (answer or {}).get("totpSessionInfo", {}) if isinstance(answer, dict) else {}
    code = totp(info.get("sharedSecretKey", "AAAA"))
    shown = {"sessionInfo": info.get("sessionInfo", "nonsense"), "verificationCode": code}
    body = {"idToken": world.one("idToken"), "totpVerificationInfo": shown, "displayName": "app"}
    yield f"POST {FACTORS}Enrollment:finalize", Shape(body)
    yield f"POST {ACCOUNTS}signInWithIdp", Shape(signed_in)
    yield f"POST {FACTORS}SignIn:finalize", finish_sign_in(world)
    yield f"POST {FACTORS}Enrollment:withdraw", Shape({
        "idToken": world.one("idToken"), "mfaEnrollmentId": world.one("mfaEnrollmentId"),
    })  # fmt: skip


def story_first_sign_in(world):
    fake = {"providerId": "google.com", "id_token": world.fake_token(world.new(), email=world.new_email())}
    body = {"requestUri": "http://localhost", "postBody": urllib.parse.urlencode(fake), "asksFirst": True}
    answer = yield f"POST {ACCOUNTS}signInWithIdp", Shape(body)
    token = answer.get("pendingToken", "x") if isinstance(answer, dict) else "x"
    if world.rng.random() < 0.5:
        yield f"POST {ACCOUNTS}signInWithIdp", Shape({"pendingToken": token, "idToken": world.one("idToken")})
    yield f"POST {ACCOUNTS}signInWithIdp", Shape({"pendingToken": token, "asksFirst": world.pick(True, False)})
    yield f"GET {CONCORD}conflict", Shape(bearer=token)


def story_conflict(world):
    email = world.new_email()
    made = {"email": email, "password": "correct horse", "localId": f"owner-{world.new()}"}
    if world.rng.random() < 0.7:
        del made["password"]
        made["linkProviderUserInfo"] = {"providerId": "facebook.com", "rawId": world.new(), "email": email}
    yield f"POST {ACCOUNTS}signUp", Shape(made, bearer="administrator")
    fake = {
        "providerId": "github.com",
        "id_token": json.dumps({"sub": world.new(), "email": email, "email_verified": True}),
    }
    body = {"requestUri": "http://localhost", "postBody": urllib.parse.urlencode(fake), "returnIdpCredential": True}
    yield f"POST {ACCOUNTS}signInWithIdp", Shape(body)
    handle = world.one("pendingToken")
    yield f"GET {CONCORD}conflict", Shape(bearer=handle)
    yield f"POST {CONCORD}conflict/proof", Shape({"kind": "mailbox"}, bearer=handle)
    listed = yield "GET /emulator/v1/projects/{project}/conflictProofs", Shape()
    world.learn(listed)
    proof = {"code": world.one("code")} if world.rng.random() < 0.5 else {"linkSecret": world.one("linkSecret")}
    yield f"POST {CONCORD}conflict/proof:complete", Shape(proof, bearer=handle)
    yield f"POST {CONCORD}conflict/return", Shape(way_back(world), bearer=handle)
    yield f"POST {CONCORD}conflict:resolve", Shape({"proofToken": world.one("proofToken")}, bearer=handle)
    issued = yield f"POST {CONCORD}conflict/return:issueCode", Shape({"idToken": world.one("idToken")}, bearer=handle)
    for code in re.findall(r"concordCode=([\w-]+)", json.dumps(issued)):
        world.kept["concordCode"].append(code)
    code = {"code": world.one("concordCode", "x" * 43), "codeVerifier": VERIFIER}
    yield f"POST {CONCORD}session:exchange", Shape(code)
    yield f"POST {CONCORD}session:exchange", Shape(code)
    yield f"POST {CONCORD}conflict:decline", Shape({}, bearer=handle)
    yield f"GET {CONCORD}account/methods", Shape(bearer=world.one("idToken"))


def story_merge(world):
    uids = [f"merge-{world.new()}" for _ in range(2)]
    for uid in uids:
        yield f"POST {ACCOUNTS}signUp", Shape({"localId": uid, "email": world.new_email()}, bearer="administrator")
    body = {"survivor": uids[0], "absorbed": uids[1], "reason": "one person", "choices": {"email": "survivor"}}
    yield f"POST {CONCORD}merges", Shape(body, bearer="administrator")
    yield f"GET {CONCORD}merges", Shape(query=[("uid", uids[1])])
    captures = {"id": world.one("id")}
    yield f"GET {CONCORD}merges/{{id}}", Shape(captures=captures, bearer="administrator")
    yield f"POST {CONCORD}merges/{{id}}/undo", Shape({"validateOnly": world.pick(True, False)}, captures=captures)


def story_sign_in_page(world):
    email = world.new_email()
    signed_up = yield f"POST {ACCOUNTS}signUp", Shape({"email": email, "password": "correct horse"})
    refresh_token = signed_up.get("refreshToken", "x") if isinstance(signed_up, dict) else "x"
    issued = yield f"POST {CONCORD}signIn/return:issueCode", Shape(way_back(world) | {"refreshToken": refresh_token})
    for code in re.findall(r"concordCode=([\w-]+)", json.dumps(issued)):
        world.kept["concordCode"].append(code)
    code = {"code": world.one("concordCode", "x" * 43), "codeVerifier": VERIFIER}
    yield f"POST {CONCORD}session:exchange", Shape(code)
    yield f"GET {CONCORD}account/events", Shape(bearer=world.one("idToken"), query=[("pageSize", "1")])
    yield f"GET {CONCORD}account/export", Shape(bearer=world.one("idToken"))
    yield f"GET {CONCORD}account/merges", Shape(bearer=world.one("idToken"))
    yield f"POST {CONCORD}session:exchange", Shape(code)


STORIES = [
    story_password, story_email_link, story_takeover, story_short_code, story_reset, story_phone, story_second_factor,
    story_number_as_factor, story_first_sign_in, story_conflict, story_merge, story_sign_in_page,
]  # fmt: skip
