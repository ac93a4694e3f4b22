/// The trust in a provider's word about an e-mail address, in ascending order.
package enum EmailTrustClass: String, Sendable, Hashable, CaseIterable, Comparable {
    /// The address is ignored.
    case untrusted
    /// Never proof: if an account has the address, the result is a conflict.
    case asserting
    /// Proof if the provider says that it verified the address and no account has it yet. Otherwise as `asserting`.
    case verifyingNew = "verifying-new"
    /// Proof if the provider says that it verified the address.
    case verifying
    /// Proof unless the provider says that the address is not verified. The provider issues the mailboxes.
    case authoritative

    package static func < (lhs: Self, rhs: Self) -> Bool { lhs.rank < rhs.rank }

    private var rank: Int {
        switch self {
        case .untrusted: 0
        case .asserting: 1
        case .verifyingNew: 2
        case .verifying: 3
        case .authoritative: 4
        }
    }
}

/// The trust in one provider or issuer for addresses of one domain.
package struct EmailTrustRule: Sendable, Hashable {
    package enum Providers: Sendable, Hashable {
        case any
        /// Every `oidc.*`.
        case openIDConnect
        /// Every `saml.*`.
        case saml
        case only(ProviderID)
    }

    package enum Issuers: Sendable, Hashable {
        case any
        /// Credentials without an issuer, from providers without OpenID Connect.
        case none
        /// Exactly this `iss`.
        case only(String)
    }

    package enum Domains: Sendable, Hashable {
        case any
        /// The account's domain at its provider: Google's `hd`.
        case hosted
        /// Exactly this one, in A-labels and lower case.
        case only(String)
    }

    /// The credentials that a rule applies to. A table has one rule for each scope.
    package struct Scope: Sendable, Hashable {
        package var providers: Providers
        package var issuers: Issuers
        package var domains: Domains

        package init(_ providers: Providers, _ issuers: Issuers = .any, _ domains: Domains = .any) {
            self.providers = providers
            self.issuers = issuers
            self.domains = domains
        }
    }

    package var scope: Scope
    package var trust: EmailTrustClass

    package init(_ scope: Scope, _ trust: EmailTrustClass) {
        self.scope = scope
        self.trust = trust
    }
}

