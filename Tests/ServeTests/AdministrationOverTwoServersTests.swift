import AccountTestSupport
import JSON
import NIOHTTP1
import Postgres
import Testing

/// Every write an administrator has, by 64 callers at once over two server processes.
@Suite(.serialized) struct AdministrationOverTwoServersTests {
    private static let callers = TwoServers.callers
    private static let accounts = "\(Administrator.project)/accounts"
    private static let configuration = "/v2/projects/\(TestService.projectID)"

    private func with(_ body: @escaping @Sendable (TwoServers, Administrator) async throws -> Void) async throws {
        try await TwoServers.with { servers in try await body(servers, try await Administrator(of: servers)) }
    }

    // MARK: Accounts

    @Test func `if creations with one address or one id race, one succeeds`() async throws {
        try await with { servers, administrator in
            let byAddress = try await servers.race { server, number in
                try await administrator.post(
                    Self.accounts,
                    ["email": "ada@example.com", "displayName": .string("\(number)")],
                    to: server
                )
            }
            #expect(byAddress.codes == ["200": 1, "EMAIL_EXISTS": Self.callers - 1])
            let byID = try await servers.race { server, number in
                try await administrator.post(
                    Self.accounts,
                    ["localId": "bob", "email": .string("bob\(number)@example.com")],
                    to: server
                )
            }
            #expect(byID.codes == ["200": 1, "DUPLICATE_LOCAL_ID": Self.callers - 1])
            try await servers.expectSound(byAddress + byID)
            let counts = try await servers.database.rowCounts()
            #expect(counts["users"] == 2 && counts["identifiers"] == 2 && counts["account_events"] == 2)
        }
    }

