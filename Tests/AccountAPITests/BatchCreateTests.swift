import AccountTestSupport
import Foundation
import HTTPTypes
import JSON
import Postgres
import Testing

/// `accounts:batchCreate`, as Admin SDKs call it.
struct BatchCreateTests {
    private func upload(_ api: TestAPI, _ body: JSONValue) async throws -> TestAPI.Answer {
        try await api.admin("accounts:batchCreate", body)
    }

    private func reasons(_ answer: TestAPI.Answer) -> [Int64: String] {
        Dictionary(
            (answer.json["error"]?.array ?? []).map { ($0["index"]?.integer ?? -1, $0["message"]?.string ?? "") },
            uniquingKeysWith: { first, _ in first }
        )
    }

    private func signIn(_ api: TestAPI, _ email: String, _ password: String = "password") async throws -> Bool {
        let answer = try await api.post(
            "/v1/accounts:signInWithPassword",
            ["email": .string(email), "password": .string(password), "returnSecureToken": true]
        )
        return answer.status == 200
    }

    private static func base64(_ text: String) -> JSONValue { .string(Data(text.utf8).base64EncodedString()) }

    /// The hashes that the Admin SDKs' own tests import, each of the password `password` with the salt `NaCl`.
    struct Algorithm: Sendable, CustomTestStringConvertible {
        let name: String
        let parameters: JSONValue
        let hash: String
        var salt: String? = "TmFDbA=="

        var testDescription: String { name }
    }

    private static let signerKey =
        "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=="

    static let algorithms = [
        Algorithm(
            name: "SCRYPT",
            parameters: [
                "hashAlgorithm": "SCRYPT", "signerKey": .string(signerKey), "saltSeparator": "Bw==", "rounds": 8,
                "memoryCost": 14,
            ],
            hash: "V358E8LdWJXAO7muq0CufVpEOXaj8aFiC7T_rcaGieN04q_ZPJ08WhJEHGjj9lz_2TT-_86N5VjVoc5DdBhBiw=="
        ),
        Algorithm(
            name: "STANDARD_SCRYPT",
            parameters: [
                "hashAlgorithm": "STANDARD_SCRYPT", "cpuMemCost": 1024, "parallelization": 16, "blockSize": "8",
                "dkLen": 64,
            ],
            hash: "/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWIurzDZLiKjiG/xCSedmDDaxyevuUqD7m2DYMvfoswGQA=="
        ),
        Algorithm(
            name: "STANDARD_SCRYPT, its cost under the name of the other scrypt's",
            parameters: [
                "hashAlgorithm": "STANDARD_SCRYPT", "memoryCost": 1024, "parallelization": 16, "blockSize": 8,
                "dkLen": 64,
            ],
            hash: "/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWIurzDZLiKjiG/xCSedmDDaxyevuUqD7m2DYMvfoswGQA=="
        ),
        Algorithm(
            name: "PBKDF2_SHA256",
            parameters: ["hashAlgorithm": "PBKDF2_SHA256", "rounds": 100_000],
            hash: "5VnqZoKMOie1mhCQGRw7u1FV5Kv8Yb8uxEArtVAl0vSlwAQqXe8VxejCRe5enxUyNN4OWQ60PGRIVPZzEvcQtw=="
        ),
        Algorithm(
            name: "HMAC_SHA256",
            parameters: ["hashAlgorithm": "HMAC_SHA256", "signerKey": "c2VjcmV0"],
            hash: "C5WKh+Qa5RkMlq+h5DX5XKsBOsQt/DEKEaUBAMQqrlI="
        ),
        Algorithm(
            name: "HMAC_SHA512",
            parameters: ["hashAlgorithm": "HMAC_SHA512", "signerKey": "c2VjcmV0"],
            hash: "yoFsygT+IMma1lMv+IqBvfHM1DCminat6m9ku6Re5nl8QSy9Z3BwPG9FnejSRcu99tK4xSVVkY6I9euOf8nmQA=="
        ),
        Algorithm(
            name: "HMAC_SHA1",
            parameters: ["hashAlgorithm": "HMAC_SHA1", "signerKey": "c2VjcmV0"],
            hash: "tSjltw8SZxad1AY6k8wDYCwUeyI="
        ),
        Algorithm(
            name: "HMAC_MD5",
            parameters: ["hashAlgorithm": "HMAC_MD5", "signerKey": "c2VjcmV0"],
            hash: "4tZGVrzeu9LZ9eWZ03FrLg=="
        ),
        Algorithm(
            name: "SHA256",
            parameters: ["hashAlgorithm": "SHA256", "rounds": 1],
            hash: "sgq3SqJUn34ToOiGy0RxzC5w/NLOgHXA7mSDq7phMvM="
        ),
        Algorithm(
            name: "SHA256 with the password first",
            parameters: ["hashAlgorithm": "SHA256", "rounds": 3, "passwordHashOrder": "PASSWORD_AND_SALT"],
            hash: "29AoRmDJ5NwHmJx4Y2qu3SnRCLxiQC5/bkB187c0Fpw="
        ),
        Algorithm(
            name: "SHA512",
            parameters: ["hashAlgorithm": "SHA512", "rounds": "1"],
            hash: "2p0svfOgDTflOF7HK5wbHP+05l4lkdV8P+FFq+p6aHPQS7uBGa9TyGc8DfxZsfkcaV2Mfod35WxAzaj5yBEKYw=="
        ),
        Algorithm(
            name: "SHA1",
            parameters: ["hashAlgorithm": "SHA1", "rounds": 1],
            hash: "4ynUBUr/OQVsCQQZk/6FmoYdJy8="
        ),
        Algorithm(
            name: "MD5, of the digits of the digest",
            parameters: ["hashAlgorithm": "MD5", "rounds": 0],
            hash: Data("62d19f7e7ddcb5946728776d25e410ed".utf8).base64EncodedString()
        ),
        Algorithm(
            name: "BCRYPT",
            parameters: ["hashAlgorithm": "BCRYPT"],
            hash: Data("$2b$10$abcdefghijklmnopqrstuu5Lo0g67CiD3M4RpN1BmBb4Crp5w7dbK".utf8).base64EncodedString(),
            salt: nil
        ),
        Algorithm(
            name: "ARGON2",
            parameters: [
                "hashAlgorithm": "ARGON2",
                "argon2Parameters": [
                    "hashType": "ARGON2_ID", "memoryCostKib": 256, "iterations": 2, "parallelism": 1,
                    "hashLengthBytes": 32,
                ],
            ],
            hash: "nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4=",
            salt: "c29tZXNhbHQ="
        ),
        Algorithm(
            name: "hashes that describe themselves",
            parameters: ["hashAlgorithm": "PHC"],
            hash: Data("$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4".utf8)
                .base64EncodedString(),
            salt: nil
        ),
    ]

