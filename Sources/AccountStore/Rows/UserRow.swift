package import AccountLinking
import Postgres

/// One row of `users` with the password's time and one of the linked providers, one of the sign-in methods and one of
/// the second factors: a user has a row for each combination of them, at least one. `records` puts the rows of a user together.
///
/// Not arrays, although this repeats what is joined: twelve aggregates cost the server a third of a lookup.
///
/// Column order is the decoding order.
struct UserRow: RowDecodable {
    fileprivate let record: UserRecord
    /// With its place.
    fileprivate let secondFactor: (slot: Int32, factor: SecondFactor)?
    fileprivate let origin: UserOrigin

    private static let select: SQL = """
        SELECT users.tenant_id, users.user_id, users.version, users.session_epoch,
            users.email, users.email_proof, users.email_proven_at, users.initial_email,
            users.phone_number, users.unproven_phone_number,
            users.display_name, users.photo_url, users.screen_name, users.language, users.time_zone,
            users.date_of_birth, users.disabled, users.uses_custom_tokens, users.custom_attributes,
            users.valid_since, users.created_at, users.last_login_at, users.last_refresh_at, users.session_ended_at,
            password_credentials.updated_at,
            linked_providers.provider_id, linked_providers.subject, linked_providers.issuer, linked_providers.email,
            linked_providers.display_name, linked_providers.photo_url, linked_providers.screen_name,
            linked_providers.linked_at, linked_providers.updated_at,
            sign_in_methods.method, sign_in_methods.proof, sign_in_methods.proven_at,
            second_factors.slot, second_factors.enrollment_id, second_factors.number, second_factors.display_name,
            second_factors.enrolled_at,
            \(UserOrigin.columns)

        """

    /// `OFFSET 0` keeps each a subquery, which is run by its key for each user. Plain joins the planner would rather hash
    /// where it takes the users for many, as it does for a page whose limit it does not know.
    private static let joins: SQL = """
        LEFT JOIN LATERAL (
            SELECT * FROM password_credentials AS own
            WHERE own.tenant_id = users.tenant_id AND own.user_id = users.user_id OFFSET 0
        ) AS password_credentials ON true
        LEFT JOIN LATERAL (
            SELECT * FROM linked_providers AS own
            WHERE own.tenant_id = users.tenant_id AND own.user_id = users.user_id OFFSET 0
        ) AS linked_providers ON true
        LEFT JOIN LATERAL (
            SELECT * FROM sign_in_methods AS own
            WHERE own.tenant_id = users.tenant_id AND own.user_id = users.user_id OFFSET 0
        ) AS sign_in_methods ON true
        LEFT JOIN LATERAL (
            SELECT * FROM second_factors AS own
            WHERE own.tenant_id = users.tenant_id AND own.user_id = users.user_id OFFSET 0
        ) AS second_factors ON true

        """

    static func withID(_ id: UserID, tenant: TenantID) -> Query<UserRow> {
        """
        \(select) FROM users \(joins)
        WHERE users.tenant_id = \(tenant) AND users.user_id = \(id)
        """
    }

    /// As `withID`, as a lookup: the same statement as `withIDs`, which answers many callers at once.
    static func lookup(_ id: UserID, tenant: TenantID) -> Query<UserRow> {
        Query(keyColumn: 1, withIDs([id], tenant: tenant).sql)
    }

    /// In no particular order; unknown ids have no row.
    static func withIDs(_ ids: [UserID], tenant: TenantID) -> Query<UserRow> {
        """
        \(select) FROM users \(joins)
        WHERE users.tenant_id = \(tenant) AND users.user_id = ANY(\(ids))
        """
    }

    /// As `withIDs`, for a thousand at once: one by one, because `= ANY` may be planned as all users, each compared with
    /// every id.
    static func withManyIDs(_ ids: [UserID], tenant: TenantID) -> Query<UserRow> {
        """
        \(select) FROM unnest(\(ids)) AS wanted (user_id) JOIN LATERAL (
            SELECT own.tableoid, own.* FROM users AS own
            WHERE own.tenant_id = \(tenant) AND own.user_id = wanted.user_id OFFSET 0
        ) AS users ON true \(joins)
        """
    }

