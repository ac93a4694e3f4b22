/// Whose word about an e-mail address counts as proof.
package enum EmailTrust: Sendable, Hashable, CaseIterable {
    /// The declared table of provider and domain (`spec/03` §1).
    case declared
    /// Every provider's own `email_verified`, at face value: `concord dev --trust-asserted-emails` (`spec/09` 1).
    case asserted
}

extension LinkPolicy {
    /// What `credential` proves about an e-mail address: the one place where a provider's word becomes proof.
    ///
    /// A provider that is not named is not trusted (`spec/03` §1; the doubtful domains of that table are left out).
    package func emailClaim(of credential: IncomingCredential) -> EmailClaim {
        guard case .present(let address, let flaggedVerified, let hostedDomain) = credential.email else {
            return .absent
        }
        let provider = credential.identity.provider
        let isProven: Bool
        switch (emailTrust, provider) {
        case (_, .playGames), (_, .gameCenter):
            // These know players, not addresses; whatever stands there is nobody's word.
            return .absent
        case (.asserted, _):
            isProven = flaggedVerified
        case (.declared, .google):
            // Google gives out gmail.com itself and a Workspace domain for its owner. A consumer account on a
            // foreign address was verified once, by somebody, at some time.
            isProven = flaggedVerified && (address.domain == "gmail.com" || address.isAt(hostedDomain: hostedDomain))
        case (.declared, .apple):
            isProven = true
        case (.declared, .yahoo):
            isProven = address.domain == "yahoo.com"
        case (.declared, .microsoft):
            isProven = ["outlook.com", "hotmail.com"].contains(address.domain) && credential.isOfMicrosoftConsumer
        case (.declared, _) where provider.isOpenIDConnect:
            isProven = flaggedVerified
        case (.declared, _) where provider.isSAML:
            isProven = true
        case (.declared, _):
            // facebook.com, twitter.com, github.com, linkedin.com and whatever nobody declared.
            isProven = false
        }
        return isProven ? .verified(address) : .unverified(address)
    }
}

extension EmailAddress {
    /// Whether a Workspace domain, as Google's `hd` claim spells it, is the one of this address.
    fileprivate func isAt(hostedDomain: String?) -> Bool {
        guard let hostedDomain, let anyone = EmailAddress("anyone@" + hostedDomain) else { return false }
        return anyone.domain == domain
    }
}

extension IncomingCredential {
    /// The administrator of an Entra directory may write any address into a work account's `email` claim, so only
    /// Microsoft's own consumer directory speaks for a mailbox. Without OpenID Connect there is no directory.
    fileprivate var isOfMicrosoftConsumer: Bool {
        guard let issuer else { return true }
        return issuer == "https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0"
    }
}