/// The table of rules that decide which provider's word about an e-mail address is proof. The narrowest matching rule
/// applies.
package struct EmailTrust: Sendable, Hashable {
    package let rules: [EmailTrustRule]
    /// If true, the rules of a known provider apply to an `oidc.*` provider that is registered with its issuer, unless
    /// a rule names the `oidc.*` provider itself.
    package let knownIssuersFollowTheirRow: Bool
    /// The trust in single credentials, before every rule. Only the policy of a stored decision has some.
    private var pinned: [PinnedCredential: EmailTrustClass] = [:]

    /// A table in which a later rule replaces an earlier one for the same scope.
    package init(_ rules: [EmailTrustRule], knownIssuersFollowTheirRow: Bool = false) {
        self.knownIssuersFollowTheirRow = knownIssuersFollowTheirRow
        var kept: [EmailTrustRule] = []
        for rule in rules {
            if let index = kept.firstIndex(where: { $0.scope == rule.scope }) {
                kept[index] = rule
            } else {
                kept.append(rule)
            }
        }
        self.rules = kept
    }

    /// This table with an operator's rules, each of which replaces the rule for the same scope.
    package func adding(_ own: [EmailTrustRule]) -> EmailTrust {
        EmailTrust(rules + own, knownIssuersFollowTheirRow: knownIssuersFollowTheirRow)
    }

    /// This table with the trust in the address of one credential, which overrides the rules.
    package func pinning(_ trust: EmailTrustClass, of credential: IncomingCredential) -> EmailTrust {
        guard case .present(let address, _, let hostedDomain) = credential.email else { return self }
        var table = self
        let (provider, issuer) = (credential.identity.provider, credential.issuer)
        table.pinned[PinnedCredential(provider, issuer: issuer, address: address, hostedDomain: hostedDomain)] = trust
        return table
    }

    /// The table of the preset `strict`, the default.
    package static let declared = EmailTrust(
        common + [
            // Apple verified an address elsewhere once, with the person who held it then.
            .init(.init(.only(.apple)), .verifyingNew),
            // The registration lists the domains that its issuer may vouch for (`emailDomains`).
            .init(.init(.openIDConnect), .asserting),
        ],
        knownIssuersFollowTheirRow: true
    )

    /// The table of the preset `firebase`: the flags of Apple and of every `oidc.*` count for each address.
    package static let compatible = EmailTrust(
        common + [
            .init(.init(.only(.apple)), .verifying),
            .init(.init(.openIDConnect), .verifying),
        ]
    )

    /// Every provider's own `email_verified`, at face value: `concord dev --trust-asserted-emails`.
    package static let asserted = EmailTrust([.init(.init(.any), .verifying)] + games)

    private static let common: [EmailTrustRule] =
        [
            .init(.init(.any), .asserting),
            // Google issues gmail.com addresses, and hosts a Workspace domain for its owner. A consumer account with
            // another address was verified once, with the person who held it then.
            .init(.init(.only(.google), .any, .only("gmail.com")), .verifying),
            .init(.init(.only(.google), .any, .hosted), .verifying),
            .init(.init(.only(.yahoo), .any, .only("yahoo.com")), .authoritative),
            .init(.init(.saml), .authoritative),
        ] + apple + microsoft + games

    /// Apple issues these mailboxes (developer.apple.com, "Communicating using the private email relay service").
    private static let apple = ["icloud.com", "me.com", "mac.com", "privaterelay.appleid.com"].map { domain in
        EmailTrustRule(.init(.only(.apple), .any, .only(domain)), .authoritative)
    }

    /// An Entra administrator can write any address into a work account's `email` claim, so only Microsoft's consumer
    /// directory vouches for a mailbox. Without OpenID Connect there is no directory.
    private static let microsoft = ["outlook.com", "hotmail.com"].flatMap { domain in
        [
            .none,
            EmailTrustRule.Issuers.only("https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0"),
        ].map { EmailTrustRule(.init(.only(.microsoft), $0, .only(domain)), .authoritative) }
    }

    /// These providers identify players and do not verify addresses.
    private static let games = [ProviderID.playGames, .gameCenter].map { EmailTrustRule(.init(.only($0)), .untrusted) }

    /// The trust in a provider for an address.
    ///
    /// Among the matching rules, one that is narrower in every respect wins. If the remaining rules disagree, the
    /// address is not proof, and the result is a conflict: the order of rules never decides. Without a matching rule
    /// the provider is untrusted.
    package func trust(
        of provider: ProviderID,
        issuer: String?,
        for address: EmailAddress,
        hostedDomain: String?
    ) -> EmailTrustClass {
        if !pinned.isEmpty {
            let credential = PinnedCredential(provider, issuer: issuer, address: address, hostedDomain: hostedDomain)
            if let trust = pinned[credential] { return trust }
        }
        let provider = judgedProvider(provider, issuer: issuer, for: address, hostedDomain: hostedDomain)
        let fitting = rules.filter {
            $0.scope.fits(provider, issuer: issuer, address: address, hostedDomain: hostedDomain)
        }
        let narrowest = fitting.filter { rule in !fitting.contains { $0.scope.isNarrower(than: rule.scope) } }
        guard let weakest = narrowest.map(\.trust).min() else { return .untrusted }
        return narrowest.allSatisfy { $0.trust == weakest } ? weakest : min(weakest, .asserting)
    }
}

/// The facts of a credential by which the table judges its address.
private struct PinnedCredential: Sendable, Hashable {
    let provider: ProviderID
    let issuer: String?
    let address: EmailAddress
    let hostedDomain: String?

    init(_ provider: ProviderID, issuer: String?, address: EmailAddress, hostedDomain: String?) {
        (self.provider, self.issuer, self.address, self.hostedDomain) = (provider, issuer, address, hostedDomain)
    }
}