    init(row: inout RowDecoder) throws(PostgresError) {
        let tenant: TenantID = try row.next()
        let id: UserID = try row.next("users.user_id")
        let version = try row.next(Int64.self)
        let sessionEpoch = try row.next(Int64.self)
        var record = UserRecord(
            tenant: tenant,
            id: id,
            sessionEpoch: sessionEpoch,
            createdAt: Timestamp(secondsSinceEpoch: 0)
        )
        record.version = version
        let address: EmailAddress? = try row.next("users.email")
        let proof: EmailProof? = try row.next("users.email_proof")
        record.email = address.map { AccountEmail(address: $0, proof: proof) }
        record.emailProvenAt = try row.next()
        record.initialEmail = try row.next()
        record.phoneNumber = try row.next("users.phone_number")
        record.unprovenPhoneNumber = try row.next("users.unproven_phone_number")
        record.profile.displayName = try row.next()
        record.profile.photoURL = try row.next()
        record.profile.screenName = try row.next()
        record.profile.language = try row.next()
        record.profile.timeZone = try row.next()
        record.profile.dateOfBirth = try row.next()
        record.isDisabled = try row.next()
        record.usesCustomTokens = try row.next()
        record.customAttributes = try row.next()
        record.validSince = try row.next()
        record.createdAt = try row.next()
        record.lastLoginAt = try row.next()
        record.lastRefreshAt = try row.next()
        record.sessionEndedAt = try row.next()
        record.passwordUpdatedAt = try row.next()
        if let provider = try Self.linkedProvider(&row) {
            record.linkedProviders = [provider.identity.provider: provider]
        }
        if let (method, proof) = try Self.methodProof(&row) { record.methodProofs = [method: proof] }
        secondFactor = try Self.secondFactor(&row)
        if let secondFactor { record.secondFactors = [secondFactor.factor] }
        self.record = record
        origin = try UserOrigin(&row)
    }

    /// `nil` for a user without any.
    private static func linkedProvider(_ row: inout RowDecoder) throws(PostgresError) -> UserRecord.LinkedProvider? {
        let id = try row.next(String?.self)
        let subject = try row.next(String?.self)
        let issuer = try row.next(String?.self)
        let email = try row.next(String?.self)
        let displayName = try row.next(String?.self)
        let photoURL = try row.next(String?.self)
        let screenName = try row.next(String?.self)
        let linkedAt: Timestamp? = try row.next()
        let updatedAt: Timestamp? = try row.next()
        guard let id, let subject, let linkedAt, let updatedAt else { return nil }
        guard let provider = ProviderID(id), let identity = ProviderIdentity(provider: provider, subject: subject)
        else { throw .unreadable("linked_providers.provider_id") }
        return UserRecord.LinkedProvider(
            identity: identity,
            issuer: issuer,
            email: email.flatMap(EmailAddress.init),
            displayName: displayName,
            photoURL: photoURL,
            screenName: screenName,
            linkedAt: linkedAt,
            updatedAt: updatedAt
        )
    }

    /// `nil` for a user without any.
    private static func secondFactor(
        _ row: inout RowDecoder
    ) throws(PostgresError) -> (slot: Int32, factor: SecondFactor)? {
        let slot = try row.next(Int32?.self)
        let id = try row.next(String?.self)
        let number: PhoneNumber? = try row.next("second_factors.number")
        let displayName = try row.next(String?.self)
        let enrolledAt: Timestamp? = try row.next()
        guard let slot, let id, let enrolledAt else { return nil }
        guard let id = SecondFactorID(id) else { throw .unreadable("second_factors.enrollment_id") }
        let factor = SecondFactor(
            id: id,
            method: number.map(SecondFactor.Method.phone) ?? .totp,
            displayName: displayName,
            enrolledAt: enrolledAt
        )
        return (slot, factor)
    }

    /// `nil` for a user without any.
    private static func methodProof(
        _ row: inout RowDecoder
    ) throws(PostgresError) -> (SignInMethod, UserRecord.MethodProof)? {
        let name = try row.next(String?.self)
        let proof = try row.next(String?.self)
        let provenAt: Timestamp? = try row.next()
        guard let name, let proof, let provenAt else { return nil }
        guard let method = SignInMethod(name: name), let proof = UserRecord.Proof(rawValue: proof)
        else { throw .unreadable("sign_in_methods.proof") }
        return (method, UserRecord.MethodProof(proof: proof, provenAt: provenAt))
    }
}

