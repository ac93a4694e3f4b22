package import AccountLinking
package import Postgres

/// The facts to check a password.
package struct PasswordFacts: Sendable {
    /// The account that owns the address.
    package var user: UserRecord?
    /// `nil` if the account has no password.
    package var passwordHash: String?
    package var counts = FailedAttemptCounts()
}

/// Counts of wrong passwords for an address that apply to one client.
package struct FailedAttemptCounts: Sendable {
    /// The network that an account was signed in to from.
    package struct KnownNetwork: Sendable, Hashable {
        /// The account's session epoch then. When those sessions end, the network is no longer known.
        package var epoch: Int64
        package var until: Timestamp
    }

    package var attempts: [AttemptCounter: FailedAttempts] = [:]
    /// `nil` where no account was.
    package var knownNetwork: KnownNetwork?

    package subscript(count: AttemptCounter) -> FailedAttempts { attempts[count] ?? .none }

    init() {}

    init(_ rows: [FailedAttemptsRow]) {
        for row in rows {
            attempts[row.count] = row.attempts
            if row.count == .network { knownNetwork = row.knownNetwork }
        }
    }
}

/// A client that presents passwords, as keyed digests for the counts.
package struct AttemptSource: Sendable, Hashable {
    package var network: String
    /// The device whose secret the client presents.
    package var device: String?

    package init(network: String, device: String? = nil) {
        self.network = network
        self.device = device
    }
}

/// A secret that a client may guess. Wrong guesses are counted and lock it.
package enum ThrottleKey: Sendable, Hashable {
    /// The password of an address, with or without an account, guessed by unknown clients together.
    case password(of: EmailAddress)
    /// The same, from one network.
    case passwordFrom(network: String, of: EmailAddress)
    /// The same, on one known device.
    case passwordOn(device: String, of: EmailAddress)
    /// The code of any authenticator app of the user.
    case totpCode(of: UserID)
    /// The code sent to any second-factor number of the user. Separate from apps, so that guesses lock only one of the
    /// two.
    case messageCode(of: UserID)

    /// The secret that a count of `address` counts for `source`; `nil` for a device if the client shows none.
    package init?(_ count: AttemptCounter, of address: EmailAddress, by source: AttemptSource) {
        switch count {
        case .device:
            guard let device = source.device else { return nil }
            self = .passwordOn(device: device, of: address)
        case .network: self = .passwordFrom(network: source.network, of: address)
        case .strangers: self = .password(of: address)
        }
    }

    /// No address has a control character.
    fileprivate var name: String {
        switch self {
        case .password(let address): address.canonical
        case .passwordFrom(let network, let address): "network\u{1F}" + network + "\u{1F}" + address.canonical
        case .passwordOn(let device, let address): "device\u{1F}" + device + "\u{1F}" + address.canonical
        case .totpCode(let user): "totp\u{1F}" + user.rawValue
        case .messageCode(let user): "message\u{1F}" + user.rawValue
        }
    }

    /// The address whose network or device is counted, in a row of `password_sources`; `nil`: in `password_attempts`.
    private var address: EmailAddress? {
        switch self {
        case .passwordFrom(_, let address), .passwordOn(_, let address): address
        case .password, .totpCode, .messageCode: nil
        }
    }

    fileprivate var freeMax: Int {
        switch self {
        case .password: PasswordThrottling.freeMax(of: .strangers)
        case .passwordFrom: PasswordThrottling.freeMax(of: .network)
        case .passwordOn: PasswordThrottling.freeMax(of: .device)
        case .totpCode, .messageCode: PasswordThrottling.freeMax
        }
    }

    fileprivate var digest: SQL { sha256(name) }

    fileprivate var table: StaticString { address == nil ? "password_attempts" : "password_sources" }

    /// The columns of the key, after `tenant_id`.
    fileprivate var columns: SQL { address == nil ? "address_digest" : "address_digest, source_digest" }

    fileprivate var values: SQL {
        guard let address else { return digest }
        return "\(sha256(address.canonical)), \(digest)"
    }

    /// True for the row of the secret in its tenant.
    fileprivate var condition: SQL {
        guard let address else { return "address_digest = \(digest)" }
        return "address_digest = \(sha256(address.canonical)) AND source_digest = \(digest)"
    }
}

