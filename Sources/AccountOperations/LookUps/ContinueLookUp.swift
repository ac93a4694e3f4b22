package import AccountLinking
import AccountStore
import JSON

// The steps after a lookup. Each uses the mailed code: if many requests race, one succeeds.

extension AccountOperations {
    /// Signs in by the proof of a lookup, as by a mailed link: rows M. An account that requires its second factor gets
    /// the pending sign-in.
    ///
    /// - `pendingToken`: the handle of a conflict, whose credential the sign-in also links.
    /// - `clientAddress`: the network address of the client, if known.
    package func signInByLookUp(
        _ proofToken: String,
        pendingToken: String?,
        tenant: TenantID,
        locale: String?,
        clientAddress: String?
    ) async throws -> SignInOutcome {
        let proof = try lookUpProof(proofToken, tenant: tenant)
        return try await signIn(
            by: proof,
            EmailCodeUse(hash: proof.hash, tenant: tenant, effects: effects),
            EmailLinkSignIn(
                email: nil,
                code: nil,
                idToken: nil,
                pendingToken: pendingToken,
                clientAddress: clientAddress
            ),
            locale: locale
        )
    }

    /// Exchanges the proof of a lookup for a code that sets the account's password, once. The code is that of a password
    /// reset: what it changes is decided when it is used.
    package func resetPasswordByLookUp(
        _ proofToken: String,
        continueURL: String?,
        tenant: TenantID,
        locale: String?
    ) async throws -> ExchangedShortCode {
        let proof = try lookUpProof(proofToken, tenant: tenant)
        var settings = EmailCodeSettings()
        settings.continueURL = continueURL
        if let denial = settings.denial(in: self) { throw denial }
        let use = EmailCodeUse(hash: proof.hash, tenant: tenant, effects: effects)
        let code = NewEmailCode(effects: effects)
        return try await retrying(effects) {
            let (lookUp, user) = try await usable(proof, use)
            let reset = ResetPasswordQuestion(account: user.account, address: lookUp.email).decide(policy)
            if case .refuse(let refusal) = reset.decision { throw refused(.refusal(refusal), by: reset.rule) }
            let record = EmailCodeRecord(
                tenant: tenant,
                hash: code.hash,
                kind: .passwordReset,
                user: user.id,
                email: lookUp.email,
                createdAt: use.now,
                expiresAt: use.now.adding(seconds: project.settings.codeSeconds(.passwordReset))
            )
            try await store.issue(
                record,
                message: nil,
                sideWrites: [.requireUnchanged(user), .useUp(lookUp, by: use.id, at: use.now)]
            ).requireApplied()
            let link = mailLinks.page(
                for: .passwordReset,
                code: code.text,
                apiKey: project.apiKey ?? "",
                locale: mailLocale(locale),
                continueURL: continueURL
            )
            return ExchangedShortCode(code: code.text, link: link)
        }
    }

    /// Proves a conflict of the same account by the proof of a lookup, as by a mail: rows Q.
    package func proveConflictByLookUp(
        _ proofToken: String,
        conflict handle: String,
        _ request: ChangeRequest<ProvenConflict>
    ) async throws -> ProvenConflict {
        let proof = try lookUpProof(proofToken, tenant: request.tenant)
        let use = EmailCodeUse(hash: proof.hash, tenant: request.tenant, effects: effects)
        let token = Base64URL.encode(effects.randomBytes(32))
        return try await prove(handle, byLookUpOf: proof.facts.account, token: token, request, use) {
            try await usable(proof, use).code
        }
    }

    /// - Throws: `Denial.conflict(.unproven)` for text that is no proof.
    private func lookUpProof(_ text: String, tenant: TenantID) throws(Denial) -> LookUpProof {
        guard let proof = LookUpProof(text, tenant: tenant, sealer: sealer) else { throw .conflict(.unproven) }
        return proof
    }

    /// The code of a proof, and the account that it proves.
    /// - Throws: the refusal of the rule.
    private func usable(
        _ proof: LookUpProof,
        _ use: EmailCodeUse
    ) async throws -> (code: EmailCodeRecord, user: UserRecord) {
        let code = try await usableEmailCode(use, as: [.lookUp])
        let owner = try await store.claim(on: code.email, tenant: use.tenant, at: use.now).owner
        if let refusal = refusal(of: proof, owner: owner, at: use.now) { throw refusal }
        guard let owner else { throw FactsMoved() }
        return (code, owner)
    }

    /// The refusal of a proof if the account or the policy has changed since; `nil` if it holds.
    func refusal(of proof: LookUpProof, owner: UserRecord?, at now: Timestamp) -> Denial? {
        refusalOfLookUpProof(proof.facts, owner: owner?.account, policyVersion: policy.version, now: now)
            .map { refused(.conflict($0.decision), by: $0.rule) }
    }
}
