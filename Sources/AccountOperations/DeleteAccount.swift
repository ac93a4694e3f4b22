package import AccountLinking
import AccountStore

extension AccountOperations {
    /// Deletes the account of a session (`accounts:delete` with an ID token) and frees everything that it owned.
    package func deleteAccount(idToken: String, tenant: TenantID) async throws -> UserID {
        let caller = try await authenticate(idToken: idToken, tenant: tenant)
        let now = effects.now()
        let event = effects.newEventID()

        return try await retrying(effects) {
            let user = try await account(of: caller, asItIs: store.user(caller.user.id, tenant: tenant))
            let verdict = decideDelete(
                policy: policy,
                account: user.account,
                request: .client(isSessionRecent: caller.isRecent(for: .deleteAccount, policy: policy, now: now))
            )
            switch verdict.decision {
            case .refuse(let refusal): throw refused(.refusal(refusal), by: verdict.rule)
            case .delete(let id):
                let record = AccountEvent(id: event, occurredAt: now, kind: .userDeleted, rule: verdict.rule)
                try await store.delete(user, event: record).requireApplied()
                return id
            }
        }
    }
}