/// Immutable, unlike a function of a text: Citus computes it before it chooses the shard.
private func sha256(_ text: String) -> SQL { "sha256(\(Array(text.utf8)))" }

extension [SQL] {
    fileprivate func joined(by separator: SQL) -> SQL {
        var text = first ?? ""
        for item in dropFirst() { text.append("\(separator)\(item)") }
        return text
    }
}

/// One of the counts of an address.
struct FailedAttemptsRow: RowDecodable {
    let count: AttemptCounter
    let attempts: FailedAttempts
    let knownNetwork: FailedAttemptCounts.KnownNetwork?

    private static let counts: [AttemptCounter] = [.strangers, .network, .device]

    init(row: inout RowDecoder) throws(PostgresError) {
        let place = Int(try row.next(Int64.self))
        attempts = FailedAttempts(failures: Int(try row.next(Int32.self)), isLocked: try row.next(Bool.self))
        let epoch = try row.next(Int64?.self)
        let until: Timestamp? = try row.next()
        guard Self.counts.indices.contains(place - 1) else {
            throw PostgresError(.decoding, "no count has the place \(place)")
        }
        count = Self.counts[place - 1]
        knownNetwork = epoch.flatMap { epoch in until.map { .init(epoch: epoch, until: $0) } }
    }

    /// The counts of `address` that apply to `source`.
    static func of(
        _ address: EmailAddress,
        by source: AttemptSource,
        tenant: TenantID,
        at now: Timestamp
    ) -> Query<FailedAttemptsRow> {
        let own = ThrottleKey.password(of: address).digest
        var (place, sources): (SQL, [SQL]) = ("CASE source_digest", [])
        for (number, count) in counts.enumerated() where count != .strangers {
            guard let digest = ThrottleKey(count, of: address, by: source)?.digest else { continue }
            place.append(" WHEN \(digest) THEN \(Int64(number + 1))")
            sources.append(digest)
        }
        return Query(
            """
            SELECT \(Int64(1)), failures, locked_until > \(now), NULL::bigint, NULL::timestamptz
            FROM \(table: "password_attempts")
            WHERE tenant_id = \(tenant) AND address_digest = \(own)
            UNION ALL
            SELECT \(place) END, failures, locked_until > \(now), known_epoch, known_until
            FROM password_sources
            WHERE tenant_id = \(tenant) AND address_digest = \(own) AND source_digest IN (\(sources.joined(by: ", ")))
            """
        )
    }
}

struct PasswordAttemptRow: RowDecodable {
    let attempts: FailedAttempts

    init(row: inout RowDecoder) throws(PostgresError) {
        attempts = FailedAttempts(failures: Int(try row.next(Int32.self)), isLocked: try row.next(Bool.self))
    }

    static func of(_ key: ThrottleKey, tenant: TenantID, at now: Timestamp) -> Query<PasswordAttemptRow> {
        """
        SELECT failures, locked_until > \(now) FROM \(table: key.table)
        WHERE tenant_id = \(tenant) AND \(key.condition)
        """
    }

    /// Counts a wrong password, unless the address is locked. One statement counts each of many concurrent attempts.
    /// `PasswordThrottling` defines the resulting lock.
    static func count(_ key: ThrottleKey, tenant: TenantID, at now: Timestamp) -> SQL {
        """
        \(counting(key, tenant: tenant, at: now)), failures = \(next(at: now))
        WHERE counted.locked_until <= \(now)
        """
    }

