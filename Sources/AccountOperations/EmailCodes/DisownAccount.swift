package import AccountLinking
import AccountStore

/// The end of an account as the one of whoever made it, at the word of the person who reads its mailbox.
package struct DisownedAccount: Sendable {
    /// The address that the code went to.
    package let email: EmailAddress
    /// The methods that were suspended, by name.
    package let suspended: [MethodSuspension]
    /// True if the account gave the address up instead of going to its owner.
    package let isAddressReleased: Bool
    /// Names the decision to an operator.
    package let decision: DecisionID
}

extension AccountOperations {
    /// Takes an account from whoever made it, by a code that would verify its address: rows V7 to V9.
    ///
    /// Suspends every method, ends every session, and makes every other code and open conflict of the account void. No tokens
    /// are issued: the owner of the mailbox gets in by it. Of many callers at once with one code, confirming or disowning, one
    /// is answered by the rules.
    ///
    /// `idempotent`: where the caller may repeat the request.
    package func disownAccount(
        _ text: String,
        tenant: TenantID,
        idempotent: IdempotentRequest<DisownedAccount>? = nil
    ) async throws -> DisownedAccount {
        let use = EmailCodeUse(text, tenant: tenant, effects: effects)
        return try await retrying(effects) {
            let code: EmailCodeRecord
            do {
                code = try await usableEmailCode(use, as: [.verifyEmail])
            } catch let denial as Denial {
                throw try await storedAnswer(to: idempotent, by: use) ?? denial
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

    /// The answer to a request that used the code up before. Two round trips.
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
