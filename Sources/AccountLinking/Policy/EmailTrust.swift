/// How far a provider's word about an e-mail address goes (`spec/03` §1), from nothing to proof.
package enum EmailTrustClass: String, Sendable, Hashable, CaseIterable, Comparable {
    /// Not even heard: as if no address had been named.
    case untrusted
    /// Heard, and never proof: where an account has the address, a conflict.
    case asserting
    /// Proof where the provider says that it verified the address.
    case verifying
    /// Proof as it stands: the provider gives the mailboxes out.
    case authoritative

    package static func < (lhs: Self, rhs: Self) -> Bool { lhs.rank < rhs.rank }

    private var rank: Int {
        switch self {
        case .untrusted: 0
        case .asserting: 1
        case .verifying: 2
        case .authoritative: 3
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

    /// A table in which the last rule for a scope replaces those before.
    package init(_ rules: [EmailTrustRule]) {
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
    package func adding(_ own: [EmailTrustRule]) -> EmailTrust { EmailTrust(rules + own) }

    /// What holds unless an operator says otherwise (`spec/03` §1; the doubtful domains of that table are left out).
    package static let declared = EmailTrust(
        [
            .init(.init(.any), .asserting),
            // Google gives out gmail.com itself and a Workspace domain for its owner. A consumer account on a foreign
            // address was verified once, by somebody, at some time.
            .init(.init(.only(.google), .any, .only("gmail.com")), .verifying),
            .init(.init(.only(.google), .any, .hosted), .verifying),
            .init(.init(.only(.apple)), .authoritative),
            .init(.init(.only(.yahoo), .any, .only("yahoo.com")), .authoritative),
            .init(.init(.openIDConnect), .verifying),
            .init(.init(.saml), .authoritative),
        ] + microsoft + games
    )

    /// Every provider's own `email_verified`, at face value: `concord dev --trust-asserted-emails` (`spec/09` 1).
    package static let asserted = EmailTrust([.init(.init(.any), .verifying)] + games)

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
        let fitting = rules.filter {
            $0.scope.fits(provider, issuer: issuer, address: address, hostedDomain: hostedDomain)
        }
        let narrowest = fitting.filter { rule in !fitting.contains { $0.scope.isNarrower(than: rule.scope) } }
        guard let weakest = narrowest.map(\.trust).min() else { return .untrusted }
        return narrowest.allSatisfy { $0.trust == weakest } ? weakest : min(weakest, .asserting)
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
    package func emailClaim(of credential: IncomingCredential) -> EmailClaim {
        guard case .present(let address, let flaggedVerified, _) = credential.email,
            let trust = emailTrust(of: credential)
        else { return .absent }
        switch trust {
        case .untrusted: return .absent
        case .asserting: return .unverified(address)
        case .verifying: return flaggedVerified ? .verified(address) : .unverified(address)
        case .authoritative: return .verified(address)
        }
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
