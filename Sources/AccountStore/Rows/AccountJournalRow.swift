package import AccountLinking
package import Postgres

/// The key of one step of an undoable change of accounts.
package struct JournalStep: Sendable, Hashable {
    package let tenant: TenantID
    package let change: PostgresUUID
    /// From 0.
    package let number: Int32
}

/// The rows that a step may change, of tables that an undo restores.
///
/// The transaction of the change takes the images: `opening` locks the users and comes first, `closing` comes last.
package struct JournalEntry: Sendable {
    package let step: JournalStep
    /// The user ids whose rows are journaled. An id may have no account.
    package let users: [String]
    /// The keys of `identifiers` whose rows are journaled, with any owner.
    package let claims: [Claim]
    /// The step cannot be undone from then on.
    package let retainedUntil: Timestamp

    package struct Claim: Sendable, Hashable {
        package let kind: String
        package let value: String

        package init(kind: String, value: String) {
            self.kind = kind
            self.value = value
        }

        package init(_ identifier: Identifier) {
            self.init(kind: identifier.kind, value: identifier.value)
        }
    }

    var opening: [SQL] {
        // The lock stops other transactions from adding dependent rows.
        [UserRow.hold(users, tenant: step.tenant), AccountJournalRow.insertBefore(self)]
    }

    var closing: [SQL] { [AccountJournalRow.insertAfter(self), AccountJournalRow.deleteUnchanged(self)] }
}

/// A row, or a column of `users`, that changed after the step. Restoring it would undo the later change.
package struct JournalClash: Sendable, Hashable {
    package let table: String
    package let user: String
    /// A column of `users`, or the key of another row; empty if the clash is about the account's existence.
    package let subject: String

    /// True if an undo can restore everything else. Ownership cannot be restored in part: the account would show an
    /// address that it does not own.
    package var canStay: Bool {
        table == "password_credentials"
            || table == "users" && JournaledUser.restoredColumns.contains { $0.name == subject }
                && !JournaledUser.columnsThatDecide.contains(subject)
    }
}

extension JournalClash: RowDecodable {
    package init(row: inout RowDecoder) throws(PostgresError) {
        table = try row.next()
        user = try row.next()
        subject = try row.next()
    }
}

/// The properties for a mail to the owner of an account, as the undo of a step would leave them.
package struct RestoredOwner: Sendable, Hashable {
    package let user: UserID
    /// The version that the account has now; `nil` for an account that the step deleted.
    package let version: Int64?
    package let email: AccountEmail?
    package let displayName: String?
    /// A BCP 47 tag.
    package let language: String?
}

extension RestoredOwner: RowDecodable {
    package init(row: inout RowDecoder) throws(PostgresError) {
        user = try row.next()
        version = try row.next()
        let address: EmailAddress? = try row.next()
        let proof: EmailProof? = try row.next()
        email = address.map { AccountEmail(address: $0, proof: proof) }
        displayName = try row.next()
        language = try row.next()
    }
}

/// A table whose rows belong to accounts.
struct JournaledTable: Sendable {
    let name: SQL
    /// The key of a row `t` within its tenant, as text.
    let key: SQL
    /// Columns that change without a decision. A clash does not depend on them.
    let volatile: SQL
    /// False for rows that expire. An undo restores them if it can, and they never clash.
    let isLasting: Bool
    /// False for rows that let their holder sign in. An undo deletes those that the step made, and restores none.
    var comesBack = true
    /// True if each row needs its user.
    var needsUser = true
    /// The conflict target of a restoring insert: the row's key if the table checks other constraints at the end of the
    /// transaction.
    var conflictTarget: SQL = ""

    static let identifiers = JournaledTable(
        name: "identifiers",
        key: #"concat_ws(E'\x1F', t.kind, t.value)"#,
        volatile: "'{}'",
        isLasting: true,
        needsUser: false
    )

