package import AccountLinking
import JSON
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
        UserRow.hold(users, tenant: step.tenant) + AccountJournalRow.insertBefore(self)
    }

    var closing: [SQL] { AccountJournalRow.insertAfter(self) + [AccountJournalRow.deleteUnchanged(self)] }
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
    /// The column of a row's own key among the rows of its user; `nil` if a user has one row.
    var ownKey: SQL?
    /// Columns that change without a decision. A clash does not depend on them.
    let volatile: SQL
    /// False for rows that expire. An undo restores them if it can, and they never clash.
    let isLasting: Bool
    /// False for rows that let their holder sign in. An undo deletes those that the step made, and restores none.
    var comesBack = true
    /// True if the rows of a user are in the shard of the user.
    var liesWithUser = true
    /// The conflict target of a restoring insert: the row's key if the table checks other constraints at the end of the
    /// transaction.
    var conflictTarget: SQL = ""

    static let identifiers = JournaledTable(
        name: "identifiers",
        key: #"concat_ws(E'\x1F', t.kind, t.value)"#,
        volatile: "'{}'",
        isLasting: true,
        liesWithUser: false
    )

    /// All but `users` and `identifiers`.
    static let ofUsers: [JournaledTable] = [
        JournaledTable(name: "password_credentials", key: "t.user_id", volatile: "'{hash}'", isLasting: true),
        JournaledTable(
            name: "linked_providers",
            key: #"concat_ws(E'\x1F', t.user_id, t.provider_id)"#,
            ownKey: "provider_id",
            volatile: "'{issuer,email,email_key,display_name,photo_url,screen_name,updated_at}'",
            isLasting: true
        ),
        JournaledTable(
            name: "sign_in_methods",
            key: #"concat_ws(E'\x1F', t.user_id, t.method)"#,
            ownKey: "method",
            volatile: "'{}'",
            isLasting: true
        ),
        JournaledTable(
            name: "second_factors",
            key: #"concat_ws(E'\x1F', t.user_id, t.enrollment_id)"#,
            ownKey: "enrollment_id",
            // A secret that is sealed again stays the same secret.
            volatile: "'{last_step,accepted_by,sealed_secret}'",
            isLasting: true,
            conflictTarget: "(tenant_id, user_id, enrollment_id)"
        ),
        JournaledTable(
            name: "quarantined_methods",
            key: #"concat_ws(E'\x1F', t.user_id, t.method)"#,
            ownKey: "method",
            volatile: "'{}'",
            isLasting: false
        ),
        JournaledTable(
            name: "proof_mails",
            key: #"concat_ws(E'\x1F', t.user_id, t.place::text)"#,
            ownKey: "place",
            volatile: "'{}'",
            isLasting: false
        ),
        JournaledTable(
            name: "one_time_codes",
            key: "encode(t.code_hash, 'hex')",
            volatile: "'{}'",
            isLasting: false,
            comesBack: false,
            liesWithUser: false
        ),
    ]

    /// Tables of accounts that are not journaled. Sessions, sign-ins that wait for a second factor, conflicts with
    /// pending credentials and stored answers with tokens let their holder sign in without a new proof. An undo ignores
    /// the images that older versions journaled. Counts of refused sign-ins and devices are not restored either.
    static let ended = ["sessions", "factor_challenges", "conflicts", "kept_answers", "sign_in_refusals", "devices"]

    /// Journaled tables of which an undo only deletes the rows that the step made.
    static let notRestored = ofUsers.filter { !$0.comesBack }.map(\.name.text)

    /// The tables whose rows are in the shard of their user.
    static let withUser = ofUsers.filter(\.liesWithUser)
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
///
/// An undo reads them first, and sends each image back as a parameter. So each statement concerns the rows of one user,
/// or of one claim, and none joins them with the journal: accounts, claims and the journal are in different shards.
struct AccountJournalRow: RowDecodable {
    let table: String
    let key: String
    let before: JSONText?
    let after: JSONText?
    /// The owner of the row before and after the step.
    let userBefore: String?
    let userAfter: String?
    /// The key of a row of `identifiers`.
    let claim: JournalEntry.Claim?