    private func body(_ algorithm: Algorithm, _ users: [JSONValue]) -> JSONValue {
        var body = algorithm.parameters.object ?? [:]
        body["users"] = .array(users)
        return .object(body)
    }

    private func user(_ id: String, _ algorithm: Algorithm, hash: String? = nil) -> JSONValue {
        var user: [String: JSONValue] = [
            "localId": .string(id), "email": .string("\(id)@example.com"),
            "passwordHash": .string(hash ?? algorithm.hash),
        ]
        user["salt"] = algorithm.salt.map { .string($0) }
        return .object(user)
    }

    @Test(arguments: algorithms)
    func `an imported user signs in only with the old password`(algorithm: Algorithm) async throws {
        try await TestAPI.withAdministrator { api in
            let answer = try await upload(api, body(algorithm, [user("ann", algorithm)]))
            #expect(answer.json == ["kind": "identitytoolkit#UploadAccountResponse"], "\(answer.text)")
            #expect(try await !signIn(api, "ann@example.com", "passwore"))
            #expect(try await signIn(api, "ann@example.com"))
            let hashes: [String?] = try await api.service.database.rows("SELECT hash FROM password_credentials")
            #expect(hashes.first??.hasPrefix("$argon2id$v=19$m=19456,t=2,p=1$") == true, "replaced at the sign-in")
            #expect(try await signIn(api, "ann@example.com"))
            #expect(try await api.service.database.inconsistencies() == [])
        }
    }

    @Test(arguments: algorithms)
    func `a truncated hash is an error of its row only`(algorithm: Algorithm) async throws {
        try await TestAPI.withAdministrator { api in
            let cut = String(algorithm.hash.prefix(8))
            let answer = try await upload(
                api,
                body(algorithm, [user("ann", algorithm, hash: cut), user("bob", algorithm)])
            )
            #expect(reasons(answer).keys.sorted() == [0], "\(answer.text)")
            #expect(try await api.user("ann") == nil)
            #expect(try await signIn(api, "bob@example.com"))
        }
    }

