import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

@testable import AccountAPI

/// Every route with everything that is not a request: never a 5xx, always an envelope, and nothing is written.
///
/// Generated from the list of routes, so that a new route is in it from its first day.
@Suite(.api(callers: DevelopmentCallers()))
struct BadInputTests {
    /// A request with all usual fields that no route can grant: its tokens belong to no user.
    private static let base: [String: JSONValue] = [
        "idToken": "nonsense", "refreshToken": "nonsense", "grantType": "refresh_token", "email": "nobody@example.com",
        "password": "correct horse", "oobCode": "nonsense", "pendingToken": "nonsense", "token": "nonsense",
        "localId": "nobody", "sessionInfo": "nonsense", "code": "123456", "phoneNumber": "+16505550100",
        "requestUri": "http://localhost", "postBody": "id_token=nonsense&providerId=google.com",
        "mfaPendingCredential": "nonsense", "requestType": "nonsense", "identifier": "nobody@example.com",
        "continueUri": "nonsense", "limit": -1, "mfaEnrollmentId": "nonsense",
    ]

    private static func request(_ changes: [String: JSONValue]) -> [UInt8] {
        Array(JSONValue.object(base.merging(changes) { _, new in new }).text.utf8)
    }

    /// Bodies that are no requests, by name.
    private static let malformed: [(name: String, body: [UInt8])] = [
        ("not JSON", Array("nonsense".utf8)),
        ("half an object", Array(#"{"email":"#.utf8)),
        ("array", Array("[]".utf8)),
        ("number", Array("17".utf8)),
        ("string", Array(#""text""#.utf8)),
        ("null", Array("null".utf8)),
        ("two objects", Array("{}{}".utf8)),
        ("single quotes", Array("{'email':'a'}".utf8)),
        ("trailing comma", Array(#"{"email":"a",}"#.utf8)),
        ("NaN", Array(#"{"email":NaN}"#.utf8)),
        ("invalid UTF-8", Array(#"{"email":""#.utf8) + [0xFF, 0xFE] + Array(#""}"#.utf8)),
        ("overlong UTF-8", Array(#"{"email":""#.utf8) + [0xC0, 0xAF] + Array(#""}"#.utf8)),
        ("lone surrogate", Array(#"{"email":"\ud800"}"#.utf8)),
        ("raw NUL", Array(#"{"email":"a"#.utf8) + [0] + Array(#""}"#.utf8)),
        ("escaped NUL", Array(#"{"email":"a\u0000b","password":"\u0000"}"#.utf8)),
        ("NUL in a name", Array(#"{"a\u0000b":1}"#.utf8)),
        ("nested arrays", Array((#"{"email":"# + nest("[", "]", 1000) + "}").utf8)),
        ("nested objects", Array(nest(#"{"a":"#, "}", 1000, inner: "1").utf8)),
        ("nested and never closed", Array(String(repeating: "[", count: 100_000).utf8)),
        ("2 MiB of blanks", bytes(2 << 20)),
        ("2 MiB in a string", request(["email": .string(String(repeating: "a", count: 2 << 20))])),
    ]

    private static func nest(_ opening: String, _ closing: String, _ depth: Int, inner: String = "") -> String {
        String(repeating: opening, count: depth) + inner + String(repeating: closing, count: depth)
    }

    private static let absurdEmails = [
        "", " ", "@", "a@", "@b", "a@b", "a b@example.com", "a@b@example.com", "a@example..com", ".a@example.com",
        "a@-example.com", "a@example.com\n", "a@example.com ", "\u{202E}a@example.com", "a@exa\u{200D}mple.com",
        "\"quoted\"@example.com", "a@[127.0.0.1]", "a@1.2.3.4", "<a@example.com>", "a@example.com,b@example.com",
        String(repeating: "a", count: 300) + "@example.com", String(repeating: "a", count: 100_000),
        "🙂@example.com", "a@🙂.example", "' OR 1=1 --@example.com", "${jndi:ldap://x}@example.com",
    ]

    private static let forgedTokens = [
        "", ".", "..", "a.b.c", "e30.e30.", "null", String(repeating: "A", count: 100_000),
        // {"alg":"none","typ":"JWT"} . {"sub":…, "aud":"demo-test"} and an empty signature
        "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.eyJzdWIiOiJub2JvZHkiLCJhdWQiOiJkZW1vLXRlc3QifQ.",
        "eyJhbGciOiJIUzI1NiJ9.e30.AAAA", "AQAAAA", "🙂", "' OR 1=1 --",
        // A well-formed refresh token of the tenant U+0000 and an unknown user
        "AQEAAAZub2JvZHlhYWFhYWFhYWFhYWFhYWFhYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmI",
    ]

    /// The fields that only some routes read, administrators' among them. They are sent in addition to the usual
    /// fields.
    private static let otherFields = [
        "allowPasswordUser", "canHandleCodeInApp", "continueUrl", "createdAt", "customAttributes", "deleteAttribute",
        "deleteProvider", "disableUser", "disabled", "displayName", "emailVerified", "expression",
        "federatedUserId", "force", "initialEmail", "lastLoginAt", "linkProviderUserInfo", "mfa", "mfaInfo",
        "newEmail", "newPassword", "offset", "oldPassword", "order", "phoneEnrollmentInfo", "phoneSignInInfo",
        "phoneVerificationInfo", "photoUrl", "returnOobLink", "returnUserInfo", "sortBy", "totpEnrollmentInfo",
        "totpVerificationInfo", "validDuration", "validSince",
    ]

    /// Everything that is sent to every route, by name.
    private static let requests: [(name: String, body: [UInt8])] = {
        var requests = malformed
        for field in base.keys.sorted() + otherFields {
            for wrong: JSONValue in [.double(1.5), true, ["x"], ["a": 1]] {
                requests.append(("\(field): \(wrong.text)", request([field: wrong])))
            }
        }
        for field in base.keys.sorted() {
            requests.append(("\(field): long", request([field: .string(String(repeating: "x", count: 100_000))])))
            requests.append(("\(field): odd", request([field: "\u{1}\u{7F}\u{FFFE}\u{10FFFF}\u{202E}"])))
        }
        for email in absurdEmails {
            requests.append(("email \(email.prefix(40).debugDescription)", request(["email": .string(email)])))
        }
        for token in forgedTokens {
            let name = token.prefix(40).debugDescription
            // Without an ID token a sign-up may be granted: that is no bad input.
            if !token.isEmpty { requests.append(("idToken \(name)", request(["idToken": .string(token)]))) }
            requests.append(("refreshToken \(name)", request(["refreshToken": .string(token)])))
        }
        // An administrator's sign-up refuses a session before it reads the rest.
        for field in otherFields {
            for wrong: JSONValue in [true, "x", ["x"], [["a": [1]]]] {
                let changes: [String: JSONValue] = ["idToken": .null, "email": "nonsense", field: wrong]
                requests.append(("no session, \(field): \(wrong.text)", request(changes)))
            }
        }
        requests.append(("tenantId", request(["tenantId": "x"])))
        requests.append(("targetProjectId", request(["targetProjectId": "x"])))
        return requests
    }()

    @Test func `every route refuses invalid input and writes nothing`() async throws {
        let api = try TestAPI.shared
        let account = try await api.signUp("somebody@example.com")
        let before = try await api.service.database.rowCounts()
        let settings = try await api.service.operations.projectConfig()
        let tampered = try tamperedTokens(of: account)

        try await withThrowingTaskGroup { group in
            for route in API.routes where route.method != .get {
                for caller in route.callers {
                    group.addTask {
                        for request in Self.requests + tampered {
                            try await Self.expectRefusal(of: request, by: route, caller: caller, api)
                        }
                        // As `curl -d` sends them.
                        for request in Self.malformed where !request.body.isEmpty {
                            try await Self.expectRefusal(
                                of: request,
                                by: route,
                                caller: caller,
                                contentType: "application/x-www-form-urlencoded",
                                api
                            )
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        var after = try await api.service.database.rowCounts()
        // A lookup counts a wrong code, for any address.
        after["short_codes"] = before["short_codes"]
        #expect(after == before, "\(after.filter { before[$0.key] != $0.value })")
        #expect(try await api.service.operations.projectConfig() == settings)
        #expect(!api.log.lines.contains { $0.hasPrefix("error") }, "\(api.log.lines.filter { $0.hasPrefix("error") })")
    }

    private static let lookUpPath = "/concord/v1/lookup"

    private static func expectRefusal(
        of request: (name: String, body: [UInt8]),
        by route: Route,
        caller bearer: String?,
        contentType: String? = nil,
        _ api: TestAPI
    ) async throws {
        // Any object is a configuration: fields that are none are ignored. Its own fields have their own tests.
        // A lookup takes any address alike.
        let path = try #require(route.concretePaths.first)
        if route.method == .patch || path == Self.lookUpPath,
            (try? RequestBody(parsing: request.body, depthMax: 64)) != nil
        {
            return
        }
        let answer = try await api.wire.send(
            route.method,
            path,
            request.body,
            bearer: bearer,
            headers: contentType.map { [.contentType: $0] } ?? [:]
        )
        // An administrator may look up any account; here there is none.
        if bearer != nil, path.hasSuffix("accounts:lookup"), answer.status == 200 {
            #expect(answer.json["users"] == nil, "\(request.name): \(answer.text.prefix(300))")
            return
        }
        guard !(400..<500).contains(answer.status) else {
            expectFailureForm(answer, of: route)
            return
        }
        Issue.record("\(path), \(bearer ?? "client"), \(request.name): \(answer.status) \(answer.text.prefix(300))")
    }

    /// Good tokens with one character changed here and there.
    private func tamperedTokens(of account: JSONValue) throws -> [(name: String, body: [UInt8])] {
        var requests: [(name: String, body: [UInt8])] = []
        for field in ["idToken", "refreshToken"] {
            let token = try #require(account[field]?.string)
            for position in stride(from: 0, to: token.count, by: 16) {
                let index = token.index(token.startIndex, offsetBy: position)
                if token[index] == "." { continue }
                var changed = token
                changed.replaceSubrange(index...index, with: token[index] == "A" ? "B" : "A")
                requests.append(("\(field) changed at \(position)", Self.request([field: .string(changed)])))
            }
        }
        return requests
    }

    @Test func `odd masks are refused and change nothing`() async throws {
        let api = try TestAPI.shared
        let settings = try await api.service.operations.projectConfig()
        let long = String(repeating: "a", count: 8000)
        for route in API.routes where route.method == .patch && route.access == .administrator {
            let path = try #require(route.concretePaths.first)
                .replacing("/oauthIdpConfigs/x", with: "/oauthIdpConfigs/oidc.demo")
                .replacing("/defaultSupportedIdpConfigs/x", with: "/defaultSupportedIdpConfigs/google.com")
            for mask in [
                ".", "..", ",", ",,", ".enabled", "enabled.", "enabled,", ",enabled", "signIn.", "signIn..email", "_",
                "%2C", "%2E", "*", "%20", "enabled%20", "\(long)", "\(long).\(long)",
            ] {
                let answer = try await api.wire.send(
                    .patch,
                    path + "?updateMask=" + mask,
                    Array("{}".utf8),
                    bearer: route.bearer
                )
                #expect(answer.status == 400, "\(path)?updateMask=\(mask.prefix(40)): \(answer.text.prefix(300))")
                expectFailureForm(answer, of: route)
            }
        }
        #expect(try await api.service.operations.projectConfig() == settings)
    }

    @Test func `routes that only read or accept any object also answer invalid queries`() async throws {
        let api = try TestAPI.shared
        let settings = try await api.service.operations.projectConfig()
        let long = String(repeating: "a", count: 8000)
        for route in API.routes where [.get, .patch].contains(route.method) {
            let path = try #require(route.concretePaths.first)
            for caller in route.callers {
                for query in [
                    "?", "?&&&", "?=", "?key", "?a=%FF", "?%00=%00", "?key=a&key=b", "?\(long)", "?pageSize=x",
                    "?pageSize=-1", "?pageSize=9223372036854775808", "?pageToken=%FF%00", "?pageToken=\(long)",
                    "?maxResults=x", "?maxResults=0", "?maxResults=9223372036854775808", "?nextPageToken=%FF%00",
                    "?nextPageToken=\(long)", "?oauthIdpConfigId=%00", "?idpId=\(long)", "?version=\(long)",
                ] {
                    let answer = try await api.wire.send(
                        route.method,
                        path + query,
                        route.method == .get ? [] : Array("[]".utf8),
                        bearer: caller
                    )
                    #expect(
                        (200..<500).contains(answer.status),
                        "\(path)\(query.prefix(40)): \(answer.text.prefix(300))"
                    )
                    if answer.status >= 400 { expectFailureForm(answer, of: route) }
                }
            }
        }
        #expect(try await api.service.operations.projectConfig() == settings)
        #expect(!api.log.lines.contains { $0.hasPrefix("error") }, "\(api.log.lines.filter { $0.hasPrefix("error") })")
    }

    @Test func `invalid queries and headers change nothing`() async throws {
        let api = try TestAPI.shared
        let body = Self.request([:])
        let name = try #require(HTTPField.Name("X-Firebase-Locale"))
        for route in API.routes where ![.get, .patch].contains(route.method) {
            let path = try #require(route.concretePaths.first)
            if path == Self.lookUpPath { continue }
            for query in [
                "?", "?&&&", "?=", "?key", "?a=%FF", "?%00=%00", "?key=a&key=b",
                "?" + String(repeating: "a", count: 8000),
            ] {
                let answer = try await api.wire.send(route.method, path + query, body, bearer: route.bearer)
                #expect((400..<500).contains(answer.status), "\(path)\(query): \(answer.status)")
                expectFailureForm(answer, of: route)
            }
            for value in ["", "\u{1F}", String(repeating: "x", count: 8000), "de;q=<script>"] {
                let answer = try await api.wire.send(
                    route.method,
                    path,
                    body,
                    bearer: route.bearer,
                    headers: [name: value]
                )
                #expect((400..<500).contains(answer.status))
                expectFailureForm(answer, of: route)
            }
            for length in ["-1", "99999999999999999999", "x"] {
                let answer = try await api.wire.send(
                    route.method,
                    path,
                    body,
                    bearer: route.bearer,
                    headers: [.contentLength: length]
                )
                #expect((400..<500).contains(answer.status))
            }
        }
    }
}

extension Route {
    /// The token of an administrator in development, if the route needs one.
    fileprivate var bearer: String? { access == .administrator || access == .administratorOrSession ? "owner" : nil }

    /// The bearer tokens that may come with a request; `nil` for a client, who has none.
    fileprivate var callers: [String?] {
        // What names a conflict stands where others have a bearer token.
        if service == .concord { return [nil, "forged"] }
        return switch access {
        case .client: [nil, "owner"]
        case .administrator, .administratorOrSession: ["owner"]
        case .anyone: [nil]
        }
    }
}
