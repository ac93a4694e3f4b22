package import AccountLinking
import AccountStore

extension AccountOperations {
    /// Deletes the account of a session (`accounts:delete` with an ID token), and frees everything it owned.
    package func deleteAccount(idToken: String, tenant: TenantID) async throws -> Outcome<UserID> {
        let caller: AuthenticatedSession
        switch try await authenticate(idToken: idToken, tenant: tenant) {
        case .denied(let denial): return .denied(denial)
        case .success(let session): caller = session
        }
        let now = effects.now()
        let event = effects.newEventID()

        return try await decideAndApply {
            let user: UserRecord
            switch try await account(of: caller, asItIs: store.user(caller.user.id, tenant: tenant)) {
            case .denied(let denial): return .denied(denial)
            case .success(let current): user = current
            }
            let verdict = decideDelete(
                policy: policy,
                account: user.account,
                request: .client(isSessionRecent: caller.isRecent(for: .deleteAccount, policy: policy, now: now))
            )
            switch verdict.decision {
            case .refuse(let refusal): return refused(.refusal(refusal), by: verdict.rule)
            case .delete(let id):
                let record = AccountEvent(id: event, occurredAt: now, kind: .userDeleted, rule: verdict.rule)
                guard try await store.delete(user, event: record) == .applied else { return nil }
                return .success(id)
            }
        }
    }
}
