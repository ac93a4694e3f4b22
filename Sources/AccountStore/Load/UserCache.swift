import AccountLinking
import Synchronization

/// A cache of users as last read in full. Never use an entry before the database confirms that it is current
/// (`UserVersionRow`). The cache is not notified of changes, so it cannot miss one.
final class UserCache: Sendable {
    private struct Key: Hashable {
        var tenant: TenantID
        var user: UserID
    }

    private struct State {
        var users: [Key: CachedUser] = [:]
        /// The keys of `users`. The oldest entry is evicted first, so that inserting always costs the same.
        var ring: [Key] = []
        var oldest = 0
    }

    /// A user takes 1 to 2 kB: together at most about 32 MiB.
    static let usersMax = 16_384

    private let state = Mutex(State())

    func user(_ id: UserID, tenant: TenantID) -> CachedUser? {
        state.withLock { $0.users[Key(tenant: tenant, user: id)] }
    }

    func remember(_ user: CachedUser) {
        let key = Key(tenant: user.record.tenant, user: user.record.id)
        state.withLock { state in
            guard state.users.updateValue(user, forKey: key) == nil else { return }
            guard state.ring.count == Self.usersMax else { return state.ring.append(key) }
            state.users[state.ring[state.oldest]] = nil
            state.ring[state.oldest] = key
            state.oldest = (state.oldest + 1) % Self.usersMax
        }
    }
}
