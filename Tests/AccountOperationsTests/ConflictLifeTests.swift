import AccountLinking
import AccountOperations
import AccountTestSupport
import IdentityProviders
import Postgres
import Testing

/// A conflict from the refusal to the linked account: proof on this device and on another, and refused proofs.
@Suite struct ConflictLifeTests {
    @Test func `the mailed code proves the conflict on the same device, and resolving it links and signs in`()
        async throws
    {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            try await service.proveAddress(of: ada.user.id)
            let handle = try await service.openConflict(with: "ada@example.com")

            let started = try await service.startMailboxProof(handle).success()
            #expect(started.state == .open && started.version == 2 && started.signInMethods == nil)
            #expect(started.maskedEmail == "a***@e***.com" && started.provider == .twitter)
            let mail = try await service.lastConflictMail()
            #expect(mail.to == "ada@example.com")
            #expect(mail.requester?.provider == "twitter.com" && mail.requester?.name == "Ada L.")
            #expect(mail.requester?.from == "192.0.2.7")

            let code = try #require(mail.code)
            let proven = try await service.complete(handle, .code("\(code.prefix(4)) \(code.suffix(4))")).success()
            #expect(proven.view.state == .proven && proven.view.signInMethods == [.password])

            let signedIn = try await service.resolve(handle, proven.proofToken).success()
            #expect(signedIn.user.id == ada.user.id && !signedIn.isNewUser)
            #expect(signedIn.user.account.signInMethods == [.password, .provider(.twitter)])
            let twitter = service.credential(.twitter, subject: "77", email: "ada@example.com")
            #expect(try await service.signIn(twitter).signedIn().user.id == ada.user.id)
            // All methods of the account were proven, so the password still signs in.
            #expect(try await service.signIn("ada@example.com").success().user.id == ada.user.id)
            #expect(try await service.resolve(handle, proven.proofToken).denial == .conflict(.closed(.resolved)))
            try await service.database.expectConsistency()
        }
    }

    @Test func `the mailed link proves the conflict on another device, which resolves it`() async throws {
        try await TestService.withTwo { service, other in
            let ada = try await service.signUp("ada@example.com")
            try await service.proveAddress(of: ada.user.id)
            let handle = try await service.openConflict(with: "ada@example.com")
            _ = try await service.startMailboxProof(handle).success()
            // The other device has only the mail.
            let link = try #require(try await other.lastConflictMail().link)
            let parts = try #require(link.wholeMatch(of: #/.*/conflict#handle=(.+)&proof=(.+)/#))
            let proven = try await other.complete(String(parts.1), .linkSecret(String(parts.2))).success()
            // The first device does not get the proof. So a stranger whose request the owner approves by mistake is not
            // signed in.
            #expect(try await service.resolve(handle, nil).denial == .conflict(.unproven))
            #expect(try await service.view(handle, nil).success().signInMethods == nil)
            #expect(try await service.view(handle, proven.proofToken).success().signInMethods == [.password])
            let signedIn = try await other.resolve(handle, proven.proofToken).success()
            #expect(signedIn.user.id == ada.user.id)
            #expect(try await service.view(handle, nil).success().state == .resolved)
        }
    }

    @Test func `a recent session of the account proves the conflict, and no other session does`() async throws {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            let eve = try await service.signUp("eve@example.com")
            let handle = try await service.openConflict(with: "ada@example.com")
            #expect(try await service.prove(handle, by: eve).denial == .conflict(.unproven))
            service.clock.advance(seconds: 301)
            let challenge = try #require(try await service.prove(handle, by: ada).denial?.challenge)
            #expect(challenge.maximumAgeSeconds == 300 && challenge.methods == [.signIn(.password)])
            let again = try await service.signIn("ada@example.com").success()
            let proven = try await service.prove(handle, by: again).success()
            #expect(proven.view.signInMethods == [.password])
            #expect(try await service.resolve(handle, proven.proofToken).success().user.id == ada.user.id)
            // A session of the account's creator suspends none of the creator's methods.
            #expect(try await service.signIn("ada@example.com").success().user.id == ada.user.id)
        }
    }

    @Test
    func `the owner of an unproven address takes the account over, and every intruder's method is suspended`()
        async throws
    {
        try await TestService.with { service in
            let intruder = try await service.signUp("ada@example.com", "of the intruder")
            let handle = try await service.openConflict(with: "ada@example.com")
            let other = try await service.openConflict(with: "ada@example.com", subject: "78")
            _ = try await service.startMailboxProof(handle).success()
            let code = try #require(try await service.lastConflictMail().code)
            let proven = try await service.complete(handle, .code(code)).success()
            let signedIn = try await service.resolve(handle, proven.proofToken).success()
            #expect(signedIn.user.account.signInMethods == [.provider(.twitter)])
            #expect(try await service.signIn("ada@example.com", "of the intruder").denial != nil)
            #expect(
                try await outcome(await service.operations.lookUp(idToken: intruder.tokens.idToken, tenant: .project))
                    .denial
                    == .refusal(.tokenExpired)
            )
            #expect(try await service.startMailboxProof(other).denial == .conflict(.closed(.superseded)))
            try await service.database.expectConsistency()
        }
    }

    @Test func `after five wrong codes a proof ends, under concurrency too, and a conflict has at most five mails`()
        async throws
    {
        try await TestService.withTwo { service, other in
            let ada = try await service.signUp("ada@example.com")
            let handle = try await service.openConflict(with: "ada@example.com")
            for number in 1...5 {
                let started = try await service.startMailboxProof(handle).success()
                #expect(started.proof?.attemptsLeft == 5, "mail \(number)")
            }
            #expect(try await service.startMailboxProof(handle).denial == .conflict(.tooManyAttempts))
            let code = try #require(try await service.lastConflictMail().code)
            let wrong = code == "00000000" ? "00000001" : "00000000"
            let denials = try await service.race(with: other) { service, _ in
                try await service.complete(handle, .code(wrong)).denial
            }
            #expect(denials.count { $0 == .conflict(.wrongAnswer) } == 5)
            #expect(denials.count { $0 == .conflict(.tooManyAttempts) } == 59)
            #expect(try await service.complete(handle, .code(code)).denial == .conflict(.tooManyAttempts))
            #expect(
                try await service.database.count(
                    "SELECT count(*) FROM account_events WHERE kind = 'conflict-proof-failed' AND rule = 'Q9'"
                ) == 5
            )
            // The owner can still prove the conflict with a session.
            #expect(try await service.prove(handle, by: ada).denial == nil)
        }
    }

    @Test func `64 callers on two servers resolve one conflict once`() async throws {
        try await TestService.withTwo { service, other in
            let ada = try await service.signUp("ada@example.com")
            let handle = try await service.openConflict(with: "ada@example.com")
            let proven = try await service.prove(handle, by: ada).success()
            let outcomes = try await service.race(with: other) { service, caller in
                caller % 8 == 7
                    ? try await service.decline(handle).denial
                    : try await service.resolve(handle, proven.proofToken).denial
            }
            #expect(outcomes.count { $0 == nil } == 1)
            let closed: [Denial?] = [nil, .conflict(.closed(.resolved)), .conflict(.closed(.declined))]
            #expect(outcomes.allSatisfy { closed.contains($0) }, "\(Set(outcomes.map { "\($0 as Any)" }))")
            let states: [String] = try await service.database.rows("SELECT state FROM conflicts")
            let linked = try await service.database.count("SELECT count(*) FROM linked_providers")
            #expect(states == (linked == 1 ? ["resolved"] : ["declined"]))
            #expect(try await service.database.count("SELECT count(*) FROM sessions") == 1 + linked)
            try await service.database.expectConsistency()
        }
    }

    @Test func `64 callers on two servers prove one conflict once`() async throws {
        try await TestService.withTwo { service, other in
            _ = try await service.signUp("ada@example.com")
            let handle = try await service.openConflict(with: "ada@example.com")
            _ = try await service.startMailboxProof(handle).success()
            let code = try #require(try await service.lastConflictMail().code)
            let outcomes = try await service.race(with: other) { service, _ in
                try await service.complete(handle, .code(code))
            }
            let proven = outcomes.compactMap { try? $0.success() }
            #expect(proven.count == 1)
            #expect(Set(outcomes.compactMap(\.denial)) == [.conflict(.unproven)])
            #expect(
                try await service.database.count(
                    "SELECT count(*) FROM account_events WHERE kind = 'conflict-proof-failed'"
                ) == 0
            )
            let token = try #require(proven.first?.proofToken)
            #expect(try await other.resolve(handle, token).denial == nil)
        }
    }

    @Test func `a proof of one conflict is invalid for another (CVE-2026-9087)`() async throws {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            // Two users of one provider claim ada@example.com. Her proof is for the first.
            let honest = try await service.openConflict(with: "ada@example.com", subject: "77")
            let attacker = try await service.openConflict(with: "ada@example.com", subject: "666")
            let proven = try await service.prove(honest, by: ada).success()
            #expect(try await service.resolve(attacker, proven.proofToken).denial == .conflict(.unproven))
            _ = try await service.startMailboxProof(honest).success()
            let mail = try await service.lastConflictMail()
            let code = try #require(mail.code)
            #expect(try await service.complete(attacker, .code(code)).denial == .conflict(.unproven))
            _ = try await service.startMailboxProof(attacker).success()
            let secret = try #require(mail.link?.split(separator: "=").last.map(String.init))
            #expect(try await service.complete(attacker, .code(code)).denial == .conflict(.wrongAnswer))
            #expect(try await service.complete(attacker, .linkSecret(secret)).denial == .conflict(.wrongAnswer))
            // A new mail voids the token of an earlier proof.
            #expect(try await service.resolve(honest, proven.proofToken).denial == .conflict(.unproven))
        }
    }

    @Test func `the mail goes to the account's address and names the requesting provider (CVE-2025-7365)`()
        async throws
    {
        try await TestService.with { service in
            let owner = try await service.signIn(service.credential(.gitHub, subject: "1", email: "owner@example.com"))
                .signedIn()
            let target = try await service.signUp("eve@example.com")
            let (_, handle) = try await service.signIn(
                service.credential(.gitHub, subject: "1", email: "eve@example.com"),
                idToken: target.tokens.idToken
            ).refused()
            _ = try await service.startMailboxProof(try #require(handle)).success()
            let mail = try await service.lastConflictMail()
            #expect(mail.to == owner.user.email?.address.raw)
            #expect(mail.requester?.provider == "github.com")
        }
    }

    @Test func `a changed account, address or configuration makes a proof stale`() async throws {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            let handle = try await service.openConflict(with: "ada@example.com")
            let first = try await service.prove(handle, by: ada).success()
            let now = service.clock.now
            try await service.edit(ada.user.id) { $0.endSessions(at: now) }
            #expect(try await service.resolve(handle, first.proofToken).denial == .conflict(.proofStale))
            // A stale proof reveals nothing about the account.
            #expect(try await service.view(handle, first.proofToken).success().signInMethods == nil)
            _ = try await service.startMailboxProof(handle).success()
            let code = try #require(try await service.lastConflictMail().code)
            let moved = EmailAddress("elsewhere@example.com")
            try await service.edit(ada.user.id) { $0.email = moved.map { AccountEmail(address: $0, proof: nil) } }
            #expect(try await service.complete(handle, .code(code)).denial == .conflict(.proofStale))
        }
    }

    @Test func `a proven conflict is resolved by the next sign-in with a method of the account`() async throws {
        try await TestService.withTwo { service, other in
            let ada = try await service.signUp("ada@example.com")
            try await service.proveAddress(of: ada.user.id)
            let google = service.credential(.google, subject: "g", email: "ada@gmail.com")
            _ = try await service.signIn(google, idToken: ada.tokens.idToken).signedIn()
            let handle = try await service.openConflict(with: "ada@example.com")
            #expect(try await service.signIn("ada@example.com").success().linkedProvider == nil, "not proven yet")

            _ = try await service.startMailboxProof(handle).success()
            let code = try #require(try await service.lastConflictMail().code)
            let proven = try await service.complete(handle, .code(code)).success()
            // Another account's sign-in does not resolve it.
            _ = try await service.signUp("eve@example.com")
            #expect(try await service.signIn("eve@example.com").success().linkedProvider == nil)
            let outcomes = try await service.race(with: other) { service, caller in
                caller.isMultiple(of: 4)
                    ? try await service.signIn(google).signedIn()
                    : try await service.signIn("ada@example.com").success()
            }
            #expect(outcomes.allSatisfy { $0.user.id == ada.user.id })
            #expect(outcomes.compactMap(\.linkedProvider) == [.twitter])
            #expect(try await service.resolve(handle, proven.proofToken).denial == .conflict(.closed(.resolved)))
            let twitter = service.credential(.twitter, subject: "77", email: "ada@example.com")
            #expect(try await service.signIn(twitter).signedIn().user.id == ada.user.id)
            try await service.database.expectConsistency()
        }
    }

    @Test func `a credential whose address a third account now owns is not linked, and the refusal says so`()
        async throws
    {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            let handle = try await service.openConflict(with: "ada@example.com")
            // The account loses the address, and another user signs up with it.
            try await service.edit(ada.user.id) { $0.email = nil }
            let proven = try await service.prove(handle, by: ada).success()
            let taker = try await service.signUp("ada@example.com", "of the taker")
            #expect(try await service.view(handle, proven.proofToken).success().suspended == nil)
            let denied = try await service.resolve(handle, proven.proofToken).denial
            #expect(denied == .conflict(.refused(.emailExists)))
            let user = try #require(try await service.user(ada.user.id))
            #expect(user.account.linkedProviders.isEmpty && user.email == nil)
            let refusals: Query<String?> = "SELECT rule FROM account_events WHERE kind = 'refused'"
            #expect(try await service.database.rows(refusals) == ["U26"])

            // Once the address is free again, the credential is linked.
            let gone = try #require(EmailAddress("taker@example.com"))
            try await service.edit(taker.user.id) { $0.email = AccountEmail(address: gone, proof: nil) }
            #expect(try await service.resolve(handle, proven.proofToken).success().user.id == ada.user.id)
            try await service.database.expectConsistency()
        }
    }

    @Test func `when resolving a conflict and signing up race for a free address, one succeeds`() async throws {
        for _ in 1...4 {
            try await TestService.withTwo { service, other in
                let ada = try await service.signUp("ada@example.com")
                let handle = try await service.openConflict(with: "ada@example.com")
                try await service.edit(ada.user.id) { $0.email = nil }
                let proven = try await service.prove(handle, by: ada).success()
                let address = try #require(EmailAddress("ada@example.com"))
                let done = try await service.race(with: other) { service, caller -> String? in
                    if caller % 4 < 2 {
                        return try await service.resolve(handle, proven.proofToken).denial == nil ? "settled" : nil
                    }
                    let signUp = try await outcome(
                        await service.operations.signUp(
                            .password(address, "correct horse"),
                            tenant: .project
                        )
                    )
                    return signUp.denial == nil ? "signed up" : nil
                }.compactMap(\.self)
                #expect(done.count == 1, "\(done)")
                let owned: Query<String?> = "SELECT value FROM identifiers WHERE kind = 'email'"
                #expect(try await service.database.rows(owned) == ["ada@example.com"])
                try await service.database.expectConsistency()
            }
        }
    }

    @Test func `the owner's next sign-in does not link the domain's next owner, who proved the mailbox`()
        async throws
    {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@gmail.com")
            try await service.proveAddress(of: ada.user.id)
            func google(_ subject: String) -> ProviderCredential {
                service.credential(.google, subject: subject, email: "ada@gmail.com", isVerified: true)
            }
            _ = try await service.signIn(google("ada"), idToken: ada.tokens.idToken).signedIn()
            let handle = try await service.signIn(google("next")).confirmation().pendingToken
            _ = try await service.startMailboxProof(handle).success()
            let code = try #require(try await service.lastConflictMail().code)
            let proven = try await service.complete(handle, .code(code)).success()
            #expect(try await service.resolve(handle, proven.proofToken).denial == .conflict(.providerAlreadyLinked))

            #expect(try await service.signIn("ada@gmail.com").success().linkedProvider == nil)
            #expect(try await service.signIn(google("ada")).signedIn().user.id == ada.user.id)
            _ = try await service.signIn(google("next")).confirmation()
            try await service.database.expectConsistency()
        }
    }

    @Test(arguments: [ProviderID.twitter, .google])
    func `an intruder's sign-in does not consume the proof of the address's owner`(
        provider: ProviderID
    ) async throws {
        try await TestService.withTwo { service, other in
            let intruder = try await service.signUp("ada@gmail.com", "of the intruder")
            let gitHub = service.credential(.gitHub, subject: "666", email: "eve@example.com")
            _ = try await service.signIn(gitHub, idToken: intruder.tokens.idToken).signedIn()
            let owners = service.credential(provider, subject: "77", email: "ada@gmail.com", isVerified: true)
            let handle: String
            if provider == .google {
                // L3: a guest meets the address by linking, and linking never takes an account over.
                let guest = try await service.operations.signUp(.anonymous, tenant: .project)
                handle = try #require(
                    try await service.signIn(owners, idToken: guest.tokens.idToken).refused().pendingToken
                )
            } else {
                handle = try await service.signIn(owners).confirmation().pendingToken
            }
            _ = try await service.startMailboxProof(handle).success()
            let code = try #require(try await service.lastConflictMail().code)
            let proven = try await service.complete(handle, .code(code)).success()

            for reauthenticates in [false, true] {
                let again = try await service.signIn(gitHub, createsUsers: !reauthenticates).signedIn()
                #expect(again.user.id == intruder.user.id && again.linkedProvider == nil)
            }
            // The same while the owner resolves: the intruder may be signed in, but links nothing.
            let linked = try await service.race(with: other, count: 16) { service, caller -> ProviderID? in
                if caller == 0 {
                    _ = try await service.resolve(handle, proven.proofToken).success()
                    return nil
                }
                if caller < 4 {
                    return try? await service.signIn(gitHub, createsUsers: false).signedIn().linkedProvider
                }
                return try? await service.signIn("ada@gmail.com", "of the intruder").success().linkedProvider
            }
            #expect(linked.allSatisfy { $0 == nil })
            #expect(try await service.signIn("ada@gmail.com", "of the intruder").denial != nil)
            let user = try await service.signIn(owners).signedIn().user
            #expect(user.id == intruder.user.id && user.account.signInMethods == [.provider(provider)])
            #expect(user.email?.proof == .emailCode)
            try await service.database.expectConsistency()
        }
    }

    @Test func `a proof that has become invalid links nothing`() async throws {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            let late = try await service.openConflict(with: "ada@example.com")
            _ = try await service.prove(late, by: ada).success()
            service.clock.advance(seconds: 900)
            #expect(try await service.signIn("ada@example.com").success().linkedProvider == nil)

            let again = try await service.signIn("ada@example.com").success()
            _ = try await service.prove(late, by: again).success()
            try await service.edit(ada.user.id) { $0.sessionEpoch += 1 }
            #expect(try await service.signIn("ada@example.com").success().linkedProvider == nil)
        }
    }

    @Test func `the proof expires first, then the conflict`() async throws {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            let handle = try await service.openConflict(with: "ada@example.com")
            let proven = try await service.prove(handle, by: ada).success()
            _ = try await service.view(handle, proven.proofToken).success()
            service.clock.advance(seconds: 900)
            #expect(try await service.resolve(handle, proven.proofToken).denial == .conflict(.proofExpired))
            #expect(try await service.view(handle, proven.proofToken).success().signInMethods == nil)
            service.clock.advance(seconds: 2700)
            #expect(try await service.resolve(handle, proven.proofToken).denial == .conflict(.expired))
            #expect(try await service.decline(handle).denial == .conflict(.expired))
            #expect(try await service.view(handle, nil).success().isExpired)
        }
    }

    @Test func `a change with another version than the conflict's is refused`() async throws {
        try await TestService.with { service in
            _ = try await service.signUp("ada@example.com")
            let handle = try await service.openConflict(with: "ada@example.com")
            #expect(try await service.decline(handle, version: 7).denial == .versionMismatch)
            #expect(try await service.decline(handle, version: 1).success().state == .declined)
            #expect(try await service.decline(handle).denial == .conflict(.closed(.declined)))
            // The declined credential signs no user in. Another sign-in opens a new conflict.
            #expect(try await service.signIn(pendingToken: handle).denial == .invalidPendingToken)
            let next = try await service.openConflict(with: "ada@example.com")
            #expect(try await service.view(next, nil).success().version == 1)
        }
    }

    @Test func `a forged, truncated or foreign handle finds no conflict`() async throws {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            let handle = try await service.openConflict(with: "ada@example.com")
            let foreign = TenantID("other")
            for forged in [
                "", "x", String(handle.dropLast()), String(handle.reversed()), handle + "A", ada.tokens.idToken,
            ] {
                #expect(try await service.view(forged, nil).denial == .conflict(.unknown))
                #expect(try await service.resolve(forged, "x").denial == .conflict(.unknown))
                #expect(try await service.startMailboxProof(forged).denial == .conflict(.unknown))
                #expect(try await service.prove(forged, by: ada).denial == .conflict(.unknown))
            }
            #expect(
                try await outcome(await service.operations.conflict(handle, proofToken: nil, tenant: foreign)).denial
                    == .conflict(.unknown)
            )
        }
    }

    @Test func `the tables contain no code, link or token of a proof`() async throws {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            let handle = try await service.openConflict(with: "ada@example.com")
            _ = try await service.startMailboxProof(handle).success()
            let mail = try await service.lastConflictMail()
            let dump = try await service.database.contents().values.joined()
            #expect(dump.contains("conflict-proof-requested"), "the dump is of this database")
            let secret = try #require(mail.link?.split(separator: "=").last.map(String.init))
            #expect(!dump.contains(try #require(mail.code)) && !dump.contains(secret) && !dump.contains(handle))
            let proven = try await service.prove(handle, by: ada).success()
            #expect(!(try await service.database.contents().values.joined()).contains(proven.proofToken))
        }
    }
}

