import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import IdentityProviders
import JSON
import Postgres
import Testing

/// Merges that race with other requests on two servers. The results are read from the database.
struct MergeRaceTests {
    /// The outcome; `nil` if contention refused the caller.
    private func orLater<Value>(_ body: () async throws -> Outcome<Value>) async throws -> Outcome<Value>? {
        do {
            return try await body()
        } catch is Contention {
            return nil
        }
    }

    private func isSuccess<Value>(_ outcome: Outcome<Value>?) -> Bool {
        if case .success = outcome { true } else { false }
    }

    /// Accounts that can be merged without a choice: one with a proven address and a password, two with identities.
    private func accounts(_ service: TestService) async throws -> (UserID, UserID, UserID) {
        let ada = try await service.signUp("ada@example.com").user.id
        try await service.edit(ada) { $0.prove(.emailCode) }
        let google = try await service.signIn(service.credential(.google, subject: "g-1")).signedIn().user.id
        let gitHub = try await service.signIn(service.credential(.gitHub, subject: "h-1")).signedIn().user.id
        return (ada, google, gitHub)
    }

    private func count(_ service: TestService, _ state: String) async throws -> Int64 {
        try await service.database.count("SELECT count(*) FROM merges WHERE state = \(state)")
    }

    @Test func `when many callers merge two accounts in either direction, one merge commits`() async throws {
        try await TestService.withTwo { first, second in
            let (ada, other, _) = try await accounts(first)
            let outcomes = try await first.race(with: second) { service, caller in
                let (survivor, absorbed) = (caller / 2).isMultiple(of: 2) ? (ada, other) : (other, ada)
                return try await orLater { try await service.merging(survivor, absorbed) }
            }
            let database = first.database
            #expect(try await database.count("SELECT count(*) FROM users") == 2)
            #expect(try await count(first, "committed") == 1)
            #expect(try await count(first, "prepared") == 0)
            #expect(outcomes.contains { isSuccess($0) })
            #expect(try await database.count("SELECT count(*) FROM account_events WHERE kind = 'merged-away'") == 1)
            #expect(try await database.count("SELECT count(*) FROM outbox") == 1, "the proven address gets one mail")
            #expect(try await database.count("SELECT count(*) FROM identifiers") == 3)
            #expect(try await database.inconsistencies() == [])
        }
    }

    /// The owner's request, repeated until contention does not refuse it.
    private func insisting<Value>(_ body: () async throws -> Outcome<Value>) async throws -> Value {
        while true {
            if let outcome = try await orLater(body) { return try outcome.success() }
        }
    }

    /// The thief must not get the owner's identity, nor the owner's account the thief's password.
    @Test(arguments: MergeSide.allCases)
    func `an intruder's session merges nothing once the owner has taken the account over`(
        intruded: MergeSide
    ) async throws {
        try await TestService.withTwo { first, second in
            let database = first.database
            for round in 0..<12 {
                let victim = "victim\(round)@gmail.com"
                let intruder = try await first.signUp(victim)
                let thief = try await first.signUp("thief\(round)@example.com")
                let (stays, goes) = intruded == .survivor ? (intruder, thief) : (thief, intruder)
                let caller = MergeCaller.owners(survivor: stays.tokens.idToken, absorbed: goes.tokens.idToken)
                _ = try await first.race(with: second, count: 24) { service, number in
                    if number == 0 {
                        let google = service.credential(
                            .google,
                            subject: "g-\(round)",
                            email: victim,
                            isVerified: true
                        )
                        _ = try await insisting { try await service.signIn(google) }
                    } else {
                        let password: MergeSide = intruded == .survivor ? .absorbed : .survivor
                        _ = try await orLater {
                            try await outcome(
                                await service.operations.mergeAccounts(
                                    by: caller,
                                    choices: [.email: .survivor, .password: password],
                                    tenant: .project
                                )
                            )
                        }
                    }
                }
                // Whether or not the merge came first, the owner ends up with the only access to the account.
                let owned = try await database.count(
                    """
                    SELECT count(*) FROM users JOIN linked_providers USING (tenant_id, user_id)
                    WHERE users.email = \(victim) AND email_proof = 'provider:google.com' AND NOT EXISTS (
                        SELECT FROM password_credentials AS password
                        WHERE password.tenant_id = users.tenant_id AND password.user_id = users.user_id
                    )
                    """
                )
                #expect(owned == 1, "round \(round)")
            }
            #expect(try await database.count("SELECT count(*) FROM linked_providers") == 12)
            #expect(try await count(first, "prepared") == 0)
            #expect(try await database.inconsistencies() == [])
        }
    }

