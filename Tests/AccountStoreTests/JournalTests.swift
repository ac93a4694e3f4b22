import AccountLinking
import AccountTestSupport
import Testing

@testable import AccountStore
@testable import Postgres

/// The undo of changes.
@Suite(.store)
struct JournalTests {
    /// A row for `user` in every table with rows of accounts.
    private static let everything = """
        INSERT INTO sessions (user_id, session_id, secret_hash, session_epoch, auth_time, sign_in_provider, session_claims)
            SELECT u, decode(md5(u), 'hex'), decode(md5(u) || md5(u), 'hex'), 1000, '2026-01-02 03:04:05.678901+00',
                'password', '{"a": [1, null, "é"]}' FROM unnest(ARRAY[USERS]) AS u;
        INSERT INTO second_factors (user_id, enrollment_id, slot, sealed_secret, last_step, enrolled_at)
            SELECT u, 'factor', 1, '\\x0001ff', 7, '2026-01-02 03:04:05+00' FROM unnest(ARRAY[USERS]) AS u;
        INSERT INTO quarantined_methods (user_id, method, subject, event_id, rule, quarantined_at, expires_at)
            SELECT u, 'github.com', 's', gen_random_uuid(), 'I9', '2026-01-02 03:04:05+00', '2099-02-02 03:04:05+00'
            FROM unnest(ARRAY[USERS]) AS u;
        INSERT INTO conflicts (user_id, conflict_id, state, kind, provider_id, identity_digest, token_digests,
                sealed_credential, opened_at, expires_at)
            SELECT u, decode(md5(u), 'hex'), 'open', 'account-exists-with-different-credential', 'github.com',
                decode(md5(u) || md5(u), 'hex'), ARRAY['\\x01'::bytea, '\\xff00'], '\\x00',
                '2026-01-02 03:04:05+00', '2099-01-02 03:04:05+00' FROM unnest(ARRAY[USERS]) AS u;
        INSERT INTO factor_challenges (user_id, challenge_id, purpose, session_epoch, sealed_content, created_at,
                expires_at)
            SELECT u, decode(md5(u), 'hex'), 'sign-in', 1000, '\\x01', '2026-01-02 03:04:05+00',
                '2099-01-02 03:04:05+00' FROM unnest(ARRAY[USERS]) AS u;
        INSERT INTO devices (user_id, device_id, slot, session_epoch, created_at, last_used_at, expires_at)
            SELECT u, decode(md5(u) || md5(u), 'hex'), 1, 1000, '2026-01-02 03:04:05+00', '2026-01-02 03:04:05+00',
                '2099-01-02 03:04:05+00' FROM unnest(ARRAY[USERS]) AS u;
        INSERT INTO proof_mails (user_id, place, free_at)
            SELECT u, 3, '2099-01-02 03:04:05+00' FROM unnest(ARRAY[USERS]) AS u;
        INSERT INTO one_time_codes (code_hash, kind, user_id, email, email_key, created_at, expires_at)
            SELECT decode(md5(u) || md5(u), 'hex'), 'VERIFY_EMAIL', u, 'a@example.com', 'a@example.com',
                '2026-01-02 03:04:05+00', '2099-01-02 03:04:05+00' FROM unnest(ARRAY[USERS]) AS u;
        INSERT INTO kept_answers (user_id, key_digest, sealed_answer, expires_at)
            SELECT u, decode(md5(u) || md5(u), 'hex'), '\\x0102', '2099-01-02 03:04:05+00' FROM unnest(ARRAY[USERS]) AS u;
        """

    private static let tables = [
        "conflicts", "devices", "factor_challenges", "identifiers", "kept_answers", "linked_providers",
        "one_time_codes",
        "password_credentials", "proof_mails", "quarantined_methods", "second_factors", "sessions", "sign_in_methods",
        "users",
    ]