    @Test func `a picture URL that runs script is not imported, but its account is`() async throws {
        try await TestAPI.withAdministrator { api in
            for address in ["javascript:alert(1)", "data:image/png;base64," + String(repeating: "A", count: 4000)] {
                let users: JSONValue = [
                    [
                        "localId": "ann", "email": "ann@example.com", "photoUrl": .string(address),
                        "providerUserInfo": [
                            ["providerId": "google.com", "rawId": "g-1", "photoUrl": .string(address)]
                        ],
                    ]
                ]
                let answer = try await upload(api, ["users": users, "allowOverwrite": true])
                #expect(answer.json == ["kind": "identitytoolkit#UploadAccountResponse"], "\(answer.text)")
                let ann = try #require(await api.user("ann"))
                #expect(ann["email"] == "ann@example.com" && !ann.text.contains("photoUrl"), "\(ann.text)")
            }
        }
    }

    @Test func `all fields are imported, and a second import changes nothing`() async throws {
        try await TestAPI.withAdministrator { api in
            let users: JSONValue = [
                [
                    "localId": "ann", "email": "Ann@Example.com", "emailVerified": true, "displayName": "Ann",
                    "photoUrl": "https://example.com/a.png", "phoneNumber": "+15550001111", "disabled": true,
                    "customAttributes": "{\"level\":3}", "createdAt": "1600000000000", "lastLoginAt": "1600000001000",
                    "providerUserInfo": [
                        [
                            "providerId": "google.com", "rawId": "g-1", "email": "ann@gmail.com",
                            "displayName": "A", "photoUrl": "https://example.com/g.png",
                        ],
                        ["providerId": "oidc.work", "rawId": "w-1"], ["providerId": "password", "rawId": "ann"],
                    ],
                    "mfaInfo": [
                        [
                            "mfaEnrollmentId": "factor", "phoneInfo": "+15550002222", "displayName": "mine",
                            "enrolledAt": "2020-01-02T03:04:05.678Z",
                        ]
                    ],
                    "rawPassword": "correct horse",
                ],
                ["localId": "bob"],
            ]
            let first = try await upload(api, ["users": users])
            #expect(first.json == ["kind": "identitytoolkit#UploadAccountResponse"], "\(first.text)")
            let ann = try #require(await api.user("ann"))
            #expect(ann["email"]?.string == "ann@example.com")
            #expect(ann["emailVerified"]?.bool == true)
            #expect(ann["displayName"]?.string == "Ann")
            #expect(ann["photoUrl"]?.string == "https://example.com/a.png")
            #expect(ann["phoneNumber"]?.string == "+15550001111")
            #expect(ann["disabled"]?.bool == true)
            #expect(ann["customAttributes"]?.string == "{\"level\":3}")
            #expect(ann["createdAt"]?.string == "1600000000000")
            #expect(ann["lastLoginAt"]?.string == "1600000001000")
            #expect(ann["mfaInfo"]?.array?.first?["enrolledAt"]?.string == "2020-01-02T03:04:05.678Z")
            let providers = ann["providerUserInfo"]?.array?.compactMap { $0["providerId"]?.string }
            #expect(providers == ["password", "google.com", "oidc.work", "phone"])
            let before = try await api.service.database.rowCounts()
            for allowOverwrite in [true, false] {
                api.service.clock.advance(seconds: 10)
                let again = try await upload(api, ["users": users, "allowOverwrite": .bool(allowOverwrite)])
                #expect(again.json == ["kind": "identitytoolkit#UploadAccountResponse"], "\(again.text)")
            }
            #expect(try await api.service.database.rowCounts() == before, "not even an event")
            #expect(try await api.user("ann") == ann)
            #expect(try await api.service.database.inconsistencies() == [])
        }
    }

    @Test func `an import replaces an existing account and ends its sessions`() async throws {
        try await TestAPI.withAdministrator { api in
            let session = try await api.signUp("ann@example.com")
            let id = try #require(session["localId"]?.string)
            let refused = try await upload(
                api,
                ["users": [["localId": .string(id), "displayName": "Ann"]], "allowOverwrite": false]
            )
            #expect(reasons(refused) == [0: "localId belongs to an existing account - can not overwrite."])
            api.service.clock.advance(seconds: 10)
            let answer = try await upload(
                api,
                ["users": [["localId": .string(id), "email": "new@example.com", "displayName": "Ann"]]]
            )
            #expect(answer.json == ["kind": "identitytoolkit#UploadAccountResponse"], "\(answer.text)")
            let user = try #require(await api.user(id))
            #expect(user["email"]?.string == "new@example.com")
            #expect(user["displayName"]?.string == "Ann")
            #expect(user["passwordHash"] == nil, "the row has no password")
            let token = try await api.post(
                "/v1/token",
                ["grant_type": "refresh_token", "refresh_token": session["refreshToken"] ?? ""]
            )
            #expect(token.status == 400)
            _ = try await api.signUp("ann@example.com")
            #expect(try await api.service.database.inconsistencies() == [])
        }
    }

