import AccountLinking
import Synchronization

/// Users as they were last read in full. Nothing in here may be told to anybody before the database has said that it is
/// still so (`UserVersionRow`): nobody tells this of changes, and so no change can be missed.
final class UserCache: Sendable {
    private struct Key: Hashable {
        var tenant: TenantID
        var user: UserID
    }

    private struct State {
        var users: [Key: CachedUser] = [:]
        /// The keys of `users`. Who came first goes first; the work for one more is always the same.
        var ring: [Key] = []
        var oldest = 0
    }

    /// A user takes one to two kilobytes, so all together at most some 32 MiB.
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