    /// Two accounts with rows in every table.
    private func twoAccounts(_ scene: StoreScene) async throws -> [UserRecord] {
        let users = [try await scene.create(.full()), try await scene.create(.full())]
        let names = users.map { "'\($0.id.rawValue)'" }.joined(separator: ", ")
        try await scene.database.execute(Self.everything.replacing("USERS", with: names))
        return users
    }

    /// Every row of the accounts, as text.
    ///
    /// - `expectingAll`: requires at least one row of each table.
    private func rows(
        of users: [UserRecord],
        _ scene: StoreScene,
        expectingAll: Bool = true
    ) async throws -> [String] {
        var rows: [String] = []
        for table in Self.tables {
            let images = """
                SELECT '\(table) ' || (to_jsonb(t) - '{version,session_epoch,valid_since}'::text[])::text
                FROM \(table) AS t
                WHERE user_id IN (\(users.map { "'\($0.id.rawValue)'" }.joined(separator: ", "))) ORDER BY 1
                """
            let found = try await scene.database.rows(Query<String?>(SQL(text: images))).compactMap { $0 }
            #expect(!found.isEmpty || !expectingAll, "\(table) has no rows to test")
            rows += found
        }
        return rows
    }

    /// Inconsistencies, except missing events: these tests change accounts by SQL.
    private func contradictions(_ scene: StoreScene) async throws -> [String] {
        try await scene.database.inconsistencies().filter { !$0.hasPrefix("changes without event") }
    }

    private func entry(_ users: [UserRecord], more claims: [Identifier] = []) -> JournalEntry {
        JournalEntry(
            step: JournalStep(tenant: .project, change: event(.userUpdated).id, number: 0),
            users: users.map(\.id.rawValue),
            claims: (users.flatMap(\.identifiers) + claims).map(JournalEntry.Claim.init),
            retainedUntil: later
        )
    }

    /// Runs statements between opening and closing, in one transaction.
    private func change(_ entry: JournalEntry, _ statements: [String], _ scene: StoreScene) async throws {
        var batch = WriteBatch("account-write")
        for statement in entry.opening { batch.append(statement) }
        for statement in statements { batch.append(SQL(text: statement)) }
        for statement in entry.closing { batch.append(statement) }
        _ = try await scene.client.write(batch)
    }

    private func undo(
        _ entry: JournalEntry,
        of user: UserRecord,
        accepting clashes: [JournalClash] = [],
        _ scene: StoreScene
    ) async throws -> AccountStore.Applied {
        try await scene.store.undo(
            UndoWrite(entry.step, accepting: clashes, of: user.id, event: event(.userUpdated))
        )
    }

    /// Returns false for rows that would grant access without a new proof. An undo restores none of them.
    private static func isRestored(_ row: String) -> Bool {
        !(JournaledTable.ended + JournaledTable.notRestored).contains { row.hasPrefix($0 + " ") }
    }

