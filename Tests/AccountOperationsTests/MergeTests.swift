import AccountLinking
import AccountTestSupport
import Delivery
import JSON
import Testing

@testable import AccountOperations
@testable import AccountStore
@testable import Postgres

/// Merging two accounts, and undoing the merge.
struct MergeTests {
    private static let url = "https://receiver.example.com/hooks"

    @Test func `undoing a merge restores every table except sessions, codes and conflicts`() async throws {
        try await TestService.with { service in
            var random = SplitMix(state: 20_261_122)
            for number in 0..<40 {
                let survivor = try await service.makeAccount("s\(number)", &random)
                let absorbed = try await service.makeAccount("a\(number)", &random)
                let before = try await service.rowsOfAccounts()
                let merge = try await service.mergeAtRandom(survivor, absorbed, &random)
                guard let merge else {
                    #expect(try await service.rowsOfAccounts() == before)
                    continue
                }
                #expect(merge.state == .committed)
                #expect(try await service.user(absorbed) == nil)
                #expect(try await service.rowsOfAccounts() != before)
                #expect(try await service.database.inconsistencies() == [])
                let undone = try await service.operations.merges
                    .undo(merge.id, keepsLaterChanges: false, tenant: .project)
                #expect(undone.merge.state == .undone && undone.kept == [])
                let after = try await service.rowsOfAccounts().filter(TestService.isRestored)
                let expected = before.filter(TestService.isRestored)
                #expect(after == expected, "\(Set(after).symmetricDifference(expected).sorted())")
                let usable = try await service.waysInWithoutProof(of: absorbed)
                #expect(usable == [])
                #expect(try await service.database.count("SELECT count(*) FROM account_journal") == 0)
            }
            #expect(try await service.database.inconsistencies() == [])
            let merged = try await service.database.count("SELECT count(*) FROM merges WHERE state = 'undone'")
            #expect(merged >= 20, "too few merges: \(merged)")
        }
    }

    @Test func `a merge can be undone after its secrets were sealed again`() async throws {
        try await TestService.with { service in
            var random = SplitMix(state: 20_261_127)
            let old = try #require(Sealer.Key(id: "test", bytes: Array(repeating: 7, count: 32)))
            var moved = 0
            for number in 0..<6 {
                let survivor = try await service.makeAccount("s\(number)", &random, with: [.email, .password])
                let absorbed = try await service.makeAccount("a\(number)", &random, with: [.google, .app])
                guard let merge = try await service.mergeAtRandom(survivor, absorbed, &random) else { continue }
                moved += try #require(try await service.user(survivor)).secondFactors.count
                let key = try #require(Sealer.Key(id: "key \(number)", bytes: Array(repeating: 8, count: 32)))
                let sealer = Sealer(sealingKey: key, olderKeys: [old] + Self.keys(before: number))
                let outcome = try await SealedValues(store: service.operations.store, sealer: sealer).reseal(batch: 10)
                #expect(outcome.unreadable[.totpSecret] == nil && outcome.resealed > 0)

                let undone = try await service.operations.merges
                    .undo(merge.id, keepsLaterChanges: false, tenant: .project)
                #expect(undone.merge.state == .undone && undone.kept == [])
                #expect(try #require(try await service.user(absorbed)).secondFactors.map(\.kind) == [.totp])
                let retired = Sealer(sealingKey: key)
                let left = try await SealedValues(store: service.operations.store, sealer: retired).reseal(batch: 10)
                #expect(left.unreadable[.totpSecret] == nil, "the restored secret opens without the old key")
            }
            #expect(moved > 0, "no merge moved a second factor")
        }
    }

    private static func keys(before number: Int) -> [Sealer.Key] {
        (0..<number).compactMap { Sealer.Key(id: "key \($0)", bytes: Array(repeating: 8, count: 32)) }
    }

