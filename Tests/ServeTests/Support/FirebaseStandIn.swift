import Foundation

/// Shell functions and files in place of Google's API of a project, both command line tools and the Admin SDK, for the
/// commands of `moving-from-firebase.md`.
enum FirebaseStandIn {
    /// Functions that take the place of `gcloud`, `firebase` and of `curl` to Google's hosts.
    ///
    /// The second export shows a project that has changed: one account is new, one is changed, one is gone.
    static let functions = #"""
        exports=0
        gcloud() { echo token; }
        curl() {
          case "$*" in
          *identitytoolkit.googleapis.com*nextPageToken=\ *) cat "page-$((exports++ > 0 ? 2 : 1)).json" ;;
          *identitytoolkit.googleapis.com*nextPageToken=next*) cat page-last.json ;;
          *) command curl "$@" ;;
          esac
        }
        firebase() {
          case $1 in
          auth:export) jq --slurp '{users: map({localId, email, emailVerified, passwordHash, salt})}' users.ndjson >"$2" ;;
          auth:import) cp "$2" imported.json ;;
          esac
        }

        """#

    private static let hash = "GiWqSZOafBDgfgkniyu6uBERK9NzozccGT3I0Sknri8OAVT74W6eummJRDQh4GijC2oUy70uovfXXXcGs9K-gw=="

    /// Signer key of `hash`, Firebase's hash of `correct horse` with the salt `NaCl`.
    private static let signerKey =
        "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=="

    private static func passwordUser(_ name: String, isVerified: Bool, _ providers: String = "") -> String {
        #"{"localId":"\#(name)","email":"\#(name)@example.com","emailVerified":\#(isVerified),"#
            + #""passwordHash":"\#(hash)","salt":"TmFDbA==","version":0,"createdAt":"1600000000000","#
            + #""lastLoginAt":"1600000001000","lastRefreshAt":"2024-05-01T12:00:00Z","validSince":"1600000000","#
            + #""passwordUpdatedAt":1600000000000,"providerUserInfo":[{"providerId":"password","#
            + #""federatedId":"\#(name)@example.com","rawId":"\#(name)@example.com"}\#(providers)]}"#
    }

    private static let phoneUser =
        #"{"localId":"cid","phoneNumber":"+15550001111","createdAt":"1600000000000","#
        + #""providerUserInfo":[{"providerId":"phone","rawId":"+15550001111","phoneNumber":"+15550001111"}]}"#

    /// A user with an authenticator app, which no import can take over.
    private static let appUser =
        #"{"localId":"dan","email":"dan@example.com","emailVerified":true,"createdAt":"1600000000000","#
        + #""mfaInfo":[{"mfaEnrollmentId":"1","enrolledAt":"2024-05-01T12:00:00Z","totpInfo":{}}],"#
        + #""providerUserInfo":[{"providerId":"google.com","rawId":"g1","email":"dan@example.com"}]}"#

    private static let googleUser =
        #"{"localId":"eve","email":"eve@example.com","emailVerified":true,"createdAt":"1600000000000","#
        + #""providerUserInfo":[{"providerId":"google.com","rawId":"g2","email":"eve@example.com"}]}"#

    private static let newUser = #"{"localId":"fay","createdAt":"1700000000000","customAttributes":"{\"level\":1}"}"#

    private static func page(_ users: [String], isLast: Bool = false) -> String {
        #"{"users":[\#(users.joined(separator: ","))]\#(isLast ? "" : #","nextPageToken":"next""#)}"#
    }

    /// The Admin SDK for Python. Its ID tokens are uids; it signs custom tokens as the SDK does.
    private static let adminSDK = #"""
        import base64, json, subprocess, tempfile, time, types


        def initialize_app(credential=None, name=None):
            return credential


        def verify_id_token(token, app, check_revoked):
            return {"uid": token.strip()}


        def encode(value):
            return base64.urlsafe_b64encode(value).rstrip(b"=")


        def create_custom_token(uid, app):
            now = int(time.time())
            claims = {
                "iss": app["client_email"], "sub": app["client_email"], "uid": uid, "iat": now, "exp": now + 3600,
                "aud": "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit",
            }
            parts = ({"alg": "RS256", "typ": "JWT"}, claims)
            text = b".".join(encode(json.dumps(part).encode()) for part in parts)
            with tempfile.NamedTemporaryFile("w") as key:
                key.write(app["private_key"])
                key.flush()
                command = ["openssl", "dgst", "-sha256", "-sign", key.name]
                signature = subprocess.run(command, input=text, capture_output=True, check=True).stdout
            return text + b"." + encode(signature)


        credentials = types.SimpleNamespace(Certificate=lambda path: json.load(open(path)))
        auth = types.SimpleNamespace(verify_id_token=verify_id_token, create_custom_token=create_custom_token)
        """#

    /// Writes the files that the commands read.
    static func write(to folder: Folder) throws {
        let apple = #",{"providerId":"apple.com","rawId":"001.a","email":"ada@example.com"}"#
        let ada = passwordUser("ada", isVerified: true, apple)
        try folder.write("page-1.json", page([ada, passwordUser("bob", isVerified: false), phoneUser]))
        try folder.write("page-2.json", page([ada, passwordUser("bob", isVerified: true), newUser]))
        try folder.write("page-last.json", page([appUser, googleUser], isLast: true))
        try folder.write("hash-key", signerKey + "\n")
        try folder.write("firebase-id-token", "ada\n")
        try folder.write("firebase_admin.py", adminSDK)
    }
}
