package import AccountLinking
package import Postgres

/// A calendar month in UTC. One partition of `account_events` stores its events.
package struct EventMonth: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Months since January of the year 0.
    private let number: Int64

    private init(number: Int64) {
        self.number = number
    }

    package init(containing instant: Timestamp) {
        let averageSeconds: Int64 = 2_629_746
        var number = 1970 * 12 + instant.secondsSinceEpoch / averageSeconds
        while EventMonth(number: number).start > instant { number -= 1 }
        while EventMonth(number: number + 1).start <= instant { number += 1 }
        self.init(number: number)
    }

    package var start: Timestamp {
        // The proleptic Gregorian calendar, in years that begin in March, so that the leap day is the last one.
        let (year, month) = (number / 12, number % 12)
        let shifted = month < 2 ? year - 1 : year
        let era = shifted / 400
        let yearOfEra = shifted % 400
        let dayOfYear = (153 * (month < 2 ? month + 10 : month - 2) + 2) / 5
        let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
        return Timestamp(secondsSinceEpoch: days * 86_400)
    }

    /// The first instant after the month.
    package var end: Timestamp { advanced(by: 1).start }

    package func advanced(by months: Int64) -> EventMonth { EventMonth(number: number + months) }

    /// The month in ISO 8601, such as `2026-12`.
    package var description: String { "\(Self.digits(number / 12, 4))-\(Self.digits(number % 12 + 1, 2))" }

    package static func < (lhs: Self, rhs: Self) -> Bool { lhs.number < rhs.number }

    private static func digits(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }

    /// The partition's name, such as `account_events_2026_12`.
    fileprivate var table: String {
        "account_events_\(Self.digits(number / 12, 4))_\(Self.digits(number % 12 + 1, 2))"
    }

    fileprivate var bounds: EventPartition.Bounds {
        EventPartition.Bounds(
            from: Self.text(of: AccountEvent.ID(firstAt: start)),
            to: Self.text(of: AccountEvent.ID(firstAt: end))
        )
    }

    /// Inverse of `table`.
    fileprivate init?(table: String) {
        let parts = table.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 4, let year = Int64(parts[2]), let month = Int64(parts[3]), (1...12).contains(month)
        else { return nil }
        self.init(number: year * 12 + month - 1)
        guard self.table == table else { return nil }
    }

    private static func text(of id: AccountEvent.ID) -> String {
        func hexadecimal(_ number: UInt64, _ width: Int) -> String {
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
        }
        let (time, rest) = (hexadecimal(id.high >> 32, 8), hexadecimal(id.high & 0xFFFF_FFFF, 8))
        return "\(time)-\(rest.prefix(4))-\(rest.suffix(4))-0000-000000000000"
    }
}

/// A partition of `account_events`.
struct EventPartition: RowDecodable {
    /// Ids in lower-case text, whose order is that of the ids. `to` is not included.
    struct Bounds: Hashable {
        let from: String
        let to: String

        func overlaps(_ other: Bounds) -> Bool { from < other.to && other.from < to }
    }

    let name: String
    /// `nil` for the default partition.
    let bounds: Bounds?

    init(row: inout RowDecoder) throws(PostgresError) {
        name = try row.next()
        bounds = Bounds(expression: try row.next())
    }

    /// The month whose events are exactly those of this partition; `nil` for any other partition.
    var month: EventMonth? {
        EventMonth(table: name).flatMap { $0.bounds == bounds ? $0 : nil }
    }

    static let all: Query<EventPartition> = """
        SELECT c.relname::text, pg_get_expr(c.relpartbound, c.oid)
        FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
        WHERE i.inhparent = '\(table: "account_events")'::regclass ORDER BY c.relname
        """

    static func missing(at now: Timestamp, from partitions: [EventPartition]) -> [EventMonth] {
        let current = EventMonth(containing: now)
        return (0...AccountStore.eventMonthsAhead).map(current.advanced).filter { month in
            !partitions.contains { $0.bounds?.overlaps(month.bounds) ?? false }
        }
    }

    /// The events of all months in the default partition, at most `countMax`.
    static func countOutside(countMax: Int64) -> Query<Int64> {
        "SELECT count(*) FROM (SELECT 1 FROM \(table: "account_events_default") LIMIT \(countMax)) AS found"
    }

    /// The checks that keep a month out of the default partition. Normally none: each ends with the creation of its
    /// month.
    static let checks: Query<String> = """
        SELECT conname::text FROM pg_constraint
        WHERE conrelid = '\(table: "account_events_default")'::regclass AND contype = 'c'
            AND conname ~ '^without_account_events_[0-9]+_[0-9]+$' ORDER BY conname
        """