    @Test func `the old uid keeps resolving, and the absorbed account's methods sign in to the survivor`()
        async throws
    {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            let google = service.credential(.google, subject: "g-1", email: "ada@gmail.com", isVerified: true)
            let other = try await service.signIn(google).signedIn()
            let merge = try await service.merge(ada.user.id, other.user.id, [.email: .survivor])
            #expect(merge.state == .committed && merge.reason == "the same person")

            // Tokens of the absorbed account are refused like those of a deleted one.
            #expect(try await service.lookUp(other.tokens.idToken).denial == .refusal(.userNotFound))
            #expect(try await service.refresh(other.tokens.refreshToken).denial == .refusal(.userNotFound))
            #expect(try await service.lookUp(ada.tokens.idToken).denial == nil, "the survivor's session lives")
            let within = try await service.signIn(google).signedIn()
            #expect(within.user.id == ada.user.id)
            // No account can get the old uid, by a custom token or an administrator.
            let old = other.user.id
            let custom = try await service.signInWithCustomToken(old)
            #expect(custom.denial == .refusal(.accountMerged))
            var creation = CreateAccount()
            creation.id = old
            let created = try await outcome(await service.operations.createAccount(creation, tenant: .project))
            #expect(created.denial == .refusal(.duplicateLocalID))
            let answers = try await service.operations.merges.merges(of: old, tenant: .project)
            #expect(answers.current == ada.user.id && answers.merges.map(\.id) == [merge.id])
            #expect(try await service.events(of: old).contains("merged-away H4"))

            // If the survivor is merged in turn, one call still finds the current account.
            let last = try await service.signUp("last@example.com")
            let second = try await service.merge(
                last.user.id,
                ada.user.id,
                [.email: .survivor, .password: .absorbed]
            )
            #expect(try await service.operations.merges.merges(of: old, tenant: .project).current == last.user.id)
            // The survivor got the other password, so its sessions have ended.
            #expect(try await service.lookUp(last.tokens.idToken).denial == .refusal(.tokenExpired))
            #expect(try await service.database.inconsistencies() == [])

            // Merges are undone in reverse order. The first cannot be undone before the second.
            let early = try await service.undo(merge.id)
            #expect(early.denial.map { if case .merge(.laterChanges) = $0 { true } else { false } } == true)
            _ = try await service.undo(second.id).success()
            _ = try await service.undo(merge.id).success()
            let denial = try await service.lookUp(other.tokens.idToken).denial
            #expect(denial == .refusal(.tokenExpired), "the restored account's sessions stay ended")
            #expect(try await service.signIn(google).signedIn().user.id == old)
            // A session that used the returned identity has ended, because it is in the wrong account.
            #expect(try await service.lookUp(within.tokens.idToken).denial == .refusal(.tokenExpired))
            #expect(try await service.refresh(within.tokens.refreshToken).denial == .refusal(.tokenExpired))
            #expect(try await service.operations.merges.merges(of: old, tenant: .project).current == nil)
            #expect(try await service.signInWithCustomToken(old).denial == nil)
            #expect(try await service.undo(merge.id).denial == .merge(.closed(.undone)))
            #expect(try await service.database.inconsistencies() == [])
        }
    }

    // MARK: Attacks on the undo

    private func person(_ service: TestService, _ email: String) async throws -> SignedIn {
        let signedIn = try await service.signUp(email)
        try await service.edit(signedIn.user.id) { $0.prove(.emailCode) }
        return signedIn
    }

    /// The thief absorbs the account of a stolen session. Undoing that must not revive the session.
    @Test func `a stolen session stays ended after the merge that ended it is undone`() async throws {
        try await TestService.with { service in
            let victim = try await person(service, "victim@example.com")
            let thief = try await person(service, "thief@example.com")
            let choices: [MergeField: MergeSide] = [.email: .survivor, .password: .survivor]
            func steal(for session: SignedIn) async throws -> Outcome<Merge> {
                try await outcome(
                    await service.operations.mergeAccounts(
                        by: .owners(survivor: session.tokens.idToken, absorbed: victim.tokens.idToken),
                        choices: choices,
                        tenant: .project
                    )
                )
            }
            let merge = try await steal(for: thief).success()
            #expect(try await service.refresh(victim.tokens.refreshToken).denial == .refusal(.userNotFound))
            service.clock.advance(seconds: 10)
            _ = try await service.undo(merge.id).success()

            #expect(try await service.refresh(victim.tokens.refreshToken).denial == .refusal(.tokenExpired))
            #expect(try await service.lookUp(victim.tokens.idToken).denial == .refusal(.tokenExpired))
            #expect(try await service.refresh(thief.tokens.refreshToken).denial == .refusal(.tokenExpired))
            #expect(try await service.lookUp(thief.tokens.idToken).denial == .refusal(.tokenExpired))
            let thiefAgain = try await service.signIn("thief@example.com").success()
            #expect(try await steal(for: thiefAgain).denial == .refusal(.tokenExpired))
            #expect(try await service.waysInWithoutProof(of: victim.user.id) == [])
            let restored = try #require(try await service.user(victim.user.id))
            #expect(restored.sessionEpoch > victim.user.sessionEpoch)
            // Backends that check revocation by time alone refuse earlier tokens and cookies as well.
            #expect(restored.validSince.secondsSinceEpoch == service.clock.now.secondsSinceEpoch)

            let owner = try await service.signIn("victim@example.com").success()
            #expect(owner.user.id == victim.user.id)
            #expect(try await service.refresh(owner.tokens.refreshToken).denial == nil)
            #expect(try await service.database.inconsistencies() == [])
        }
    }

    @Test func `a revert code is void after an undo, unless it was mailed to the restored address`()
        async throws
    {
        try await TestService.with { service in
            let ada = try await person(service, "ada@example.com")
            let thief = try await person(service, "thief@example.com")
            let merge = try await service.merge(
                ada.user.id,
                thief.user.id,
                [.email: .absorbed, .password: .survivor]
            )
            for email in ["ada@example.com", "thief@example.com"] {
                try await service.database.execute(
                    """
                    INSERT INTO one_time_codes (code_hash, kind, user_id, email, email_key, address_was_proven, created_at,
                            expires_at)
                        VALUES (decode(md5('\(email)') || md5('\(email)'), 'hex'), 'REVERT_SIGN_IN_METHOD_CHANGE',
                            '\(ada.user.id.rawValue)', '\(email)', '\(email)', true, '2025-06-15 03:04:05+00',
                            '2099-01-02 03:04:05+00')
                    """
                )
            }
            _ = try await service.undo(merge.id).success()
            #expect(try await service.user(ada.user.id)?.email?.address.raw == "ada@example.com")
            let usable: Query<String?> = "SELECT email FROM one_time_codes WHERE consumed_at IS NULL"
            #expect(try await service.database.rows(usable) == ["ada@example.com"])
        }
    }

    @Test func `a reset code from before a merge stays void after the undo`() async throws {
        try await TestService.with { service in
            let victim = try await person(service, "victim@example.com")
            let survivor = try await person(service, "ada@example.com")
            let codes = [
                try await service.resetCode(for: "victim@example.com"),
                try await service.resetCode(for: "ada@example.com"),
            ]
            let merge = try await service.merge(
                survivor.user.id,
                victim.user.id,
                [.email: .survivor, .password: .survivor]
            )
            let meanwhile = try await service.resetCode(for: "ada@example.com")
            _ = try await service.undo(merge.id).success()
            for code in codes + [meanwhile] {
                let reset = try await outcome(
                    await service.operations.resetPassword(
                        code,
                        newPassword: "chosen by a thief",
                        tenant: .project
                    )
                )
                #expect(reset.denial != nil)
            }
            for email in ["victim@example.com", "ada@example.com"] {
                #expect(try await service.signIn(email).denial == nil, "\(email) has another password")
            }
            let fresh = try await service.resetCode(for: "victim@example.com")
            let reset = try await outcome(
                await service.operations.resetPassword(fresh, newPassword: "a new one", tenant: .project)
            )
            #expect(reset.denial == nil, "a later code works")
            #expect(try await service.database.inconsistencies() == [])
        }
    }

    /// Older versions wrote them into the journal, and such journals remain for 30 days.
    @Test func `sessions and codes in a journal of an older version are not restored`() async throws {
        try await TestService.with { service in
            var random = SplitMix(state: 5)
            let survivor = try await service.makeAccount("s", &random, with: [.email, .password])
            let absorbed = try await service.makeAccount("a", &random, with: [.email, .password])
            let tables = [
                ("sessions", "concat_ws(E'\\x1F', user_id, encode(session_id, 'hex'))"),
                ("factor_challenges", "concat_ws(E'\\x1F', user_id, encode(challenge_id, 'hex'))"),
                ("conflicts", "concat_ws(E'\\x1F', user_id, encode(conflict_id, 'hex'))"),
                ("kept_answers", "concat_ws(E'\\x1F', user_id, encode(key_digest, 'hex'))"),
                ("one_time_codes", "encode(code_hash, 'hex')"),
            ]
            let images = tables.map { table, key in
                "SELECT '\(table)' AS name, \(key) AS key, to_jsonb(t) AS image FROM \(table) AS t WHERE user_id = 'a'"
            }
            try await service.database.execute("CREATE TABLE images AS \(images.joined(separator: " UNION ALL "))")
            let merge = try await service.merge(survivor, absorbed, [.email: .survivor, .password: .survivor])
            try await service.database.execute(
                """
                INSERT INTO account_journal (change_id, step, table_name, row_key, before, kept_until)
                    SELECT '\(merge.id)', 0, name, key, image, '2099-01-01' FROM images
                """
            )
            #expect(try await service.database.count("SELECT count(*) FROM images") == 5)
            _ = try await service.undo(merge.id).success()
            #expect(try await service.user(absorbed) != nil)
            #expect(try await service.waysInWithoutProof(of: absorbed) == [])
            #expect(try await service.database.count("SELECT count(*) FROM account_journal") == 0)
            #expect(try await service.database.inconsistencies() == [])
        }
    }

    @Test func `the journal of a merge contains no earlier session or code`() async throws {
        try await TestService.with { service in
            var random = SplitMix(state: 6)
            let survivor = try await service.makeAccount("s", &random, with: [.email, .password])
            let absorbed = try await service.makeAccount("a", &random, with: [.email, .password])
            _ = try await service.merge(survivor, absorbed, [.email: .survivor, .password: .absorbed])
            let kept = try await service.database.count(
                """
                SELECT count(*) FROM account_journal WHERE table_name IN ('sessions', 'factor_challenges', 'conflicts',
                    'kept_answers', 'one_time_codes')
                """
            )
            #expect(kept == 0)
        }
    }

    @Test func `both owners are notified when the merge of their accounts is undone`() async throws {
        try await TestService.with { service in
            func reported() async throws -> [Mail] {
                try await service.operations.notices(tenant: .project).filter { $0.template == .mergeUndone }
            }
            let ada = try await person(service, "Ada@example.com")
            try await service.edit(ada.user.id) { $0.profile.language = "th" }
            let google = service.credential(
                .google,
                subject: "g-1",
                email: "ada@gmail.com",
                isVerified: true,
                name: "Ada L."
            )
            let other = try await service.signIn(google).signedIn()
            // The survivor takes the other's address. Each owner is notified at the restored address.
            let merge = try await service.merge(ada.user.id, other.user.id, [.email: .absorbed])
            #expect(try await reported() == [])
            _ = try await service.undo(merge.id).success()
            let mails = try await reported()
            #expect(mails.map(\.to).sorted() == ["Ada@example.com", "ada@gmail.com"])
            #expect(mails.first { $0.to == "Ada@example.com" }?.locale == "th")
            #expect(mails.first { $0.to == "ada@gmail.com" }?.displayName == "Ada L.")
            #expect(mails.allSatisfy { $0.code == nil && $0.link == nil && $0.shortCode == nil })
            #expect(mails.allSatisfy { !$0.isUndoneByOwner }, "an administrator undid it")

            let bob = try await service.signUp("bob@example.com")
            let guest = try await service.signUpAnonymously()
            let second = try await service.merge(bob.user.id, guest.user.id)
            _ = try await service.undo(second.id).success()
            #expect(try await reported().count == 2, "an unproven address gets no mail")
        }
    }

    /// Decisions on the survivor's earlier version must be repeated.
    @Test func `a survivor that gains nothing still gets a new version`() async throws {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            let guest = try await service.signUpAnonymously()
            let before = try #require(try await service.user(ada.user.id))
            let merge = try await service.merge(ada.user.id, guest.user.id, [:])
            #expect(merge.state == .committed)
            var expected = before
            expected.version += 1
            #expect(try await service.user(ada.user.id) == expected)
            #expect(try await service.user(guest.user.id) == nil)
            _ = try await service.undo(merge.id).success()
            #expect(try await service.user(guest.user.id) != nil)
            #expect(try await service.database.inconsistencies() == [])
        }
    }

    @Test func `owners need recent sessions of both accounts, each with its second factor`() async throws {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            let guest = try await service.signUpAnonymously()
            func merge(_ survivor: String, _ absorbed: String) async throws -> Outcome<Merge> {
                try await outcome(
                    await service.operations.mergeAccounts(
                        by: .owners(survivor: survivor, absorbed: absorbed),
                        choices: [:],
                        tenant: .project
                    )
                )
            }
            #expect(try await merge("forged", guest.tokens.idToken).denial == .invalidIDToken)
            #expect(try await merge(ada.tokens.idToken, "forged").denial == .invalidIDToken)
            #expect(
                try await merge(ada.tokens.idToken, ada.tokens.idToken).denial == .merge(.refused(.sameAccount))
            )
            service.clock.advance(seconds: 301)
            let old = try await merge(ada.tokens.idToken, guest.tokens.idToken).denial
            guard case .reauthenticationRequired = old else {
                Issue.record("an old session was accepted: \(String(describing: old))")
                return
            }
            // The address is unproven, so keeping its password needs an explicit choice.
            let session = try await service.signIn("ada@example.com").success()
            #expect(
                try await merge(session.tokens.idToken, guest.tokens.idToken).denial
                    == .merge(.undecided([.password]))
            )
            try await service.edit(ada.user.id) { $0.prove(.emailCode) }
            let secured = try await service.signUp("bob@example.com")
            try await service.edit(secured.user.id) { user in
                user.prove(.emailCode)
                user.secondFactors = [.sms("+16505550009")]
            }
            #expect(
                try await merge(secured.tokens.idToken, guest.tokens.idToken).denial
                    == .merge(.refused(.secondFactorRequired))
            )
            #expect(
                try await merge(session.tokens.idToken, secured.tokens.idToken).denial
                    == .merge(.refused(.secondFactorRequired))
            )
            let merged = try await merge(session.tokens.idToken, guest.tokens.idToken).success()
            #expect(merged.state == .committed && merged.requestedBy == .owners && merged.reason == nil)
            #expect(try await service.user(guest.user.id) == nil)
            // Only sessions of the two accounts can read the merge.
            let operations = service.operations
            let own = try await outcome(
                await operations.merge(merged.id, idToken: session.tokens.idToken, tenant: .project)
            )
            #expect(try own.success().id == merged.id)
            let foreign = try await outcome(
                await operations.merge(merged.id, idToken: secured.tokens.idToken, tenant: .project)
            )
            #expect(foreign.denial == .merge(.unknown))
        }
    }

    /// The owner takes over between the check of the sessions and the decision. `MergeRaceTests` races them.
    @Test func `a session that a takeover ended after its check merges nothing`() async throws {
        try await TestService.with { service in
            let intruder = try await service.signUp("victim@gmail.com").user
            let thief = try await service.signUp("thief@example.com").user
            func shown(_ user: UserRecord) -> MergeRequester.OwnerSession {
                MergeRequester.OwnerSession(isRecent: true, hasSecondFactor: true, sessionEpoch: user.sessionEpoch)
            }
            let google = service.credential(.google, subject: "g", email: "victim@gmail.com", isVerified: true)
            let owner = try await service.signIn(google).signedIn()
            #expect(owner.user.id == intruder.id && owner.user.sessionEpoch != intruder.sessionEpoch)
            let before = try await service.rowsOfAccounts()
            for (survivor, absorbed) in [(thief, intruder), (intruder, thief)] {
                let request = MergeRequest(
                    survivor: survivor.id,
                    absorbed: absorbed.id,
                    choices: [.email: .survivor, .password: .survivor],
                    requester: .owners(shown(survivor), shown(absorbed))
                )
                let merges = service.operations.merges
                let preview = try await outcome(await merges.preview(request, tenant: .project))
                #expect(preview.denial == .refusal(.tokenExpired))
                let merge = try await outcome(await merges.begin(request, reason: nil, tenant: .project))
                #expect(merge.denial == .refusal(.tokenExpired))
            }
            #expect(try await service.rowsOfAccounts() == before)
            #expect(try await service.database.count("SELECT count(*) FROM merges") == 0)
            #expect(try await service.database.inconsistencies() == [])
        }
    }

    /// Also if a webhook receiver is asked first and another process commits.
    ///
    /// - `isCleared`: true if the replaced address's reservation has ended before the undo.
    @Test(arguments: [false, true])
    func `replacing an address by a merge notifies its owner, and the undo reverts that`(
        isCleared: Bool
    ) async throws {
        try await withReceiver { service, _, _, survivor, _ in
            let ada = try await service.signIn("ada@example.com").success()
            let other = try await service.signUp("other@example.com")
            let before = try await service.rowsOfAccounts()
            let merge = try await service.operations.mergeAccounts(
                by: .owners(survivor: ada.tokens.idToken, absorbed: other.tokens.idToken),
                choices: [.email: .absorbed, .password: .survivor],
                tenant: .project
            )
            #expect(merge.state == .prepared)
            #expect(try await service.database.count("SELECT count(*) FROM one_time_codes") == 0)
            try await service.sendAllWebhooks()
            try await service.withSecondProcess { other in
                try await other.operations.store.refreshWebhooks()
                try await other.operations.merges.advanceAll()
            }
            #expect(try await state(service, merge).state == .committed)
            let user = try #require(try await service.user(survivor))
            #expect(user.email?.address.raw == "other@example.com" && user.initialEmail == "ada@example.com")
            let codes = try await service.database.count(
                """
                SELECT count(*) FROM one_time_codes WHERE kind = 'RECOVER_EMAIL' AND address_was_proven
                    AND email = 'ada@example.com' AND user_id = \(survivor.rawValue)
                """
            )
            #expect(codes == 1)
            #expect(try await service.operations.notices(tenant: .project).map(\.to) == ["ada@example.com"])
            let reserved = try await service.database.count(
                "SELECT count(*) FROM identifiers WHERE value = 'ada@example.com' AND reserved_until IS NOT NULL"
            )
            #expect(reserved == 1)
            if isCleared {
                try await service.database.execute("DELETE FROM identifiers WHERE reserved_until IS NOT NULL")
            }
            _ = try await service.undo(merge.id).success()
            let after = try await service.rowsOfAccounts()
            // The undo ends the sessions of the survivor, and restores none of the absorbed account.
            let parties = [survivor, other.user.id].map(\.rawValue)
            let expected = before.filter { row in
                !row.hasPrefix("sessions ") || !parties.contains(where: { row.contains($0) })
            }
            #expect(after == expected, "\(Set(after).symmetricDifference(expected).sorted())")
            #expect(try await service.waysInWithoutProof(of: other.user.id) == [])
            #expect(try await service.database.inconsistencies() == [])
        }
    }

    @Test(arguments: ["RECOVER_EMAIL", "REVERT_SECOND_FACTOR_ADDITION", "REVERT_SIGN_IN_METHOD_CHANGE"])
    func `owners cannot merge an account away while a mailed code can revert a change of it`(kind: String) async throws
    {
        try await TestService.with { service in
            let stays = try await service.signUpAnonymously()
            let goes = try await service.signUpAnonymously()
            func denial(_ survivor: SignedIn, _ absorbed: SignedIn) async throws -> Denial? {
                try await outcome(
                    await service.operations.mergeAccounts(
                        by: .owners(survivor: survivor.tokens.idToken, absorbed: absorbed.tokens.idToken),
                        choices: [:],
                        tenant: .project
                    )
                ).denial
            }
            try await service.database.execute(
                """
                INSERT INTO one_time_codes (code_hash, kind, user_id, email, email_key, second_factor_id, created_at,
                        expires_at)
                    VALUES (decode(md5('c') || md5('c'), 'hex'), '\(kind)', '\(goes.user.id.rawValue)', 'a@example.com',
                        'a@example.com', CASE WHEN '\(kind)' LIKE 'REVERT_SECOND%' THEN 'f' END, '2025-06-15 03:04:05+00',
                        '2099-01-02 03:04:05+00')
                """
            )
            #expect(try await denial(stays, goes) == .merge(.refused(.needsAdministrator)))
            #expect(try await service.database.count("SELECT count(*) FROM merges") == 0)
            // Consumed and expired codes revert nothing.
            for change in ["consumed_at = created_at", "consumed_at = NULL, expires_at = created_at"] {
                try await service.database.execute("UPDATE one_time_codes SET \(change)")
                #expect(
                    try await outcome(
                        await service.operations.previewMerge(
                            by: .owners(survivor: stays.tokens.idToken, absorbed: goes.tokens.idToken),
                            choices: [:],
                            tenant: .project
                        )
                    ).denial == nil
                )
            }
            try await service.database.execute("UPDATE one_time_codes SET expires_at = '2099-01-02 03:04:05+00'")
            #expect(try await denial(goes, stays) == nil, "a code of the survivor stays valid")
            #expect(try await service.database.count("SELECT count(*) FROM one_time_codes") == 1)
            #expect(try await service.database.inconsistencies() == [])
        }
    }

    @Test func `the owner of each proven address is notified of a merge`() async throws {
        try await TestService.with { service in
            func reported() async throws -> [Mail] { try await service.operations.notices(tenant: .project) }
            let bob = try await service.signUp("bob@example.com")
            _ = try await service.merge(bob.user.id, try await service.signUpAnonymously().user.id)
            #expect(try await reported() == [], "an unproven address gets no mail")

            let ada = try await service.signUp("Ada@example.com")
            try await service.edit(ada.user.id) {
                $0.prove(.emailCode)
                $0.profile.language = "th"
            }
            let google = service.credential(.google, subject: "g-1", email: "ada@gmail.com", isVerified: true)
            let other = try await service.signIn(google).signedIn()
            _ = try await service.merge(ada.user.id, other.user.id, [.email: .survivor])
            let until = RFC3339.text(service.clock.now.adding(seconds: 30 * 86_400))
            let mails = try await reported()
            #expect(Set(mails.map(\.to)) == ["Ada@example.com", "ada@gmail.com"] && mails.count == 2)
            #expect(Set(mails.map(\.locale)) == ["th", "en"])
            for mail in mails {
                #expect(mail.template == .accountsMerged)
                #expect(mail.merged == Mail.Merged(isByOperator: true, undoUntil: until))
            }

            let guest = try await service.signUpAnonymously()
            let session = try await service.signIn("ada@example.com").success()
            _ = try await service.operations.mergeAccounts(
                by: .owners(survivor: session.tokens.idToken, absorbed: guest.tokens.idToken),
                choices: [:],
                tenant: .project
            )
            let all = try await reported()
            #expect(all.filter { $0.merged?.isByOperator == false }.map(\.to) == ["Ada@example.com"] && all.count == 3)
        }
    }

    @Test func `an authenticator app's secret moves to the survivor and is bound to it`() async throws {
        try await TestService.with { service in
            var random = SplitMix(state: 7)
            let survivor = try await service.makeAccount("s", &random, with: [.email])
            let absorbed = try await service.makeAccount("a", &random, with: [.email, .app])
            _ = try await service.merge(survivor, absorbed, [.email: .survivor])
            let factor = try #require(try await service.user(survivor)?.secondFactors.first)
            let facts = try await service.operations.store.totpFacts(
                of: factor.id,
                of: survivor,
                tenant: .project,
                at: service.clock.now
            )
            let secret = try #require(facts.secret)
            #expect(secret.lastStep == 41, "an accepted code is not accepted again")
            let opened = try service.operations.sealer.open(
                secret.sealed,
                context: factor.id.secretContext(of: survivor, tenant: .project)
            )
            #expect(opened == Array("secret of a".utf8))
        }
    }

    @Test func `methods moved by owners have the merge's time, and their original time after the undo`() async throws {
        try await TestService.with { service in
            var random = SplitMix(state: 8)
            let survivor = try await service.makeAccount("s", &random, with: [.email, .google])
            let absorbed = try await service.makeAccount("a", &random, with: [.gitHub, .app, .number])
            let before = try await service.rowsOfAccounts()
            service.clock.advance(seconds: 60)
            func shown(_ id: UserID) async throws -> MergeRequester.OwnerSession {
                let user = try #require(try await service.user(id))
                return .init(isRecent: true, hasSecondFactor: true, sessionEpoch: user.sessionEpoch)
            }
            let request = MergeRequest(
                survivor: survivor,
                absorbed: absorbed,
                choices: [.email: .survivor],
                requester: .owners(try await shown(survivor), try await shown(absorbed))
            )
            let merge = try await service.operations.merges.begin(request, reason: nil, tenant: .project)
            #expect(merge.state == .committed)
            let user = try #require(try await service.user(survivor))
            let found = user.additions(since: service.clock.now)
            #expect(user.secondFactors.count == 2 && found.methods == [.provider(.gitHub)])
            #expect(found.olderSecondFactors == [])
            _ = try await service.undo(merge.id).success()
            let after = try await service.rowsOfAccounts().filter(TestService.isRestored)
            let expected = before.filter(TestService.isRestored)
            #expect(after == expected, "\(Set(after).symmetricDifference(expected).sorted())")
            #expect(try await service.database.inconsistencies() == [])
        }
    }

    @Test func `later changes are listed, and are kept where possible`() async throws {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            let google = service.credential(.google, subject: "g-1", name: "Ada of Google")
            let other = try await service.signIn(google).signedIn()
            try await service.edit(ada.user.id) { $0.prove(.emailCode) }
            let merge = try await service.merge(ada.user.id, other.user.id)
            #expect(try await service.user(ada.user.id)?.profile.displayName == "Ada of Google")
            // A sign-in is no change; a new display name is.
            _ = try await service.signIn(google).signedIn()
            try await service.edit(ada.user.id) { $0.profile.displayName = "Countess" }
            let named = LaterChange.all([
                JournalClash(table: "users", user: ada.user.id.rawValue, subject: "display_name")
            ])
            #expect(named.map(\.canStay) == [true])
            #expect(try await service.undo(merge.id).denial == .merge(.laterChanges(named)))
            func preview(_ keeps: Bool) async throws -> MergeUndoPreview {
                try await service.operations.merges
                    .previewUndo(merge.id, keepsLaterChanges: keeps, tenant: .project)
            }
            #expect(try await preview(false).isPossible == false, "as the undo")
            let keeping = try await preview(true)
            #expect(keeping.isPossible && keeping.changes == named)
            #expect(try await service.user(other.user.id) == nil, "the preview changes nothing")

            // Another account owns the identity now, so it cannot be restored.
            try await service.edit(ada.user.id) { user in
                user.linkedProviders[.google] = nil
                user.methodProofs[.provider(.google)] = nil
            }
            let third = try await service.signIn(google).signedIn()
            let denial = try await service.undo(merge.id, keepsLaterChanges: true).denial
            guard case .merge(.laterChanges(let changes)) = denial else {
                Issue.record("\(String(describing: denial))")
                return
            }
            #expect(changes.filter { $0.part == .field(.provider(.google)) }.map(\.canStay).contains(false))
            #expect(try await preview(true).isPossible == false)
            #expect(!"\(changes)".contains("g-1"), "no identifiers are shown")
            _ = try await outcome(await service.operations.deleteAccount(third.user.id, tenant: .project))
            _ = try await service.signIn(google, idToken: service.signIn("ada@example.com").success().tokens.idToken)
                .signedIn()
            #expect(try await service.database.inconsistencies() == [])
        }
    }

    @Test func `an undo does not move a later proof to the earlier address`() async throws {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            let other = try await service.signUp("other@example.com")
            let merge = try await service.merge(
                ada.user.id,
                other.user.id,
                [.email: .absorbed, .password: .survivor]
            )
            try await service.edit(ada.user.id) { $0.prove(.emailCode) }
            for keeps in [false, true] {
                let denial = try await service.undo(merge.id, keepsLaterChanges: keeps).denial
                guard case .merge(.laterChanges(let changes)) = denial else {
                    Issue.record("\(String(describing: denial))")
                    return
                }
                #expect(changes.contains { $0.part == .field(.email) && !$0.canStay }, "\(changes)")
            }
            let email = try await service.user(ada.user.id)?.email
            #expect(email?.address.raw == "other@example.com" && email?.isVerified == true)
        }
    }

    @Test func `an undo that keeps later changes restores everything else`() async throws {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            try await service.edit(ada.user.id) { $0.prove(.emailCode) }
            let google = service.credential(.google, subject: "g-1", name: "Ada of Google")
            let other = try await service.signIn(google).signedIn()
            let merge = try await service.merge(ada.user.id, other.user.id)
            try await service.edit(ada.user.id) { $0.profile.displayName = "Countess" }
            let undone = try await service.undo(merge.id, keepsLaterChanges: true).success()
            #expect(undone.kept.map(\.part) == [.field(.profile(.displayName))])
            #expect(try await service.user(ada.user.id)?.profile.displayName == "Countess")
            #expect(try await service.user(ada.user.id)?.linkedProviders.isEmpty == true)
            #expect(try await service.user(other.user.id)?.profile.displayName == "Ada of Google")
            #expect(try await service.signIn(google).signedIn().user.id == other.user.id)
            #expect(try await service.database.inconsistencies() == [])
        }
    }

    @Test func `a repeated merge is refused with the earlier merge`() async throws {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            try await service.edit(ada.user.id) { $0.prove(.emailCode) }
            let (guest, other) = (try await service.signUpAnonymously(), try await service.signUpAnonymously())
            let (stays, goes) = (ada.user.id, guest.user.id)
            let merge = try await service.merge(stays, goes)
            #expect(try await service.merging(stays, goes).denial == .merge(.alreadyMerged(merge)))
            let request = MergeRequest(survivor: stays, absorbed: goes, choices: [:], requester: .administrator)
            let merges = service.operations.merges
            #expect(
                try await outcome(await merges.preview(request, tenant: .project)).denial
                    == .merge(.alreadyMerged(merge))
            )
            // Other merges of an absorbed account.
            #expect(try await service.merging(other.user.id, goes).denial == .merge(.mergedAway(merge)))
            #expect(try await service.merging(goes, other.user.id).denial == .merge(.mergedAway(merge)))
            #expect(try await service.merging(goes, stays).denial == .merge(.mergedAway(merge)))
            _ = try await service.undo(merge.id).success()
            #expect(try await service.merging(stays, goes).denial == nil, "an undone merge can be repeated")
            let nobody = try #require(UserID("nobody"))
            #expect(try await service.merging(stays, nobody).denial == .merge(.refused(.accountNotFound)))
        }
    }

    @Test func `a merge changes only if the expected version matches`() async throws {
        try await withReceiver { service, _, _, survivor, absorbed in
            let merges = service.operations.merges
            let first = try await service.merge(survivor, absorbed)
            #expect(first.version == 1)
            for version: Int64 in [0, 2, 3] {
                let denial = try await outcome(
                    await merges.withdraw(first.id, expectedVersion: version, tenant: .project)
                ).denial
                #expect(denial == .versionMismatch)
            }
            #expect(try await merges.withdraw(first.id, expectedVersion: 1, tenant: .project).version == 2)
            let again = try await outcome(await merges.withdraw(first.id, expectedVersion: 1, tenant: .project)).denial
            #expect(again == .versionMismatch)
            let second = try await service.merge(survivor, absorbed)
            try await service.sendAllWebhooks()
            #expect(try await state(service, second).version == 2)
            for version: Int64 in [1, 3] {
                let denial = try await outcome(
                    await merges.previewUndo(
                        second.id,
                        keepsLaterChanges: false,
                        expectedVersion: version,
                        tenant: .project
                    )
                ).denial
                #expect(denial == .versionMismatch)
                let undone =
                    try await outcome(
                        await merges
                            .undo(second.id, keepsLaterChanges: false, expectedVersion: version, tenant: .project)
                    )
                #expect(undone.denial == .versionMismatch)
            }
            #expect(try await state(service, second).state == .committed)
            let undone =
                try await merges
                .undo(second.id, keepsLaterChanges: false, expectedVersion: 2, tenant: .project)
            #expect(undone.merge.version == 3)
        }
    }

    /// A column without its own words would be shown as something else.
    @Test func `every obstacle to an undo has a distinct name and text`() throws {
        let sleeping: Set<String> = ["last_login_at", "last_refresh_at"]
        let columns = JournaledUser.restoredColumns.map(\.name).filter { !sleeping.contains($0) }
        let ofUsers = ([""] + columns).map { JournalClash(table: "users", user: "ada", subject: $0) }
        let others = [
            ("password_credentials", "ada"), ("linked_providers", "ada\u{1F}google.com"),
            ("sign_in_methods", "ada\u{1F}emailLink"), ("sign_in_methods", "ada\u{1F}google.com"),
            ("sign_in_methods", "ada\u{1F}password"), ("sign_in_methods", "ada\u{1F}phone"),
            ("second_factors", "ada\u{1F}f"), ("identifiers", "email\u{1F}a@example.com"),
            ("identifiers", "phone\u{1F}+15550001111"), ("identifiers", "federated\u{1F}google.com\u{1F}g-1"),
        ].map { JournalClash(table: $0.0, user: "ada", subject: $0.1) }
        let changes = LaterChange.all(ofUsers + others)
        #expect(!changes.contains { $0.part == .other })
        #expect(changes.map(\.part.name).count == Set(changes.map(\.part.name)).count)
        #expect(changes.map(\.part.words).count == Set(changes.map(\.part.words)).count)
        for part in changes.map(\.part) {
            #expect(!part.words.contains("_") && !part.name.contains("_"), "\(part)")
        }
        #expect(changes.contains { $0.part.words == "linked provider google.com" && !$0.canStay })
        #expect(changes.contains { $0.part.words == "password" && !$0.canStay }, "its proof changed too")
        #expect(changes.contains { $0.part.words == "display name" && $0.canStay })
    }

    @Test func `a merge cannot be undone after the undo period`() async throws {
        var settings = ProjectSettings.developmentDefaults.object ?? [:]
        settings["concord"] = ["merges": ["undoSeconds": 600]]
        try await TestService.with(settings: .object(settings)) { service in
            let ada = try await service.signUp("ada@example.com")
            try await service.edit(ada.user.id) { $0.prove(.emailCode) }
            let guest = try await service.signUpAnonymously()
            let merge = try await service.merge(ada.user.id, guest.user.id)
            service.clock.advance(seconds: 599)
            let preview = try await service.operations.merges
                .previewUndo(merge.id, keepsLaterChanges: false, tenant: .project)
            #expect(preview.changes == [] && preview.isPossible)
            service.clock.advance(seconds: 1)
            #expect(try await service.undo(merge.id).denial == .merge(.tooLate))
            #expect(try await service.user(guest.user.id) == nil)
        }
    }

    // MARK: Receivers

    /// Two accounts that can be merged without a choice, and a webhook receiver.
    private func withReceiver(
        _ body: (TestService, Receiver, String, UserID, UserID) async throws -> Void
    ) async throws {
        let receiver = Receiver()
        try await TestService.with(webhooks: receiver) { service in
            let ada = try await service.signUp("ada@example.com")
            try await service.edit(ada.user.id) { $0.prove(.emailCode) }
            let other = try await service.signIn(service.credential(.google, subject: "g-1")).signedIn()
            let secret = try await service.addWebhook(Self.url)
            try await body(service, receiver, secret, ada.user.id, other.user.id)
        }
    }

    private func state(_ service: TestService, _ merge: Merge) async throws -> Merge {
        try await service.operations.merges.advance(merge.id, tenant: .project)
    }

    @Test func `receivers approve first and are notified later, and nothing changes in between`() async throws {
        try await withReceiver { service, receiver, secret, survivor, absorbed in
            let merge = try await service.merge(survivor, absorbed)
            #expect(merge.state == .prepared)
            #expect(try await state(service, merge).state == .prepared)
            #expect(try await service.user(absorbed)?.linkedProviders.count == 1)
            let second = try await service.merging(survivor, absorbed)
            guard case .merge(.alreadyMerging(let waiting)) = second.denial else {
                Issue.record("\(second)")
                return
            }
            #expect(waiting.id == merge.id)
            let request = MergeRequest(survivor: survivor, absorbed: absorbed, choices: [:], requester: .administrator)
            let preview = try await service.operations.merges.preview(request, tenant: .project)
            #expect(preview.waiting?.id == merge.id)
            try await service.sendAllWebhooks()
            #expect(try receiver.bodies(signedBy: secret).map { $0["type"]?.string } == ["merge.prepared"])

            // Another process continues after this one stopped.
            try await service.withSecondProcess { other in
                try await other.operations.store.refreshWebhooks()
                try await other.operations.merges.advanceAll()
            }
            #expect(try await state(service, merge).state == .committed)
            try await service.sendAllWebhooks()
            _ = try await service.undo(merge.id).success()
            try await service.sendAllWebhooks()
            let reported = try receiver.bodies(signedBy: secret)
            #expect(
                reported.map { $0["type"]?.string } == [
                    "merge.prepared", "method.linked", "merge.committed", "merge.undone",
                ]
            )
            for body in reported where body["type"]?.string?.hasPrefix("merge.") == true {
                #expect(
                    body["data"]?.object?.keys.sorted() == ["mergeId", "mergedUserId", "rule", "userId"]
                )
                #expect(body["data"]?["mergeId"]?.string == merge.id)
                #expect(body["data"]?["userId"]?.string == survivor.rawValue)
                #expect(body["data"]?["mergedUserId"]?.string == absorbed.rawValue)
            }
        }
    }

    @Test func `a merge that a receiver refuses is aborted`() async throws {
        try await withReceiver { service, receiver, secret, survivor, absorbed in
            receiver.answer { $0["type"] == "merge.prepared" ? 409 : 200 }
            let before = try await service.rowsOfAccounts()
            let merge = try await service.merge(survivor, absorbed)
            try await service.sendAllWebhooks()
            let ended = try await state(service, merge)
            #expect(ended.state == .aborted && ended.abortReason == .vetoed)
            try await service.sendAllWebhooks()
            #expect(
                try receiver.bodies(signedBy: secret).map { $0["type"]?.string } == ["merge.prepared", "merge.aborted"]
            )
            #expect(try await service.rowsOfAccounts() == before)
            #expect(
                try await service.operations.webhookEndpoints().first?.failingSince == nil,
                "a refusal is no delivery failure"
            )
            // The merge may be requested again.
            receiver.answer { _ in 200 }
            let again = try await service.merge(survivor, absorbed)
            try await service.sendAllWebhooks()
            #expect(try await state(service, again).state == .committed)
        }
    }

    @Test func `no answer counts as a refusal, and a late approval is ignored`() async throws {
        try await withReceiver { service, receiver, _, survivor, absorbed in
            receiver.answer { _ in nil }
            let merge = try await service.merge(survivor, absorbed)
            try await service.sendAllWebhooks()
            service.clock.advance(seconds: 59)
            #expect(try await state(service, merge).state == .prepared)
            service.clock.advance(seconds: 1)
            let ended = try await state(service, merge)
            #expect(ended.state == .aborted && ended.abortReason == .timedOut)
            receiver.answer { _ in 200 }
            service.clock.advance(seconds: 3600)
            try await service.sendAllWebhooks()
            #expect(receiver.requests.last?.body["type"] == "merge.aborted")
            try await service.operations.merges.advanceAll()
            #expect(try await state(service, merge).state == .aborted)
            #expect(try await service.user(absorbed) != nil)
        }
    }

    @Test func `a repeated request for approval has the same id`() async throws {
        try await withReceiver { service, receiver, _, survivor, absorbed in
            // The first answer is lost.
            receiver.answer { _ in nil }
            let merge = try await service.merge(survivor, absorbed)
            try await service.sendAllWebhooks()
            receiver.answer { _ in 204 }
            service.clock.advance(seconds: 20)
            try await service.sendAllWebhooks()
            #expect(Set(receiver.requests.map(\.id)).count == 1 && receiver.requests.count == 2)
            #expect(try await state(service, merge).state == .committed)
            #expect(
                try await service.database.count("SELECT count(*) FROM webhook_messages WHERE type = 'merge.committed'")
                    == 1
            )
        }
    }

    @Test func `accounts that change meanwhile are not merged, and an operator can withdraw a merge`() async throws {
        try await withReceiver { service, _, _, survivor, absorbed in
            let first = try await service.merge(survivor, absorbed)
            try await service.edit(absorbed) { $0.profile.displayName = "Somebody" }
            try await service.sendAllWebhooks()
            let changed = try await state(service, first)
            #expect(changed.state == .aborted && changed.abortReason == .accountsChanged)
            let second = try await service.merge(survivor, absorbed)
            let merges = service.operations.merges
            let withdrawn = try await merges.withdraw(second.id, tenant: .project)
            #expect(withdrawn.state == .aborted && withdrawn.abortReason == .withdrawn)
            #expect(
                try await outcome(await merges.withdraw(second.id, tenant: .project)).denial
                    == .merge(.closed(.aborted))
            )
            #expect(try await outcome(await merges.withdraw("no-such", tenant: .project)).denial == .merge(.unknown))
            #expect(try await service.undo(second.id).denial == .merge(.closed(.aborted)))
        }
    }

    @Test func `aborted and undone merges are purged, committed ones keep resolving`() async throws {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            try await service.edit(ada.user.id) { $0.prove(.emailCode) }
            let (first, second) = (try await service.signUpAnonymously(), try await service.signUpAnonymously())
            let undone = try await service.merge(ada.user.id, first.user.id)
            _ = try await service.undo(undone.id).success()
            let kept = try await service.merge(ada.user.id, second.user.id)
            service.clock.advance(seconds: 60 * 86_400)
            var purge = Purge(
                store: service.operations.store,
                project: service.operations.project,
                effects: service.operations.effects,
                keepSeconds: 86_400,
                rowsMax: 100,
                databaseClock: { service.clock.now }
            )
            _ = try await purge.run()
            #expect(try await service.database.count("SELECT count(*) FROM merges") == 1)
            #expect(try await service.database.count("SELECT count(*) FROM account_journal") == 0)
            let answers = try await service.operations.merges.merges(of: second.user.id, tenant: .project)
            #expect(answers.current == ada.user.id && answers.merges.map(\.id) == [kept.id])
        }
    }
}