extension [UserRow] {
    /// The users, in the order of their first rows.
    var records: [UserRecord] {
        guard count > 1 else { return map(\.record) }
        var records: [UserRecord] = []
        var places: [UserID: Int] = [:]
        var factors: [UserID: [Int32: SecondFactor]] = [:]
        for row in self {
            if let (slot, factor) = row.secondFactor { factors[row.record.id, default: [:]][slot] = factor }
            guard let place = places[row.record.id] else {
                places[row.record.id] = records.count
                records.append(row.record)
                continue
            }
            records[place].linkedProviders.merge(row.record.linkedProviders) { first, _ in first }
            records[place].methodProofs.merge(row.record.methodProofs) { first, _ in first }
        }
        for (id, factors) in factors {
            guard let place = places[id] else { continue }
            records[place].secondFactors = factors.sorted { $0.key < $1.key }.map(\.value)
        }
        return records
    }
}

/// Where a user was read from: when PostgreSQL was started, and which table it was by the number that PostgreSQL gave it. A server
/// that took over was started at another time; a table that was put back, in another database too, has another number.
struct UserOrigin: Hashable, Sendable {
    private let serverStart: PostgresTimestamp
    private let table: Int64

    static let columns: SQL = "pg_postmaster_start_time(), users.tableoid::bigint"

    init(_ row: inout RowDecoder) throws(PostgresError) {
        serverStart = try row.next()
        table = try row.next()
    }

    init(serverStart: PostgresTimestamp, table: Int64) {
        self.serverStart = serverStart
        self.table = table
    }
}

/// A user as it was read, and what tells whether it still is so. A class, so that it is kept and handed out as a whole.
final class KnownUser: Sendable {
    let record: UserRecord
    let origin: UserOrigin

    init(record: UserRecord, origin: UserOrigin) {
        self.record = record
        self.origin = origin
    }
}

extension [UserRow] {
    /// The only user.
    var known: KnownUser? {
        guard let row = first, let record = records.first else { return nil }
        return KnownUser(record: record, origin: row.origin)
    }
}

/// Whether a user that was read before is still the same, and the times that are written behind.
///
/// Whatever changes of a user and of what hangs off its row raises the version in the same transaction, and an account that
/// takes the id of a deleted one has another epoch. Where a server took over, or data were put back, the same versions may be
/// counted again for other changes; they come from elsewhere then (`UserOrigin`).
struct UserStampRow: RowDecodable {
    private let version: Int64
    private let sessionEpoch: Int64
    private let lastLoginAt: Timestamp?
    private let lastRefreshAt: Timestamp?
    private let origin: UserOrigin

    static func lookup(_ id: UserID, tenant: TenantID) -> Query<UserStampRow> {
        Query(
            keyColumn: 0,
            """
            SELECT user_id, version, session_epoch, last_login_at, last_refresh_at, \(UserOrigin.columns) FROM users
            WHERE tenant_id = \(tenant) AND user_id = ANY(\([id.rawValue]))
            """
        )
    }

    init(row: inout RowDecoder) throws(PostgresError) {
        _ = try row.next(String.self)
        version = try row.next()
        sessionEpoch = try row.next()
        lastLoginAt = try row.next()
        lastRefreshAt = try row.next()
        origin = try UserOrigin(&row)
    }

    /// The user that was `known` as it is now; `nil` when it has to be read again.
    func updating(_ known: KnownUser) -> UserRecord? {
        var user = known.record
        guard user.version == version, user.sessionEpoch == sessionEpoch, known.origin == origin else {
            return nil
        }
        user.lastLoginAt = lastLoginAt
        user.lastRefreshAt = lastRefreshAt
        return user
    }
}

extension UserRow {
    static func insert(_ record: UserRecord) -> SQL {
        let values: SQL = """
            (\(record.tenant), \(record.id), \(record.version), \(record.sessionEpoch),
            \(record.email?.address), \(record.email?.proof?.name), \(record.emailProvenAt),
            \(record.initialEmail), \(record.phoneNumber), \(record.unprovenPhoneNumber),
            \(record.profile.displayName), \(record.profile.photoURL), \(record.profile.screenName),
            \(record.profile.language), \(record.profile.timeZone), \(record.profile.dateOfBirth),
            \(record.isDisabled), \(record.usesCustomTokens), \(record.customAttributes),
            \(record.validSince), \(record.createdAt),
            \(record.lastLoginAt), \(record.lastRefreshAt))
            """
        return """
            INSERT INTO users (tenant_id, user_id, version, session_epoch,
                email, email_proof, email_proven_at, initial_email, phone_number, unproven_phone_number,
                display_name, photo_url, screen_name, language, time_zone, date_of_birth,
                disabled, uses_custom_tokens, custom_attributes, valid_since, created_at, last_login_at, last_refresh_at)
            VALUES \(row: values)
            """
    }

