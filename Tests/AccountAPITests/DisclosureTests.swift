import AccountTestSupport
import HTTPTypes
import Testing

@testable import AccountAPI

/// `docs/reference/disclosure.md`, found by asking the API.
struct DisclosureTests {
    private static let document = "docs/reference/disclosure.md"

    /// The routes of clients that say nothing about an address or a number that the client does not own, by reason.
    private static let silent: [(reason: String, routes: [String])] = [
        (
            "The session names the account.",
            [
                "POST /v1/accounts:delete", "POST /v1/accounts:signOutUser", "POST /v2/accounts:revokeToken",
                "POST /v2/accounts/mfaEnrollment:finalize", "POST /v2/accounts/mfaEnrollment:withdraw",
                "GET /concord/v1/account/methods",
                "DELETE /concord/v1/account/methods/{method}", "GET /concord/v1/account/quarantine",
                "POST /concord/v1/account/quarantine/password:restore",
                "DELETE /concord/v1/account/quarantine/{method}", "GET /concord/v1/account/sessions",
                "DELETE /concord/v1/account/sessions/{session}", "DELETE /concord/v1/account/sessions",
                "DELETE /concord/v1/account/devices/{device}", "GET /concord/v1/account/events",
                "GET /concord/v1/account/export", "GET /concord/v1/account/merges",
                "POST /concord/v1/account/merges/{id}:undo",
            ]
        ),
        (
            "Two sessions name the accounts.", ["POST /concord/v1/merges", "GET /concord/v1/merges/{id}"]
        ),
        (
            "A secret from an earlier answer or mail names the account.",
            [
                "POST /v1/token", "POST /v2/accounts/mfaSignIn:start", "POST /v2/accounts/mfaSignIn:finalize",
                "POST /concord/v1/session:exchange", "POST /concord/v1/emailCode:disown",
                "GET /concord/v1/decisions/{decision}", "POST /concord/v1/lookup:continue",
                "POST /concord/v1/signIn/return:issueCode",
            ]
        ),
        (
            "The handle from `signInWithIdp` names the conflict. That a conflict exists is in that answer.",
            [
                "GET /concord/v1/conflict", "POST /concord/v1/conflict/proof",
                "POST /concord/v1/conflict/proof:complete", "POST /concord/v1/conflict:resolve",
                "POST /concord/v1/conflict:decline", "POST /concord/v1/conflict/return",
                "POST /concord/v1/conflict/return:issueCode",
            ]
        ),
        (
            "The handle from `signInWithIdp` or a mail names the sign-up. Addresses with an account have one too.",
            [
                "POST /concord/v1/signUp/pending:prove", "POST /concord/v1/signUp/pending:create",
                "POST /concord/v1/signUp/pending:link",
            ]
        ),
        (
            "Your backend has signed the request.",
            ["POST /v1/accounts:signInWithCustomToken", "POST /oauth2/token"]
        ),
        (
            "Takes no address or number. The answer is about the project.",
            [
                "POST /v1/accounts:verifyIosClient",
                "GET /robot/v1/metadata/x509/securetoken@system.gserviceaccount.com",
                "GET /service_accounts/v1/jwk/securetoken@system.gserviceaccount.com", "GET /v1/publicKeys",
                "GET /v1/sessionCookiePublicKeys", "GET /.well-known/apple-app-site-association",
                "GET /.well-known/assetlinks.json", "GET /.well-known/openid-configuration",
                "GET /{project}/.well-known/openid-configuration", "GET /v1/projects", "GET /v1/recaptchaParams",
                "GET /v2/recaptchaConfig", "GET /v2/passwordPolicy", "GET /concord/v1/reauthentication-policy",
                "GET /concord/v1/signIn", "GET /concord/v1/about", "GET /openapi.json",
            ]
        ),
    ]

    @Test func `the document says what each endpoint discloses about an address, under each preset`() async throws {
        let presets = DisclosureMatrix.Preset.allCases
        let columns = try await withThrowingTaskGroup { group in
            for preset in presets {
                group.addTask { (preset, try await DisclosureMatrix.found(under: preset)) }
            }
            return try await group.reduce(into: [DisclosureMatrix.Preset: [Set<DisclosureMatrix.Disclosure>]]()) {
                $0[$1.0] = $1.1
            }
        }
        var lines = ["| Endpoint | Request | " + presets.map(\.rawValue).joined(separator: " | ") + " |"]
        lines.append("|" + String(repeating: "---|", count: presets.count + 2))
        for (index, probe) in DisclosureMatrix.Probe.all.enumerated() {
            let cells = try presets.map { preset in
                let column = try #require(columns[preset])
                return DisclosureMatrix.Disclosure.text(column[index])
            }
            lines.append("| `\(probe.route)` | \(probe.summary) | " + cells.joined(separator: " | ") + " |")
        }
        try DocumentTable.expect(lines.joined(separator: "\n"), as: "disclosure", in: Self.document)
    }

    @Test func `the document says why each other endpoint of clients discloses nothing`() throws {
        var lines = ["| Endpoint | Reason |", "|---|---|"]
        for (reason, routes) in Self.silent {
            for route in routes where API.routes.contains(where: { $0.name == route }) {
                lines.append("| `\(route)` | \(reason) |")
            }
        }
        try DocumentTable.expect(lines.joined(separator: "\n"), as: "other endpoints", in: Self.document)
    }

    @Test func `each endpoint of clients is asked, or has a reason`() {
        let asked = Set(DisclosureMatrix.Probe.all.map(\.route))
        let reasons = Self.silent.flatMap(\.routes)
        #expect(Set(reasons).count == reasons.count)
        #expect(asked.isDisjoint(with: reasons))
        for route in API.routes where route.access != .administrator {
            #expect(asked.contains(route.name) || reasons.contains(route.name), "\(route.name)")
        }
    }

    @Test func `a page is the same for every reader, with every query`() async throws {
        try await TestAPI.with(settings: protectedSettings) { api in
            _ = try await api.signUp("somebody@example.com")
            for file in PageFile.all {
                let plain = try await api.send(.get, file.path, key: nil)
                #expect(plain.status == 200)
                for email in ["somebody@example.com", "anybody1@example.com"] {
                    let answer = try await api.send(.get, file.path + "?email=" + email, key: nil)
                    #expect(answer.text == plain.text && answer.status == 200, "\(file.path)")
                    #expect(answer.headers[.eTag] == plain.headers[.eTag], "\(file.path)")
                }
            }
        }
    }
}