    /// The events of a month in the default partition, at most `countMax`.
    static func countOutside(_ month: EventMonth, countMax: Int64) -> Query<Int64> {
        """
        SELECT count(*) FROM (
            SELECT 1 FROM \(table: "account_events_default")
            WHERE event_id >= \(AccountEvent.ID(firstAt: month.start))
                AND event_id < \(AccountEvent.ID(firstAt: month.end))
            LIMIT \(countMax)
        ) AS found
        """
    }
}

extension EventPartition.Bounds {
    /// Parses `FOR VALUES FROM ('…') TO ('…')`, as PostgreSQL prints it; `nil` for `DEFAULT`.
    init?(expression: String) {
        let prefix = "FOR VALUES FROM ("
        guard expression.hasPrefix(prefix), expression.hasSuffix(")") else { return nil }
        let bounds = expression.dropFirst(prefix.count).dropLast().split(separator: ") TO (")
        guard bounds.count == 2 else { return nil }
        func id(_ text: Substring) -> String { text.filter { $0 != "'" } }
        from = bounds[0] == "MINVALUE" ? "" : id(bounds[0])
        // Greater than every id.
        to = bounds[1] == "MAXVALUE" ? "g" : id(bounds[1])
    }
}

extension AccountStore {
    /// The result of `maintainEventPartitions`.
    package struct EventMonthChanges: Sendable, Hashable {
        package var created: [EventMonth] = []
        package var dropped: [EventMonth] = []
        /// Months that could not be created or dropped: another transaction held a lock, the default partition holds
        /// too many events, or the role of the server does not own the table. The next run tries again.
        package var postponed: [EventMonth] = []

        package init() {}
    }

    /// The months from the current one to the last that servers create ahead without a partition.
    package func monthsWithoutPartition(at now: Timestamp) async throws(PostgresError) -> [EventMonth] {
        EventPartition.missing(at: now, from: try await client.read(EventPartition.all))
    }

    /// Number of months that exist ahead of the current one.
    package static let eventMonthsAhead: Int64 = 2
    /// Sign-ins wait at most this long behind a change of partitions that waits for its lock.
    private static let limitLockWait = "SET LOCAL lock_timeout = '250ms'"
    /// Most events that are moved from the default partition when their month is created, and most events of other
    /// months there that PostgreSQL may read while sign-ins wait.
    static let movedEventsMax: Int64 = 10_000
    /// A month that begins later has no events yet, also those of servers whose clocks differ.
    private static let earlySeconds: Int64 = 86_400