    /// All but `users` and `identifiers`.
    static let ofUsers: [JournaledTable] = [
        JournaledTable(name: "password_credentials", key: "t.user_id", volatile: "'{hash}'", isLasting: true),
        JournaledTable(
            name: "linked_providers",
            key: #"concat_ws(E'\x1F', t.user_id, t.provider_id)"#,
            volatile: "'{issuer,email,email_key,display_name,photo_url,screen_name,updated_at}'",
            isLasting: true
        ),
        JournaledTable(
            name: "sign_in_methods",
            key: #"concat_ws(E'\x1F', t.user_id, t.method)"#,
            volatile: "'{}'",
            isLasting: true
        ),
        JournaledTable(
            name: "second_factors",
            key: #"concat_ws(E'\x1F', t.user_id, t.enrollment_id)"#,
            // A secret that is sealed again stays the same secret.
            volatile: "'{last_step,accepted_by,sealed_secret}'",
            isLasting: true,
            conflictTarget: "(tenant_id, user_id, enrollment_id)"
        ),
        JournaledTable(
            name: "quarantined_methods",
            key: #"concat_ws(E'\x1F', t.user_id, t.method)"#,
            volatile: "'{}'",
            isLasting: false
        ),
        JournaledTable(
            name: "proof_mails",
            key: #"concat_ws(E'\x1F', t.user_id, t.place::text)"#,
            volatile: "'{}'",
            isLasting: false
        ),
        JournaledTable(
            name: "one_time_codes",
            key: "encode(t.code_hash, 'hex')",
            volatile: "'{}'",
            isLasting: false,
            comesBack: false
        ),
    ]

    /// Tables of accounts that are not journaled. Sessions, sign-ins that wait for a second factor, conflicts with
    /// pending credentials and stored answers with tokens let their holder sign in without a new proof. An undo ignores
    /// the images that older versions journaled. Counts of refused sign-ins are not restored either.
    static let ended = ["sessions", "factor_challenges", "conflicts", "kept_answers", "sign_in_refusals"]

    /// Journaled tables of which an undo only deletes the rows that the step made.
    static let notRestored = ofUsers.filter { !$0.comesBack }.map(\.name.text)

    /// Finds the row `t` that the journal's row `j` is about.
    var isRowOfJournal: SQL {
        """
        t.tenant_id = j.tenant_id AND t.user_id = COALESCE(j.after, j.before) ->> 'user_id' AND \(key) = j.row_key
        """
    }
}

enum JournaledUser {
    /// The columns of `users` that an undo restores unless they changed after the step.
    static let restoredColumns: [(name: String, sql: SQL)] = UserRow.columnNames.map {
        ($0.description, SQL(literal: $0))
    }
    .filter { !(["tenant_id", "user_id"] + columnsThatOnlyGrow).contains($0.name) }

    /// The restored columns about ownership or time. If one of them clashes, the undo cannot restore the others alone.
    static let columnsThatDecide = [
        "email", "email_proof", "email_proven_at", "phone_number", "created_at", "last_login_at", "last_refresh_at",
    ]

    /// Columns that form one value: a proof belongs to the address beside it. A later change of one is a change of all.
    static let columnsOfOneValue: [[String]] = [
        ["email", "email_proof", "email_proven_at"], ["phone_number", "unproven_phone_number"],
    ]

    /// `column` and the columns that form a value with it, each through `expression`.
    static func value(of column: String, _ expression: (SQL) -> SQL) -> SQL {
        let names = columnsOfOneValue.first { $0.contains(column) } ?? [column]
        var value: SQL = "("
        for (place, column) in restoredColumns.filter({ names.contains($0.name) }).enumerated() {
            if place > 0 { value.append(", ") }
            value.append(expression(column.sql))
        }
        value.append(")")
        return value
    }

    /// The columns that an undo never restores. Caches depend on the version, and ended sessions must stay ended.
    static let columnsThatOnlyGrow = ["version", "session_epoch", "valid_since", "session_ended_at"]
}

/// The rows of `account_journal`.
struct AccountJournalRow: RowDecodable {
    let table: String
    let key: String
    let before: JSONText?
    let after: JSONText?

    init(row: inout RowDecoder) throws(PostgresError) {
        table = try row.next()
        key = try row.next()
        before = try row.next()
        after = try row.next()
    }

