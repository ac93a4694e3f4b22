import AccountLinking
import AccountStore

// The third step of a sign-in with a provider: the question to the rules.

/// The purpose of presenting a provider's credential.
enum IdpPurpose: Sendable {
    case signIn(createsUsers: Bool, asksFirst: Bool = false)
    case link(to: UserRecord, isSessionRecent: Bool)
}

extension AccountOperations {
    /// The question about a provider's credential and the accounts that it matches.
    ///
    /// - `prover`: the account whose second factor the session or the sign-in has proven.
    func question(
        _ purpose: IdpPurpose,
        with credential: IncomingCredential,
        among found: FoundAccounts,
        secondFactorProvenBy prover: UserID? = nil
    ) -> any Question<SignInDecision> {
        switch purpose {
        case .signIn(let createsUsers, let asksFirst):
            SignInWithIdpQuestion(
                identityOwner: found.identityOwner?.account,
                emailOwner: found.emailOwner?.account,
                credential: credential,
                isProviderEnabled: isAccepted(credential),
                createsUsers: createsUsers,
                asksFirst: asksFirst,
                secondFactorProvenBy: prover,
                reservation: found.claim.reservation
            )
        case .link(let target, let isSessionRecent):
            LinkWithIdpQuestion(
                target: target.account,
                identityOwner: found.identityOwner?.account,
                emailOwner: found.emailOwner?.account,
                credential: credential,
                isProviderEnabled: isAccepted(credential),
                secondFactorProvenBy: prover,
                isSessionRecent: isSessionRecent,
                settlesConflict: found.settledConflict?.isOpenedBySignIn(to: target.id) ?? false,
                reservation: found.claim.reservation
            )
        }
    }
}