/// A generator with a fixed sequence.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

extension SecondFactor {
    static func sms(_ number: String) -> SecondFactor {
        guard let id = SecondFactorID("sms-" + number), let number = PhoneNumber(number) else {
            preconditionFailure("not a number")
        }
        return SecondFactor(
            id: id,
            method: .phone(number),
            displayName: nil,
            enrolledAt: Timestamp(secondsSinceEpoch: 1_700_000_000)
        )
    }
}

extension TestService {
    /// A merge by an administrator.
    func merging(
        _ survivor: UserID,
        _ absorbed: UserID,
        _ choices: [MergeField: MergeSide] = [:]
    ) async throws -> Outcome<Merge> {
        try await outcome(
            await operations.mergeAccounts(
                by: .administrator(survivor: survivor, absorbed: absorbed, reason: "the same person"),
                choices: choices,
                tenant: .project
            )
        )
    }

    func merge(
        _ survivor: UserID,
        _ absorbed: UserID,
        _ choices: [MergeField: MergeSide] = [:]
    ) async throws -> Merge {
        // A password under an unproven address needs a choice. These tests choose the survivor's.
        var choices = choices
        if choices[.password] == nil, let user = try await user(survivor), user.passwordUpdatedAt != nil,
            user.email?.isVerified == false
        {
            choices[.password] = .survivor
        }
        return try await merging(survivor, absorbed, choices).success()
    }

