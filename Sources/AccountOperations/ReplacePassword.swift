package import AccountLinking
import AccountStore

extension AccountOperations {
    /// Replaces a password, given the old one (`accounts:resetPassword` with address and both passwords). All sessions
    /// end; none is opened.
    ///
    /// The old password is checked first, by the rules of a sign-in. A stranger learns no more than from a sign-in.
    /// An account that needs a second factor is refused (S5).
    /// - Throws: `PasswordHasher.Overloaded`, `Contention`, or a database error.
    package func replacePassword(
        of email: EmailAddress,
        oldPassword: String,
        newPassword: String,
        from client: PasswordClient = .unknown,
        tenant: TenantID
    ) async throws -> UserRecord {
        let now = effects.now()
        let event = effects.newEventID()
        var newHash: String?
        return try await retrying(effects) {
            let judged = try await judge(oldPassword, of: email, by: client, tenant: tenant)
            let verdict = judged.question.decideReplacement(judged.policy)
            switch verdict.decision {
            case .refuse(let refusal):
                if judged.verdict.decision.isSignIn { try await requireStillUnlocked(judged.attempt) }
                throw refused(.refusal(refusal), by: verdict.rule)
            case .unchanged, .takeAddress: throw UnexpectedDecision(verdict.rule)
            case .apply(_, let change, issuesTokens: _):
                guard let user = judged.user else { throw UnexpectedDecision(verdict.rule) }
                if let objection = objection(toNew: newPassword, for: email) {
                    try await requireStillUnlocked(judged.attempt)
                    throw objection
                }
                let hash: String
                if let newHash {
                    hash = newHash
                } else {
                    hash = try await passwords.hash(newPassword, for: judged.attempt.hashCaller)
                    newHash = hash
                }
                let changed = user.applying(change, ChangeContext(now: now, methodProof: .session))
                let write = AccountWrite(
                    previous: user,
                    user: changed,
                    passwordHash: hash,
                    event: AccountEvent(
                        id: event,
                        occurredAt: now,
                        kind: .init(updateWith: change),
                        rule: verdict.rule
                    ),
                    sideWrites: [judged.unlocked]
                )
                let whole = try await mailingMethods(write, changedBy: change)
                try await store.apply(whole).requireApplied()
                return changed
            }
        }
    }
}
