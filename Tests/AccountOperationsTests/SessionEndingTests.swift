import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

private func settings(inactivity: Int64 = 0, absolute: Int64 = 0) -> JSONValue {
    var members = ProjectSettings.developmentDefaults.object ?? [:]
    var concord = members["concord"]?.object ?? [:]
    concord["sessions"] = .object(["inactivitySeconds": .integer(inactivity), "absoluteSeconds": .integer(absolute)])
    members["concord"] = .object(concord)
    return .object(members)
}

extension TestService {
    fileprivate func sessions(_ tokens: IssuedTokens) async throws -> AccountSessions {
        try await operations.sessions(idToken: tokens.idToken, tenant: .project, after: nil, countMax: 100)
    }

    /// The id of the session in an ID token.
    fileprivate func session(_ tokens: IssuedTokens) throws -> SessionID {
        try #require(claims(tokens.idToken)["concord"]?["session"]?.string.flatMap(SessionID.init))
    }

    fileprivate func end(_ sessions: SessionsToEndByUser, by tokens: IssuedTokens) async throws -> Outcome<Bool> {
        try await outcome(
            await operations.endSessions(sessions, idToken: tokens.idToken, ChangeRequest(tenant: .project))
        )
    }

    /// Returns true if the refresh token and the ID token are still accepted.
    fileprivate func lives(_ tokens: IssuedTokens) async throws -> Bool {
        let refreshed = try await refresh(tokens.refreshToken).denial
        let used = try await lookUp(tokens.idToken).denial
        #expect(refreshed == used, "the ID token ends with the session")
        if let refreshed { #expect(refreshed == .refusal(.tokenExpired)) }
        return refreshed == nil
    }

    fileprivate func flush() async throws {
        try await operations.store.activity.flush(to: operations.store)
    }

    fileprivate func refusals() async throws -> [String] {
        try await database.rows(
            "SELECT reason || ' ' || count FROM sign_in_refusals ORDER BY day, reason" as Query<String?>
        ).compactMap { $0 }
    }
}

/// Listing and ending sessions, and their lifetimes.
struct SessionEndingTests {
    @Test func `the refresh token and the ID tokens of an ended session are refused`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            let own = try await service.signUp(email).value.tokens
            let other = try await service.signIn(email).value.tokens
            #expect(try await service.end(.one(service.session(other)), by: own).value)
            #expect(try await !service.lives(other))
            #expect(try await service.lives(own))
            let user = try await service.lookUp(own.idToken).value
            #expect(try await service.events(of: user.id).contains("session-ended T10"))
            // Ending it again is no error and writes no event.
            #expect(try await !service.end(.one(service.session(other)), by: own).value)
            #expect(try await service.events(of: user.id).count { $0 == "session-ended T10" } == 1)
            // Its tokens stay refused later.
            service.clock.advance(seconds: 4000)
            #expect(try await service.refresh(other.refreshToken).denial == .refusal(.tokenExpired))
            _ = try await service.refresh(own.refreshToken).value
        }
    }

    @Test func `a session that ends itself is refused at once`() async throws {
        try await TestService.with { service in
            let own = try await service.signUp(service.newAddress()).value.tokens
            #expect(try await service.end(.one(service.session(own)), by: own).value)
            #expect(try await !service.lives(own))
            #expect(try await service.end(.all, by: own).denial == .refusal(.tokenExpired))
        }
    }

    @Test func `ending one session keeps the others and the times that third parties compare`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            var others: [IssuedTokens] = []
            for _ in 0..<4 { others.append(try await service.signIn(email).value.tokens) }
            service.clock.advance(seconds: 10)
            #expect(try await service.end(.one(service.session(others[1])), by: account.tokens).value)
            for (index, tokens) in others.enumerated() {
                #expect(try await service.lives(tokens) == (index != 1), "\(index)")
            }
            let user = try #require(try await service.user(account.user.id))
            #expect(user.validSince == account.user.validSince && user.sessionEpoch == account.user.sessionEpoch)
            #expect(user.version > account.user.version)
        }
    }

    @Test func `ending all other sessions keeps the caller's`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            let first = try await service.signUp(email).value.tokens
            let own = try await service.signIn(email).value.tokens
            let last = try await service.signIn(email).value.tokens
            #expect(try await service.end(.others, by: own).value)
            #expect(try await service.lives(own))
            for tokens in [first, last] { #expect(try await !service.lives(tokens)) }
            #expect(try await service.sessions(own).sessions.map(\.isCurrent) == [true])
            #expect(try await !service.end(.others, by: own).value, "there is no other session any more")
        }
    }

    @Test func `ending all sessions revokes every ID token, for third parties too`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            let other = try await service.signIn(email).value.tokens
            service.clock.advance(seconds: 10)
            #expect(try await service.end(.all, by: account.tokens).value)
            for tokens in [account.tokens, other] { #expect(try await !service.lives(tokens)) }
            let user = try #require(try await service.user(account.user.id))
            #expect(user.validSince.secondsSinceEpoch == service.clock.now.secondsSinceEpoch)
            #expect(try await service.sessionCount(of: user.id) == 0)
            #expect(try await service.events(of: user.id).contains("sessions-revoked T10"))
            #expect(try await service.lives(service.signIn(email).value.tokens))
        }
    }

    @Test func `a stolen session that ends the owner's sessions does not lock the owner out`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            _ = try await service.signUp(email).value
            let stolen = try await service.signIn(email).value.tokens
            service.clock.advance(seconds: 3000)
            #expect(try await service.end(.others, by: stolen).value)
            // The owner signs in again and ends the other sessions.
            let owner = try await service.signIn(email).value.tokens
            #expect(try await service.end(.others, by: owner).value)
            #expect(try await !service.lives(stolen))
            #expect(try await service.lives(owner))
        }
    }

    @Test func `a session of another account cannot be ended`() async throws {
        try await TestService.with { service in
            let own = try await service.signUp(service.newAddress()).value.tokens
            let stranger = try await service.signUp(service.newAddress()).value.tokens
            #expect(try await !service.end(.one(service.session(stranger)), by: own).value)
            #expect(try await service.lives(stranger))
            #expect(SessionID("x") == nil && SessionID(Base64URL.encode(Array(repeating: 1, count: 48))) == nil)
        }
    }

    @Test func `the list shows each session, over several pages`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            let own = try await service.signUp(email).value.tokens
            var ids = [try service.session(own)]
            for _ in 0..<4 { ids.append(try service.session(await service.signIn(email).value.tokens)) }
            var pages: [SessionID] = []
            var after: SessionID?
            repeat {
                let page = try await service.operations
                    .sessions(idToken: own.idToken, tenant: .project, after: after, countMax: 2)
                pages += page.sessions.map(\.id)
                after = page.next
            } while after != nil
            #expect(Set(pages) == Set(ids) && pages.count == 5)
            let listed = try await service.sessions(own)
            #expect(listed.sessions.filter(\.isCurrent).map(\.id) == [ids[0]])
            #expect(listed.sessions.allSatisfy { $0.signInProvider == "password" && $0.secondFactor == nil })
        }
    }

    // MARK: Lifetimes

    @Test func `a session that was unused for longer than the project allows is refused`() async throws {
        try await TestService.with(settings: settings(inactivity: 7200)) { service in
            let email = service.newAddress()
            let used = try await service.signUp(email).value.tokens
            let unused = try await service.signIn(email).value.tokens
            // The last use is written later, and read by every server.
            for _ in 0..<4 {
                service.clock.advance(seconds: 3600)
                _ = try await service.refresh(used.refreshToken).value
                try await service.flush()
            }
            #expect(try await service.refresh(unused.refreshToken).denial == .refusal(.tokenExpired))
            service.clock.advance(seconds: 7199)
            let fresh = try await service.refresh(used.refreshToken).value
            try await service.flush()
            service.clock.advance(seconds: 7200)
            #expect(try await service.refresh(used.refreshToken).denial == .refusal(.tokenExpired))
            #expect(try await service.lookUp(fresh.idToken).denial == .refusal(.tokenExpired))
            #expect(try await service.lives(service.signIn(email).value.tokens))
        }
    }

    @Test func `a session older than the project allows is refused however often it is used`() async throws {
        try await TestService.with(settings: settings(absolute: 7200)) { service in
            let email = service.newAddress()
            let tokens = try await service.signUp(email).value.tokens
            for _ in 0..<7 {
                service.clock.advance(seconds: 1000)
                _ = try await service.refresh(tokens.refreshToken).value
                try await service.flush()
            }
            let last = try await service.refresh(tokens.refreshToken).value
            service.clock.advance(seconds: 199)
            _ = try await service.lookUp(last.idToken).value
            service.clock.advance(seconds: 1)
            #expect(try await service.refresh(tokens.refreshToken).denial == .refusal(.tokenExpired))
            // An unexpired ID token of an expired session.
            #expect(try await service.lookUp(last.idToken).denial == .refusal(.tokenExpired))
            #expect(try await service.lives(service.signIn(email).value.tokens))
        }
    }

    @Test func `a change of the account does not prolong its session`() async throws {
        try await TestService.with(settings: settings(absolute: 7200)) { service in
            let guest = try await service.signUpAnonymously()
            service.clock.advance(seconds: 3500)
            let linked = try await service.link(service.newAddress(), idToken: guest.tokens.idToken).value
            service.clock.advance(seconds: 3600)
            _ = try await service.refresh(linked.tokens.refreshToken).value
            service.clock.advance(seconds: 100)
            #expect(try await service.refresh(linked.tokens.refreshToken).denial == .refusal(.tokenExpired))
        }
    }

    @Test func `a session cookie does not outlive its session`() async throws {
        func seconds(_ service: TestService, _ idToken: String) async throws -> Int64? {
            let cookie = try await service.operations
                .createSessionCookie(idToken: idToken, lifetimeSeconds: 14 * 86_400, tenant: .project)
            let claims = try claims(cookie)
            guard let end = claims["exp"]?.integer, let start = claims["iat"]?.integer else { return nil }
            return end - start
        }
        try await TestService.with(settings: settings(inactivity: 5000, absolute: 7200)) { service in
            let tokens = try await service.signUp(service.newAddress()).value.tokens
            #expect(try await seconds(service, tokens.idToken) == 5000)
            service.clock.advance(seconds: 3000)
            #expect(try await seconds(service, tokens.idToken) == 4200)
        }
        try await TestService.with { service in
            let tokens = try await service.signUp(service.newAddress()).value.tokens
            #expect(try await seconds(service, tokens.idToken) == 14 * 86_400)
        }
    }

    @Test func `without a limit a session does not end, and its last use is written once a day`() async throws {
        try await TestService.with { service in
            let account = try await service.signUp(service.newAddress()).value
            let lastUse: Query<Int64?> = "SELECT extract(epoch FROM last_used_at)::bigint FROM sessions"
            func noted() async throws -> Int64? { try await service.database.rows(lastUse).first ?? nil }
            for _ in 0..<23 {
                service.clock.advance(seconds: 3600)
                _ = try await service.refresh(account.tokens.refreshToken).value
                try await service.flush()
                #expect(try await noted() == nil)
            }
            service.clock.advance(seconds: 3600)
            _ = try await service.refresh(account.tokens.refreshToken).value
            try await service.flush()
            #expect(try await noted() == service.clock.now.secondsSinceEpoch)
            service.clock.advance(seconds: 3 * 366 * 86_400)
            _ = try await service.refresh(account.tokens.refreshToken).value
        }
    }

    @Test func `the purge deletes expired sessions after a week and the rest of the day, and no others`() async throws {
        let week: Int64 = 7 * 86_400
        try await TestService.with(settings: settings(inactivity: 7200, absolute: 86_400)) { service in
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            var purge = Purge(
                store: service.operations.store,
                project: service.operations.project,
                effects: service.operations.effects,
                keepSeconds: week,
                rowsMax: 100,
                databaseClock: { service.clock.now }
            )
            service.clock.advance(seconds: week + 7199)
            _ = try await service.signIn(email).value
            #expect(try await purge.run().rows[.sessions] == 0)
            service.clock.advance(seconds: 86_401)
            #expect(try await purge.run().rows[.sessions] == 1)
            #expect(try await service.sessionCount(of: account.user.id) == 1)
        }
    }

    // MARK: Refused sign-ins

    @Test func `ten thousand wrong passwords leave one row for each reason`() async throws {
        try await TestService.withTwo { first, second in
            let email = first.newAddress()
            let account = try await first.signUp(email).value
            for _ in 0..<10 { _ = try await first.signIn(email, password: "wrong") }
            try await first.flush()
            #expect(try await first.refusals() == ["S4 10"])
            try await withThrowingTaskGroup { group in
                for number in 0..<30 {
                    let service = number.isMultiple(of: 2) ? first : second
                    group.addTask {
                        for _ in 0..<333 {
                            let denial = try await service.signIn(email, password: "wrong").denial
                            #expect(denial == .refusal(.tooManyAttempts))
                        }
                        // While the others count.
                        try await service.flush()
                    }
                }
                try await group.waitForAll()
            }
            for service in [first, second] { try await service.flush() }
            #expect(try await first.refusals() == ["S4 10", "S7 9990"])
            let shown = try await first.sessions(account.tokens).refusals
            #expect(shown.map(\.reason) == ["S4", "S7"] && shown.map(\.count) == [10, 9990])
            #expect(try await first.events(of: account.user.id) == ["user-created P11"])
        }
    }

    @Test func `refusals are counted by day, and deleted after 90 days and with their account`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            for _ in 0..<2 {
                _ = try await service.signIn(email, password: "wrong")
                try await service.flush()
                service.clock.advance(seconds: 86_400)
            }
            try await service.edit(account.user.id) { $0.isDisabled = true }
            _ = try await service.signIn(email)
            try await service.flush()
            #expect(try await service.refusals() == ["S4 1", "S4 1", "S3 1"])
            var purge = Purge(
                store: service.operations.store,
                project: service.operations.project,
                effects: service.operations.effects,
                keepSeconds: 0,
                rowsMax: 100,
                databaseClock: { service.clock.now }
            )
            service.clock.advance(seconds: 89 * 86_400)
            #expect(try await purge.run().rows[.signInRefusals] == 1)
            #expect(try await service.refusals() == ["S4 1", "S3 1"])
            try await service.edit(account.user.id) { $0.isDisabled = false }
            _ = try await service.delete(service.signIn(email).value.tokens.idToken).value
            #expect(try await service.refusals() == [])
        }
    }

    @Test func `a refused sign-in to an unknown address writes nothing`() async throws {
        try await TestService.with { service in
            for _ in 0..<3 {
                #expect(try await service.signIn(service.newAddress(), password: "wrong").denial != nil)
            }
            try await service.flush()
            #expect(try await service.refusals() == [])
        }
    }

    // MARK: Races

    @Test func `of 64 concurrent requests to end one session one succeeds, while it refreshes`() async throws {
        try await TestService.withTwo { first, second in
            for _ in 0..<3 {
                let email = first.newAddress()
                let account = try await first.signUp(email).value
                let doomed = try await first.signIn(email).value.tokens
                let id = try first.session(doomed)
                let ended = try await withThrowingTaskGroup { group in
                    for number in 0..<64 {
                        let service = number.isMultiple(of: 2) ? first : second
                        group.addTask {
                            if number % 4 == 3 {
                                _ = try await service.refresh(doomed.refreshToken)
                                return false
                            }
                            return try await service.end(.one(id), by: account.tokens).value
                        }
                    }
                    return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(ended == 1)
                for service in [first, second] {
                    #expect(try await service.refresh(doomed.refreshToken).denial == .refusal(.tokenExpired))
                    #expect(try await service.lookUp(doomed.idToken).denial == .refusal(.tokenExpired))
                    #expect(try await service.lives(account.tokens))
                }
                #expect(
                    try await first.events(of: account.user.id)
                        == ["session-ended T10", "signed-in S6", "user-created P11"]
                )
            }
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `no session survives the end of all, however many refresh meanwhile`() async throws {
        try await TestService.withTwo { first, second in
            let email = first.newAddress()
            let account = try await first.signUp(email).value
            var opened = [account.tokens]
            for _ in 0..<7 { opened.append(try await first.signIn(email).value.tokens) }
            let tokens = opened
            let minted = try await withThrowingTaskGroup { group in
                for number in 0..<64 {
                    let service = number.isMultiple(of: 2) ? first : second
                    group.addTask { () -> String? in
                        if number == 20 {
                            _ = try await service.end(.all, by: account.tokens)
                            return nil
                        }
                        switch try await service.refresh(tokens[number % 8].refreshToken) {
                        case .success(let refreshed): return refreshed.idToken
                        case .denied(let denial):
                            #expect(denial == .refusal(.tokenExpired))
                            return nil
                        }
                    }
                }
                return try await group.reduce(into: [String]()) { if let token = $1 { $0.append(token) } }
            }
            for idToken in minted {
                #expect(try await second.lookUp(idToken).denial == .refusal(.tokenExpired))
            }
            for tokens in tokens {
                #expect(try await second.refresh(tokens.refreshToken).denial == .refusal(.tokenExpired))
            }
            #expect(try await first.sessionCount(of: account.user.id) == 0)
            #expect(try await first.database.inconsistencies() == [])
        }
    }
}
