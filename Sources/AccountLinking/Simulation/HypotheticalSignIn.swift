/// A sign-in that somebody might try: a provider's user who is known to nobody yet, and whom the provider gives an
/// account's address.
package struct HypotheticalSignIn: Sendable, Hashable {
    package enum Issuer: Sendable, Hashable {
        /// The one that the provider is registered with.
        case registered
        /// A credential without one.
        case none
        case only(String)
        /// One that no rule names.
        case other
    }

    package var provider: ProviderID
    package var issuer: Issuer
    /// Whether the provider says that it verified the address.
    package var flag: VerifiedFlag
    /// Whether the provider says that the address's domain is its customer's (Google's `hd`).
    package var isHosted: Bool
    /// Whether the account is linked to another user of the provider.
    package var isByAnotherSubject = false

    package init(provider: ProviderID, issuer: Issuer, flag: VerifiedFlag, isHosted: Bool) {
        self.provider = provider
        self.issuer = issuer
        self.flag = flag
        self.isHosted = isHosted
    }

    private static let otherIssuer = "https://issuer.invalid"

    /// Every sign-in with `provider` that `tables` may tell apart.
    ///
    /// - `registered`: the issuers that the provider is registered with.
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

    /// What such a user would come with. Nothing was verified: it is for asking what would be, and for nothing else.
    func credential(
        naming address: EmailAddress,
        subject: String = "a user that nobody knows",
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

/// A hypothetical sign-in that ends otherwise.
package struct SignInTransition: Sendable, Hashable {
    package var signIn: HypotheticalSignIn
    package var before: SimulatedOutcome
    package var after: SimulatedOutcome

    package init(_ signIn: HypotheticalSignIn, from before: SimulatedOutcome, to after: SimulatedOutcome) {
        self.signIn = signIn
        self.before = before
        self.after = after
    }

    /// What that means for the account; `nil` for what is told by its methods.
    package var effect: SimulatedEffect? {
        switch after {
        case .links, .replaces: .wouldLink
        case .takesOver: .wouldBeTakenOver
        case .conflict: .wouldConflict
        case .creates: .wouldSplit
        case .verifies: .wouldBeVerified
        // A provider that is switched off is told by the methods it takes away: nobody misses what they never used.
        case .refused(.operationNotAllowed): nil
        case .refused, .asksSecondFactor: .wouldBeRefused
        case .signsIn, .unsettled, .changes, .changesNothing: nil
        }
    }
}
