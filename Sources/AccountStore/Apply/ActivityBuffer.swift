package import AccountLinking
package import Postgres
import Synchronization

/// Buffers sign-in and refresh times, uses of sessions and counts of refused sign-ins, merged over many callers, to be
/// written to the database.
///
/// They are the only acknowledged data that a crash may lose: at most the last second. Readers in the same process see
/// the times of users at once, other processes after the next flush. Uses and counts are visible after the flush.
///
/// Refusals are counted here and not when the request is answered. An attacker can only add to a count, and the
/// response time does not reveal whether an address has an account.
package final class ActivityBuffer: Sendable {
    fileprivate struct Key: Hashable, Comparable {
        var tenant: TenantID
        var user: UserID

        static func < (a: Self, b: Self) -> Bool {
            (a.tenant.rawValue, a.user.rawValue) < (b.tenant.rawValue, b.user.rawValue)
        }
    }

    fileprivate struct Times {
        /// Epoch of the account that was used. Another account with the same uid has another epoch.
        var epoch: Int64
        var signedInAt: Timestamp?
        var refreshedAt: Timestamp

        /// Adds the times of the same account. Keeps the earlier epoch, because an account's epoch only rises.
        mutating func merge(_ other: Times) {
            epoch = min(epoch, other.epoch)
            refreshedAt = max(refreshedAt, other.refreshedAt)
            guard let signedInAt = other.signedInAt else { return }
            self.signedInAt = max(self.signedInAt ?? signedInAt, signedInAt)
        }
    }

    /// The times that one flush writes, and the batch that collects times after it.
    ///
    /// A read holds the batch that was the oldest one when it began. A batch that is written meanwhile stays reachable
    /// from there until the read ends.
    fileprivate final class Batch: Sendable {
        private struct State {
            var times: [Key: Times] = [:]
            var next: Batch?
        }

        private let state = Mutex(State())

        /// If two accounts have the same uid, only the one used last counts: the other was deleted.
        func add(_ times: Times, of key: Key) {
            state.withLock { state in
                guard let known = state.times[key] else {
                    if state.times.count < usersMax { state.times[key] = times }
                    return
                }
                if isSameAccount(times.epoch, after: known.epoch) || isSameAccount(known.epoch, after: times.epoch) {
                    state.times[key]?.merge(times)
                } else if times.refreshedAt >= known.refreshedAt {
                    state.times[key] = times
                }
            }
        }

        func remove(_ key: Key) { state.withLock { $0.times[key] = nil } }

        /// Ends the batch.
        func follow(with next: Batch) { state.withLock { $0.next = next } }

        func times(of key: Key) -> (times: Times?, next: Batch?) {
            state.withLock { ($0.times[key], $0.next) }
        }

        var all: [Key: Times] { state.withLock { $0.times } }
    }

    private struct SessionKey: Hashable, Comparable {
        var user: Key
        var session: [UInt8]

        static func < (a: Self, b: Self) -> Bool {
            a.user == b.user ? a.session.lexicographicallyPrecedes(b.session) : a.user < b.user
        }
    }

    private struct RefusalKey: Hashable {
        var user: Key
        var day: Int32
        var reason: String
    }

    private struct Refusals {
        var count: Int64 = 0
        var firstAt: Timestamp
        var lastAt: Timestamp

        mutating func merge(_ other: Refusals) {
            count += other.count
            firstAt = min(firstAt, other.firstAt)
            lastAt = max(lastAt, other.lastAt)
        }
    }

    /// Limit of the rise of an account's epoch before its times are written. A new account's epoch is a random 52-bit
    /// number.
    static let epochRiseMax: Int64 = 1_000_000

    /// True if `epoch` can be a later epoch of the account that had `earlier`.
    fileprivate static func isSameAccount(_ epoch: Int64, after earlier: Int64) -> Bool {
        (0...epochRiseMax).contains(epoch - earlier)
    }

    /// Limit of the waiting users. More means that the database is unavailable: further times are dropped.
    private static let usersMax = 100_000
    private static let rowsPerStatement = 1000

    private struct State {
        /// Collects times for the next flush.
        var waiting: Batch
        /// The batch that a flush is writing; `waiting` if there is none.
        var oldest: Batch
        var sessions: [SessionKey: Timestamp] = [:]
        var refusals: [RefusalKey: Refusals] = [:]

        init() {
            waiting = Batch()
            oldest = waiting
        }

        mutating func add(_ usedAt: Timestamp, of key: SessionKey) {
            guard sessions.count < usersMax || sessions[key] != nil else { return }
            sessions[key] = max(sessions[key] ?? usedAt, usedAt)
        }

        mutating func add(_ more: Refusals, of key: RefusalKey) {
            guard refusals.count < usersMax || refusals[key] != nil else { return }
            refusals[key, default: Refusals(firstAt: more.firstAt, lastAt: more.lastAt)].merge(more)
        }
    }

    private let state = Mutex(State())

    init() {}

    /// Records that a sign-in or a refresh minted tokens for a user.
    package func note(_ user: UserRecord, at now: Timestamp, isSignIn: Bool) {
        let times = Times(epoch: user.sessionEpoch, signedInAt: isSignIn ? now : nil, refreshedAt: now)
        state.withLock { $0.waiting.add(times, of: Key(tenant: user.tenant, user: user.id)) }
    }

    /// Records the use of a session, unless the stored time is less than `precisionSeconds` old.
    package func noteUse(of session: SessionRecord, at now: Timestamp, precisionSeconds: Int64) {
        guard now >= session.times.lastUsedAt.adding(seconds: precisionSeconds) else { return }
        let key = SessionKey(user: Key(tenant: session.tenant, user: session.user), session: session.id)
        state.withLock { $0.add(now, of: key) }
    }

    /// Counts a refused sign-in to an account.
    package func noteRefusal(of user: UserRecord, _ reason: SignInRefusals.Reason, at now: Timestamp) {
        let key = RefusalKey(user: Key(tenant: user.tenant, user: user.id), day: now.dayNumber, reason: reason.name)
        state.withLock { $0.add(Refusals(count: 1, firstAt: now, lastAt: now), of: key) }
    }

    /// The times that the database may not have yet. Take them before a read, and add them to what it returns: if a
    /// flush ends between the two, its times are still there.
    func unwritten() -> UnwrittenTimes { UnwrittenTimes(oldest: state.withLock { $0.oldest }) }

    /// Writes the buffered data. Call one flush at a time.
    /// - Throws: a database error. Data that was not written stays for the next flush. If the connection is lost during
    ///   the commit, refusals of that second may be counted twice.
    package func flush(to store: AccountStore) async throws(PostgresError) {
        try await flushTimes(to: store)
        try await flushSessions(to: store)
        try await flushRefusals(to: store)
    }

    private func flushTimes(to store: AccountStore) async throws(PostgresError) {
        let taken = state.withLock { state in
            let taken = state.waiting
            state.waiting = Batch()
            taken.follow(with: state.waiting)
            return taken
        }
        defer { state.withLock { $0.oldest = $0.waiting } }
        // Sorted by key, so that two servers that flush the same users do not deadlock.
        try await write(taken.all.sorted { $0.key < $1.key }, to: store) { slice in
            UserRow.touch(
                tenants: slice.map(\.key.tenant.rawValue),
                ids: slice.map(\.key.user.rawValue),
                epochs: slice.map(\.value.epoch),
                signedInAt: slice.map { $0.value.signedInAt?.stored },
                refreshedAt: slice.map(\.value.refreshedAt.stored)
            )
        } restoring: { entry, state in
            state.waiting.add(entry.value, of: entry.key)
            // Reads in progress find it in the later batch. Without this, they hold a copy for each failed flush.
            taken.remove(entry.key)
        }
    }

    private func flushSessions(to store: AccountStore) async throws(PostgresError) {
        let taken = state.withLock { state in
            defer { state.sessions = [:] }
            return state.sessions
        }
        // Sorted by key, as above.
        try await write(taken.sorted { $0.key < $1.key }, to: store) { slice in
            SessionRow.touch(
                tenants: slice.map(\.key.user.tenant.rawValue),
                users: slice.map(\.key.user.user.rawValue),
                sessions: slice.map(\.key.session),
                usedAt: slice.map(\.value.stored)
            )
        } restoring: { entry, state in
            state.add(entry.value, of: entry.key)
        }
    }

    private func flushRefusals(to store: AccountStore) async throws(PostgresError) {
        let taken = state.withLock { state in
            defer { state.refusals = [:] }
            return state.refusals
        }
        // The statement sorts by key.
        try await write(Array(taken), to: store) { slice in
            SignInRefusalRow.add(
                tenants: slice.map(\.key.user.tenant.rawValue),
                users: slice.map(\.key.user.user.rawValue),
                days: slice.map(\.key.day),
                reasons: slice.map(\.key.reason),
                counts: slice.map(\.value.count),
                firstAt: slice.map(\.value.firstAt.stored),
                lastAt: slice.map(\.value.lastAt.stored)
            )
        } restoring: { entry, state in
            state.add(entry.value, of: entry.key)
        }
    }

    /// Writes `entries`, with at most `rowsPerStatement` rows in each statement.
    /// - `restoring`: puts an entry that was not written back into the state.
    private func write<Entry>(
        _ entries: [Entry],
        to store: AccountStore,
        as statement: (ArraySlice<Entry>) -> SQL,
        restoring: (Entry, inout State) -> Void
    ) async throws(PostgresError) {
        var left = entries[...]
        while !left.isEmpty {
            let slice = left.prefix(Self.rowsPerStatement)
            var batch = WriteBatch("activity")
            batch.append(statement(slice))
            do {
                try await store.client.write(batch)
            } catch {
                state.withLock { state in for entry in left { restoring(entry, &state) } }
                throw error
            }
            left = left.dropFirst(slice.count)
        }
    }
}

/// The times that were not written yet when a read began.
struct UnwrittenTimes: Sendable {
    fileprivate let oldest: ActivityBuffer.Batch

    /// The record that was read, with the times from before the read and those noted since.
    func overlay(_ record: UserRecord) -> UserRecord {
        var record = record
        let key = ActivityBuffer.Key(tenant: record.tenant, user: record.id)
        var batch: ActivityBuffer.Batch? = oldest
        while let current = batch {
            let (times, next) = current.times(of: key)
            if let times, ActivityBuffer.isSameAccount(record.sessionEpoch, after: times.epoch) {
                record.lastRefreshAt = max(record.lastRefreshAt ?? times.refreshedAt, times.refreshedAt)
                if let signedInAt = times.signedInAt {
                    record.lastLoginAt = max(record.lastLoginAt ?? signedInAt, signedInAt)
                }
            }
            batch = next
        }
        return record
    }
}
