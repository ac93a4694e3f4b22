/// A sign-in to try: by a user of a provider who is new to Concord, with an account's address.
package struct HypotheticalSignIn: Sendable, Hashable {
    package enum Issuer: Sendable, Hashable {
        /// The issuer in the provider's registration.
        case registered
        /// A credential without an issuer.
        case none
        case only(String)
        /// An issuer that no rule names.
        case other
    }

    package var provider: ProviderID
    package var issuer: Issuer
    /// The provider's statement that it verified the address.
    package var flag: VerifiedFlag
    /// True if the provider says that it hosts the address's domain (Google's `hd`).
    package var isHosted: Bool
    /// True if the account is linked to another user of the provider.
    package var isByAnotherSubject = false

    private static let otherIssuer = "https://issuer.invalid"

    /// Every sign-in with `provider` that `tables` may distinguish.
    ///
    /// - `registered`: the issuers in the provider's registrations.
    static func all(
        with provider: ProviderID,
        registered: [String],
        judgedBy tables: [EmailTrust]
    ) -> [HypotheticalSignIn] {
        var issuers: [Issuer] = [.registered]
        if !provider.isOpenIDConnect {
            var named: Set<String> = []
            for rule in tables.flatMap(\.rules) {
                guard case .only(let issuer) = rule.scope.issuers else { continue }
                switch rule.scope.providers {
                case .any: named.insert(issuer)
                case .only(provider): named.insert(issuer)
                case .saml where provider.isSAML: named.insert(issuer)
                case .only, .saml, .openIDConnect: break
                }
            }
            issuers = [.none, .other] + named.sorted().map(Issuer.only)
        }
        let isGoogle = provider == .google || registered.contains { ProviderID.known(forIssuer: $0) == .google }
        let hosting = isGoogle ? [false, true] : [false]
        return issuers.flatMap { issuer in
            hosting.flatMap { isHosted in
                VerifiedFlag.allCases.reversed().map { flag in
                    HypotheticalSignIn(provider: provider, issuer: issuer, flag: flag, isHosted: isHosted)
                }
            }
        }
    }

    /// The credential of such a user. It was not verified, so use it for simulation only.
    func credential(
        naming address: EmailAddress,
        subject: String = "an unknown user",
        issuers: [ProviderID: String]
    ) -> IncomingCredential? {
        guard let identity = ProviderIdentity(provider: provider, subject: subject) else { return nil }
        let issuer: String? =
            switch issuer {
            case .registered: issuers[provider]
            case .none: nil
            case .only(let issuer): issuer
            case .other: Self.otherIssuer
            }
        return IncomingCredential(
            identity: identity,
            issuer: issuer,
            email: .present(
                address,
                flag: flag,
                hostedDomain: isHosted ? String(address.domain) : nil
            ),
            profile: Profile()
        )
    }
}

/// A hypothetical sign-in whose outcome changes.
package struct SignInTransition: Sendable, Hashable {
    package var signIn: HypotheticalSignIn
    package var before: SimulatedOutcome
    package var after: SimulatedOutcome

    /// The effect on the account; `nil` if its methods already report it.
    package var effect: SimulatedEffect? {
        switch after {
        case .links, .replaces: .wouldLink
        case .takesOver: .wouldBeTakenOver
        case .conflict: .wouldConflict
        case .creates: .wouldSplit
        case .verifies: .wouldBeVerified
        // A disabled provider is reported by the methods that stop working. A user who never used it loses nothing.
        case .refused(.operationNotAllowed): nil
        case .refused, .asksSecondFactor: .wouldBeRefused
        case .signsIn, .unsettled, .changes, .changesNothing: nil
        }
    }
}
