/// The trust in what a provider says about an e-mail address, from nothing to proof.
package enum EmailTrustClass: String, Sendable, Hashable, CaseIterable, Comparable {
    /// Not even heard: as if no address had been named.
    case untrusted
    /// Heard, and never proof: where an account has the address, a conflict.
    case asserting
    /// Proof where the provider says that it verified the address and no account has it yet; otherwise as `asserting`.
    case verifyingNew = "verifying-new"
    /// Proof where the provider says that it verified the address.
    case verifying
    /// Proof unless the provider says that the address is not verified: the provider gives the mailboxes out.
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

/// What one provider's, or one issuer's, word is worth for the addresses of one domain.
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
        /// Credentials of providers that have no issuer: those without OpenID Connect.
        case none
        /// Exactly this `iss`.
        case only(String)
    }

    package enum Domains: Sendable, Hashable {
        case any
        /// The domain that the account belongs to at its provider: Google's `hd`.
        case hosted
        /// Exactly this one, in A-labels and lower case.
        case only(String)
    }

    /// Where a rule holds. No two rules of one table have the same.
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

/// Whose word about an e-mail address counts as proof: a table of rules, of which the narrowest that fits holds.
package struct EmailTrust: Sendable, Hashable {
    package let rules: [EmailTrustRule]
    /// Judges an `oidc.*` provider that is registered with the issuer of a known provider by the rules of that provider,
    /// unless a rule names the `oidc.*` provider itself.
    package let knownIssuersFollowTheirRow: Bool

    /// A table in which the last rule for a scope replaces those before.
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

    /// This table with an operator's own rules, each in the place of a rule for the same scope.
    package func adding(_ own: [EmailTrustRule]) -> EmailTrust {
        EmailTrust(rules + own, knownIssuersFollowTheirRow: knownIssuersFollowTheirRow)
    }

    /// The table of the preset `strict`: what holds unless an operator says otherwise.
    package static let declared = EmailTrust(
        common + [
            // An Apple account with an address elsewhere was verified once, by the person who held the address then.
            .init(.init(.only(.apple)), .verifyingNew),
            // The registration names the domains that its issuer speaks for (`emailDomains`).
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
            // Google gives out gmail.com itself and a Workspace domain for its owner. A consumer account on a foreign
            // address was verified once, by somebody, at some time.
            .init(.init(.only(.google), .any, .only("gmail.com")), .verifying),
            .init(.init(.only(.google), .any, .hosted), .verifying),
            .init(.init(.only(.yahoo), .any, .only("yahoo.com")), .authoritative),
            .init(.init(.saml), .authoritative),
        ] + apple + microsoft + games

    /// Apple gives out these mailboxes (developer.apple.com, "Communicating using the private email relay service").
    private static let apple = ["icloud.com", "me.com", "mac.com", "privaterelay.appleid.com"].map { domain in
        EmailTrustRule(.init(.only(.apple), .any, .only(domain)), .authoritative)
    }

    /// The administrator of an Entra directory may write any address into a work account's `email` claim, so only
    /// Microsoft's own consumer directory speaks for a mailbox. Without OpenID Connect there is no directory.
    private static let microsoft = ["outlook.com", "hotmail.com"].flatMap { domain in
        [
            .none,
            EmailTrustRule.Issuers.only("https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0"),
        ].map { EmailTrustRule(.init(.only(.microsoft), $0, .only(domain)), .authoritative) }
    }

    /// These know players, not addresses; whatever stands there is nobody's word.
    private static let games = [ProviderID.playGames, .gameCenter].map { EmailTrustRule(.init(.only($0)), .untrusted) }

    /// What the table says about an address as a provider names it.
    ///
    /// Of the rules that fit, one that is narrower than another in every respect goes before it. Where several remain
    /// that do not agree, nobody has said what holds, so the address is no proof: that ends in a conflict, never in the
    /// rule that happens to stand first. A table without any rule that fits trusts nobody.
    package func trust(
        of provider: ProviderID,
        issuer: String?,
        for address: EmailAddress,
        hostedDomain: String?
    ) -> EmailTrustClass {
        let provider = judgedProvider(provider, issuer: issuer, for: address, hostedDomain: hostedDomain)
        let fitting = rules.filter {
            $0.scope.fits(provider, issuer: issuer, address: address, hostedDomain: hostedDomain)
        }
        let narrowest = fitting.filter { rule in !fitting.contains { $0.scope.isNarrower(than: rule.scope) } }
        guard let weakest = narrowest.map(\.trust).min() else { return .untrusted }
        return narrowest.allSatisfy { $0.trust == weakest } ? weakest : min(weakest, .asserting)
    }
}

extension EmailTrust {
    /// The provider whose rules judge a credential.
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

/// Table of trust where the project has no rule of its own: a setting of the process.
package enum EmailTrustBase: Sendable, Hashable {
    /// The table that the policy of the project names.
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

    /// Whether everything that fits here fits there too, and not the other way round.
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
    /// What `credential` proves about an e-mail address: the one place where a provider's word becomes proof.
    ///
    /// A flag that is present and false is never proof, whatever the class.
    ///
    /// `isAddressTaken`: whether an account has the address.
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

    /// How far the provider of `credential` is trusted for the address it names; `nil` when it names none.
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
    /// Whether a Workspace domain, as Google's `hd` claim spells it, is the one of this address.
    fileprivate func isAt(hostedDomain: String?) -> Bool {
        guard let hostedDomain, let anyone = EmailAddress("anyone@" + hostedDomain) else { return false }
        return anyone.domain == domain
    }
}
