package import AccountLinking
package import IdentityProviders

/// The outcome of a sign-in with a provider's credential now. For the consent page of development providers.
package struct SignInForecast: Sendable, Hashable {
    /// The value of the provider's claim about the address.
    package enum Address: String, Sendable, Hashable {
        /// The credential names no address, or the policy ignores the provider's.
        case none
        /// An unproven address.
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
    /// Decides like `signInWithIdp` without a session, and writes nothing.
    /// - Throws: `ProviderUnavailable`, `Contention`, or a failure of the database.
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