    init(row: inout RowDecoder) throws(PostgresError) {
        table = try row.next()
        key = try row.next()
        before = try row.next()
        after = try row.next()
        userBefore = try row.next()
        userAfter = try row.next()
        let kind: String? = try row.next()
        let value: String? = try row.next()
        claim =
            if table == JournaledTable.identifiers.name.text, let kind, let value {
                JournalEntry.Claim(kind: kind, value: value)
            } else { nil }
    }

    /// A row that is not read from the database, for tests.
    init(
        table: String,
        key: String,
        before: JSONText?,
        after: JSONText?,
        user: String,
        claim: JournalEntry.Claim? = nil
    ) {
        self.table = table
        self.key = key
        self.before = before
        self.after = after
        userBefore = before == nil ? nil : user
        userAfter = after == nil ? nil : user
        self.claim = claim
    }

    /// The user to whom the change belongs: the later owner, if there are two.
    var user: String { userAfter ?? userBefore ?? "" }

    // MARK: Writing

    private static let rowKey: SQL = "tenant_id, change_id, step, table_name, row_key"

    /// For each shard, a query of the current images of its rows that the entry journals.
    private static func images(_ entry: JournalEntry) -> [SQL] {
        let tenant = entry.step.tenant
        var images: [SQL] = []
        for user in entry.users.inOrderOfIDs {
            var ofUser: SQL = """
                SELECT 'users' AS table_name, t.user_id AS row_key, to_jsonb(t) AS image FROM users AS t
                WHERE t.tenant_id = \(tenant) AND t.user_id = \(user)
                """
            for table in JournaledTable.withUser {
                ofUser.append("\nUNION ALL \(ownImages(of: user, in: table, tenant: tenant))")
            }
            images.append(ofUser)
            for table in JournaledTable.ofUsers where !table.liesWithUser {
                images.append(ownImages(of: user, in: table, tenant: tenant))
            }
        }
        for claim in entry.claims {
            images.append(
                """
                SELECT 'identifiers' AS table_name, \(JournaledTable.identifiers.key) AS row_key, to_jsonb(t) AS image
                FROM identifiers AS t WHERE \(isOf(claim, tenant)) AND t.reserved_until IS NULL
                """
            )
        }
        return images
    }

    private static func ownImages(of user: String, in table: JournaledTable, tenant: TenantID) -> SQL {
        """
        SELECT '\(table.name)' AS table_name, \(table.key) AS row_key, to_jsonb(t) AS image FROM \(table.name) AS t
        WHERE t.tenant_id = \(tenant) AND t.user_id = \(user)
        """
    }

    private static func isOf(_ claim: JournalEntry.Claim, _ tenant: TenantID) -> SQL {
        "t.tenant_id = \(tenant) AND t.kind = \(claim.kind) AND t.value = \(claim.value)"
    }

    /// - `column`: `before` or `after`.
    private static func insert(_ images: SQL, of entry: JournalEntry, into column: SQL) -> SQL {
        """
        INSERT INTO account_journal (\(rowKey), \(column), kept_until)
        SELECT \(entry.step.tenant), \(entry.step.change), \(entry.step.number), i.table_name, i.row_key, i.image,
            \(entry.retainedUntil)
        FROM (\(images)) AS i
        """
    }

    static func insertBefore(_ entry: JournalEntry) -> [SQL] {
        images(entry).map { insert($0, of: entry, into: "before") }
    }