    // MARK: Writing

    private static let rowKey: SQL = "tenant_id, change_id, step, table_name, row_key"

    /// Selects the current image of every row that the entry journals.
    private static func images(_ entry: JournalEntry) -> SQL {
        let tenant = entry.step.tenant.rawValue
        var images: SQL = """
            SELECT 'users' AS table_name, t.user_id AS row_key, to_jsonb(t) AS image FROM users AS t
            WHERE t.tenant_id = \(tenant) AND t.user_id = ANY(\(entry.users))
            """
        for table in JournaledTable.ofUsers {
            images.append(
                """

                UNION ALL SELECT '\(table.name)', \(table.key), to_jsonb(t) FROM \(table.name) AS t
                WHERE t.tenant_id = \(tenant) AND t.user_id = ANY(\(entry.users))
                """
            )
        }
        let claims = JournaledTable.identifiers
        images.append(
            """

            UNION ALL SELECT 'identifiers', \(claims.key), to_jsonb(t)
            FROM unnest(\(entry.claims.map(\.kind)), \(entry.claims.map(\.value))) AS wanted (kind, value) JOIN LATERAL (
                SELECT i.* FROM identifiers AS i
                WHERE i.tenant_id = \(tenant) AND i.kind = wanted.kind AND i.value = wanted.value
                    AND i.reserved_until IS NULL OFFSET 0
            ) AS t ON true
            """
        )
        return images
    }

    /// - `column`: `before` or `after`.
    private static func insertImages(_ entry: JournalEntry, into column: SQL) -> SQL {
        """
        INSERT INTO account_journal (\(rowKey), \(column), kept_until)
        SELECT \(entry.step.tenant), \(entry.step.change), \(entry.step.number), i.table_name, i.row_key, i.image,
            \(entry.retainedUntil)
        FROM (\(images(entry))) AS i
        """
    }

    static func insertBefore(_ entry: JournalEntry) -> SQL { insertImages(entry, into: "before") }

    static func insertAfter(_ entry: JournalEntry) -> SQL {
        "\(insertImages(entry, into: "after"))\nON CONFLICT (\(rowKey)) DO UPDATE SET after = excluded.after"
    }

    /// Deletes the images of rows that the step did not change, and of earlier codes, which no undo restores.
    static func deleteUnchanged(_ entry: JournalEntry) -> SQL {
        """
        DELETE FROM account_journal AS j WHERE \(ofStep(entry.step)) AND (
            j.before IS NOT DISTINCT FROM j.after
            OR j.before IS NOT NULL AND j.table_name = ANY(\(JournaledTable.notRestored))
        )
        """
    }

    static func deleteOld(before cutoff: Timestamp, rowsMax: Int64) -> SQL {
        SQL.deleteExpired("account_journal", key: rowKey, by: "kept_until", before: cutoff, rowsMax: rowsMax)
    }

    // MARK: Reading

    private static func ofStep(_ step: JournalStep) -> SQL {
        "j.tenant_id = \(step.tenant) AND j.change_id = \(step.change) AND j.step = \(step.number)"
    }

    /// The changes of the step, by table and key.
    static func of(_ step: JournalStep) -> Query<AccountJournalRow> {
        """
        SELECT table_name, row_key, before, after FROM \(table: "account_journal") AS j WHERE \(ofStep(step))
        ORDER BY table_name, row_key
        """
    }

    /// The columns of `users` that never clash: an undo restores them unconditionally, or never.
    private static let uncomparedColumns: SQL = """
        '{version,session_epoch,valid_since,session_ended_at,last_login_at,last_refresh_at}'::text[]
        """

    /// True if the column `a`, or one that forms a value with it, changed after the step.
    private static let isChangedSince: SQL = {
        var changed: SQL = "CASE"
        for names in JournaledUser.columnsOfOneValue {
            let left = JournaledUser.value(of: names[0]) { "j.after -> '\($0)'" }
            let now = JournaledUser.value(of: names[0]) { "p.image -> '\($0)'" }
            changed.append(
                " WHEN a.key IN \(JournaledUser.value(of: names[0]) { "'\($0)'" }) THEN \(left) IS DISTINCT FROM \(now)"
            )
        }
        changed.append(" ELSE a.value IS DISTINCT FROM p.image -> a.key END")
        return changed
    }()

