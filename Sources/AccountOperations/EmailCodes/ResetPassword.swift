package import AccountLinking
import AccountStore

extension AccountOperations {
    /// Sets a new password by a mailed code (`accounts:resetPassword`): rows R.
    ///
    /// Every session ends and every outstanding code of the account is void: whoever else got in is out. Of many callers
    /// at once with one code, one succeeds. A refused password leaves the code as it was.
    /// - Throws: `PasswordHasher.Overloaded`, `Contention`, or what the database could not do.
    package func resetPassword(
        _ text: String,
        newPassword: String,
        from client: PasswordClient = .unknown,
        tenant: TenantID
    ) async throws -> EmailCodeRecord {
        let use = EmailCodeUse(text, tenant: tenant, effects: effects)
        // A look first: hashing for a code that is good for nothing would be work for whoever sends nonsense.
        let code = try await usableEmailCode(use, as: [.passwordReset])
        let preview = try await judge(code).verdict
        if case .refuse(let refusal) = preview.decision { throw refused(.refusal(refusal), by: preview.rule) }
        if let objection = objection(toNew: newPassword, for: code.email) { throw objection }
        // The code is the account's.
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
                // Where the reset first proves the address, the change voids recovery codes as well.
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