    /// Replaces the row by `record` and raises the version.
    ///
    /// A row that no longer holds `record.version` sets NULL and raises 23502. A row that is gone changes nothing, which
    /// aborts nothing: `assertRaised` must follow.
    ///
    /// - `epoch`: the one that was read. Versions begin anew where an account is made again under its id; epochs begin at
    ///   random.
    static func update(_ record: UserRecord, epoch: Int64) -> SQL {
        """
        UPDATE users SET
            version = CASE WHEN version = \(record.version) AND session_epoch = \(epoch) THEN version + 1 END,
            session_epoch = \(record.sessionEpoch),
            email = \(record.email?.address), email_proof = \(record.email?.proof?.name),
            email_proven_at = \(record.emailProvenAt), initial_email = \(record.initialEmail),
            phone_number = \(record.phoneNumber),
            unproven_phone_number = \(record.unprovenPhoneNumber),
            display_name = \(record.profile.displayName), photo_url = \(record.profile.photoURL),
            screen_name = \(record.profile.screenName), language = \(record.profile.language),
            time_zone = \(record.profile.timeZone), date_of_birth = \(record.profile.dateOfBirth),
            disabled = \(record.isDisabled), uses_custom_tokens = \(record.usesCustomTokens),
            custom_attributes = \(record.customAttributes), valid_since = \(record.validSince),
            created_at = \(record.createdAt), session_ended_at = \(record.sessionEndedAt)
        WHERE tenant_id = \(record.tenant) AND user_id = \(record.id)
        """
    }

    /// Raises 22012 (division by zero) unless the user exists and holds `version`.
    static func assertVersion(_ version: Int64, of id: UserID, tenant: TenantID) -> SQL {
        """
        SELECT 1 / count(*) FROM users
        WHERE tenant_id = \(tenant) AND user_id = \(id) AND version = \(version)
        """
    }

    /// Raises 22012 (division by zero) unless the user exists, and is the one that `update` or `lock` made of `record`:
    /// not another that was made under its id since.
    static func assertRaised(_ record: UserRecord) -> SQL {
        """
        SELECT 1 / count(*) FROM users
        WHERE tenant_id = \(record.tenant) AND user_id = \(record.id)
            AND version = \(record.version + 1) AND session_epoch = \(record.sessionEpoch)
        """
    }

    /// Raises 22012 (division by zero) unless the row is as it was read; no other transaction changes it before this one ends.
    static func assertUnchanged(_ record: UserRecord) -> SQL {
        """
        SELECT 1 / count(*) FROM (
            SELECT FROM users
            WHERE tenant_id = \(record.tenant) AND user_id = \(record.id)
                AND version = \(record.version) AND session_epoch = \(record.sessionEpoch)
            FOR SHARE
        ) AS unchanged
        """
    }

    /// Takes the rows of several users for this transaction, in the order of their ids.
    static func hold(_ ids: [String], tenant: TenantID) -> SQL {
        """
        SELECT FROM users WHERE tenant_id = \(tenant) AND user_id = ANY(\(ids))
        ORDER BY user_id FOR UPDATE
        """
    }

    /// Takes the row for this transaction by raising its version; one that is not as it was read raises 23502.
    /// `assertRaised` must follow, as after `update`.
    static func lock(_ user: UserRecord) -> SQL {
        """
        UPDATE users SET version = CASE WHEN version = \(user.version) AND session_epoch = \(user.sessionEpoch)
            THEN version + 1 END
        WHERE tenant_id = \(user.tenant) AND user_id = \(user.id)
        """
    }

    /// Deletes the user and everything that hangs off the row; its claims go separately. Only after `lock`.
    static func delete(_ id: UserID, tenant: TenantID) -> SQL {
        "DELETE FROM users WHERE tenant_id = \(tenant) AND user_id = \(id)"
    }