    @Test func `an undo of a merge restores everything but sessions and codes`()
        async throws
    {
        try await StoreScene.with { scene in
            let users = try await twoAccounts(scene)
            let before = try await rows(of: users, scene).filter(Self.isRestored)
            let entry = entry(users)
            let (kept, gone) = (users[0].id.rawValue, users[1].id.rawValue)
            try await change(
                entry,
                [
                    "UPDATE users SET display_name = 'Both', custom_attributes = NULL, version = version + 1 "
                        + "WHERE user_id = '\(kept)'",
                    "DELETE FROM linked_providers WHERE user_id = '\(kept)'",
                    // Rows do not move to another shard by an update.
                    """
                    INSERT INTO linked_providers SELECT moved.* FROM linked_providers AS l, LATERAL jsonb_populate_record(
                        NULL::linked_providers, to_jsonb(l) || jsonb_build_object('user_id', '\(kept)')
                    ) AS moved WHERE l.user_id = '\(gone)'
                    """,
                    "UPDATE identifiers SET user_id = '\(kept)' WHERE user_id = '\(gone)' AND kind = 'federated'",
                    "DELETE FROM identifiers WHERE user_id = '\(gone)'",
                    "UPDATE password_credentials SET hash = 'other', updated_at = now() WHERE user_id = '\(kept)'",
                    "DELETE FROM one_time_codes WHERE user_id = '\(gone)'",
                    "DELETE FROM kept_answers WHERE user_id = '\(gone)'",
                    "UPDATE conflicts SET state = 'superseded', closed_at = now() WHERE user_id = '\(kept)'",
                    "DELETE FROM users WHERE user_id = '\(gone)'",
                ],
                scene
            )
            #expect(try await scene.stored(users[1].id) == nil)
            let situation = try await scene.store.undoSituation(of: entry.step)
            #expect(situation == UndoSituation(isKnown: true, clashes: []))
            #expect(try await undo(entry, of: users[0], scene) == .applied)
            #expect(try await rows(of: users, scene, expectingAll: false).filter(Self.isRestored) == before)
            for table in JournaledTable.ended + JournaledTable.notRestored {
                let revived: Query<Int64?> = Query(
                    SQL(text: "SELECT count(*) FROM \(table) WHERE user_id = '\(gone)'")
                )
                #expect(try await scene.database.rows(revived) == [0], "\(table)")
            }
            for user in users {
                let restored = try #require(try await scene.stored(user.id))
                #expect(restored.version > user.version + 1)
            }
            let epoch = try await scene.stored(users[1].id)?.sessionEpoch
            #expect(epoch == users[1].sessionEpoch + 1, "an old epoch would revive sessions")
            // The step is no longer in the journal, and cannot be undone twice.
            #expect(try await scene.store.undoSituation(of: entry.step) == UndoSituation(isKnown: false, clashes: []))
            #expect(try await undo(entry, of: users[0], scene) == .factsMoved)
            let contradictions = try await contradictions(scene)
            #expect(contradictions == [])
        }
    }

    @Test func `an undo of a decision restores the account under a higher version`() async throws {
        try await StoreScene.with { scene in
            let user = try await scene.create(.full())
            var after = user
            after.profile.displayName = "Changed"
            after.linkedProviders[.google] = nil
            after.methodProofs[.provider(.google)] = nil
            after.sessionEpoch += 1
            var write = AccountWrite(previous: user, user: after, event: event(.userUpdated))
            write.journal = entry([user])
            #expect(try await scene.store.apply(write) == .applied)
            #expect(try await scene.claims(of: user.id).count == user.identifiers.count - 1)
            #expect(try await undo(try #require(write.journal), of: user, scene) == .applied)
            var expected = user
            expected.version = user.version + 2
            // Sessions that the step ended stay ended. Sessions opened since end too.
            expected.sessionEpoch = user.sessionEpoch + 2
            expected.validSince = max(user.validSince, event(.userUpdated).occurredAt.wholeSecond)
            #expect(try await scene.stored(user.id) == expected)
            let contradictions = try await contradictions(scene)
            #expect(contradictions == [])
        }
    }

