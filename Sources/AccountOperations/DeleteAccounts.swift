package import AccountLinking
import AccountStore

extension AccountOperations {
    /// Deletes an account on an administrator's request.
    package func deleteAccount(_ id: UserID, tenant: TenantID) async throws -> UserID {
        let now = effects.now()
        let event = effects.newEventID()
        return try await retrying(effects) {
            let user = try await store.user(id, tenant: tenant)
            let verdict = decideDelete(policy: policy, account: user?.account, request: .administrator)
            switch verdict.decision {
            case .refuse(let refusal): throw refused(.refusal(refusal), by: verdict.rule)
            case .delete(let id):
                guard let user else { throw UnexpectedDecision(verdict.rule) }
                let record = AccountEvent(id: event, occurredAt: now, kind: .userDeleted, rule: verdict.rule)
                try await store.delete(user, event: record).requireApplied()
                return id
            }
        }
    }

    /// Number of accounts in one transaction. Its batch holds one statement each for lock, guard, claims, row and
    /// event.
    private static let deletionsPerTransaction = 50

    /// Deletes accounts (`accounts:batchDelete`), up to `deletionsPerTransaction` in each transaction. Skips unknown
    /// ids.
    ///
    /// - `force`: also deletes accounts that are not disabled.
    /// - Returns: the positions in `ids` of the accounts that remain because they are not disabled, in order.
    package func deleteAccounts(_ ids: [UserID], force: Bool, tenant: TenantID) async throws -> [Int] {
        let now = effects.now()
        var kept: Set<UserID> = []
        let sorted = Set(ids).sorted { $0.rawValue < $1.rawValue }
        var start = 0
        while start < sorted.count {
            let some = Array(sorted[start..<min(start + Self.deletionsPerTransaction, sorted.count)])
            start += some.count
            let events = Dictionary(uniqueKeysWithValues: some.map { ($0, effects.newEventID()) })
            let refused = try await retrying(effects) {
                var deletions: [(user: UserRecord, event: AccountEvent)] = []
                var refused: Set<UserID> = []
                let users = try await store.users(some, tenant: tenant).sorted { $0.id.rawValue < $1.id.rawValue }
                for user in users {
                    guard force || user.isDisabled else {
                        refused.insert(user.id)
                        continue
                    }
                    let verdict = decideDelete(policy: policy, account: user.account, request: .administrator)
                    guard case .delete = verdict.decision, let event = events[user.id] else {
                        throw UnexpectedDecision(verdict.rule)
                    }
                    deletions.append(
                        (user, AccountEvent(id: event, occurredAt: now, kind: .userDeleted, rule: verdict.rule))
                    )
                }
                try await store.delete(deletions).requireApplied()
                return refused
            }
            kept.formUnion(refused)
        }
        return ids.indices.filter { kept.contains(ids[$0]) }
    }

    /// Deletes every account. For development only.
    package func deleteAllAccounts(tenant: TenantID) async throws {
        try await store.deleteAllUsers(tenant: tenant, at: effects.now())
    }
}