    /// Merges many sign-in and refresh times into one statement. Times never move backwards; unknown users are skipped, and
    /// accounts that were made under the uid of one that was used.
    ///
    /// - `epochs`: of the accounts that were used, at most `ActivityBuffer.epochRiseMax` below those of now.
    static func touch(
        tenants: [String],
        ids: [String],
        epochs: [Int64],
        signedInAt: [PostgresTimestamp?],
        refreshedAt: [PostgresTimestamp]
    ) -> SQL {
        """
        UPDATE users SET
            last_login_at = greatest(users.last_login_at, touched.signed_in_at),
            last_refresh_at = greatest(users.last_refresh_at, touched.refreshed_at)
        FROM unnest(\(tenants), \(ids), \(epochs), \(signedInAt), \(refreshedAt))
            AS touched (tenant_id, user_id, session_epoch, signed_in_at, refreshed_at)
        WHERE users.tenant_id = touched.tenant_id AND users.user_id = touched.user_id
            AND users.session_epoch - touched.session_epoch BETWEEN 0 AND \(ActivityBuffer.epochRiseMax)
        """
    }
}

extension UserRow {
    /// As `insert`, of many.
    static func insertMany(_ records: [UserRecord], tenant: TenantID) -> SQL {
        """
        INSERT INTO users (tenant_id, user_id, version, session_epoch,
            email, email_proof, email_proven_at, initial_email, phone_number, unproven_phone_number,
            display_name, photo_url, screen_name, language, time_zone, date_of_birth,
            disabled, uses_custom_tokens, custom_attributes, valid_since, created_at, last_login_at, last_refresh_at)
        SELECT \(tenant), new.* FROM \(unnested(records)) AS new
        """
    }

    /// As `update`, of many, and the time of the last sign-in where it is later. `assertAllRaised` must follow.
    ///
    /// - `epochs`: those that were read, in the order of `records`.
    static func updateMany(_ records: [UserRecord], epochs: [Int64], tenant: TenantID) -> SQL {
        """
        UPDATE users SET
            version = CASE WHEN users.version = new.version AND users.session_epoch = new.epoch_before
                THEN users.version + 1 END,
            session_epoch = new.session_epoch, email = new.email, email_proof = new.email_proof,
            email_proven_at = new.email_proven_at, initial_email = new.initial_email,
            phone_number = new.phone_number, unproven_phone_number = new.unproven_phone_number,
            display_name = new.display_name, photo_url = new.photo_url, screen_name = new.screen_name,
            language = new.language, time_zone = new.time_zone, date_of_birth = new.date_of_birth,
            disabled = new.disabled, uses_custom_tokens = new.uses_custom_tokens,
            custom_attributes = new.custom_attributes, valid_since = new.valid_since, created_at = new.created_at,
            last_login_at = greatest(users.last_login_at, new.last_login_at)
        FROM \(unnested(records, and: ", \(epochs)")) AS new (user_id, version, session_epoch,
            email, email_proof, email_proven_at, initial_email, phone_number, unproven_phone_number,
            display_name, photo_url, screen_name, language, time_zone, date_of_birth,
            disabled, uses_custom_tokens, custom_attributes, valid_since, created_at, last_login_at, last_refresh_at,
            epoch_before)
        WHERE users.tenant_id = \(tenant) AND users.user_id = new.user_id
        """
    }

    /// As `assertRaised`, of each of many.
    static func assertAllRaised(_ records: [UserRecord], tenant: TenantID) -> SQL {
        """
        SELECT 1 / (count(*) = \(Int64(records.count)))::integer
        FROM users JOIN unnest(\(records.map(\.id)), \(records.map(\.version)), \(records.map(\.sessionEpoch)))
            AS old (user_id, version, session_epoch)
            ON users.user_id = old.user_id AND users.version = old.version + 1
                AND users.session_epoch = old.session_epoch
        WHERE users.tenant_id = \(tenant)
        """
    }

