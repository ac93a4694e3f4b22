package import AccountLinking
import AccountStore

extension AccountOperations {
    /// Sets a new password with a mailed code (`accounts:resetPassword`): rules R.
    ///
    /// Ends every session and voids every outstanding code, so that an intruder loses access. If many callers present
    /// one code at once, one succeeds. A refused password does not consume the code.
    /// - Throws: `PasswordHasher.Overloaded`, `Contention`, or a database error.
    package func resetPassword(
        _ text: String,
        newPassword: String,
        from client: PasswordClient = .unknown,
        tenant: TenantID
    ) async throws -> EmailCodeRecord {
        let use = EmailCodeUse(text, tenant: tenant, effects: effects)
        // Before hashing, so that invalid codes cause no hashing work.
        let code = try await usableEmailCode(use, as: [.passwordReset])
        let preview = try await judge(code).verdict
        if case .refuse(let refusal) = preview.decision { throw refused(.refusal(refusal), by: preview.rule) }
        if let objection = objection(toNew: newPassword, for: code.email) { throw objection }
        // The code identifies its account, so the caller counts as known.
        let hash = try await passwords.hash(newPassword, for: HashCaller(network: client.network, isKnown: true))

        return try await retrying(effects) {
            let code = try await usableEmailCode(use, as: [.passwordReset])
            let judged = try await judge(code)
            let verdict = judged.verdict
            switch verdict.decision {
            case .refuse(let refusal): throw refused(.refusal(refusal), by: verdict.rule)
            case .unchanged, .takeAddress: throw UnexpectedDecision(verdict.rule)
            case .apply(_, let change, issuesTokens: _):
                guard let user = judged.user else { throw UnexpectedDecision(verdict.rule) }
                // A first proof of the address voids recovery codes too.
                let void = AccountWrite.SideWrite.voidEmailCodes(
                    of: user.id,
                    tenant: tenant,
                    .allButRecovery,
                    at: use.now
                )
                try await apply(
                    change,
                    to: user,
                    verdict.rule,
                    using: code,
                    use,
                    passwordHash: hash,
                    decisions: judged.decisions,
                    sideWrites: [void]
                )
                return code
            }
        }
    }
}