    static func insertAfter(_ entry: JournalEntry) -> [SQL] {
        images(entry).map {
            "\(insert($0, of: entry, into: "after"))\nON CONFLICT (\(rowKey)) DO UPDATE SET after = excluded.after"
        }
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

    // MARK: Reading

    private static func ofStep(_ step: JournalStep) -> SQL {
        "j.tenant_id = \(step.tenant) AND j.change_id = \(step.change) AND j.step = \(step.number)"
    }

    /// The changes of the step, by table and key.
    static func of(_ step: JournalStep) -> Query<AccountJournalRow> {
        """
        SELECT table_name, row_key, before, after, before ->> 'user_id', after ->> 'user_id',
            COALESCE(after, before) ->> 'kind', COALESCE(after, before) ->> 'value'
        FROM \(table: "account_journal") AS j WHERE \(ofStep(step))
        ORDER BY table_name, row_key
        """
    }

    /// The rows as the table `j` of a statement.
    private static func source(_ rows: [AccountJournalRow], as name: SQL = "j") -> SQL {
        let objects = rows.map { row in
            let names = [("table_name", row.table), ("row_key", row.key)].map {
                "\"\($0)\":\(JSONValue.string($1).text)"
            }
            let images = [("before", row.before), ("after", row.after)].compactMap { name, image in
                image.map { "\"\(name)\":\($0.text)" }
            }
            return "{\((names + images).joined(separator: ","))}"
        }
        return """
            jsonb_to_recordset(\(JSONText("[\(objects.joined(separator: ","))]")))
                AS \(name) (table_name text, row_key text, before jsonb, after jsonb)
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

    private static func isOf(_ user: String, _ tenant: TenantID) -> SQL {
        "t.tenant_id = \(tenant) AND t.user_id = \(user)"
    }

    /// A query of the clashes of one user.
    ///
    /// - `rows`: the rows of the user in the journal. Rows of other shards are ignored.
    private static func clashRows(_ rows: [AccountJournalRow], of user: String, tenant: TenantID) -> SQL {
        var clashes: SQL = """
            SELECT COALESCE(c.subject, '') AS subject FROM (SELECT 1) AS one (one)
            LEFT JOIN \(table: "users") AS t ON \(isOf(user, tenant))
            LEFT JOIN LATERAL (
                SELECT a.key AS subject FROM jsonb_each(j.after) AS a, LATERAL to_jsonb(t) AS p (image)
                WHERE a.key <> ALL (\(uncomparedColumns)) AND a.value IS DISTINCT FROM j.before -> a.key
                    AND \(isChangedSince)
            ) AS c ON t.user_id IS NOT NULL AND j.after IS NOT NULL
            WHERE j.table_name = 'users' AND ((t.user_id IS NULL) <> (j.after IS NULL) OR c.subject IS NOT NULL)
            """
        for table in JournaledTable.withUser where table.isLasting {
            clashes.append(
                """

                UNION ALL SELECT j.row_key FROM (SELECT 1) AS one (one) LEFT JOIN LATERAL (
                    SELECT to_jsonb(t) - \(table.volatile)::text[] AS image FROM \(table.name) AS t
                    WHERE \(isOf(user, tenant)) AND \(table.key) = j.row_key OFFSET 0
                ) AS p ON true
                WHERE j.table_name = '\(table.name)' AND p.image IS DISTINCT FROM j.after - \(table.volatile)::text[]
                """
            )
        }
        // Another second factor, which would stay, has the slot or the number by now.
        clashes.append(
            """

            UNION ALL SELECT j.row_key FROM second_factors AS t
            WHERE \(isOf(user, tenant)) AND j.table_name = 'second_factors'
                AND (t.slot = (j.before ->> 'slot')::integer OR t.number = j.before ->> 'number')
                AND NOT EXISTS (
                    SELECT 1 FROM \(source(rows.filter { $0.table == "second_factors" }, as: "own"))
                    WHERE own.after IS NOT NULL AND own.row_key = concat_ws(E'\\x1F', t.user_id, t.enrollment_id)
                )
            """
        )
        return """
            SELECT j.table_name, \(user) AS user_id, c.subject FROM \(source(rows)) CROSS JOIN LATERAL (
            \(clashes)
            ) AS c
            """
    }

    /// The clashes of one user, by table and subject.
    ///
    /// - `rows`: the rows of the user in the journal. Clashes of claims are not included (`owner`).
    static func clashes(_ rows: [AccountJournalRow], of user: String, tenant: TenantID) -> Query<JournalClash> {
        """
        SELECT c.table_name, c.user_id, c.subject FROM (\(clashRows(rows, of: user, tenant: tenant))) AS c
        ORDER BY c.table_name COLLATE "C", c.subject COLLATE "C"
        """
    }

    /// The owner of the claim, unless the claim reserves the address for the account that gets it back. A reservation
    /// expires, and blocks other accounts only. The claim clashes if the owner is not the one whom the step left.
    static func owner(
        of claim: JournalEntry.Claim,
        _ row: AccountJournalRow,
        tenant: TenantID
    ) -> Query<String> {
        """
        SELECT t.user_id FROM \(table: "identifiers") AS t
        WHERE \(isOf(claim, tenant)) AND NOT \(isReserved(for: row))
        """
    }

    private static func isReserved(for row: AccountJournalRow) -> SQL {
        "(t.reserved_until IS NOT NULL AND t.user_id IS NOT DISTINCT FROM \(row.userBefore))"
    }

    // MARK: Restoring

    /// The account as an undo would leave it.
    ///
    /// - `row`: the row of `users` in the journal, with an image from before the step.
    static func restoredOwner(_ row: AccountJournalRow, tenant: TenantID) -> Query<RestoredOwner> {
        func restored(_ name: String, _ column: SQL) -> SQL {
            let now = JournaledUser.value(of: name) { "t.\($0)" }
            let left = JournaledUser.value(of: name) { "a.\($0)" }
            return """
                CASE WHEN \(row.after == nil) OR \(now) IS NOT DISTINCT FROM \(left) THEN b.\(column) ELSE t.\(column) END
                """
        }
        return """
            SELECT \(row.user), t.version, \(restored("email", "email")), \(restored("email_proof", "email_proof")),
                \(restored("display_name", "display_name")), \(restored("language", "language"))
            FROM jsonb_populate_record(NULL::users, \(row.before)) AS b
            CROSS JOIN jsonb_populate_record(NULL::users, \(row.after)) AS a
            LEFT JOIN \(table: "users") AS t ON \(isOf(row.user, tenant))
            """
    }

    /// Locks the step for this transaction. Raises 22012 (division by zero) unless the step has `count` rows.
    static func hold(_ step: JournalStep, count: Int) -> SQL {
        """
        SELECT 1 / (count(*) = \(Int64(count)))::integer
        FROM (SELECT 1 FROM account_journal AS j WHERE \(ofStep(step)) FOR UPDATE) AS held
        """
    }

    /// Raises 22012 (division by zero) unless the images of the second factors are still those of `rows`: their secrets
    /// may be sealed again. No other image changes.
    ///
    /// - Returns: `nil` if `rows` has no second factor.
    static func assertImages(_ rows: [AccountJournalRow], of step: JournalStep) -> SQL? {
        let factors = rows.filter { $0.table == "second_factors" }
        guard !factors.isEmpty else { return nil }
        return """
            SELECT 1 / (count(*) = \(Int64(factors.count)))::integer FROM account_journal AS j
            JOIN \(source(factors, as: "own"))
                ON own.table_name = j.table_name AND own.row_key = j.row_key
                AND own.before IS NOT DISTINCT FROM j.before AND own.after IS NOT DISTINCT FROM j.after
            WHERE \(ofStep(step))
            """
    }

    /// Raises 22012 (division by zero) unless the clashes of the user are `clashes`, in the same order.
    static func assertClashes(
        _ clashes: [JournalClash],
        _ rows: [AccountJournalRow],
        of user: String,
        tenant: TenantID
    ) -> SQL {
        """
        SELECT 1 / (ARRAY(
            SELECT concat_ws(E'\\x1E', c.table_name, c.subject) COLLATE "C"
            FROM (\(clashRows(rows, of: user, tenant: tenant))) AS c
            ORDER BY c.table_name COLLATE "C", c.subject COLLATE "C"
        ) = \(clashes.map { "\($0.table)\u{1E}\($0.subject)" }))::integer
        """
    }

    /// Raises 22012 (division by zero) if the claim clashes.
    static func assertOwner(of claim: JournalEntry.Claim, _ row: AccountJournalRow, tenant: TenantID) -> SQL {
        """
        SELECT 1 / (ARRAY(
            SELECT t.user_id FROM identifiers AS t WHERE \(isOf(claim, tenant)) AND NOT \(isReserved(for: row))
        ) = \([row.userAfter].compactMap(\.self)))::integer
        """
    }

    /// Removes the rows that the step made and that are unchanged, in the tables with the user.
    ///
    /// - `rows`: the rows of the user in the journal.
    static func removeAfter(_ rows: [AccountJournalRow], of user: String, tenant: TenantID) -> [SQL] {
        JournaledTable.withUser.compactMap { table in
            let made = rows.filter { $0.table == table.name.text && $0.after != nil }
            guard !made.isEmpty else { return nil }
            let isOwn: SQL = table.ownKey.map { " AND t.\($0) = own.\($0)" } ?? ""
            // A sub-query finds the row: Citus calls no function like `to_jsonb` in the condition of a deletion.
            return """
                DELETE FROM \(table.name) AS t USING \(source(made)), LATERAL (
                    SELECT \(table.ownKey ?? "user_id") FROM \(table.name) AS t
                    WHERE \(isOf(user, tenant)) AND \(table.key) = j.row_key
                        AND to_jsonb(t) - \(table.volatile)::text[] = j.after - \(table.volatile)::text[] OFFSET 0
                ) AS own
                WHERE \(isOf(user, tenant))\(isOwn)
                """
        }
    }

    /// Removes a mailed code that the step made and that is unchanged.
    static func removeCode(_ row: AccountJournalRow, tenant: TenantID) -> SQL {
        let isCode: SQL = "t.tenant_id = \(tenant) AND t.code_hash = decode(\(row.key), 'hex')"
        return """
            DELETE FROM one_time_codes AS t USING (
                SELECT t.code_hash FROM one_time_codes AS t WHERE \(isCode) AND to_jsonb(t) = \(row.after) OFFSET 0
            ) AS own
            WHERE \(isCode) AND t.code_hash = own.code_hash
            """
    }

    /// Removes the claim as the step left it, or as it is reserved for the account that gets it back.
    static func removeClaim(_ claim: JournalEntry.Claim, _ row: AccountJournalRow, tenant: TenantID) -> SQL {
        """
        DELETE FROM identifiers AS t
        WHERE \(isOf(claim, tenant)) AND (t.user_id = \(row.userAfter) OR \(isReserved(for: row)))
        """
    }

    /// Restores the columns of a user that did not change after the step.
    ///
    /// The version grows, because caches depend on it (ADR 0030). If the step ended sessions, the undo ends the
    /// sessions that began since, because the earlier epoch would revive ended sessions. If sessions end, tokens that
    /// were issued before `now` are also revoked, because a backend may compare only `valid_since`.
    /// - `row`: the row of `users` in the journal, with both images.
    /// - `endingSessions`: true to end all sessions in any case.
    static func restoreUser(_ row: AccountJournalRow, tenant: TenantID, endingSessions: Bool, at now: Timestamp) -> SQL
    {
        var columns: SQL = """
            version = t.version + 1,
            session_epoch = t.session_epoch
                + CASE WHEN \(endingSessions) OR b.session_epoch <> a.session_epoch THEN 1 ELSE 0 END,
            valid_since = CASE WHEN \(endingSessions) OR b.session_epoch <> a.session_epoch
                THEN greatest(t.valid_since, \(now.wholeSecond)) ELSE t.valid_since END
            """
        for (name, column) in JournaledUser.restoredColumns {
            let now = JournaledUser.value(of: name) { "t.\($0)" }
            let left = JournaledUser.value(of: name) { "a.\($0)" }
            columns.append(
                """
                ,
                \(column) = CASE WHEN \(now) IS NOT DISTINCT FROM \(left) THEN b.\(column) ELSE t.\(column) END
                """
            )
        }
        return """
            UPDATE users AS t SET \(columns)
            FROM jsonb_populate_record(NULL::users, \(row.before)) AS b,
                jsonb_populate_record(NULL::users, \(row.after)) AS a
            WHERE \(isOf(row.user, tenant))
            """
    }

    /// Deletes the sessions of other epochs. No user can use them, and in a project without limits they never end.
    static func deleteEndedSessions(of user: String, tenant: TenantID) -> SQL {
        """
        DELETE FROM sessions AS s USING users AS t
        WHERE \(isOf(user, tenant)) AND s.tenant_id = \(tenant) AND s.user_id = \(user)
            AND s.session_epoch <> t.session_epoch
        """
    }

    /// Restores a deleted user with a version and a session epoch that it never had.
    ///
    /// The earlier epoch would revive every session and ID token from before the step, including stolen ones.
    static func insertUser(_ row: AccountJournalRow, at now: Timestamp) -> SQL {
        """
        INSERT INTO users SELECT r.* FROM (SELECT \(row.before)) AS j (before), LATERAL jsonb_populate_record(
            NULL::users, j.before || jsonb_build_object(
                'version', (j.before ->> 'version')::bigint + 2,
                'session_epoch', (j.before ->> 'session_epoch')::bigint + 1,
                'valid_since', greatest((j.before ->> 'valid_since')::timestamptz, \(now.wholeSecond))
            )
        ) AS r
        """
    }

    /// Deletes a user that the step created.
    static func deleteUser(_ user: String, tenant: TenantID) -> SQL {
        "DELETE FROM users AS t WHERE \(isOf(user, tenant))"
    }

    /// Restores the rows that the step changed or deleted, unless another row has their key, in the tables with the
    /// user.
    ///
    /// - `rows`: the rows of the user in the journal. Images of tables that an undo does not restore are ignored.
    static func restoreRows(_ rows: [AccountJournalRow], of user: String, tenant: TenantID) -> [SQL] {
        JournaledTable.withUser.filter(\.comesBack).compactMap { table in
            let before = rows.filter { $0.table == table.name.text && $0.before != nil }
            guard !before.isEmpty else { return nil }
            return """
                INSERT INTO \(table.name) SELECT r.* FROM \(source(before)),
                    LATERAL jsonb_populate_record(NULL::\(table.name), j.before) AS r
                WHERE EXISTS (SELECT 1 FROM users AS t WHERE \(isOf(user, tenant)))
                ON CONFLICT \(table.conflictTarget) DO NOTHING
                """
        }
    }

    /// Restores a claim. Raises 23505 if another account took it after `assertOwner`: the restored account would show
    /// an address that it does not own.
    static func restoreClaim(_ row: AccountJournalRow) -> SQL {
        """
        INSERT INTO identifiers SELECT r.* FROM jsonb_populate_record(NULL::identifiers, \(row.before)) AS r
        """
    }

    /// Deletes the journal of the step.
    static func delete(_ step: JournalStep) -> SQL {
        "DELETE FROM account_journal AS j WHERE \(ofStep(step))"
    }
}

extension [String] {
    /// Each id once, in the order of the database, which compares bytes.
    var inOrderOfIDs: [String] { Set(self).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
}