    @Test func `every invalid row is reported with a reason, and all others are imported`() async throws {
        try await TestAPI.withAdministrator { api in
            try await api.create([
                "localId": "there", "email": "there@example.com", "phoneNumber": "+15550009999",
                "emailVerified": true,
            ])
            _ = try await upload(
                api,
                ["users": [["localId": "linked", "providerUserInfo": [["providerId": "google.com", "rawId": "g"]]]]]
            )
            let factor: JSONValue = [["phoneInfo": "+15550002222"]]
            let rows: [(JSONValue, String?)] = [
                (["email": "a@example.com"], "localId is missing"),
                (
                    ["localId": .string(String(repeating: "x", count: 129))],
                    "localId must have 1 to 128 characters"
                ),
                (
                    ["localId": "a1", "tenantId": "other"],
                    "Tenant id in userInfo does not match the tenant id in request."
                ),
                (["localId": "a2", "customAttributes": "[]"], "Invalid custom claims provided."),
                (
                    ["localId": "a3", "customAttributes": .string(String(repeating: "x", count: 1001))],
                    "Custom claims provided are too large."
                ),
                (
                    ["localId": "a4", "customAttributes": "{\"sub\":1}"],
                    "Custom claims provided include a reserved claim."
                ),
                (
                    ["localId": "a5", "providerUserInfo": [["providerId": "google.com"]]],
                    "federatedId or (providerId & rawId) is required"
                ),
                (
                    ["localId": "a6", "providerUserInfo": [["providerId": "google.com", "rawId": "g"]]],
                    "raw id exists in other account in database"
                ),
                (["localId": "a7", "phoneNumber": "5550001111"], "phone number format is invalid"),
                (["localId": "a8", "phoneNumber": "+15550009999"], "phone number exists in other account in database"),
                (["localId": "a9", "email": "nowhere"], "email is invalid"),
                (["localId": "b0", "email": "THERE@example.com"], "email exists in other account in database"),
                (["localId": "b1", "mfaInfo": factor], "Second factor account requires email to be presented."),
                (
                    ["localId": "b2", "email": "b2@example.com", "mfaInfo": factor],
                    "Second factor account requires email to be verified."
                ),
                (["localId": "b3", "mfaInfo": [["totpInfo": [:]]]], "Second factor not supported."),
                (["localId": "b4", "mfaInfo": [["phoneInfo": "1"]]], "Phone number format is invalid"),
                (["localId": "fine", "email": "fine@example.com", "phoneNumber": "+15550003333"], nil),
                (["localId": "fine"], "localId occurs more than once"),
                (["localId": "b5", "email": "fine@example.com"], "email exists in other account in database"),
                (
                    ["localId": "b6", "displayName": .string(String(repeating: "x", count: 257))],
                    "displayName has the wrong type, is too long or is out of range"
                ),
                (["localId": "b7", "disabled": 3], "disabled has the wrong type, is too long or is out of range"),
                (["localId": "b8", "createdAt": "-1"], "createdAt has the wrong type, is too long or is out of range"),
                (
                    ["localId": "b9", "createdAt": "9223372036854775807"],
                    "createdAt has the wrong type, is too long or is out of range"
                ),
                (["localId": "c0", "rawPassword": "short"], "password must have 6 to 4096 characters"),
                (["localId": "also fine"], nil),
            ]
            let answer = try await upload(api, ["users": .array(rows.map(\.0)), "allowOverwrite": true])
            #expect(answer.status == 200)
            let expected = rows.enumerated().compactMap { index, row in row.1.map { (Int64(index), $0) } }
            let said = reasons(answer)
            for (index, message) in expected { #expect(said[index] == message, "\(index)") }
            #expect(said.count == expected.count)
            #expect(try await api.user("fine")?["email"]?.string == "fine@example.com")
            #expect(try await api.user("also fine") != nil)
            #expect(try await api.service.database.count("SELECT count(*) FROM users") == 4)
            #expect(try await api.service.database.inconsistencies() == [])
        }
    }

    @Test func `an invalid request is refused as a whole`() async throws {
        try await TestAPI.withAdministrator { api in
            let ann: JSONValue = ["localId": "ann", "email": "ann@example.com"]
            let hashed: JSONValue = ["localId": "ann", "passwordHash": "YWJj"]
            let linked: JSONValue = [
                "localId": "bob", "providerUserInfo": [["providerId": "google.com", "rawId": "g"]],
            ]
            let many = JSONValue.array((0...1000).map { ["localId": .string("u\($0)")] })
            let requests: [(JSONValue, String)] = [
                ([:], "MISSING_USER_ACCOUNT"), (["users": []], "MISSING_USER_ACCOUNT"),
                (["users": many], "INVALID_ARGUMENT : users must have at most 1000 entries"),
                (
                    ["users": [ann, ["localId": "b", "email": "ANN@example.com"]], "sanityCheck": true],
                    "DUPLICATE_EMAIL : ann@example.com"
                ),
                (
                    ["users": [linked, linked], "sanityCheck": true],
                    "DUPLICATE_RAW_ID : Provider id(google.com), Raw id(g)"
                ),
                (["users": [ann, ann], "allowOverwrite": false], "DUPLICATE_LOCAL_ID : ann"),
                (["users": [ann, ann]], "DUPLICATE_LOCAL_ID : ann"),
                (["users": [hashed]], "INVALID_HASH_ALGORITHM : hashAlgorithm is missing"),
                (["users": [ann], "hashAlgorithm": "SHA256"], "INVALID_HASH_ALGORITHM : rounds is missing"),
                (
                    ["users": [ann], "hashAlgorithm": "SHA256", "rounds": 0],
                    "INVALID_HASH_ALGORITHM : rounds has to be from 1 to 8192"
                ),
                (
                    ["users": [ann], "hashAlgorithm": "PBKDF2_SHA256", "rounds": 120_001],
                    "INVALID_HASH_ALGORITHM : rounds has to be from 0 to 120000"
                ),
                (
                    ["users": [ann], "hashAlgorithm": "HMAC_SHA256"],
                    "INVALID_HASH_ALGORITHM : signerKey is missing"
                ),
                (
                    [
                        "users": [ann], "hashAlgorithm": "SCRYPT", "signerKey": "YWJj", "rounds": 8,
                        "memoryCost": 15,
                    ],
                    "INVALID_HASH_ALGORITHM : memoryCost has to be from 1 to 14"
                ),
                (
                    [
                        "users": [ann], "hashAlgorithm": "STANDARD_SCRYPT", "cpuMemCost": 1000,
                        "parallelization": 1, "blockSize": 8, "dkLen": 64,
                    ],
                    "INVALID_HASH_ALGORITHM : cpuMemCost has to be a power of two"
                ),
                (
                    [
                        "users": [ann], "hashAlgorithm": "STANDARD_SCRYPT", "cpuMemCost": 1_048_576,
                        "parallelization": 16, "blockSize": 16, "dkLen": 64,
                    ],
                    "INVALID_HASH_ALGORITHM : cpuMemCost has to be such that one check takes at most 128 MiB"
                ),
                (
                    ["users": [ann], "hashAlgorithm": "ARGON2"],
                    "INVALID_HASH_ALGORITHM : argon2Parameters is missing"
                ),
            ]
            for (body, message) in requests {
                let answer = try await upload(api, body)
                #expect(answer.status == 400)
                #expect(answer.errorMessage == message)
            }
            let unknown = try await upload(api, ["users": [ann], "hashAlgorithm": "ROT13"])
            #expect(unknown.errorMessage?.hasPrefix("INVALID_HASH_ALGORITHM : hashAlgorithm is none of ") == true)
            #expect(try await api.service.database.count("SELECT count(*) FROM users") == 0)
        }
    }

    @Test func `only administrators import, and the older name requires the project in the body`() async throws {
        try await TestAPI.withAdministrator { api in
            let users: JSONValue = [["localId": "ann"]]
            let client = try await api.post("\(TestAPI.projectPath)/accounts:batchCreate", ["users": users])
            #expect(client.status != 200)
            #expect(try await api.user("ann") == nil)
            let path = "/identitytoolkit/v3/relyingparty/uploadAccount"
            let without = try await api.post(path, ["users": users], key: nil, bearer: "owner")
            #expect(without.errorMessage == "INSUFFICIENT_PERMISSION")
            let answer = try await api.post(
                "/www.googleapis.com" + path,
                ["users": users, "targetProjectId": .string(TestService.projectID)],
                key: nil,
                bearer: "owner"
            )
            #expect(answer.status == 200)
            #expect(try await api.user("ann") != nil)
        }
    }

    @Test func `an export can be imported again, with hashes`() async throws {
        try await TestAPI.withAdministrator { api in
            let id = try #require(try await api.signUp("ann@example.com", password: "password")["localId"]?.string)
            _ = try await upload(
                api,
                body(Self.algorithms[0], [user("bob", Self.algorithms[0])])
            )
            func exported() async throws -> JSONValue {
                try await api.send(.get, "\(TestAPI.projectPath)/accounts:batchGet", key: nil, bearer: "owner")
                    .json["users"] ?? .null
            }
            let users = try await exported()
            let same = try await upload(api, ["users": users, "hashAlgorithm": "PHC"])
            #expect(same.json == ["kind": "identitytoolkit#UploadAccountResponse"], "\(same.text)")
            let gone = try await api.admin(
                "accounts:batchDelete",
                ["localIds": [.string(id), "bob"], "force": true]
            )
            #expect(gone.json == [:])
            let answer = try await upload(api, ["users": users, "hashAlgorithm": "PHC"])
            #expect(answer.json == ["kind": "identitytoolkit#UploadAccountResponse"], "\(answer.text)")
            #expect(try await exported() == users)
            #expect(try await signIn(api, "ann@example.com"))
            #expect(try await signIn(api, "bob@example.com"))
        }
    }

    @Test func `importing the export of an account changes nothing, to the microsecond`() async throws {
        try await TestAPI.withAdministrator { api in
            let session = try await api.signUp("ann@example.com")
            try await api.service.database.execute(
                """
                UPDATE users SET created_at = '2026-01-02T03:04:05.678123Z', version = version + 1;
                UPDATE password_credentials SET updated_at = '2026-01-02T03:04:06.789045Z';
                """
            )
            let users = try await api.send(
                .get,
                "\(TestAPI.projectPath)/accounts:batchGet",
                key: nil,
                bearer: "owner"
            ).json["users"]
            let before = try await api.service.database.rowCounts()
            let answer = try await upload(api, ["users": users ?? .null, "hashAlgorithm": "PHC"])
            #expect(answer.json == ["kind": "identitytoolkit#UploadAccountResponse"], "\(answer.text)")
            #expect(try await api.service.database.rowCounts() == before)
            let token = try await api.post(
                "/v1/token",
                ["grant_type": "refresh_token", "refresh_token": session["refreshToken"] ?? ""]
            )
            #expect(token.status == 200, "no session is ended")
        }
    }

    @Test func `a second import does not undo later sign-ins`() async throws {
        try await TestAPI.withAdministrator { api in
            let request = body(Self.algorithms[8], [user("ann", Self.algorithms[8])])
            _ = try await upload(api, request)
            api.service.clock.advance(seconds: 10)
            let session = try await api.post(
                "/v1/accounts:signInWithPassword",
                ["email": "ann@example.com", "password": "password", "returnSecureToken": true]
            )
            let again = try await upload(api, request)
            #expect(again.json == ["kind": "identitytoolkit#UploadAccountResponse"], "\(again.text)")
            let token = try await api.post(
                "/v1/token",
                ["grant_type": "refresh_token", "refresh_token": session.json["refreshToken"] ?? ""]
            )
            #expect(token.status == 200, "\(token.text)")
            let hashes: [String?] = try await api.service.database.rows("SELECT hash FROM password_credentials")
            #expect(hashes.first??.hasPrefix("$argon2id$") == true)
        }
    }

    @Test func `a signer key is stored once, sealed`() async throws {
        try await TestAPI.withAdministrator { api in
            for id in ["ann", "bob"] {
                _ = try await upload(api, body(Self.algorithms[0], [user(id, Self.algorithms[0])]))
            }
            let keys: [Bytes] = try await api.service.database.rows("SELECT sealed_key FROM hash_keys" as Query<Bytes>)
            #expect(keys.count == 1)
            let key = try #require(Data(base64Encoded: Self.signerKey))
            #expect(keys.allSatisfy { $0.firstRange(of: Array(key)) == nil })
            let hashes: [String?] = try await api.service.database.rows("SELECT hash FROM password_credentials")
            #expect(hashes.allSatisfy { $0?.hasPrefix("$firebase-scrypt$ln=14,r=8,k=") == true })
        }
    }
}