    func undo(_ merge: String, keepsLaterChanges: Bool = false) async throws -> Outcome<UndoneMerge> {
        try await outcome(await operations.merges.undo(merge, keepsLaterChanges: keepsLaterChanges, tenant: .project))
    }

    func signInWithCustomToken(_ id: UserID) async throws -> Outcome<SignedIn> {
        try await outcome(
            await operations.signInWithCustomToken(
                JSONValue.object(["uid": .string(id.rawValue)]).text,
                tenant: .project
            )
        )
    }

    /// Every row of an account's tables without the journal, events and messages, and without columns that only grow.
    func rowsOfAccounts() async throws -> [String] {
        let tables = [
            "conflicts", "factor_challenges", "identifiers", "kept_answers", "linked_providers", "one_time_codes",
            "password_credentials", "phone_verifications", "proof_mails", "quarantined_methods", "second_factors",
            "sessions", "sign_in_methods", "users",
        ]
        var rows: [String] = []
        for table in tables {
            let images = """
                SELECT '\(table) ' || (to_jsonb(t) - '{version,session_epoch,valid_since}'::text[])::text
                FROM \(table) AS t ORDER BY 1
                """
            rows += try await database.rows(Query<String?>(SQL(text: images))).compactMap(\.self)
        }
        return rows
    }

