/// The decision about a usable code of a lookup.
package enum LookUpDecision: Sendable, Hashable {
    /// The mailbox is proven: its reader may see the account's sign-in methods, and continue.
    case proven
    case refuse(EmailCodeRefusal)
}

/// The facts that a lookup's proof was given on.
package struct LookUpProofFacts: Sendable, Hashable {
    package var account: UserID
    /// The proof of the mailbox, bound to the account.
    package var binding: ProofBinding
    package var expiresAt: Timestamp

    package init(account: UserID, binding: ProofBinding, expiresAt: Timestamp) {
        self.account = account
        self.binding = binding
        self.expiresAt = expiresAt
    }
}

/// Decides whether a usable code of a lookup proves the mailbox of an account: rows M25, M31 and M32.
///
/// The code is mailed only if the address has an account. An account that was created since counts, unless it may have
/// another mailbox.
///
/// - `recipient`: the address that the code was mailed to.
/// - `account`: the account that had the address then; `nil` if there was none.
/// - `owner`: the account that has the address now.
package func decideProveLookUp(
    mailedTo recipient: EmailAddress,
    of account: UserID?,
    owner: Account?
) -> Verdict<LookUpDecision> {
    guard let owner, owner.email?.address == recipient, account == nil || account == owner.id else {
        return Verdict(.lookUpAccountGone, .refuse(.refused(.invalidEmailCode)))
    }
    if let refusal = refusalOfSignInLink(mailedTo: recipient, owner: owner) {
        return Verdict(refusal.rule, .refuse(refusal.decision))
    }
    return Verdict(.lookUpProven, .proven)
}

/// The refusal of a lookup's proof: rows M33 and M34; `nil` if its holder may continue.
///
/// - `owner`: the account that has the address now.
/// - `policyVersion`: version of the project's configuration now.
package func refusalOfLookUpProof(
    _ proof: LookUpProofFacts,
    owner: Account?,
    policyVersion: Int64,
    now: Timestamp
) -> Verdict<ConflictRefusal>? {
    guard now < proof.expiresAt else { return Verdict(.lookUpProofExpired, .proofExpired) }
    guard let owner, owner.id == proof.account,
        ProofBinding(.mailbox, of: owner, policyVersion: policyVersion) == proof.binding
    else { return Verdict(.lookUpProofStale, .proofStale) }
    return nil
}

/// The sign-in method that opened a session; `nil` if the account has no such method now.
///
/// Sessions of passwords and mailed links have the same `sign_in_provider`, as in Firebase. The password is assumed if
/// the account has one.
///
/// - `signInProvider`: `sign_in_provider` of the session.
package func usedMethod(signInProvider: String, ways: WaysIn) -> SignInMethod? {
    let candidates: [SignInMethod] =
        switch signInProvider {
        case SignInMethod.password.name: [.password, .emailLink]
        case SignInMethod.phone.name: [.phone]
        default: ProviderID(signInProvider).map { [.provider($0)] } ?? []
        }
    return candidates.first { candidate in ways.working.contains(candidate) }
}
