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
        var signedInAt: Timestamp?
        var refreshedAt: Timestamp
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
    package func note(_ user: UserID, tenant: TenantID, at now: Timestamp, isSignIn: Bool) {
        state.withLock { state in
            let key = Key(tenant: tenant, user: user)
            if var times = state.waiting[key] {
                times.refreshedAt = max(times.refreshedAt, now)
                if isSignIn { times.signedInAt = max(times.signedInAt ?? now, now) }
                state.waiting[key] = times
            } else if state.waiting.count < Self.usersMax {
                state.waiting[key] = Times(signedInAt: isSignIn ? now : nil, refreshedAt: now)
            }
        }
    }

    /// The record with the times that have not reached the database yet.
    func overlay(_ record: UserRecord) -> UserRecord {
        state.withLock { state in
            guard !state.waiting.isEmpty || !state.inFlight.isEmpty else { return record }
            var record = record
            let key = Key(tenant: record.tenant, user: record.id)
            for times in [state.inFlight[key], state.waiting[key]] {
                guard let times else { continue }
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
                    signedInAt: slice.map { $0.value.signedInAt?.stored },
                    refreshedAt: slice.map(\.value.refreshedAt.stored)
                )
            )
            do {
                _ = try await store.client.write(batch)
            } catch {
                for entry in entries[start...] {
                    restore(entry.key, entry.value)
                }
                throw error
            }
            start += slice.count
        }
    }

    private func restore(_ key: Key, _ times: Times) {
        state.withLock { state in
            guard state.waiting[key] != nil || state.waiting.count < Self.usersMax else { return }
            var merged = state.waiting[key] ?? times
            merged.refreshedAt = max(merged.refreshedAt, times.refreshedAt)
            if let signedInAt = times.signedInAt {
                merged.signedInAt = max(merged.signedInAt ?? signedInAt, signedInAt)
            }
            state.waiting[key] = merged
        }
    }
}
