package import AccountLinking
import AccountStore

/// An account that the owner of its address rejected.
package struct DisownedAccount: Sendable {
    package let email: EmailAddress
    package let suspended: [MethodSuspension]
    /// True if the account lost the address; false if the account now belongs to the owner of the address.
    package let isAddressReleased: Bool
    /// For operators.
    package let decision: DecisionID
}

extension AccountOperations {
    /// Takes an account from its creator with a code that would verify its address: rules V7 to V9.
    ///
    /// Suspends every method, ends every session, and voids every other code and open conflict. Issues no tokens: the
    /// owner signs in with the mailbox. If many callers present one code at once, the rules answer one of them.
    ///
    /// - `idempotent`: set if the caller may repeat the request.
    package func disownAccount(
        _ text: String,
        tenant: TenantID,
        idempotent: IdempotentRequest<DisownedAccount>? = nil
    ) async throws -> DisownedAccount {
        let use = EmailCodeUse(text, tenant: tenant, effects: effects)
        return try await retrying(effects) {
            let code: EmailCodeRecord
            switch try await findEmailCode(use, as: [.verifyEmail]) {
            case .found(let found): code = found
            case .refused(let refusal): throw try await storedAnswer(to: idempotent, by: use) ?? refused(refusal)
            }
            let judged = try await judge(code, isDisowned: true)
            let verdict = judged.verdict
            switch verdict.decision {
            case .unchanged, .takeAddress: throw UnexpectedDecision(verdict.rule)
            case .refuse(let refusal):
                try await store.useUp(code, by: use.id, at: use.now).requireApplied()
                throw refused(.refusal(refusal), by: verdict.rule)
            case .apply(_, let change, issuesTokens: _):
                guard let user = judged.user else { throw UnexpectedDecision(verdict.rule) }
                let disowned = DisownedAccount(
                    email: code.email,
                    suspended: suspensions(by: change, of: user.account, verdict.rule, at: use.now),
                    isAddressReleased: change.email == .remove,
                    decision: DecisionID(use.id)
                )
                try await apply(
                    change,
                    to: user,
                    verdict.rule,
                    using: code,
                    use,
                    decisions: judged.decisions,
                    sideWrites: storeAnswer(disowned, to: idempotent, of: user.id, tenant: tenant, at: use.now)
                )
                return disowned
            }
        }
    }

    /// The answer to the request that consumed the code. Two round trips.
    private func storedAnswer(
        to idempotent: IdempotentRequest<DisownedAccount>?,
        by use: EmailCodeUse
    ) async throws -> Denial? {
        guard idempotent != nil, let user = try await store.emailCode(use.hash, tenant: use.tenant)?.user else {
            return nil
        }
        return try await storedAnswer(to: idempotent, of: user, tenant: use.tenant, at: use.now)
    }
}