extension EmailTrust {
    /// The provider whose rules apply to a credential.
    private func judgedProvider(
        _ provider: ProviderID,
        issuer: String?,
        for address: EmailAddress,
        hostedDomain: String?
    ) -> ProviderID {
        guard knownIssuersFollowTheirRow, provider.isOpenIDConnect,
            let known = issuer.flatMap(ProviderID.known(forIssuer:))
        else { return provider }
        let isNamed = rules.contains {
            $0.scope.providers == .only(provider)
                && $0.scope.fits(provider, issuer: issuer, address: address, hostedDomain: hostedDomain)
        }
        return isNamed ? provider : known
    }
}

/// The table that applies without rules of the project; a setting of the process.
package enum EmailTrustBase: Sendable, Hashable {
    /// The table of the project's preset.
    case preset
    /// Every provider's flag at face value, for development.
    case asserted

    package func table(of preset: LinkPolicyPreset) -> EmailTrust {
        switch (self, preset) {
        case (.asserted, _): .asserted
        case (.preset, .strict): .declared
        case (.preset, .firebase): .compatible
        }
    }
}

extension EmailTrustRule.Scope {
    fileprivate func fits(
        _ provider: ProviderID,
        issuer: String?,
        address: EmailAddress,
        hostedDomain: String?
    ) -> Bool {
        switch providers {
        case .any: break
        case .openIDConnect: guard provider.isOpenIDConnect else { return false }
        case .saml: guard provider.isSAML else { return false }
        case .only(let named): guard provider == named else { return false }
        }
        switch issuers {
        case .any: break
        case .none: guard issuer == nil else { return false }
        case .only(let named): guard issuer == named else { return false }
        }
        switch domains {
        case .any: return true
        case .hosted: return address.isAt(hostedDomain: hostedDomain)
        case .only(let named): return address.domain == named
        }
    }

    /// Returns true if `other` matches everything that `self` matches, and more.
    func isNarrower(than other: Self) -> Bool {
        self != other && providers.isWithin(other.providers) && issuers.isWithin(other.issuers)
            && domains.isWithin(other.domains)
    }
}

extension EmailTrustRule.Providers {
    fileprivate func isWithin(_ other: Self) -> Bool {
        switch (self, other) {
        case (_, .any): true
        case (.only(let provider), .openIDConnect): provider.isOpenIDConnect
        case (.only(let provider), .saml): provider.isSAML
        default: self == other
        }
    }
}

extension EmailTrustRule.Issuers {
    fileprivate func isWithin(_ other: Self) -> Bool { other == .any || self == other }
}

extension EmailTrustRule.Domains {
    fileprivate func isWithin(_ other: Self) -> Bool { other == .any || self == other }
}

extension LinkPolicy {
    /// The claim that `credential` proves about an e-mail address. The only place that turns a provider's word into
    /// proof.
    ///
    /// A flag that is present and false is never proof.
    ///
    /// - `isAddressTaken`: true if an account has the address.
    package func emailClaim(of credential: IncomingCredential, isAddressTaken: Bool) -> EmailClaim {
        guard case .present(let address, let flag, _) = credential.email, let trust = emailTrust(of: credential)
        else { return .absent }
        let isProof =
            switch (trust, flag) {
            case (.untrusted, _), (.asserting, _), (_, .isFalse): false
            case (.verifyingNew, .isTrue): !isAddressTaken
            case (.verifyingNew, .absent), (.verifying, .absent): false
            case (.verifying, .isTrue), (.authoritative, .absent), (.authoritative, .isTrue): true
            }
        if isProof { return .verified(address) }
        return trust == .untrusted ? .absent : .unverified(address)
    }

    /// The trust in the provider of `credential` for its address; `nil` if it has none.
    package func emailTrust(of credential: IncomingCredential) -> EmailTrustClass? {
        guard case .present(let address, _, let hostedDomain) = credential.email else { return nil }
        return emailTrust.trust(
            of: credential.identity.provider,
            issuer: credential.issuer,
            for: address,
            hostedDomain: hostedDomain
        )
    }
}

extension EmailAddress {
    /// Returns true if `hostedDomain`, Google's `hd` claim, is the domain of this address.
    fileprivate func isAt(hostedDomain: String?) -> Bool {
        guard let hostedDomain, let anyone = EmailAddress("anyone@" + hostedDomain) else { return false }
        return anyone.domain == domain
    }
}