    /// Tables whose rows give access without a new proof. An undo restores none of them.
    static let tablesThatStayEmpty = ["conflicts", "factor_challenges", "kept_answers", "one_time_codes", "sessions"]

    static func isRestored(_ row: String) -> Bool { !tablesThatStayEmpty.contains { row.hasPrefix($0 + " ") } }

    /// The tables in which an account has rows that give access without a new proof.
    func waysInWithoutProof(of user: UserID) async throws -> [String] {
        var found: [String] = []
        for table in Self.tablesThatStayEmpty {
            let query = "SELECT count(*)::text FROM \(table) WHERE user_id = '\(user.rawValue)'"
            let counts = try await database.rows(Query<String?>(SQL(text: query)))
            if counts != ["0"] { found.append(table) }
        }
        return found
    }

    enum Piece: CaseIterable {
        case email, unprovenEmail, password, emailLink, phone, google, gitHub, name, picture, attributes, number, app
        case customTokens
    }

    /// An account with random parts, and a row in every table that references accounts.
    func makeAccount(_ name: String, _ random: inout SplitMix, with pieces: Set<Piece>? = nil) async throws -> UserID {
        let id = try #require(UserID(name))
        let pieces = pieces ?? Set(Piece.allCases.filter { _ in Bool.random(using: &random) })
        let now = clock.now
        var user = UserRecord(tenant: .project, id: id, sessionEpoch: 1000, createdAt: now)
        func prove(_ method: SignInMethod) {
            user.methodProofs[method] = UserRecord.MethodProof(proof: .session, provenAt: now)
        }
        let hasFactor = pieces.contains(.app) || pieces.contains(.number)
        if pieces.contains(.email) || pieces.contains(.unprovenEmail) || hasFactor,
            let address = EmailAddress("\(name)@example.com")
        {
            let isProven = pieces.contains(.email) || hasFactor
            user.email = AccountEmail(address: address, proof: isProven ? .emailCode : nil)
            user.emailProvenAt = isProven ? now : nil
            if pieces.contains(.emailLink) { prove(.emailLink) }
        }
        if pieces.contains(.password) {
            user.passwordUpdatedAt = now
            prove(.password)
        }
        if pieces.contains(.phone) {
            user.phoneNumber = PhoneNumber("+1650555\(Int.random(in: 1000...9999, using: &random))")
            if try await operations.store.owner(of: .phone(try #require(user.phoneNumber)), tenant: .project) != nil {
                user.phoneNumber = nil
            } else {
                prove(.phone)
            }
        }
        for (piece, provider) in [(Piece.google, ProviderID.google), (.gitHub, .gitHub)] where pieces.contains(piece) {
            let identity = try #require(ProviderIdentity(provider: provider, subject: "subject of \(name)"))
            user.linkedProviders[provider] = UserRecord.LinkedProvider(
                identity: identity,
                issuer: nil,
                email: EmailAddress("\(name)@\(provider.rawValue)"),
                displayName: name,
                photoURL: nil,
                screenName: nil,
                linkedAt: now,
                updatedAt: now
            )
            prove(.provider(provider))
        }
        if pieces.contains(.name) { user.profile.displayName = "Name of \(name)" }
        if pieces.contains(.picture) { user.profile.photoURL = "https://example.com/same.png" }
        if pieces.contains(.attributes) { user.customAttributes = #"{"of":"\#(name)"}"# }
        user.usesCustomTokens = pieces.contains(.customTokens)
        if pieces.contains(.number) { user.secondFactors.append(.sms("+16505557777")) }
        var secret: NewTOTPSecret?
        if pieces.contains(.app) {
            let factor = try #require(SecondFactorID("app of \(name)"))
            user.secondFactors.append(
                SecondFactor(id: factor, method: .totp, displayName: "app", enrolledAt: now)
            )
            secret = NewTOTPSecret(
                sealed: try operations.sealer.seal(
                    Array("secret of \(name)".utf8),
                    context: factor.secretContext(of: id, tenant: .project)
                ),
                acceptedStep: 41
            )
        }
        let event = AccountEvent(
            id: operations.effects.newEventID(),
            occurredAt: now,
            kind: .userCreated,
            rule: .accountCreatedByAdmin
        )
        let write = AccountWrite(
            previous: nil,
            user: user,
            passwordHash: user.passwordUpdatedAt == nil ? nil : "$argon2id$of-\(name)",
            totpSecret: secret,
            event: event
        )
        #expect(try await operations.store.apply(write) == .applied)
        try await database.execute(Self.everything.replacing("NAME", with: name))
        return id
    }

    /// One row of each table that references an account.
    private static let everything = """
        INSERT INTO sessions (user_id, session_id, secret_hash, session_epoch, auth_time, sign_in_provider)
            VALUES ('NAME', decode(md5('NAME'), 'hex'), decode(md5('NAME') || md5('NAME'), 'hex'), 1000,
                '2025-06-15 03:04:05.678901+00', 'password');
        INSERT INTO quarantined_methods (user_id, method, subject, event_id, rule, quarantined_at, expires_at)
            SELECT 'NAME', 'github.com', 's', gen_random_uuid(), 'I9', '2025-06-15 03:04:05+00', '2099-02-02 03:04:05+00'
            WHERE NOT EXISTS (SELECT FROM linked_providers WHERE user_id = 'NAME' AND provider_id = 'github.com');
        INSERT INTO conflicts (user_id, conflict_id, state, kind, provider_id, identity_digest, token_digests,
                sealed_credential, opened_at, expires_at)
            VALUES ('NAME', decode(md5('NAME'), 'hex'), 'open', 'account-exists-with-different-credential',
                'twitter.com', decode(md5('NAME') || md5('NAME'), 'hex'), ARRAY['\\x01'::bytea], '\\x00',
                '2025-06-15 03:04:05+00', '2099-01-02 03:04:05+00');
        INSERT INTO factor_challenges (user_id, challenge_id, purpose, session_epoch, sealed_content, created_at,
                expires_at)
            VALUES ('NAME', decode(md5('NAME'), 'hex'), 'sign-in', 1000, '\\x01', '2025-06-15 03:04:05+00',
                '2099-01-02 03:04:05+00');
        INSERT INTO proof_mails (user_id, place, free_at) VALUES ('NAME', 3, '2099-01-02 03:04:05+00');
        INSERT INTO one_time_codes (code_hash, kind, user_id, email, email_key, created_at, expires_at)
            VALUES (decode(md5('NAME') || md5('NAME'), 'hex'), 'VERIFY_EMAIL', 'NAME', 'a@example.com', 'a@example.com',
                '2025-06-15 03:04:05+00', '2099-01-02 03:04:05+00');
        INSERT INTO kept_answers (user_id, key_digest, sealed_answer, expires_at)
            VALUES ('NAME', decode(md5('NAME') || md5('NAME'), 'hex'), '\\x0102', '2099-01-02 03:04:05+00');
        """

    /// A merge with every required choice, and some others, at random; `nil` if it is refused.
    func mergeAtRandom(_ survivor: UserID, _ absorbed: UserID, _ random: inout SplitMix) async throws -> Merge? {
        var request = MergeRequest(survivor: survivor, absorbed: absorbed, choices: [:], requester: .administrator)
        let preview = try await outcome(await operations.merges.preview(request, tenant: .project))
        guard case .success(let preview) = preview else { return nil }
        for line in preview.plan.lines where line.taken == nil || Int.random(in: 0..<4, using: &random) == 0 {
            request.choices[line.field] = Bool.random(using: &random) ? .survivor : .absorbed
        }
        let outcome = try await outcome(await operations.merges.begin(request, reason: "one person", tenant: .project))
        switch outcome {
        case .success(let merge): return merge
        case .denied(.merge(.refused)): return nil
        case .denied(let denial): throw UnexpectedEnding("\(denial)")
        }
    }
}
