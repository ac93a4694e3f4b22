import AccountLinking
import Synchronization

/// Users as they were last read in full. Nothing in here may be told to anybody before the database has said that it is
/// still so (`UserStampRow`): nobody tells this of changes, and so no change can be missed.
final class KnownUsers: Sendable {
    private struct Key: Hashable {
        var tenant: TenantID
        var user: UserID
    }

    /// Two generations instead of a list in order of use: constant work, bounded memory.
    private struct State {
        var recent: [Key: KnownUser] = [:]
        var before: [Key: KnownUser] = [:]
    }

    /// Of each generation. A user takes about a kilobyte, so all together at most some 16 MiB.
    static let usersMax = 8192

    private let state = Mutex(State())

    func user(_ id: UserID, tenant: TenantID) -> KnownUser? {
        let key = Key(tenant: tenant, user: id)
        return state.withLock { $0.recent[key] ?? $0.before[key] }
    }

    func remember(_ user: KnownUser) {
        let key = Key(tenant: user.record.tenant, user: user.record.id)
        // Whoever forgets thousands lets nobody wait meanwhile.
        let forgotten = state.withLock { state in
            var forgotten: [Key: KnownUser] = [:]
            if state.recent.count >= Self.usersMax {
                forgotten = state.before
                state.before = state.recent
                state.recent = [:]
            }
            state.recent[key] = user
            return forgotten
        }
        _ = forgotten
    }
}