    private static func clashRows(_ step: JournalStep) -> SQL {
        var clashes: SQL = """
            SELECT 'users' AS table_name, j.row_key AS user_id, COALESCE(c.subject, '') AS subject
            FROM \(table: "account_journal") AS j
            LEFT JOIN users AS u ON u.tenant_id = j.tenant_id AND u.user_id = j.row_key
            LEFT JOIN LATERAL (
                SELECT a.key AS subject FROM jsonb_each(j.after) AS a, LATERAL to_jsonb(u) AS p (image)
                WHERE a.key <> ALL (\(uncomparedColumns)) AND a.value IS DISTINCT FROM j.before -> a.key
                    AND \(isChangedSince)
            ) AS c ON u.user_id IS NOT NULL AND j.after IS NOT NULL
            WHERE \(ofStep(step)) AND j.table_name = 'users'
                AND ((u.user_id IS NULL) <> (j.after IS NULL) OR c.subject IS NOT NULL)
            """
        for table in JournaledTable.ofUsers where table.isLasting {
            clashes.append(
                """

                UNION ALL SELECT j.table_name, COALESCE(j.after, j.before) ->> 'user_id', j.row_key
                FROM account_journal AS j LEFT JOIN LATERAL (
                    SELECT to_jsonb(t) - \(table.volatile)::text[] AS image FROM \(table.name) AS t
                    WHERE \(table.isRowOfJournal) OFFSET 0
                ) AS p ON true
                WHERE \(ofStep(step)) AND j.table_name = '\(table.name)'
                    AND p.image IS DISTINCT FROM j.after - \(table.volatile)::text[]
                """
            )
        }
        // Another second factor, which would stay, has the slot or the number by now.
        clashes.append(
            """

            UNION ALL SELECT j.table_name, t.user_id, j.row_key
            FROM account_journal AS j JOIN second_factors AS t
                ON t.tenant_id = j.tenant_id AND t.user_id = j.before ->> 'user_id'
                AND (t.slot = (j.before ->> 'slot')::integer OR t.number = j.before ->> 'number')
            WHERE \(ofStep(step)) AND j.table_name = 'second_factors' AND NOT EXISTS (
                SELECT FROM account_journal AS own WHERE own.tenant_id = j.tenant_id AND own.change_id = j.change_id
                    AND own.step = j.step AND own.table_name = 'second_factors' AND own.after IS NOT NULL
                    AND own.row_key = concat_ws(E'\\x1F', t.user_id, t.enrollment_id)
            )
            """
        )
        clashes.append(
            """

            UNION ALL SELECT j.table_name, COALESCE(j.after, j.before) ->> 'user_id', j.row_key
            FROM account_journal AS j LEFT JOIN LATERAL (
                SELECT t.user_id FROM identifiers AS t WHERE \(isClaimOfJournal) AND NOT \(isReservedForJournal) OFFSET 0
            ) AS p ON true
            WHERE \(ofStep(step)) AND j.table_name = 'identifiers' AND p.user_id IS DISTINCT FROM j.after ->> 'user_id'
            """
        )
        return clashes
    }

    /// True if the claim reserves the address for the account that gets it back. A reservation expires, and blocks
    /// other accounts only.
    private static let isReservedForJournal: SQL = """
        (t.reserved_until IS NOT NULL AND j.before IS NOT NULL AND t.user_id = j.before ->> 'user_id')
        """

    private static let isClaimOfJournal: SQL = """
        t.tenant_id = j.tenant_id AND t.kind = COALESCE(j.after, j.before) ->> 'kind'
            AND t.value = COALESCE(j.after, j.before) ->> 'value'
        """