    /// The columns of `insert` after the tenant, in their order, and what else there is of each.
    private static func unnested(_ records: [UserRecord], and more: SQL = "") -> SQL {
        """
        unnest(\(records.map(\.id)), \(records.map(\.version)), \(records.map(\.sessionEpoch)),
            \(records.map { $0.email?.address.raw }), \(records.map { $0.email?.proof?.name }),
            \(records.map { $0.emailProvenAt }), \(records.map(\.initialEmail)),
            \(records.map { $0.phoneNumber }), \(records.map { $0.unprovenPhoneNumber }),
            \(records.map(\.profile.displayName)), \(records.map(\.profile.photoURL)),
            \(records.map(\.profile.screenName)), \(records.map(\.profile.language)),
            \(records.map(\.profile.timeZone)), \(records.map(\.profile.dateOfBirth)),
            \(records.map(\.isDisabled)), \(records.map(\.usesCustomTokens)), \(records.map(\.customAttributes)),
            \(records.map(\.validSince)), \(records.map(\.createdAt)),
            \(records.map { $0.lastLoginAt }), \(records.map { $0.lastRefreshAt })\(more))
        """
    }
}

extension UserRow {
    /// In the order of their ids.
    static func after(_ id: UserID?, limit: Int64, tenant: TenantID) -> Query<UserRow> {
        // No id is empty, so every id comes after the empty text.
        """
        \(select) FROM (
            SELECT tableoid, * FROM users WHERE tenant_id = \(tenant) AND user_id > \(id?.rawValue ?? "")
            ORDER BY user_id LIMIT \(limit)
        ) AS users \(joins)
        ORDER BY users.user_id
        """
    }

    static func page(by order: UserOrder, limit: Int64, offset: Int64, tenant: TenantID) -> Query<UserRow> {
        """
        \(select) FROM (
            SELECT tableoid, * FROM users WHERE tenant_id = \(tenant)
            ORDER BY \(order.clause) LIMIT \(limit) OFFSET \(offset)
        ) AS users \(joins)
        ORDER BY \(order.clause)
        """
    }

    static func count(tenant: TenantID) -> Query<Int64?> {
        Query("SELECT count(*) FROM users WHERE tenant_id = \(tenant)")
    }

    /// Deletes every account of the tenant, with one event each. Crosses users, which a distributed database would not do.
    static func deleteAll(tenant: TenantID, at now: Timestamp) -> SQL {
        """
        WITH deleted AS (DELETE FROM users WHERE tenant_id = \(tenant) RETURNING tenant_id, user_id)
        INSERT INTO account_events (tenant_id, user_id, event_id, occurred_at, kind, rule)
        SELECT tenant_id, user_id, gen_random_uuid(), \(now), \(AccountEvent.Kind.userDeleted),
            \(Rule.accountDeleted)
        FROM deleted
        """
    }

    /// Sets the time of the last sign-in to whatever an administrator says, also to an earlier one.
    static func setLastLogin(_ instant: Timestamp, of id: UserID, tenant: TenantID) -> SQL {
        """
        UPDATE users SET last_login_at = \(instant)
        WHERE tenant_id = \(tenant) AND user_id = \(id)
        """
    }
}

extension AccountWrite.Companion {
    /// The time of the last sign-in, which is otherwise written behind.
    package static func lastLogin(_ instant: Timestamp, of id: UserID, tenant: TenantID) -> Self {
        Self([UserRow.setLastLogin(instant, of: id, tenant: tenant)])
    }

    /// Undoes a write that changes nothing of the account if the account is not as it was read. What ends sessions raises its version,
    /// so it comes before the write, which is undone, or after it, and finds what it wrote.
    package static func requireUnchanged(_ user: UserRecord) -> Self {
        Self([UserRow.assertUnchanged(user)])
    }
}

extension UserOrder {
    fileprivate var clause: SQL {
        switch (key, isDescending) {
        case (.id, false): "users.user_id"
        case (.id, true): "users.user_id DESC"
        case (.displayName, false): "users.display_name, users.user_id"
        case (.displayName, true): "users.display_name DESC NULLS LAST, users.user_id"
        case (.createdAt, false): "users.created_at, users.user_id"
        case (.createdAt, true): "users.created_at DESC, users.user_id"
        case (.lastLoginAt, false): "users.last_login_at, users.user_id"
        case (.lastLoginAt, true): "users.last_login_at DESC NULLS LAST, users.user_id"
        case (.email, false): "users.email, users.user_id"
        case (.email, true): "users.email DESC NULLS LAST, users.user_id"
        }
    }
}