    @Test func `accounts merged in a circle become one, and every uid resolves to it`() async throws {
        try await TestService.withTwo { first, second in
            let (a, b, c) = try await accounts(first)
            let pairs = [(a, b), (b, c), (c, a)]
            _ = try await first.race(with: second) { service, caller in
                let (survivor, absorbed) = pairs[caller % 3]
                return try await orLater { try await service.merging(survivor, absorbed) }
            }
            // Refused callers retry.
            for (survivor, absorbed) in pairs + pairs { _ = try await first.merging(survivor, absorbed) }
            #expect(try await first.database.count("SELECT count(*) FROM users") == 1)
            #expect(try await count(first, "committed") == 2)
            #expect(try await first.database.count("SELECT count(*) FROM identifiers") == 3)
            let left = try await first.database.rows("SELECT user_id FROM users" as Query<String?>)
                .compactMap(\.self).compactMap(UserID.init)
            for id in [a, b, c] where id != left.first {
                let answer = try await first.operations.merges.merges(of: id, tenant: .project)
                #expect(answer.current == left.first)
            }
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `a merge that races with sign-ins, links and a deletion keeps the tables consistent`() async throws {
        try await TestService.withTwo { first, second in
            let (ada, other, _) = try await accounts(first)
            let session = try await first.signIn("ada@example.com").success()
            let outcomes = try await first.race(with: second) { service, caller in
                switch caller % 8 {
                case 0, 1: return isSuccess(try await orLater { try await service.merging(ada, other) })
                case 2: return isSuccess(try await orLater { try await service.signIn("ada@example.com") })
                case 3:
                    let google = service.credential(.google, subject: "g-1")
                    return isSuccess(try await orLater { try await service.signIn(google) })
                case 4:
                    let twitter = service.credential(.twitter, subject: "t-\(caller)")
                    return isSuccess(
                        try await orLater { try await service.signIn(twitter, idToken: session.tokens.idToken) }
                    )
                case 5:
                    return isSuccess(try await orLater { try await service.signInWithCustomToken(other) })
                case 6:
                    var update = AdminUpdateAccount()
                    update.phoneNumber = "+1555000\(1000 + caller)"
                    return isSuccess(
                        try await orLater { [update] in
                            try await outcome(
                                await service.operations.updateAccount(update, of: other, tenant: .project)
                            )
                        }
                    )
                default:
                    guard caller == 31 else { return true }
                    return isSuccess(
                        try await orLater {
                            try await outcome(await service.operations.deleteAccount(other, tenant: .project))
                        }
                    )
                }
            }
            #expect(outcomes.count == 64)
            let database = first.database
            let contradictions = try await database.inconsistencies()
            #expect(contradictions == [])
            #expect(try await count(first, "prepared") == 0)
            // No account exists under the uid of a merged one.
            let risen = try await database.count(
                """
                SELECT count(*) FROM merges JOIN users ON users.tenant_id = merges.tenant_id
                    AND users.user_id = merges.absorbed_id WHERE merges.state = 'committed'
                """
            )
            #expect(risen == 0)
        }
    }

    @Test func `no account gets the uid of an account that is being merged away`() async throws {
        try await TestService.withTwo { first, second in
            let (ada, other, _) = try await accounts(first)
            _ = try await first.race(with: second) { service, caller in
                if caller < 4 { return isSuccess(try await orLater { try await service.merging(ada, other) }) }
                if caller.isMultiple(of: 3) {
                    return isSuccess(try await orLater { try await service.signInWithCustomToken(other) })
                }
                var creation = CreateAccount()
                creation.id = other
                return isSuccess(
                    try await orLater { [creation] in
                        try await outcome(await service.operations.createAccount(creation, tenant: .project))
                    }
                )
            }
            // A sign-in with a custom token may have changed the account, which prevents the merge.
            if try await first.user(other) != nil { _ = try await first.merge(ada, other) }
            #expect(try await first.user(other) == nil)
            #expect(try await first.signInWithCustomToken(other).denial == .refusal(.accountMerged))
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `when many callers undo a merge during changes of the survivor, at most one succeeds`() async throws {
        try await TestService.withTwo { first, second in
            let (ada, other, _) = try await accounts(first)
            let merge = try await first.merge(ada, other)
            let outcomes = try await first.race(with: second) { service, caller in
                if caller.isMultiple(of: 8) {
                    var update = AdminUpdateAccount()
                    update.phoneNumber = "+1555000\(1000 + caller)"
                    _ = try await orLater { [update] in
                        try await outcome(await service.operations.updateAccount(update, of: ada, tenant: .project))
                    }
                    return false
                }
                return isSuccess(try await orLater { try await service.undo(merge.id, keepsLaterChanges: true) })
            }
            let database = first.database
            #expect(try await database.inconsistencies() == [])
            let undone = outcomes.filter(\.self).count
            #expect(undone <= 1)
            if undone == 0 { _ = try await first.undo(merge.id, keepsLaterChanges: true).success() }
            #expect(try await count(first, "undone") == 1)
            #expect(try await database.count("SELECT count(*) FROM users WHERE user_id = \(other.rawValue)") == 1)
            #expect(
                try await database.count("SELECT count(*) FROM account_events WHERE kind = 'merge-undone'") == 2
            )
            #expect(try await database.inconsistencies() == [])
        }
    }

    /// Number of live sessions of an account, by provider.
    private func liveSessions(_ service: TestService, of user: UserID, by provider: String) async throws -> Int64 {
        try await service.database.count(
            """
            SELECT count(*) FROM sessions JOIN users USING (tenant_id, user_id)
            WHERE user_id = \(user.rawValue) AND sign_in_provider = \(provider)
                AND sessions.session_epoch = users.session_epoch
            """
        )
    }

    @Test func `when many callers undo a merge at once, one succeeds and earlier sessions stay ended`() async throws {
        try await TestService.withTwo { first, second in
            let database = first.database
            let google = first.credential(.google, subject: "g-9")
            for round in 0..<6 {
                let ada = try await first.signUp("ada\(round)@example.com")
                try await first.edit(ada.user.id) { $0.prove(.emailCode) }
                let stolen = try await first.signIn(google).signedIn()
                let (stays, goes) = (ada.user.id, stolen.user.id)
                let merge = try await first.merge(stays, goes)
                let outcomes = try await first.race(with: second, count: 32) { service, caller in
                    if caller.isMultiple(of: 3) {
                        let refreshed = try await service.refresh(stolen.tokens.refreshToken)
                        #expect(!isSuccess(refreshed), "the stolen session works in round \(round)")
                        return false
                    }
                    return isSuccess(try await orLater { try await service.undo(merge.id) })
                }
                #expect(outcomes.filter(\.self).count == 1)
                #expect(!isSuccess(try await first.refresh(stolen.tokens.refreshToken)))
                #expect(try await first.waysInWithoutProof(of: goes) == [])
                let epochs = try await database.count(
                    """
                    SELECT count(*) FROM users WHERE user_id = \(goes.rawValue)
                        AND session_epoch = \(stolen.user.sessionEpoch) + 1
                    """
                )
                #expect(epochs == 1)
                let mails = try await database.count("SELECT count(*) FROM outbox WHERE kind = 'mail'")
                // One mail for the merge and one for the undo, to the proven address.
                #expect(mails == Int64(2 * (round + 1)))
                _ = try await first.operations.deleteAccount(goes, tenant: .project)
            }
            #expect(try await count(first, "undone") == 6)
            #expect(try await database.inconsistencies() == [])
        }
    }

    /// A sign-in with the returning identity reaches the survivor before the undo and the other account after it.
    @Test func `no session that raced with an undo stays in the wrong account`() async throws {
        try await TestService.withTwo { first, second in
            let google = first.credential(.google, subject: "g-9")
            let stolen = try await first.signIn(google).signedIn()
            let goes = stolen.user.id
            for round in 0..<10 {
                let ada = try await first.signUp("ada\(round)@example.com").user.id
                try await first.edit(ada) { $0.prove(.emailCode) }
                let merge = try await first.merge(ada, goes)
                let sessions = try await first.race(with: second, count: 24) { service, caller -> SignedIn? in
                    if caller == 11 {
                        _ = try await insisting { try await service.undo(merge.id) }
                        return nil
                    }
                    if caller.isMultiple(of: 4) { _ = try await service.refresh(stolen.tokens.refreshToken) }
                    return try await orLater { try await service.signIn(google) }?.signedIn()
                }
                for session in sessions.compactMap(\.self) {
                    let refreshed = try await first.refresh(session.tokens.refreshToken)
                    if session.user.id == ada {
                        #expect(refreshed.denial == .refusal(.tokenExpired), "round \(round)")
                    } else {
                        #expect(session.user.id == goes && refreshed.denial == nil, "round \(round)")
                    }
                }
                #expect(try await liveSessions(first, of: ada, by: "google.com") == 0, "round \(round)")
                #expect(!isSuccess(try await first.refresh(stolen.tokens.refreshToken)), "round \(round)")
            }
            #expect(try await count(first, "undone") == 10)
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `a prepared merge that races with its end ends once, and one end is reported`() async throws {
        for round in 0..<3 {
            let receiver = Receiver()
            try await TestService.withTwo(webhooks: receiver) { first, second in
                _ = try await first.addWebhook("https://receiver.example.com/hooks")
                try await second.operations.store.refreshWebhooks()
                let (ada, other, _) = try await accounts(first)
                receiver.answer { $0["type"] == "merge.prepared" && round == 1 ? 409 : 200 }
                let merge = try await first.merge(ada, other)
                #expect(merge.state == .prepared)
                _ = try await first.race(with: second) { service, caller in
                    switch caller % 4 {
                    case 0: try await service.sendAllWebhooks()
                    case 1 where caller > 40 && round == 2:
                        _ = try await outcome(await service.operations.merges.withdraw(merge.id, tenant: .project))
                    default: try await service.operations.merges.advanceAll()
                    }
                    return true
                }
                try await first.sendAllWebhooks()
                try await second.operations.merges.advanceAll()
                try await first.sendAllWebhooks()
                let database = first.database
                #expect(try await count(first, "prepared") == 0)
                let reported = try await database.count(
                    "SELECT count(*) FROM webhook_messages WHERE type IN ('merge.committed', 'merge.aborted')"
                )
                #expect(reported == 1)
                let isMerged = try await count(first, "committed") == 1
                #expect(try await database.count("SELECT count(*) FROM users") == (isMerged ? 2 : 3))
                if round == 0 { #expect(isMerged) }
                if round == 1 { #expect(!isMerged) }
                #expect(try await database.inconsistencies() == [])
            }
        }
    }
}