    @Test func `later changes are reported; they stay if accepted, or stop the undo`() async throws {
        try await StoreScene.with { scene in
            let user = try await scene.create(.full())
            let id = user.id.rawValue
            let entry = entry([user])
            try await change(
                entry,
                [
                    "UPDATE users SET display_name = 'A', photo_url = NULL, phone_number = NULL, version = version + 1 "
                        + "WHERE user_id = '\(id)'",
                    "DELETE FROM identifiers WHERE user_id = '\(id)' AND kind = 'phone'",
                    "DELETE FROM sign_in_methods WHERE user_id = '\(id)' AND method = 'phone'",
                ],
                scene
            )
            try await scene.database.execute(
                "UPDATE users SET display_name = 'B', language = 'th' WHERE user_id = '\(id)'"
            )
            let clashes = try await scene.store.undoSituation(of: entry.step).clashes
            #expect(clashes == [JournalClash(table: "users", user: id, subject: "display_name")])
            #expect(clashes.map(\.canStay) == [true])
            // An undo overwrites no change that the caller has not accepted.
            #expect(try await undo(entry, of: user, scene) == .factsMoved)
            // If another account takes the number, the undo cannot restore it.
            let number = try #require(user.phoneNumber?.rawValue)
            try await scene.database.execute(
                "INSERT INTO identifiers (kind, value, user_id) VALUES ('phone', '\(number)', 'somebody-else')"
            )
            let worse = try await scene.store.undoSituation(of: entry.step).clashes
            #expect(worse.map(\.table) == ["identifiers", "users"])
            #expect(worse.map(\.canStay) == [false, true])
            #expect(try await undo(entry, of: user, accepting: clashes, scene) == .factsMoved)
            try await scene.database.execute("DELETE FROM identifiers WHERE user_id = 'somebody-else'")

            #expect(try await undo(entry, of: user, accepting: clashes, scene) == .applied)
            let restored = try #require(try await scene.stored(user.id))
            #expect(restored.profile.displayName == "B")
            #expect(restored.profile.language == "th")
            #expect(restored.profile.photoURL == user.profile.photoURL)
            #expect(restored.phoneNumber == user.phoneNumber)
            #expect(restored.methodProofs == user.methodProofs)
            let contradictions = try await contradictions(scene)
            #expect(contradictions == [])
        }
    }

    /// A proof belongs to the address beside it alone.
    @Test(arguments: [
        // The step, the later change, and the columns that clash: those of the step.
        (
            "email_proof = NULL, email_proven_at = NULL", "email = 'new@example.com'",
            ["email_proof", "email_proven_at"]
        ),
        (
            "email = 'new@example.com', email_proof = NULL, email_proven_at = NULL",
            "email_proof = 'mailed-code', email_proven_at = '2026-11-01'", ["email", "email_proof", "email_proven_at"]
        ),
        (
            "email_proven_at = '2026-11-01'", "email = 'new@example.com', email_proof = NULL, email_proven_at = NULL",
            ["email_proven_at"]
        ),
        (
            "unproven_phone_number = '+15550009999'", "phone_number = '+15550008888'", ["unproven_phone_number"]
        ),
    ])
    func `columns that form one value are restored together or not at all`(
        step: String,
        later: String,
        reported: [String]
    ) async throws {
        let scene = try StoreScene.shared
        let user = try await scene.create(.full())
        let id = user.id.rawValue
        let entry = entry([user])
        try await change(
            entry,
            ["UPDATE users SET \(step), disabled = NOT disabled, version = version + 1 WHERE user_id = '\(id)'"],
            scene
        )
        try await scene.database.execute("UPDATE users SET \(later), version = version + 1 WHERE user_id = '\(id)'")
        func value() async throws -> [String] {
            try await scene.database.rows(
                Query<String?>(
                    SQL(
                        text: """
                            SELECT jsonb_build_array(email, email_proof, email_proven_at, phone_number,
                                unproven_phone_number)::text FROM users WHERE user_id = '\(id)'
                            """
                    )
                )
            ).compactMap { $0 }
        }
        let before = try await value()
        let clashes = try await scene.store.undoSituation(of: entry.step).clashes
        #expect(clashes.map(\.subject) == reported)
        #expect(try await undo(entry, of: user, scene) == .factsMoved)
        // An unproven number signs in no user, so it alone can stay.
        let canStay = reported == ["unproven_phone_number"]
        #expect(clashes.allSatisfy { $0.canStay == canStay })
        if canStay {
            #expect(try await undo(entry, of: user, accepting: clashes, scene) == .applied)
            #expect(try await scene.stored(user.id)?.isDisabled == user.isDisabled, "everything else is restored")
        }
        #expect(try await value() == before)
    }

