package import AccountLinking
import AccountStore
package import IdentityProviders

/// The outcome that a sign-in with a provider's credential would have now. For the consent page of made-up providers.
package struct SignInForecast: Sendable, Hashable {
    /// The worth of the provider's word about the address.
    package enum Address: String, Sendable, Hashable {
        /// The credential names no address, or Concord does not hear this provider.
        case none
        /// An address without proof.
        case claimed
        case proven
    }

    package enum Ending: String, Sendable, Hashable {
        case newAccount, signIn, secondFactor, conflict, refused
    }

    package let address: Address
    package let ending: Ending
    package let rule: Rule
}

extension AccountOperations {
    /// Decides about a sign-in without a session, as `signInWithIdp` would, and writes nothing.
    /// - Throws: `ProviderUnavailable`, `Contention`, or what the database could not do.
    package func forecastSignIn(
        with presented: ProviderCredential,
        tenant: TenantID
    ) async throws -> SignInForecast {
        let credential = try await verified(presented, at: effects.now()).incoming
        let found = try await matchingAccounts(for: credential, target: nil, tenant: tenant)
        let verdict = question(.signIn(createsUsers: true), with: credential, among: found).decide(policy)
        return SignInForecast(
            address: .init(
                policy.emailClaim(of: credential, isAddressTaken: found.emailOwner != nil)
            ),
            ending: .init(verdict.decision),
            rule: verdict.rule
        )
    }
}

extension SignInForecast.Address {
    fileprivate init(_ claim: EmailClaim) {
        self =
            switch claim {
            case .absent: .none
            case .unverified: .claimed
            case .verified: .proven
            }
    }
}

extension SignInForecast.Ending {
    fileprivate init(_ decision: SignInDecision) {
        self =
            switch decision {
            case .createUser: .newAccount
            case .signIn: .signIn
            case .secondFactorRequired: .secondFactor
            case .conflict: .conflict
            case .refuse: .refused
            }
    }
}
