import AccountOperations
import AccountTestSupport
import JSON
import NIOHTTP1
import Postgres
import Testing

/// Every way to write to an account, by 64 callers at once over two server processes. Their answers and the tables
/// afterwards must equal the result of some serial order.
@Suite(.serialized) struct TwoServersTests {
    private static let callers = TwoServers.callers
    private static let email = "ada@example.com"

    // MARK: New accounts

    @Test func `if sign-ups with one address race, one succeeds`() async throws {
        try await TwoServers.with { servers in
            let answers = try await servers.race { server, number in
                try await server.signUp(Self.email, password: "password number \(number)")
            }
            #expect(answers.codes == ["200": 1, "EMAIL_EXISTS": Self.callers - 1])
            let winner = try #require(answers.firstIndex { $0.status == 200 })
            let signedIn = try await servers.second.signIn(Self.email, password: "password number \(winner)")
            #expect(try signedIn.string("localId") == answers[winner].string("localId"))
            try await servers.expectSound(answers)
            #expect(
                try await servers.database.accountRowCounts() == [
                    "users": 1, "identifiers": 1, "password_credentials": 1, "linked_providers": 0,
                    "sign_in_methods": 1, "sessions": 2, "account_events": 2,
                ]
            )
        }
    }

    @Test func `concurrent sign-ins with a new identity all reach one account`() async throws {
        try await TwoServers.with { servers in
            let answers = try await servers.race { server, _ in
                try await server.signInWithIdp(servers.credential(.one, subject: "ada", email: Self.email))
            }
            #expect(answers.codes == ["200": Self.callers])
            #expect(Set(answers.map { $0.json["localId"] }).count == 1)
            #expect(answers.count { $0.json["isNewUser"] == true } == 1)
            try await servers.expectSound(answers)
            #expect(
                try await servers.database.accountRowCounts() == [
                    "users": 1, "identifiers": 2, "password_credentials": 0, "linked_providers": 1,
                    "sign_in_methods": 1, "sessions": Int64(Self.callers), "account_events": Int64(Self.callers),
                ]
            )
        }
    }

    /// In any order, the address ends up proven by a provider, with both providers linked and no password: a password
    /// from before the proof is suspended, and one after it is refused.
    @Test func `if two providers prove an address while others sign up with it, the providers' user gets it`()
        async throws
    {
        try await TwoServers.with { servers in
            let answers = try await servers.race { server, number in
                switch number % 3 {
                case 0: try await server.signUp(Self.email, password: TwoServers.password)
                case 1:
                    try await server.signInWithIdp(
                        servers.credential(.one, subject: "ada", email: Self.email, isVerified: true)
                    )
                default:
                    try await server.signInWithIdp(
                        servers.credential(.two, subject: "ada", email: Self.email, isVerified: true)
                    )
                }
            }
            try await servers.expectSound(answers)
            for (number, answer) in answers.enumerated() where !number.isMultiple(of: 3) {
                #expect(answer.status == 200, "\(answer.text)")
            }
            let signUps = answers.enumerated().filter { $0.offset.isMultiple(of: 3) }.map(\.element)
            let wins = signUps.filter { $0.status == 200 }
            #expect(wins.count <= 1)
            #expect(signUps.count { $0.code == "EMAIL_EXISTS" } == signUps.count - wins.count)
            // The session of the user who signed up with the address ended when its owner came; all others live.
            for (number, answer) in answers.enumerated() where answer.status == 200 {
                let refreshed = try await servers.first.refresh(answer.string("refreshToken"))
                #expect((refreshed.status == 200) == !number.isMultiple(of: 3), "\(number): \(refreshed.text)")
            }
            let providers: [String?] = try await servers.database.rows(
                "SELECT provider_id FROM linked_providers ORDER BY 1"
            )
            #expect(providers == ["oidc.one", "oidc.two"])
            let proofs: [String?] = try await servers.database.rows("SELECT email_proof FROM users")
            #expect(proofs.count == 1 && proofs[0]?.hasPrefix("provider:oidc.") == true, "\(proofs)")
            #expect(try await servers.database.count("SELECT count(*) FROM password_credentials") == 0)
        }
    }

    /// The first caller gets the account; the other provider gets one conflict, and a password is refused.
    @Test func `an unproven address goes to one of a password sign-up and two providers`() async throws {
        try await TwoServers.with { servers in
            let answers = try await servers.race { server, number in
                switch number % 3 {
                case 0: try await server.signUp(Self.email, password: TwoServers.password)
                case 1: try await server.signInWithIdp(servers.credential(.one, subject: "ada-1", email: Self.email))
                default: try await server.signInWithIdp(servers.credential(.two, subject: "ada-2", email: Self.email))
                }
            }
            try await servers.expectSound(answers)
            let database = servers.database
            let methods: [String?] = try await database.rows("SELECT method FROM sign_in_methods")
            #expect(methods.count == 1)
            let winner = ["password": 0, "oidc.one": 1, "oidc.two": 2][methods.first?.flatMap { $0 } ?? ""]
            for (number, answer) in answers.enumerated() {
                let isWinners = number % 3 == winner
                switch number % 3 {
                case 0 where isWinners: #expect(answer.status == 200 || answer.code == "EMAIL_EXISTS")
                case 0: #expect(answer.code == "EMAIL_EXISTS", "\(answer.text)")
                default:
                    #expect(answer.status == 200, "\(answer.text)")
                    #expect((answer.json["needConfirmation"] == true) == !isWinners, "\(answer.text)")
                }
            }
            #expect(try await database.count("SELECT count(*) FROM users") == 1)
            let losers: Int64 = winner == 0 ? 2 : 1
            #expect(try await database.count("SELECT count(*) FROM conflicts WHERE state = 'open'") == losers)
            #expect(try await database.count("SELECT count(*) FROM conflicts") == losers)
        }
    }

    // MARK: Linking

    @Test func `a conflict's handle links once`() async throws {
        try await TwoServers.with { servers in
            let ada = try await servers.signUp(Self.email)
            let conflict = try await servers.second
                .signInWithIdp(servers.credential(.one, subject: "ada", email: Self.email))
            let pendingToken = try conflict.string("pendingToken")
            let session = try ada.text("idToken")
            let answers = try await servers.race { server, _ in
                try await server.signInWithIdp([
                    "requestUri": "http://localhost", "pendingToken": .string(pendingToken),
                    "idToken": .string(session),
                ])
            }
            try await servers.expectSound(answers)
            #expect(answers.count { $0.status == 200 } == 1)
            // Who read the open conflict before, and the linked identity after the winner's commit, hears of the latter.
            let refusals: Set = ["INVALID_PENDING_TOKEN", "FEDERATED_USER_ID_ALREADY_LINKED"]
            for answer in answers where answer.status != 200 {
                #expect(refusals.contains(answer.code ?? ""), "\(answer.text)")
            }
            let database = servers.database
            let states: [String?] = try await database.rows("SELECT state FROM conflicts")
            #expect(states == ["resolved"])
            #expect(
                try await database.count("SELECT count(*) FROM account_events WHERE kind = 'method-linked'") == 1
            )
            #expect(try await database.accountRowCounts()["linked_providers"] == 1)
        }
    }

    @Test func `ten mails about one account are sent, for any number of conflicts`() async throws {
        try await TwoServers.with { servers in
            _ = try await servers.signUp(Self.email)
            var handles: [String] = []
            for number in 0..<16 {
                let credential = try servers.credential(.one, subject: "\(number)", email: Self.email)
                handles.append(try await servers.second.signInWithIdp(credential).string("pendingToken"))
            }
            let answers = try await servers.race { [handles] server, number in
                try await server.send(
                    .POST,
                    "/concord/v1/conflict/proof",
                    ["kind": "mailbox"],
                    key: nil,
                    authorization: "Bearer " + handles[number % 16]
                )
            }
            try await servers.expectSound(answers)
            #expect(
                Dictionary(grouping: answers, by: \.status).mapValues(\.count) == [202: 10, 429: Self.callers - 10]
            )
            #expect(try await servers.database.count("SELECT count(*) FROM outbox") == 10)
            #expect(try await servers.database.count("SELECT count(*) FROM proof_mails") == 10)
        }
    }

    @Test func `a conflict gets five requests for a proof, and is proven, declined and resolved once`() async throws {
        try await TwoServers.with { servers in
            _ = try await servers.signUp(Self.email)
            func handle(of subject: String) async throws -> String {
                try await servers.second
                    .signInWithIdp(servers.credential(.one, subject: subject, email: Self.email))
                    .string("pendingToken")
            }
            func race(_ what: String, _ body: JSONValue, _ handle: String) async throws -> [Int: Int] {
                let answers = try await servers.race { server, _ in
                    try await server.send(
                        .POST,
                        "/concord/v1/conflict" + what,
                        body,
                        key: nil,
                        authorization: "Bearer " + handle
                    )
                }
                try await servers.expectSound(answers)
                return Dictionary(grouping: answers, by: \.status).mapValues(\.count)
            }
            let database = servers.database
            let asked = try await handle(of: "asked")
            #expect(try await race("/proof", ["kind": "mailbox"], asked) == [202: 5, 429: Self.callers - 5])
            #expect(try await database.count("SELECT count(*) FROM outbox") == 5)

            let proven = try await handle(of: "proven")
            let start = try await servers.first.send(
                .POST,
                "/concord/v1/conflict/proof",
                ["kind": "mailbox"],
                key: nil,
                authorization: "Bearer " + proven
            )
            #expect(start.status == 202, "\(start.text)")
            let code = try await servers.emailCode()
            #expect(
                try await race("/proof:complete", ["code": .string(code)], proven)
                    == [200: 1, 403: Self.callers - 1]
            )
            #expect(try await database.count("SELECT count(*) FROM conflicts WHERE state = 'proven'") == 1)

            for handle in [asked, proven] {
                #expect(try await race(":decline", [:], handle) == [200: 1, 409: Self.callers - 1])
            }

            let settled = try await handle(of: "settled")
            let proof = try await servers.second.send(
                .POST,
                "/concord/v1/conflict/proof",
                [
                    "kind": "session",
                    "idToken": .string(try await servers.first.signIn(Self.email).success().text("idToken")),
                ],
                key: nil,
                authorization: "Bearer " + settled
            )
            let token: JSONValue = ["proofToken": .string(try proof.string("proofToken"))]
            #expect(try await race(":resolve", token, settled) == [200: 1, 409: Self.callers - 1])
            #expect(try await database.accountRowCounts()["linked_providers"] == 1)
            #expect(try await database.count("SELECT count(*) FROM conflicts WHERE state = 'resolved'") == 1)
            #expect(
                try await database.count("SELECT count(*) FROM account_events WHERE kind = 'method-linked'") == 1
            )
        }
    }

    @Test func `a code for the session of a conflict is exchanged once, and a second use ends the session`()
        async throws
    {
        try await TwoServers.with { servers in
            let idToken = try await servers.signUp(Self.email).text("idToken")
            let credential = try servers.credential(.one, subject: "ada", email: Self.email)
            let handle = try await servers.second.signInWithIdp(credential).string("pendingToken")
            func post(_ server: ServeProcess, _ path: String, _ body: JSONValue) async throws -> HTTPAnswer {
                try await server.send(
                    .POST,
                    "/concord/v1/" + path,
                    body,
                    key: nil,
                    authorization: "Bearer " + handle
                )
            }
            let stored = try await post(
                servers.second,
                "conflict/return",
                [
                    "continueUrl": .string(TwoServers.appURL), "state": "s",
                    // RFC 7636, appendix B.
                    "codeChallenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
                ]
            )
            #expect(stored.status == 200, "\(stored.text)")
            let proof = try await post(
                servers.first,
                "conflict/proof",
                ["kind": "session", "idToken": .string(idToken)]
            )
            let proofToken: JSONValue = .string(try proof.string("proofToken"))
            let resolved = try await post(servers.second, "conflict:resolve", ["proofToken": proofToken])
            let resolver: JSONValue = .string(try resolved.string("idToken"))
            let issued = try await post(servers.first, "conflict/return:issueCode", ["idToken": resolver])
            let code = try #require(try issued.string("url").split(separator: "concordCode=").last.map(String.init))
            let body: JSONValue = [
                "code": .string(code), "codeVerifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
            ]
            let before = try await servers.liveSessions()
            let answers = try await servers.race { server, _ in
                try await server.send(.POST, "/concord/v1/session:exchange", body, key: nil)
            }
            try await servers.expectSound(answers)
            #expect(Dictionary(grouping: answers, by: \.status).mapValues(\.count) == [200: 1, 400: Self.callers - 1])
            #expect(
                try await servers.database.count(
                    "SELECT count(*) FROM account_events WHERE kind = 'session-handed-over'"
                ) == 1
            )
            #expect(try await servers.liveSessions() == before - 1, "both sessions have ended")
        }
    }

    @Test func `an identity that two accounts link belongs to one of them`() async throws {
        try await TwoServers.with { servers in
            let sessions = [
                try await servers.signUp("ada@example.com").text("idToken"),
                try await servers.signUp("bob@example.com").text("idToken"),
            ]
            let answers = try await servers.race { server, number in
                try await server.signInWithIdp(
                    servers.credential(.one, subject: "shared", idToken: sessions[number / 2 % 2])
                )
            }
            try await servers.expectSound(answers)
            #expect(answers.codes == ["200": 1, "FEDERATED_USER_ID_ALREADY_LINKED": Self.callers - 1])
            #expect(
                try await servers.database.count("SELECT count(*) FROM identifiers WHERE kind = 'federated'") == 1
            )
            let owner: [String?] = try await servers.database.rows("SELECT user_id FROM linked_providers")
            let winner = try #require(answers.first { $0.status == 200 })
            #expect(owner == [winner.json["localId"]?.string])
        }
    }

    @Test func `an address that two accounts set belongs to one of them`() async throws {
        try await TwoServers.with { servers in
            let sessions = [
                try await servers.first.post("/v1/accounts:signUp", [:]).string("idToken"),
                try await servers.second.post("/v1/accounts:signUp", [:]).string("idToken"),
            ]
            let answers = try await servers.race { server, number in
                try await server.post(
                    "/v1/accounts:signUp",
                    [
                        "idToken": .string(sessions[number / 2 % 2]), "email": .string(Self.email),
                        "password": .string(TwoServers.password),
                    ]
                )
            }
            try await servers.expectSound(answers)
            #expect(answers.count { $0.status == 200 } == 1, "\(answers.codes)")
            // The winner's own session ends with the change: its other callers come with a session that is over.
            #expect(Set(answers.codes.keys).isSubset(of: ["200", "EMAIL_EXISTS", "TOKEN_EXPIRED"]), "\(answers.codes)")
            #expect(try await servers.database.count("SELECT count(*) FROM users WHERE email IS NOT NULL") == 1)
            #expect(try await servers.database.accountRowCounts()["password_credentials"] == 1)
        }
    }

    @Test(arguments: [true, false])
    func `if the last two methods are unlinked at once, one stays, as the project requires`(
        keepsLast: Bool
    ) async throws {
        let settings = TwoServers.settings
            .setting("concord", ["keepsLastSignInMethod": .bool(keepsLast)])
        try await TwoServers.with(settings: settings) { servers in
            let account = try await servers.first.signInWithIdp(servers.credential(.one, subject: "ada-1")).success()
            let session = try account.text("idToken")
            let second = try servers.credential(.two, subject: "ada-2", idToken: session)
            _ = try await servers.second.signInWithIdp(second).success()
            let answers = try await servers.race { server, number in
                let provider = TwoServers.Provider.allCases[number / 2 % 2]
                return try await server.post(
                    "/v1/accounts:update",
                    ["idToken": .string(session), "deleteProvider": [.string(provider.rawValue)]]
                )
            }
            try await servers.expectSound(answers)
            #expect(try await servers.database.accountRowCounts()["linked_providers"] == (keepsLast ? 1 : 0))
            let left: [String?] = try await servers.database.rows("SELECT provider_id FROM linked_providers")
            for (number, answer) in answers.enumerated() {
                let provider = TwoServers.Provider.allCases[number / 2 % 2].rawValue
                // A request to remove a method that is gone changes nothing and succeeds.
                let isKept = left.contains(provider)
                #expect(isKept ? answer.code == "LAST_SIGN_IN_METHOD" : answer.status == 200, "\(answer.text)")
            }
        }
    }

    @Test func `if both APIs remove the last two methods at once, one stays`() async throws {
        let settings = TwoServers.settings.setting("concord", ["keepsLastSignInMethod": true])
        try await TwoServers.with(settings: settings) { servers in
            let account = try await servers.first.signInWithIdp(servers.credential(.one, subject: "ada-1")).success()
            let session = try account.text("idToken")
            let second = try servers.credential(.two, subject: "ada-2", idToken: session)
            _ = try await servers.second.signInWithIdp(second).success()
            let answers = try await servers.race { server, number in
                let provider = TwoServers.Provider.allCases[number / 2 % 2]
                guard (number / 4).isMultiple(of: 2) else {
                    return try await server.post(
                        "/v1/accounts:update",
                        ["idToken": .string(session), "deleteProvider": [.string(provider.rawValue)]]
                    )
                }
                return try await server.send(
                    .DELETE,
                    "/concord/v1/account/methods/" + provider.rawValue,
                    key: nil,
                    authorization: "Bearer " + session
                )
            }
            try await servers.expectSound(answers)
            let left: [String?] = try await servers.database.rows("SELECT provider_id FROM linked_providers")
            #expect(left.count == 1)
            #expect(try await servers.database.accountRowCounts()["sign_in_methods"] == 1)
            #expect(
                try await servers.database.count("SELECT count(*) FROM account_events WHERE kind = 'user-updated'") == 1
            )
            for (number, answer) in answers.enumerated() {
                guard left.contains(TwoServers.Provider.allCases[number / 2 % 2].rawValue) else {
                    #expect(answer.status == 200, "\(answer.text)")
                    continue
                }
                let isOwn = (number / 4).isMultiple(of: 2)
                #expect(isOwn ? answer.status == 409 : answer.code == "LAST_SIGN_IN_METHOD", "\(answer.text)")
            }
        }
    }

    @Test func `an address that two accounts change to belongs to one of them`() async throws {
        try await TwoServers.with { servers in
            let sessions = [
                try await servers.signUp("ada@example.com").text("idToken"),
                try await servers.signUp("bob@example.com").text("idToken"),
            ]
            let answers = try await servers.race { server, number in
                try await server.post(
                    "/v1/accounts:update",
                    ["idToken": .string(sessions[number / 2 % 2]), "email": "wanted@example.com"]
                )
            }
            try await servers.expectSound(answers)
            #expect(answers.count { $0.status == 200 } == 1, "\(answers.codes)")
            #expect(Set(answers.codes.keys).isSubset(of: ["200", "EMAIL_EXISTS", "TOKEN_EXPIRED"]), "\(answers.codes)")
            let addresses: [String?] = try await servers.database.rows("SELECT email FROM users ORDER BY 1")
            #expect(addresses.count == 2 && addresses.contains("wanted@example.com"), "\(addresses)")
        }
    }

    // MARK: Codes

    @Test func `a reset code sets one of many concurrent passwords`() async throws {
        try await TwoServers.with { servers in
            _ = try await servers.signUp(Self.email)
            _ = try await servers.first.sendCode("PASSWORD_RESET", Self.email).success()
            let code = try await servers.emailCode()
            let answers = try await servers.race { server, number in
                try await server.reset(code, to: "password number \(number)")
            }
            try await servers.expectSound(answers)
            #expect(answers.codes == ["200": 1, "INVALID_OOB_CODE": Self.callers - 1])
            let winner = try #require(answers.firstIndex { $0.status == 200 })
            #expect(try await servers.second.signIn(Self.email, password: "password number \(winner)").status == 200)
            #expect(try await servers.second.signIn(Self.email).code == "INVALID_PASSWORD")
            let loser = (winner + 1) % Self.callers
            #expect(
                try await servers.second.signIn(Self.email, password: "password number \(loser)").code
                    == "INVALID_PASSWORD"
            )
            // The address was unproven before, so another person may have used the account.
            let takeovers = "SELECT count(*) FROM account_events WHERE kind = 'account-taken-over'" as Query<Int64?>
            #expect(try await servers.database.count(takeovers) == 1)
        }
    }

    @Test func `when one of several concurrent codes is used, all are void`() async throws {
        try await TwoServers.with { servers in
            _ = try await servers.signUp(Self.email)
            let asked = try await servers.race { server, _ in try await server.sendCode("PASSWORD_RESET", Self.email) }
            try await servers.expectSound(asked)
            #expect(asked.codes == ["200": Self.callers])
            let codes = try await servers.emailCodes()
            #expect(Set(codes).count == Self.callers)
            let answers = try await servers.race { server, number in
                try await server.reset(codes[number], to: "password number \(number)")
            }
            try await servers.expectSound(answers)
            #expect(answers.codes == ["200": 1, "INVALID_OOB_CODE": Self.callers - 1])
            #expect(
                try await servers.database.count("SELECT count(*) FROM one_time_codes WHERE consumed_at IS NULL") == 0
            )
        }
    }

    @Test func `a mailed link signs in once`() async throws {
        try await TwoServers.with { servers in
            _ = try await servers.first.sendCode("EMAIL_SIGNIN", Self.email).success()
            let code = try await servers.emailCode()
            let answers = try await servers.race { server, _ in
                try await server.post(
                    "/v1/accounts:signInWithEmailLink",
                    ["email": .string(Self.email), "oobCode": .string(code)]
                )
            }
            try await servers.expectSound(answers)
            #expect(answers.codes == ["200": 1, "INVALID_OOB_CODE": Self.callers - 1])
            #expect(
                try await servers.database.accountRowCounts() == [
                    "users": 1, "identifiers": 1, "password_credentials": 0, "linked_providers": 0,
                    "sign_in_methods": 1, "sessions": 1, "account_events": 1,
                ]
            )
        }
    }

    // MARK: Passwords and sessions

    @Test func `the old password changes the password once`() async throws {
        try await TwoServers.with { servers in
            _ = try await servers.signUp(Self.email)
            let answers = try await servers.race { server, number in
                try await server.post(
                    "/v1/accounts:resetPassword",
                    [
                        "email": .string(Self.email), "oldPassword": .string(TwoServers.password),
                        "newPassword": .string("password number \(number)"),
                    ]
                )
            }
            try await servers.expectSound(answers)
            // The callers after the winner send a password that is wrong by then, 10 of them before all have to wait.
            let wrong = try #require(answers.codes["INVALID_PASSWORD"])
            #expect((1...10).contains(wrong))
            let waiting = ["TOO_MANY_ATTEMPTS_TRY_LATER": Self.callers - 1 - wrong]
            #expect(answers.codes == ["200": 1, "INVALID_PASSWORD": wrong].merging(waiting) { $1 })
            let winner = try #require(answers.firstIndex { $0.status == 200 })
            try await servers.database.execute("DELETE FROM password_attempts; DELETE FROM password_sources")
            #expect(try await servers.first.signIn(Self.email, password: "password number \(winner)").status == 200)
        }
    }

    @Test func `after a reset no session of the old password is valid, no matter when it began`() async throws {
        try await TwoServers.with { servers in
            let before = try await servers.signUp(Self.email)
            _ = try await servers.first.sendCode("PASSWORD_RESET", Self.email).success()
            let code = try await servers.emailCode()
            let answers = try await servers.race { server, number in
                number == Self.callers / 2
                    ? try await server.reset(code, to: "a new password") : try await server.signIn(Self.email)
            }
            try await servers.expectSound(answers)
            #expect(answers[Self.callers / 2].status == 200)
            #expect(Set(answers.codes.keys).isSubset(of: ["200", "INVALID_PASSWORD"]), "\(answers.codes)")
            let sessions = answers.map(\.json).filter { $0["refreshToken"] != nil } + [before]
            for session in sessions {
                #expect(try await servers.first.refresh(session.text("refreshToken")).code == "TOKEN_EXPIRED")
                #expect(try await servers.second.lookUp(session.text("idToken")).code == "TOKEN_EXPIRED")
            }
            #expect(try await servers.second.signIn(Self.email, password: "a new password").status == 200)
            #expect(try await servers.liveSessions() == 1)
        }
    }

    @Test(arguments: [true, false])
    func `after an account is disowned, no session of the intruder is valid, no matter when it began`(
        isRepeated: Bool
    ) async throws {
        try await TwoServers.with { servers in
            let before = try await servers.signUp(Self.email)
            let asked: JSONValue = ["requestType": "VERIFY_EMAIL", "idToken": .string(try before.text("idToken"))]
            _ = try await servers.first.post("/v1/accounts:sendOobCode", asked).success()
            let code: JSONValue = ["oobCode": .string(try await servers.emailCode())]
            let owner = Self.callers / 2
            @Sendable func disowns(_ number: Int) -> Bool { isRepeated ? number.isMultiple(of: 4) : number == owner }
            let answers = try await servers.race { server, number in
                disowns(number)
                    ? try await server.post("/concord/v1/emailCode:disown", code) : try await server.signIn(Self.email)
            }
            try await servers.expectSound(answers)
            let disowned = answers.enumerated().filter { disowns($0.offset) }.map(\.element.status)
            #expect(disowned.count { $0 == 200 } == 1 && disowned.allSatisfy { [200, 400].contains($0) })
            for session in answers.map(\.json) + [before] where session["refreshToken"] != nil {
                #expect(try await servers.first.refresh(session.text("refreshToken")).code == "TOKEN_EXPIRED")
                #expect(try await servers.second.lookUp(session.text("idToken")).code == "TOKEN_EXPIRED")
            }
            #expect(try await servers.second.signIn(Self.email).status == 400)
            #expect(try await servers.liveSessions() == 0)
        }
    }

    @Test func `after a takeover no session of the intruder is valid, no matter when it began`() async throws {
        try await TwoServers.with { servers in
            let before = try await servers.signUp(Self.email)
            let owner = Self.callers / 2
            let answers = try await servers.race { server, number in
                number == owner
                    ? try await server.signInWithIdp(
                        servers.credential(.one, subject: "ada", email: Self.email, isVerified: true)
                    ) : try await server.signIn(Self.email)
            }
            try await servers.expectSound(answers)
            #expect(answers[owner].status == 200)
            #expect(Set(answers.codes.keys).isSubset(of: ["200", "INVALID_PASSWORD"]), "\(answers.codes)")
            for (number, session) in (answers.map(\.json) + [before]).enumerated()
            where session["refreshToken"] != nil {
                let refreshed = try await servers.first.refresh(session.text("refreshToken"))
                let lookUp = try await servers.second.lookUp(session.text("idToken"))
                #expect((refreshed.status == 200) == (number == owner), "\(number): \(refreshed.text)")
                #expect((lookUp.status == 200) == (number == owner), "\(number): \(lookUp.text)")
            }
            #expect(try await servers.liveSessions() == 1)
        }
    }

    @Test func `if requests to restore or discard a suspended method race, one succeeds`() async throws {
        try await TwoServers.with { servers in
            _ = try await servers.signUp(Self.email)
            let owner = try await servers.first.signInWithIdp(
                servers.credential(.one, subject: "ada", email: Self.email, isVerified: true)
            )
            .success().text("idToken")
            #expect(try await servers.first.signIn(Self.email).code == "INVALID_PASSWORD")
            let answers = try await servers.race { server, number in
                if (number / 2).isMultiple(of: 2) {
                    return try await server.send(
                        .POST,
                        "/concord/v1/account/quarantine/password:restore",
                        ["password": .string(TwoServers.password)],
                        key: nil,
                        authorization: "Bearer " + owner
                    )
                }
                return try await server.send(
                    .DELETE,
                    "/concord/v1/account/quarantine/password",
                    key: nil,
                    authorization: "Bearer " + owner
                )
            }
            try await servers.expectSound(answers)
            #expect(answers.count { $0.status == 200 } == 1, "\(answers.codes)")
            #expect(answers.allSatisfy { $0.status == 200 || $0.status == 404 }, "\(answers.codes)")
            let restored = (0..<Self.callers).contains { answers[$0].status == 200 && ($0 / 2).isMultiple(of: 2) }
            #expect(try await servers.second.signIn(Self.email).status == (restored ? 200 : 400))
            #expect(try await servers.database.count("SELECT count(*) FROM quarantined_methods") == 0)
        }
    }

    @Test func `concurrent refreshes of a session all succeed and change nothing`() async throws {
        try await TwoServers.with { servers in
            let refreshToken = try await servers.signUp(Self.email).text("refreshToken")
            let before = try await servers.database.rowCounts()
            let answers = try await servers.race { server, _ in try await server.refresh(refreshToken) }
            try await servers.expectSound(answers)
            #expect(answers.codes == ["200": Self.callers])
            #expect(answers.allSatisfy { $0.json["refresh_token"] == .string(refreshToken) })
            #expect(try await servers.database.rowCounts() == before)
            #expect(try await servers.database.count("SELECT version FROM users") == 1)
        }
    }

    @Test func `an account that is deleted while it is in use is deleted once and completely`() async throws {
        try await TwoServers.with { servers in
            let account = try await servers.signUp(Self.email)
            let (idToken, refreshToken) = (try account.text("idToken"), try account.text("refreshToken"))
            let link = try servers.credential(.one, subject: "ada", idToken: idToken)
            let answers = try await servers.race { server, number in
                switch number % 4 {
                case 0: try await server.delete(idToken)
                case 1: try await server.refresh(refreshToken)
                case 2: try await server.signIn(Self.email)
                default: try await server.signInWithIdp(link)
                }
            }
            try await servers.expectSound(answers)
            func codes(_ kind: Int) -> [String: Int] {
                answers.enumerated().filter { $0.offset % 4 == kind }.map(\.element).codes
            }
            #expect(codes(0) == ["200": 1, "USER_NOT_FOUND": Self.callers / 4 - 1])
            #expect(Set(codes(1).keys).isSubset(of: ["200", "USER_NOT_FOUND"]), "\(codes(1))")
            #expect(Set(codes(2).keys).isSubset(of: ["200", "EMAIL_NOT_FOUND"]), "\(codes(2))")
            let ofLinks: Set = ["200", "FEDERATED_USER_ID_ALREADY_LINKED", "USER_NOT_FOUND"]
            #expect(Set(codes(3).keys).isSubset(of: ofLinks), "\(codes(3))")
            #expect(codes(3)["200", default: 0] <= 1)
            for answer in answers {
                guard let token = answer.json["refreshToken"]?.string else { continue }
                #expect(try await servers.second.refresh(token).code == "USER_NOT_FOUND")
            }
            var counts = try await servers.database.accountRowCounts()
            counts["account_events"] = nil
            #expect(counts.values.allSatisfy { $0 == 0 }, "\(counts)")
            let deletions = "SELECT count(*) FROM account_events WHERE kind = 'user-deleted'" as Query<Int64?>
            #expect(try await servers.database.count(deletions) == 1)
        }
    }

    /// Different accounts never get in each other's way.
    @Test func `concurrent callers with separate accounts all succeed`() async throws {
        try await TwoServers.with { servers in
            let answers = try await servers.race { server, number in
                try await server.signInWithIdp(
                    servers.credential(
                        number.isMultiple(of: 2) ? .one : .two,
                        subject: "user-\(number)",
                        email: "user\(number)@example.com",
                        isVerified: true
                    )
                )
            }
            try await servers.expectSound(answers)
            #expect(answers.codes == ["200": Self.callers])
            #expect(try await servers.database.accountRowCounts()["users"] == Int64(Self.callers))
        }
    }

    @Test func `a token of one server is valid on the other`() async throws {
        try await TwoServers.with { servers in
            let account = try await servers.signUp(Self.email)
            #expect(try await servers.second.lookUp(account.text("idToken")).status == 200)
            #expect(try await servers.second.refresh(account.text("refreshToken")).status == 200)
            let keys = "SELECT count(*) FROM signing_keys WHERE purpose = 'id-token'" as Query<Int64?>
            #expect(try await servers.database.count(keys) == 1)
        }
    }
}