    @Test func `sign-in times, rehashes and expired rows are no later changes`() async throws {
        try await StoreScene.with { scene in
            let users = try await twoAccounts(scene)
            let id = users[0].id.rawValue
            let entry = entry(users)
            try await change(
                entry,
                [
                    "UPDATE users SET disabled = true, version = version + 1 WHERE user_id = '\(id)'",
                    "UPDATE linked_providers SET linked_at = now() WHERE user_id = '\(id)'",
                    "UPDATE password_credentials SET updated_at = now() WHERE user_id = '\(id)'",
                    "UPDATE conflicts SET proofs_started = 1 WHERE user_id = '\(id)'",
                    "UPDATE second_factors SET display_name = 'x' WHERE user_id = '\(id)'",
                ],
                scene
            )
            try await scene.database.execute(
                """
                UPDATE users SET last_login_at = '2099-01-01', version = version + 1 WHERE user_id = '\(id)';
                UPDATE linked_providers SET display_name = 'Newer', updated_at = now() WHERE user_id = '\(id)';
                UPDATE password_credentials SET hash = 'rehashed' WHERE user_id = '\(id)';
                UPDATE second_factors SET last_step = 8 WHERE user_id = '\(id)';
                DELETE FROM conflicts WHERE user_id = '\(id)'
                """
            )
            #expect(try await scene.store.undoSituation(of: entry.step) == UndoSituation(isKnown: true, clashes: []))
            #expect(try await undo(entry, of: users[0], scene) == .applied)
            let restored = try #require(try await scene.stored(users[0].id))
            #expect(!restored.isDisabled)
            #expect(restored.linkedProviders[.google]?.linkedAt == users[0].linkedProviders[.google]?.linkedAt)
            #expect(restored.passwordUpdatedAt == users[0].passwordUpdatedAt)
            let contradictions = try await contradictions(scene)
            #expect(contradictions == [])
        }
    }

    @Test func `a claim that another account takes during an undo stops the undo`() async throws {
        try await StoreScene.with { scene in
            let user = try await scene.create(.full())
            let id = user.id.rawValue
            let entry = entry([user])
            try await change(
                entry,
                [
                    "UPDATE users SET phone_number = NULL, version = version + 1 WHERE user_id = '\(id)'",
                    "DELETE FROM identifiers WHERE user_id = '\(id)' AND kind = 'phone'",
                    "DELETE FROM sign_in_methods WHERE user_id = '\(id)' AND method = 'phone'",
                ],
                scene
            )
            let number = try #require(user.phoneNumber?.rawValue)
            let journal = try await scene.store.journal(of: entry.step)
            // Here a commit of another transaction would become visible.
            let taken = SQL(
                text: "INSERT INTO identifiers (kind, value, user_id) VALUES ('phone', '\(number)', 'somebody-else')"
            )
            var batch = WriteBatch("account-undo")
            batch.append(journal.assertions(accepting: []))
            batch.append(taken)
            batch.append(journal.restoration(endingSessions: false, at: later))
            // `removeClaim` does not remove it: its owner is another account.
            #expect(try await scene.store.applying(batch) == .factsMoved)
            #expect(try await scene.stored(user.id)?.phoneNumber == nil)
            #expect(try await undo(entry, of: user, scene) == .applied)
            #expect(try await scene.stored(user.id)?.phoneNumber == user.phoneNumber)
        }
    }

    @Test(arguments: [true, false])
    func `an undo deletes the sessions that it ends, and no other`(endsSessions: Bool) async throws {
        try await StoreScene.with { scene in
            let users = try await twoAccounts(scene)
            let id = users[0].id.rawValue
            let entry = entry(users)
            try await change(
                entry,
                ["UPDATE users SET disabled = true, version = version + 1 WHERE user_id = '\(id)'"],
                scene
            )
            func sessionCounts() async throws -> [Int64] {
                var counts: [Int64] = []
                for user in users {
                    counts.append(
                        try await scene.database.count(
                            "SELECT count(*) FROM sessions WHERE user_id = \(user.id.rawValue)"
                        )
                    )
                }
                return counts
            }
            #expect(try await sessionCounts() == [1, 1])
            let write = UndoWrite(entry.step, endsSessions: endsSessions, of: users[0].id, event: event(.userUpdated))
            #expect(try await scene.store.undo(write) == .applied)
            #expect(try await scene.stored(users[0].id)?.sessionEpoch == users[0].sessionEpoch + (endsSessions ? 1 : 0))
            #expect(try await sessionCounts() == [endsSessions ? 0 : 1, 1])
        }
    }