    /// The clashes of the step, by table, user and subject.
    static func clashes(_ step: JournalStep) -> Query<JournalClash> {
        """
        SELECT c.table_name, c.user_id, c.subject FROM (\(clashRows(step))) AS c
        ORDER BY c.table_name COLLATE "C", c.user_id COLLATE "C", c.subject COLLATE "C"
        """
    }

    // MARK: Restoring

    /// The accounts of the step as an undo would leave them, in the order of their ids.
    static func restoredOwners(_ step: JournalStep) -> Query<RestoredOwner> {
        func restored(_ name: String, _ column: SQL) -> SQL {
            let now = JournaledUser.value(of: name) { "u.\($0)" }
            let left = JournaledUser.value(of: name) { "a.\($0)" }
            return """
                CASE WHEN j.after IS NULL OR \(now) IS NOT DISTINCT FROM \(left) THEN b.\(column) ELSE u.\(column) END
                """
        }
        return """
            SELECT j.row_key, u.version, \(restored("email", "email")), \(restored("email_proof", "email_proof")),
                \(restored("display_name", "display_name")), \(restored("language", "language"))
            FROM \(table: "account_journal") AS j
            LEFT JOIN users AS u ON u.tenant_id = j.tenant_id AND u.user_id = j.row_key
            LEFT JOIN LATERAL jsonb_populate_record(NULL::users, j.before) AS b ON true
            LEFT JOIN LATERAL jsonb_populate_record(NULL::users, j.after) AS a ON true
            WHERE \(ofStep(step)) AND j.table_name = 'users' AND j.before IS NOT NULL
            ORDER BY j.row_key
            """
    }

    /// Locks the step for this transaction. Raises 22012 (division by zero) if it does not exist.
    static func hold(_ step: JournalStep) -> SQL {
        """
        SELECT \(SQL.assertExists) FROM (SELECT FROM account_journal AS j WHERE \(ofStep(step)) FOR UPDATE) AS held
        """
    }

    /// Locks the users of the step for this transaction.
    static func lockUsers(_ step: JournalStep) -> SQL {
        """
        SELECT t.user_id FROM users AS t WHERE t.tenant_id = \(step.tenant) AND t.user_id IN (
            SELECT COALESCE(j.after, j.before) ->> 'user_id' FROM account_journal AS j WHERE \(ofStep(step))
        ) ORDER BY t.user_id FOR UPDATE
        """
    }

    /// Raises 22012 (division by zero) unless the clashes of the step are `clashes`, in the same order.
    static func assertClashes(_ clashes: [JournalClash], _ step: JournalStep) -> SQL {
        """
        SELECT 1 / (ARRAY(
            SELECT concat_ws(E'\\x1E', c.table_name, c.user_id, c.subject) COLLATE "C" FROM (\(clashRows(step))) AS c
            ORDER BY c.table_name COLLATE "C", c.user_id COLLATE "C", c.subject COLLATE "C"
        ) = \(clashes.map { "\($0.table)\u{1E}\($0.user)\u{1E}\($0.subject)" }))::integer
        """
    }

    /// Removes the rows that the step made and that are unchanged.
    static func removeAfter(_ step: JournalStep) -> [SQL] {
        var statements = JournaledTable.ofUsers.map { table -> SQL in
            """
            DELETE FROM \(table.name) AS t USING account_journal AS j
            WHERE \(ofStep(step)) AND j.table_name = '\(table.name)' AND j.after IS NOT NULL AND \(table.isRowOfJournal)
                AND to_jsonb(t) - \(table.volatile)::text[] = j.after - \(table.volatile)::text[]
            """
        }
        statements.append(
            """
            DELETE FROM identifiers AS t USING account_journal AS j
            WHERE \(ofStep(step)) AND j.table_name = 'identifiers' AND j.after IS NOT NULL AND \(isClaimOfJournal)
                AND t.user_id = j.after ->> 'user_id'
            """
        )
        statements.append(
            """
            DELETE FROM identifiers AS t USING account_journal AS j
            WHERE \(ofStep(step)) AND j.table_name = 'identifiers' AND \(isClaimOfJournal) AND \(isReservedForJournal)
            """
        )
        return statements
    }