extension TestService {
    /// Opens a conflict over `email`, which a user of Twitter claims.
    /// - Returns: its handle.
    func openConflict(with email: String, subject: String = "77") async throws -> String {
        try await signIn(credential(.twitter, subject: subject, email: email, name: "Ada L.")).confirmation()
            .pendingToken
    }

    func proveAddress(of id: UserID) async throws {
        let now = clock.now
        try await edit(id) { user in
            user.email?.proof = .emailCode
            user.emailProvenAt = now
        }
    }

    /// Advances the clock by a second first, so that mails have an order.
    func startMailboxProof(_ handle: String) async throws -> Outcome<ConflictView> {
        clock.advance(seconds: 1)
        return try await outcome(
            await operations.startMailboxProof(
                handle,
                ChangeRequest(tenant: .project),
                locale: "en",
                requestedFrom: "192.0.2.7"
            )
        )
    }

    func complete(_ handle: String, _ answer: ConflictProofAnswer) async throws -> Outcome<ProvenConflict> {
        try await outcome(await operations.completeMailboxProof(handle, answer, ChangeRequest(tenant: .project)))
    }

    func prove(_ handle: String, by session: SignedIn) async throws -> Outcome<ProvenConflict> {
        try await outcome(
            await operations.proveBySession(handle, idToken: session.tokens.idToken, ChangeRequest(tenant: .project))
        )
    }

    func resolve(_ handle: String, _ proofToken: String?) async throws -> Outcome<SignedIn> {
        try await outcome(
            await operations.resolveConflict(handle, proofToken: proofToken, ChangeRequest(tenant: .project))
        )
    }

    func decline(_ handle: String, version: Int64? = nil) async throws -> Outcome<ConflictView> {
        try await outcome(
            await operations.declineConflict(handle, ChangeRequest(tenant: .project, expectedVersion: version))
        )
    }

    func view(_ handle: String, _ proofToken: String?) async throws -> Outcome<ConflictView> {
        try await outcome(await operations.conflict(handle, proofToken: proofToken, tenant: .project))
    }

    /// The latest mail about a conflict.
    func lastConflictMail() async throws -> Mail {
        try #require(try await operations.mailsThatProveConflicts(tenant: .project).last)
    }
}

extension Denial {
    /// The challenge of a refusal that requires reauthentication.
    fileprivate var challenge: ReauthenticationChallenge? {
        if case .reauthenticationRequired(let challenge) = self { challenge } else { nil }
    }
}