    /// Counts a wrong password, or raises 23502 if the address is locked.
    static func countUnlocked(_ key: ThrottleKey, tenant: TenantID, at now: Timestamp) -> SQL {
        """
        \(counting(key, tenant: tenant, at: now)),
            failures = CASE WHEN counted.locked_until <= \(now) THEN \(next(at: now)) END
        """
    }

    /// The count after this wrong password.
    private static func next(at now: Timestamp) -> SQL {
        "CASE WHEN counted.forgotten_at > \(now) THEN counted.failures + 1 ELSE 1 END"
    }

    /// Without the count of a row that exists, which must follow. No arrays: Citus 13.2 crashes at `($1)[2]` here.
    private static func counting(_ key: ThrottleKey, tenant: TenantID, at now: Timestamp) -> SQL {
        let standings = (1...PasswordThrottling.failuresMax).map {
            PasswordThrottling.standing(afterFailures: $0, at: now, freeMax: key.freeMax)
        }
        /// The time after the next failure. Names only the counts at which it changes, the highest first.
        func time(_ path: KeyPath<PasswordThrottling.Standing, Timestamp>) -> SQL {
            var time: SQL = "CASE WHEN counted.forgotten_at <= \(now) THEN \(standings[0][keyPath: path])"
            for place in standings.indices.dropFirst().reversed()
            where standings[place][keyPath: path] != standings[place - 1][keyPath: path] {
                time.append(
                    "\n        WHEN counted.failures >= \(Int32(place)) THEN \(standings[place][keyPath: path])"
                )
            }
            time.append(" ELSE \(standings[0][keyPath: path]) END")
            return time
        }
        return """
            INSERT INTO \(SQL(literal: key.table)) AS counted
                (tenant_id, \(key.columns), failures, locked_until, forgotten_at)
            VALUES (\(tenant), \(key.values), 1, \(standings[0].lockedUntil),
                \(standings[0].forgottenAt))
            ON CONFLICT (tenant_id, \(key.columns)) DO UPDATE SET
                locked_until = \(time(\.lockedUntil)),
                forgotten_at = \(time(\.forgottenAt))
            """
    }

    /// Raises 22012 (division by zero) while one of them is locked.
    static func assertUnlocked(_ keys: [ThrottleKey], tenant: TenantID, at now: Timestamp) -> SQL {
        let locked: [SQL] = keys.map { key in
            """
            FROM \(SQL(literal: key.table))
            WHERE tenant_id = \(tenant) AND \(key.condition) AND locked_until > \(now)
            """
        }
        if locked.count == 1 { return "SELECT \(SQL.assertNone) \(locked[0])" }
        return """
            SELECT \(SQL.assertNone) FROM (
            SELECT \(locked.joined(by: "\nUNION ALL\nSELECT "))
            ) AS locked
            """
    }

    static func clear(_ key: ThrottleKey, tenant: TenantID) -> SQL {
        """
        DELETE FROM \(SQL(literal: key.table))
        WHERE tenant_id = \(tenant) AND \(key.condition)
        """
    }

    /// Deletes every known network and device of the address.
    static func clearSources(of address: EmailAddress, tenant: TenantID) -> SQL {
        """
        DELETE FROM password_sources
        WHERE tenant_id = \(tenant) AND address_digest = \(sha256(address.canonical))
        """
    }

    static func deleteAllSources(tenant: TenantID) -> SQL {
        "DELETE FROM password_sources WHERE tenant_id = \(tenant)"
    }

    /// Records a sign-in from a network. The count of the network stays.
    static func remember(
        _ network: String,
        of address: EmailAddress,
        _ known: FailedAttemptCounts.KnownNetwork,
        tenant: TenantID,
        at now: Timestamp
    ) -> SQL {
        let key = ThrottleKey.passwordFrom(network: network, of: address)
        return """
            INSERT INTO password_sources
                (tenant_id, \(key.columns), failures, locked_until, forgotten_at, known_epoch, known_until)
            VALUES (\(tenant), \(key.values), 0,
                \(PasswordThrottling.neverLocked), \(now), \(known.epoch), \(known.until))
            ON CONFLICT (tenant_id, \(key.columns)) DO UPDATE
                SET known_epoch = excluded.known_epoch, known_until = excluded.known_until
            """
    }