    @Test func `an undo restores no secret that was sealed again after the undo read it`() async throws {
        try await StoreScene.with { scene in
            let users = try await twoAccounts(scene)
            let id = users[0].id.rawValue
            let entry = entry(users)
            try await change(entry, ["DELETE FROM second_factors WHERE user_id = '\(id)'"], scene)
            let (old, new): ([UInt8], [UInt8]) = ([0, 1, 0xFF], [2, 3, 0xFF])
            let read = try await scene.store.journal(of: entry.step)
            let row = try #require(
                try await scene.store.sealedRows(
                    .journaledSecretBefore,
                    after: nil,
                    rowsMax: 10,
                    unlessPrefixed: [1, 1, 49]
                ).first { $0.sealed == old }
            )
            let resealed = [ResealedValue(key: row.key, old: old, new: new)]
            #expect(try await scene.store.reseal(.journaledSecretBefore, resealed) == 1)
            let write = UndoWrite(entry.step, of: users[0].id, event: event(.userUpdated))
            #expect(try await scene.store.undo(write, restoring: read) == .factsMoved)
            let secrets: Query<String?> = """
                SELECT encode(sealed_secret, 'hex') FROM second_factors WHERE user_id = \(id)
                """
            #expect(try await scene.database.rows(secrets) == [])
            #expect(try await scene.store.undo(write) == .applied)
            #expect(try await scene.database.rows(secrets) == ["0203ff"])
        }
    }

    @Test func `if many callers undo one step, exactly one does`() async throws {
        let scene = try StoreScene.shared
        let user = try await scene.create(.full())
        var after = user
        after.isDisabled = true
        var write = AccountWrite(previous: user, user: after, event: event(.userUpdated))
        let entry = entry([user])
        write.journal = entry
        #expect(try await scene.store.apply(write) == .applied)
        let outcomes = try await withThrowingTaskGroup(of: AccountStore.Applied.self) { group in
            for _ in 0..<32 { group.addTask { try await undo(entry, of: user, scene) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.filter { $0 == .applied }.count == 1)
        #expect(try await scene.stored(user.id)?.isDisabled == false)
        #expect(try await scene.eventCount(of: user.id) == 3)
    }

    @Test func `every column of users is restored, or listed as one that is not`() async throws {
        let names = try await StoreScene.shared.database.rows(
            "SELECT attname::text FROM pg_attribute WHERE attrelid = 'users'::regclass AND attnum > 0 AND NOT attisdropped"
                as Query<String?>
        ).compactMap { $0 }
        let known = JournaledUser.restoredColumns.map(\.name) + JournaledUser.columnsThatOnlyGrow
        #expect(Set(names) == Set(known + ["tenant_id", "user_id"]))
        for column in JournaledUser.restoredColumns { #expect(column.name == column.sql.text) }
    }

    /// A new table with users must be journaled, or listed here.
    @Test func `every table with a user is journaled, or listed as one that is not`() async throws {
        let names = try await StoreScene.shared.database.rows(
            "SELECT DISTINCT table_name::text FROM information_schema.columns WHERE column_name = 'user_id' ORDER BY 1"
                as Query<String?>
        ).compactMap { $0 }
        // History, outgoing messages, steps of audit plans, codes sent to numbers (no account change touches them),
        // used ID tokens (they expire within a day), counts of refused sign-ins, and ways back, which end with their
        // conflicts and sessions.
        let others = [
            "account_events", "account_events_default", "account_events_past", "audit_steps", "conflict_returns",
            "phone_verifications", "sign_in_refusals", "sign_in_returns", "used_id_tokens", "webhook_messages",
        ]
        #expect(Set(names) == Set(Self.tables + others))
    }
}