    /// Creates the partitions of the current month and of the next ones, and drops the months that ended before
    /// `keepSince`.
    ///
    /// If several servers do so at once, one succeeds and the others find the result. A change takes an exclusive lock
    /// for an instant. If it does not get it at once, as while a backup reads the table, it is postponed.
    ///
    /// If the default partition holds many events, a month is created only before its last day, see `createBesideMany`.
    ///
    /// - `keepSince`: the beginning of the retention; `nil` drops no month.
    /// - Throws: a database error, after all other months were tried.
    package func maintainEventPartitions(
        now: Timestamp,
        keepSince: Timestamp?
    ) async throws(PostgresError) -> EventMonthChanges {
        let partitions = try await client.read(EventPartition.all)
        var changes = EventMonthChanges()
        var failure: PostgresError?
        // A check that an interrupted run left would refuse sign-ins once its month begins.
        for check in try await client.read(EventPartition.checks) {
            do throws(PostgresError) {
                try await dropCheck(check)
            } catch  where !error.postponesPartition {
                failure = failure ?? error
            } catch {}
        }
        var isSlow = false
        for month in EventPartition.missing(at: now, from: partitions) {
            do throws(PostgresError) {
                if isSlow { throw PostgresError(.server(.queryCanceled), "the month before took too long") }
                if try await create(month, at: now) { changes.created.append(month) }
            } catch  where error.postponesPartition {
                isSlow = error.sqlState == .queryCanceled
                changes.postponed.append(month)
            } catch {
                failure = failure ?? error
            }
        }
        for month in partitions.compactMap(\.month) where keepSince.map({ month.end <= $0 }) ?? false {
            do throws(PostgresError) {
                try await client.transaction("event-month-drop") { tx throws(PostgresError) in
                    try tx.execute(script: Self.limitLockWait)
                    try tx.execute(script: "DROP TABLE IF EXISTS \(month.table)")
                }
                changes.dropped.append(month)
            } catch  where error.postponesPartition {
                changes.postponed.append(month)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return changes
    }

    /// Creates the partition of a month, with the events that the default partition caught.
    /// - Returns: `false` if another server was faster.
    private func create(_ month: EventMonth, at now: Timestamp) async throws(PostgresError) -> Bool {
        let countMax = Self.movedEventsMax + 1
        let (all, caught) = try await client.read(
            EventPartition.countOutside(countMax: countMax),
            EventPartition.countOutside(month, countMax: countMax)
        )
        // Citus reads the events of each shard, which are fewer, and has not been seen to add such a check.
        if (all.first ?? 0) > Self.movedEventsMax, client.engine != .citus {
            guard caught.first == 0, month.start > now.adding(seconds: Self.earlySeconds) else {
                throw PostgresError(.server(.lockNotAvailable), "the default partition holds too many events")
            }
            return try await createBesideMany(month)
        }
        guard (caught.first ?? 0) <= Self.movedEventsMax else {
            throw PostgresError(.server(.lockNotAvailable), "the default partition holds too many events")
        }
        return try await create(month, movesEvents: caught.first != 0)
    }

    /// Creates the partition of a future month beside a default partition with many events.
    ///
    /// PostgreSQL reads the whole default partition for an event of the new month, while sign-ins wait. A validated
    /// check spares it that. Its validation reads the same events, but sign-ins go on. If that takes longer than
    /// `PostgresConfiguration.writeStatementTimeout`, the month is postponed.
    ///
    /// The check refuses events of the month as long as it has no partition, so this is only for a month without
    /// events.
    private func createBesideMany(_ month: EventMonth) async throws(PostgresError) -> Bool {
        let check = "without_\(month.table)"
        let (from, to) = (month.bounds.from, month.bounds.to)
        let table = "account_events_default"
        do throws(PostgresError) {
            try await change([
                """
                ALTER TABLE \(table) DROP CONSTRAINT IF EXISTS \(check),
                    ADD CONSTRAINT \(check) CHECK (event_id < '\(from)' OR event_id >= '\(to)') NOT VALID
                """
            ])
            try await change(["ALTER TABLE \(table) VALIDATE CONSTRAINT \(check)"])
            let isCreated = try await create(
                month,
                movesEvents: false,
                // Does nothing, but fails if another server has dropped the check meanwhile.
                before: ["ALTER TABLE \(table) VALIDATE CONSTRAINT \(check)"],
                after: ["ALTER TABLE \(table) DROP CONSTRAINT \(check)"]
            )
            if !isCreated { try await dropCheck(check) }
            return isCreated
        } catch {
            // If that fails too, the next run does it, at least a day before the month begins.
            try? await dropCheck(check)
            throw error
        }
    }

    private func dropCheck(_ check: String) async throws(PostgresError) {
        try await change(["ALTER TABLE account_events_default DROP CONSTRAINT IF EXISTS \(check)"])
    }

    /// Runs `statements` in a transaction that waits for a lock as long as sign-ins may wait behind it.
    ///
    /// They are sent one by one: Citus refuses several in one message.
    private func change(_ statements: [String]) async throws(PostgresError) {
        try await client.transaction("event-month-create") { tx throws(PostgresError) in
            try tx.execute(script: Self.limitLockWait)
            for statement in statements { try tx.execute(script: statement) }
        }
    }

    /// - `before`, `after`: statements before and after the partition is attached.
    private func create(
        _ month: EventMonth,
        movesEvents: Bool,
        before: [String] = [],
        after: [String] = []
    ) async throws(PostgresError) -> Bool {
        let (table, bounds) = (month.table, month.bounds)
        let range = "event_id >= '\(bounds.from)' AND event_id < '\(bounds.to)'"
        // The first lock stands against another server, the second against events that arrive meanwhile. Requests need
        // the default partition only for a month without partition.
        var statements = [
            "LOCK TABLE ONLY account_events IN SHARE UPDATE EXCLUSIVE MODE",
            "LOCK TABLE account_events_default IN ACCESS EXCLUSIVE MODE",
        ]
        statements += before
        statements.append("CREATE TABLE \(table) (LIKE account_events INCLUDING ALL)")
        if movesEvents {
            statements += [
                "INSERT INTO \(table) SELECT * FROM account_events_default WHERE \(range)",
                "DELETE FROM account_events_default WHERE \(range)",
            ]
        }
        statements.append(
            "ALTER TABLE account_events ATTACH PARTITION \(table) FOR VALUES FROM ('\(bounds.from)') TO ('\(bounds.to)')"
        )
        statements += after
        do throws(PostgresError) {
            try await change(statements)
            return true
        } catch  where error.sqlState == .duplicateTable || error.sqlState == .uniqueViolation {
            return false
        }
    }
}

extension PostgresError {
    /// True if a change of partitions is postponed: another transaction holds a lock or stored an event of the month,
    /// or the role does not own the table. The default partition takes the events meanwhile.
    fileprivate var postponesPartition: Bool {
        let states: [SQLState] = [
            .lockNotAvailable, .queryCanceled, .deadlockDetected, .checkViolation, .insufficientPrivilege,
            // Another server dropped the check of a month.
            .undefinedObject,
        ]
        return sqlState.map(states.contains) ?? false
    }
}
