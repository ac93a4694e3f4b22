package import AccountLinking
import AccountStore

/// The code or the link's secret from the mail of a lookup.
package enum LookUpAnswer: Sendable {
    /// The short code, as typed, of the newest lookup mail to a mailbox.
    case code(String, mailbox: EmailAddress)
    /// The secret in the link.
    case linkSecret(String)
}

/// An account for someone who has proven its mailbox, with the proof for the next step.
package struct ProvenLookUp: Sendable {
    package let account: KnownAccount
    /// True if the proof signs in, unless the account requires its second factor.
    package let signsIn: Bool
    /// The methods that signing in by the proof suspends.
    package let suspended: [MethodSuspension]
    /// Presented for the next step, once.
    package let proofToken: String
    package let expiresAt: Timestamp
}

extension AccountOperations {
    /// Shows the sign-in methods of an account to the reader of a lookup's mail, with a proof for the next step.
    ///
    /// The code stays usable: a mail scanner that opens every button, and a repeated request, change nothing. Wrong
    /// short codes are counted before they are answered, also for mailboxes without a mail (rules M26 to M30).
    ///
    /// - `clientAddress`: the network address that limits count.
    package func proveLookUp(
        _ answer: LookUpAnswer,
        tenant: TenantID,
        clientAddress: String?
    ) async throws -> ProvenLookUp {
        let now = effects.now()
        return try await retrying(effects) {
            let hash: [UInt8]
            switch answer {
            case .linkSecret(let secret): hash = NewEmailCode.hash(of: secret)
            case .code(let typed, let mailbox):
                hash = try await guess(typed, of: .lookUp, mailedTo: mailbox, tenant, from: clientAddress, now).linkHash
            }
            let code = try fact(
                decideUseEmailCode(try await store.emailCode(hash, tenant: tenant), as: [.lookUp], now: now)
            )
            let claim = try await store.claim(on: code.email, tenant: tenant, at: now)
            let verdict = decideProveLookUp(mailedTo: code.email, of: code.user, owner: claim.owner?.account)
            switch verdict.decision {
            case .refuse(let refusal): throw refused(Verdict(verdict.rule, refusal))
            case .proven: break
            }
            guard let owner = claim.owner else { throw UnexpectedDecision(verdict.rule) }
            return try await proven(code, owner, claim.reservation, at: now)
        }
    }

    private func proven(
        _ code: EmailCodeRecord,
        _ owner: UserRecord,
        _ reservation: AddressReservation?,
        at now: Timestamp
    ) async throws -> ProvenLookUp {
        let facts = try await store.waysInFacts(of: owner.id, tenant: owner.tenant, at: now)
        let proof = LookUpProof(
            tenant: code.tenant,
            hash: code.hash,
            facts: LookUpProofFacts(
                account: owner.id,
                binding: ProofBinding(.mailbox, of: owner.account, policyVersion: policy.version),
                expiresAt: min(now.adding(seconds: Lifetimes.lookUpProofSeconds), code.expiresAt)
            )
        )
        let signIn = SignInWithEmailLinkQuestion(
            email: code.email,
            owner: owner.account,
            target: nil,
            isSessionRecent: false,
            secondFactorProvenBy: owner.id,
            reservation: reservation
        ).decide(policy)
        var suspended: [MethodSuspension] = []
        var signsIn = false
        if case .signIn(_, let change, _) = signIn.decision {
            signsIn = true
            suspended = suspensions(by: change, of: owner.account, signIn.rule, at: now)
        }
        return ProvenLookUp(
            account: known(owner, at: code.email, facts),
            signsIn: signsIn,
            suspended: suspended,
            proofToken: try proof.sealed(by: sealer),
            expiresAt: proof.facts.expiresAt
        )
    }
}