    @Test func `each concurrent update of one account is applied as a whole`() async throws {
        try await with { servers, administrator in
            let id = try await servers.signUp("ada@example.com").text("localId")
            let answers = try await servers.race { server, number in
                try await administrator.post(
                    "\(Self.accounts):update",
                    [
                        "localId": .string(id), "displayName": .string("\(number)"),
                        "photoUrl": .string("https://example.com/\(number)"),
                    ],
                    to: server
                )
            }
            try await servers.expectSound(answers)
            #expect(answers.codes == ["200": Self.callers])
            let database = servers.database
            #expect(
                try await database.count(
                    "SELECT count(*) FROM users WHERE photo_url = 'https://example.com/' || display_name"
                ) == 1
            )
            // One for the sign-up.
            let applied = Int64(Self.callers + 1)
            #expect(try await database.count("SELECT count(*) FROM account_events") == applied)
            #expect(try await database.count("SELECT version FROM users") == applied)
        }
    }

    @Test func `an identity that two accounts are given belongs to one of them`() async throws {
        try await with { servers, administrator in
            let ids = [
                try await servers.signUp("ada@example.com").text("localId"),
                try await servers.signUp("bob@example.com").text("localId"),
            ]
            let answers = try await servers.race { server, number in
                try await administrator.post(
                    "\(Self.accounts):update",
                    [
                        "localId": .string(ids[number / 2 % 2]),
                        "linkProviderUserInfo": ["providerId": "oidc.one", "rawId": "shared"],
                    ],
                    to: server
                )
            }
            try await servers.expectSound(answers)
            let owners: [String?] = try await servers.database.rows("SELECT user_id FROM linked_providers")
            #expect(owners.count == 1)
            for (number, answer) in answers.enumerated() where answer.status == 200 {
                #expect(owners == [ids[number / 2 % 2]])
            }
            #expect(answers.contains { $0.code == "FEDERATED_USER_ID_ALREADY_LINKED" }, "\(answers.codes)")
        }
    }

    @Test func `overlapping batch deletions delete every account once`() async throws {
        try await with { servers, administrator in
            var ids: [JSONValue] = []
            for number in 0..<24 {
                let answer = try await administrator.post(
                    Self.accounts,
                    ["email": .string("user\(number)@example.com")],
                    to: servers.first
                )
                ids.append(.string(try answer.string("localId")))
            }
            let all = ids
            let answers = try await servers.race { server, number in
                switch number % 4 {
                case 0:
                    try await administrator.post("\(Self.accounts):delete", ["localId": all[number % 24]], to: server)
                default:
                    try await administrator.post(
                        "\(Self.accounts):batchDelete",
                        ["localIds": .array((0..<12).map { all[($0 + number) % 24] }), "force": true],
                        to: server
                    )
                }
            }
            try await servers.expectSound(answers)
            #expect(Set(answers.codes.keys).isSubset(of: ["200", "USER_NOT_FOUND"]), "\(answers.codes)")
            let database = servers.database
            #expect(try await database.count("SELECT count(*) FROM users") == 0)
            #expect(
                try await database.count("SELECT count(*) FROM account_events WHERE kind = 'user-deleted'") == 24
            )
        }
    }

    @Test func `a custom token creates its account once`() async throws {
        try await with { servers, administrator in
            let tokens = [try administrator.customToken(for: "ada"), try administrator.customToken(for: "ada")]
            let answers = try await servers.race { server, number in
                try await server.post(
                    "/v1/accounts:signInWithCustomToken",
                    ["token": .string(tokens[number / 2 % 2]), "returnSecureToken": true]
                )
            }
            try await servers.expectSound(answers)
            #expect(answers.codes == ["200": Self.callers])
            #expect(answers.count { $0.json["isNewUser"] == true } == 1)
            #expect(try await servers.database.count("SELECT count(*) FROM users WHERE user_id = 'ada'") == 1)
        }
    }

    // MARK: Settings

    @Test func `if registrations of one provider race, one succeeds`() async throws {
        try await with { servers, administrator in
            let answers = try await servers.race { server, number in
                try await administrator.post(
                    "\(Self.configuration)/oauthIdpConfigs?oauthIdpConfigId=oidc.three",
                    [
                        "clientId": .string("client-\(number)"), "issuer": "https://issuer.example.com",
                        "displayName": .string("\(number)"), "enabled": true, "responseType": ["idToken": true],
                    ],
                    to: server
                )
            }
            try await servers.expectSound(answers)
            #expect(answers.codes == ["200": 1, "CONFIGURATION_EXISTS": Self.callers - 1])
            let winner = try #require(answers.firstIndex { $0.status == 200 })
            let stored = try await administrator.send(
                .GET,
                "\(Self.configuration)/oauthIdpConfigs/oidc.three",
                to: servers.second
            )
            #expect(try stored.string("clientId") == "client-\(winner)")
        }
    }

    @Test func `concurrent changes of two settings both survive`() async throws {
        try await with { servers, administrator in
            let answers = try await servers.race { server, number in
                number / 2 % 2 == 0
                    ? try await administrator.send(
                        .PATCH,
                        "\(Self.configuration)/config?updateMask=authorizedDomains",
                        ["authorizedDomains": [.string("app\(number).example.com")]],
                        to: server
                    )
                    : try await administrator.send(
                        .PATCH,
                        "\(Self.configuration)/config?updateMask=notification.defaultLocale",
                        ["notification": ["defaultLocale": .string(number % 4 < 2 ? "de" : "fr")]],
                        to: server
                    )
            }
            try await servers.expectSound(answers)
            #expect(answers.codes == ["200": Self.callers])
            let stored = try await administrator.send(.GET, "\(Self.configuration)/config", to: servers.second)
                .success()
            let domains = stored["authorizedDomains"]?.array?.compactMap(\.string) ?? []
            #expect(domains.count == 1 && domains[0].hasPrefix("app"), "\(domains)")
            let locale = stored["notification"]?["defaultLocale"]?.string
            #expect(locale == "de" || locale == "fr", "\(stored.text)")
        }
    }
}