    /// Restores the columns of users that did not change after the step.
    ///
    /// The version grows, because caches depend on it (ADR 0030). If the step ended sessions, the undo ends the
    /// sessions that began since, because the earlier epoch would revive ended sessions. If sessions end, tokens that
    /// were issued before `now` are also revoked, because a backend may compare only `valid_since`.
    /// - `endingSessions`: true to end all sessions in any case.
    static func restoreUsers(_ step: JournalStep, endingSessions: Bool, at now: Timestamp) -> SQL {
        var columns: SQL = """
            version = u.version + 1,
            session_epoch = u.session_epoch
                + CASE WHEN \(endingSessions) OR b.session_epoch <> a.session_epoch THEN 1 ELSE 0 END,
            valid_since = CASE WHEN \(endingSessions) OR b.session_epoch <> a.session_epoch
                THEN greatest(u.valid_since, \(now.wholeSecond)) ELSE u.valid_since END
            """
        for (name, column) in JournaledUser.restoredColumns {
            let now = JournaledUser.value(of: name) { "u.\($0)" }
            let left = JournaledUser.value(of: name) { "a.\($0)" }
            columns.append(
                """
                ,
                \(column) = CASE WHEN \(now) IS NOT DISTINCT FROM \(left) THEN b.\(column) ELSE u.\(column) END
                """
            )
        }
        return """
            UPDATE users AS u SET \(columns)
            FROM account_journal AS j, LATERAL jsonb_populate_record(NULL::users, j.before) AS b,
                LATERAL jsonb_populate_record(NULL::users, j.after) AS a
            WHERE \(ofStep(step)) AND j.table_name = 'users' AND j.before IS NOT NULL AND j.after IS NOT NULL
                AND u.tenant_id = j.tenant_id AND u.user_id = j.row_key
            """
    }

    /// Restores deleted users with a version and a session epoch that they never had.
    ///
    /// The earlier epoch would revive every session and ID token from before the step, including stolen ones.
    static func insertUsers(_ step: JournalStep, at now: Timestamp) -> SQL {
        """
        INSERT INTO users SELECT r.* FROM account_journal AS j, LATERAL jsonb_populate_record(
            NULL::users, j.before || jsonb_build_object(
                'version', (j.before ->> 'version')::bigint + 2,
                'session_epoch', (j.before ->> 'session_epoch')::bigint + 1,
                'valid_since', greatest((j.before ->> 'valid_since')::timestamptz, \(now.wholeSecond))
            )
        ) AS r
        WHERE \(ofStep(step)) AND j.table_name = 'users' AND j.after IS NULL
        """
    }

    /// Deletes the users that the step created.
    static func deleteUsers(_ step: JournalStep) -> SQL {
        """
        DELETE FROM users AS u USING account_journal AS j
        WHERE \(ofStep(step)) AND j.table_name = 'users' AND j.before IS NULL
            AND u.tenant_id = j.tenant_id AND u.user_id = j.row_key
        """
    }

    /// Restores the rows that the step changed or deleted, unless another row has their key. Images of tables that an
    /// undo does not restore are ignored.
    static func restoreRows(_ step: JournalStep) -> [SQL] {
        (JournaledTable.ofUsers.filter(\.comesBack) + [.identifiers]).map { table in
            var statement: SQL = """
                INSERT INTO \(table.name) SELECT r.* FROM account_journal AS j,
                    LATERAL jsonb_populate_record(NULL::\(table.name), j.before) AS r
                WHERE \(ofStep(step)) AND j.table_name = '\(table.name)' AND j.before IS NOT NULL
                """
            if table.needsUser {
                statement.append(
                    """
                     AND EXISTS (
                        SELECT FROM users AS u WHERE u.tenant_id = j.tenant_id AND u.user_id = j.before ->> 'user_id'
                    )
                    """
                )
            }
            statement.append(" ON CONFLICT \(table.conflictTarget) DO NOTHING")
            return statement
        }
    }

    /// Deletes the journal of the step.
    static func delete(_ step: JournalStep) -> SQL {
        "DELETE FROM account_journal AS j WHERE \(ofStep(step))"
    }
}
