package import AccountLinking
package import Postgres
import Synchronization

/// Sign-in and refresh times on their way to the database, merged over many callers.
///
/// They are the only acknowledged data that a crash may lose, and at most the last second of it. A reader in the same
/// process sees them at once, one in another process after the next flush.
package final class ActivityBuffer: Sendable {
    private struct Key: Hashable {
        var tenant: TenantID
        var user: UserID
    }

    private struct Times {
        /// Of the account that was used. Another account with the same uid has another epoch.
        var epoch: Int64
        var signedInAt: Timestamp?
        var refreshedAt: Timestamp

        /// Adds `other`, of the same account. The earlier epoch stays, because an account's epoch only rises.
        mutating func merge(_ other: Times) {
            epoch = min(epoch, other.epoch)
            refreshedAt = max(refreshedAt, other.refreshedAt)
            guard let signedInAt = other.signedInAt else { return }
            self.signedInAt = max(self.signedInAt ?? signedInAt, signedInAt)
        }
    }

    /// How far an account's epoch may rise before its times are written. A new account starts at a random number of 52 bits.
    static let epochRiseMax: Int64 = 1_000_000

    /// True if `epoch` may be the account's that had `earlier` before.
    private static func isSameAccount(_ epoch: Int64, after earlier: Int64) -> Bool {
        (0...epochRiseMax).contains(epoch - earlier)
    }

    /// More users than this waiting means that the database is away; further times are dropped, not hoarded.
    private static let usersMax = 100_000
    private static let usersPerStatement = 1000

    private struct State {
        var waiting: [Key: Times] = [:]
        /// What a flush has taken and not yet seen confirmed.
        var inFlight: [Key: Times] = [:]
    }

    private let state = Mutex(State())

    init() {}

    /// Notes that tokens were minted for a user, by a sign-in or by a refresh.
    package func note(_ user: UserRecord, at now: Timestamp, isSignIn: Bool) {
        let times = Times(epoch: user.sessionEpoch, signedInAt: isSignIn ? now : nil, refreshedAt: now)
        state.withLock { Self.add(times, of: Key(tenant: user.tenant, user: user.id), to: &$0.waiting) }
    }

    /// Of two accounts with one uid, the one that was used last counts: the other is gone.
    private static func add(_ times: Times, of key: Key, to waiting: inout [Key: Times]) {
        guard let known = waiting[key] else {
            if waiting.count < usersMax { waiting[key] = times }
            return
        }
        if isSameAccount(times.epoch, after: known.epoch) || isSameAccount(known.epoch, after: times.epoch) {
            waiting[key]?.merge(times)
        } else if times.refreshedAt >= known.refreshedAt {
            waiting[key] = times
        }
    }

    /// The record with the times that have not reached the database yet.
    func overlay(_ record: UserRecord) -> UserRecord {
        state.withLock { state in
            guard !state.waiting.isEmpty || !state.inFlight.isEmpty else { return record }
            var record = record
            let key = Key(tenant: record.tenant, user: record.id)
            for times in [state.inFlight[key], state.waiting[key]] {
                guard let times, Self.isSameAccount(record.sessionEpoch, after: times.epoch) else { continue }
                record.lastRefreshAt = max(record.lastRefreshAt ?? times.refreshedAt, times.refreshedAt)
                if let signedInAt = times.signedInAt {
                    record.lastLoginAt = max(record.lastLoginAt ?? signedInAt, signedInAt)
                }
            }
            return record
        }
    }

    /// Writes what has gathered. One flush at a time.
    /// - Throws: when the database could not; the times are kept for the next flush.
    package func flush(to store: AccountStore) async throws(PostgresError) {
        let taken = state.withLock { state in
            state.inFlight = state.waiting
            state.waiting = [:]
            return state.inFlight
        }
        defer { state.withLock { $0.inFlight = [:] } }
        // In key order, so that two servers flushing the same users never deadlock.
        let entries = taken.sorted {
            ($0.key.tenant.rawValue, $0.key.user.rawValue) < ($1.key.tenant.rawValue, $1.key.user.rawValue)
        }
        var start = 0
        while start < entries.count {
            let slice = entries[start..<min(start + Self.usersPerStatement, entries.count)]
            var batch = WriteBatch("activity")
            batch.append(
                UserRow.touch(
                    tenants: slice.map(\.key.tenant.rawValue),
                    ids: slice.map(\.key.user.rawValue),
                    epochs: slice.map(\.value.epoch),
                    signedInAt: slice.map { $0.value.signedInAt?.stored },
                    refreshedAt: slice.map(\.value.refreshedAt.stored)
                )
            )
            do {
                _ = try await store.client.write(batch)
            } catch {
                state.withLock { state in
                    for entry in entries[start...] { Self.add(entry.value, of: entry.key, to: &state.waiting) }
                }
                throw error
            }
            start += slice.count
        }
    }
}