    /// Deletes all networks of the address but the most recent ones. Skips rows that another writer holds. `ARRAY` takes
    /// them once: a join may repeat a subquery that locks.
    static func forgetOldNetworks(of address: EmailAddress, tenant: TenantID) -> SQL {
        let digest = sha256(address.canonical)
        return """
            DELETE FROM password_sources
            WHERE tenant_id = \(tenant) AND address_digest = \(digest) AND source_digest = ANY (ARRAY(
                SELECT source_digest FROM password_sources
                WHERE tenant_id = \(tenant) AND address_digest = \(digest) AND known_until IS NOT NULL
                ORDER BY known_until DESC, source_digest OFFSET \(Int64(PasswordThrottling.knownNetworksMax))
                FOR UPDATE SKIP LOCKED
            ))
            """
    }
}

extension AccountWrite.SideWrite {
    /// Undoes the write if the password is locked by now, although the guess was right.
    package static func requireUnlocked(_ keys: [ThrottleKey], tenant: TenantID, at now: Timestamp) -> Self {
        Self([PasswordAttemptRow.assertUnlocked(keys, tenant: tenant, at: now)])
    }

    /// Resets the counts of wrong guesses.
    package static func resetFailedAttempts(at key: ThrottleKey, tenant: TenantID) -> Self {
        Self([PasswordAttemptRow.clear(key, tenant: tenant)])
    }

    /// Records a sign-in to `user` with `address` from the network of `source`.
    package static func remember(
        _ source: AttemptSource,
        of address: EmailAddress,
        for user: UserRecord,
        at now: Timestamp
    ) -> Self {
        let known = FailedAttemptCounts.KnownNetwork(
            epoch: user.sessionEpoch,
            until: now.adding(seconds: PasswordThrottling.knownSeconds)
        )
        return Self([
            PasswordAttemptRow.remember(source.network, of: address, known, tenant: user.tenant, at: now),
            PasswordAttemptRow.forgetOldNetworks(of: address, tenant: user.tenant),
        ])
    }
}

extension AccountStore {
    /// The counts of wrong guesses. One round trip.
    package func failedAttempts(
        at key: ThrottleKey,
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> FailedAttempts {
        try await client.read(PasswordAttemptRow.of(key, tenant: tenant, at: now)).first?.attempts ?? .none
    }

    /// The counts of wrong passwords for `address` that apply to `source`. One round trip.
    package func passwordCounts(
        of address: EmailAddress,
        by source: AttemptSource,
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> FailedAttemptCounts {
        FailedAttemptCounts(try await client.read(FailedAttemptsRow.of(address, by: source, tenant: tenant, at: now)))
    }

    /// Counts a wrong password in each of `keys`, in their order: one or two counts.
    /// - Returns: `false` if one of them is locked. The password is then ignored.
    package func countWrongPassword(
        _ keys: [ThrottleKey],
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> Bool {
        var batch = WriteBatch("password-attempt")
        guard keys.count == 2 else {
            for key in keys.prefix(1) {
                batch.append(PasswordAttemptRow.count(key, tenant: tenant, at: now))
            }
            return try await client.write(batch).affectedRows(0) == 1
        }
        // One transaction: both are counted or none. Every writer that needs both locks the row of the first one first.
        batch.append(keys.map { PasswordAttemptRow.countUnlocked($0, tenant: tenant, at: now) })
        do {
            try await client.write(batch)
            return true
        } catch {
            if error.saysFactsMoved { return false }
            throw error
        }
    }
}
