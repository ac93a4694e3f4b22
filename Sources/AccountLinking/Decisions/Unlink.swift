/// The methods to remove from an account: `deleteProvider` and `deleteAttribute` of `accounts:update`.
package struct Removal: Sendable, Hashable, Codable {
    /// `password` removes the hash and the link flag, `phone` the number.
    package var providers: Set<ProviderID>
    /// `deleteAttribute: EMAIL`: the address, its proof and the link flag. The hash stays, unusable.
    package var email: Bool
    /// `deleteAttribute: PASSWORD`: only the hash.
    package var password: Bool
    /// Only the link flag.
    package var emailLink: Bool

    private enum CodingKeys: String, CodingKey {
        case providers
        case email = "removesEmail"
        case password = "removesPassword"
        case emailLink = "removesEmailLink"
    }

    package init(
        providers: Set<ProviderID> = [],
        email: Bool = false,
        password: Bool = false,
        emailLink: Bool = false
    ) {
        self.providers = providers
        self.email = email
        self.password = password
        self.emailLink = emailLink
    }

    /// Removes one sign-in method only.
    package init(_ method: SignInMethod) {
        switch method {
        case .password: self.init(password: true)
        case .emailLink: self.init(emailLink: true)
        case .phone: self.init(providers: [.phone])
        case .provider(let provider): self.init(providers: [provider])
        }
    }
}

/// The removal of methods by the user's own session or by an administrator: rows K. Sessions stay.
///
/// Unlinking `password` keeps the address and its claim (P7). A missing method is no error, because the SDKs themselves
/// refuse `no-such-provider`.
package struct UnlinkQuestion {
    package var account: Account
    /// Providers whose credentials are accepted now. No other provider can be used to sign in.
    package var enabledProviders: Set<ProviderID>
    package var removal: Removal
    /// An administrator can remove the last method, also from a disabled account.
    package var request: RequestOrigin

    package init(account: Account, enabledProviders: Set<ProviderID>, removal: Removal, request: RequestOrigin) {
        self.account = account
        self.enabledProviders = enabledProviders
        self.removal = removal
        self.request = request
    }

    package func decide(_ policy: LinkPolicy) -> Verdict<UpdateDecision> {
        let isSessionRecent: Bool
        let keepsLastMethod: Bool
        switch request {
        case .administrator:
            isSessionRecent = true
            keepsLastMethod = false
        case .client(let isRecent):
            if account.isDisabled { return Verdict(.unlinkAccountDisabled, .refuse(.userDisabled)) }
            isSessionRecent = isRecent
            keepsLastMethod = policy.keepsLastSignInMethod
        }
        var change = AccountChange()
        let unlinksPassword = removal.providers.contains(.password)
        if account.hasPassword, unlinksPassword || removal.password { change.password = .remove }
        if account.hasEmailLink, unlinksPassword || removal.email || removal.emailLink { change.emailLink = false }
        if account.hasEmail, removal.email { change.email = .remove }
        if account.phoneNumber != nil, removal.providers.contains(.phone) { change.phone = .remove }
        change.unlinkedProviders = removal.providers.intersection(account.linkedProviders.keys)

        if change.isEmpty { return Verdict(.nothingToUnlink, .unchanged(account.id)) }
        if change.email == .remove, !isSessionRecent {
            return Verdict(.emailRemovalNeedsRecentSignIn, .refuse(.credentialTooOld))
        }
        // The session may be stolen: the owner of the removed address is mailed and can recover it.
        if case .client = request, change.email == .remove, !account.hasInitialEmail {
            change.rememberedInitialEmail = account.email?.address
        }
        let left = account.applying(change)
        if keepsLastMethod {
            let losesMethod = left.signInMethods != account.signInMethods
            if losesMethod, workingMethods(of: left, policy: policy, enabledProviders: enabledProviders).isEmpty {
                return Verdict(.lastMethodKept, .refuse(.lastSignInMethod))
            }
        }
        if policy.linkingNeedsRecentSignIn, !isSessionRecent {
            let lost = workingMethods(of: account, policy: policy, enabledProviders: enabledProviders)
                .filter { !left.signInMethods.contains($0) }
            guard lost.isEmpty else { return Verdict(.unlinkNeedsRecentSignIn, .refuse(.credentialTooOld)) }
        }
        return Verdict(.methodUnlinked, .apply(account.id, change, issuesTokens: false))
    }
}

extension UnlinkQuestion: Question {
    package static let name = "unlink"

    package enum CodingKeys: String, CodingKey {
        case account, enabledProviders
        case removal = "+removal"
        case request = "+request"
    }

    package var accounts: [Account] { [account] }

    package mutating func rename(by names: inout Pseudonyms) { account.rename(by: &names) }

    package mutating func flip(_ fact: DecidingFact) -> Bool {
        switch fact {
        case .accountDisabled: account.isDisabled.toggle()
        case .sessionRecent:
            guard case .client(let isSessionRecent) = request else { return false }
            request = .client(isSessionRecent: !isSessionRecent)
        case .providerEnabled, .emailTrusted, .emailProven, .emailTaken, .numberTaken, .identityLinked,
            .providerLinked, .createsUsers, .passwordRight, .passwordLocked, .proofGiven, .methodQuarantined,
            .oneAccountPerEmail, .signUpAllowed:
            return false
        }
        return true
    }

    package mutating func enable(_ providers: Set<ProviderID>) {
        enabledProviders = providers.intersection(account.linkedProviders.keys)
    }
}

/// The removal of a sign-in method by the user's own session on Concord's own routes. As `UnlinkQuestion`, but the last
/// working method always stays, and a recent sign-in is required. Refusals that no sign-in can avoid come first.
package struct RemoveMethodQuestion {
    package var account: Account
    /// Providers whose credentials are accepted now.
    package var enabledProviders: Set<ProviderID>
    package var method: SignInMethod
    /// True if the sign-in is recent enough for `SensitiveOperation.removeMethod`.
    package var isSessionRecent: Bool

    package init(account: Account, enabledProviders: Set<ProviderID>, method: SignInMethod, isSessionRecent: Bool) {
        self.account = account
        self.enabledProviders = enabledProviders
        self.method = method
        self.isSessionRecent = isSessionRecent
    }

    package func decide(_ policy: LinkPolicy) -> Verdict<UpdateDecision> {
        var policy = policy
        policy.keepsLastSignInMethod = true
        // Required below under every policy.
        policy.linkingNeedsRecentSignIn = false
        let unlinking = UnlinkQuestion(
            account: account,
            enabledProviders: enabledProviders,
            removal: Removal(method),
            request: .client(isSessionRecent: isSessionRecent)
        )
        let verdict = unlinking.decide(policy)
        if case .apply = verdict.decision, !isSessionRecent {
            return Verdict(.removalNeedsRecentSignIn, .refuse(.credentialTooOld))
        }
        return verdict
    }
}

extension RemoveMethodQuestion: Question {
    package static let name = "removeMethod"

    package enum CodingKeys: String, CodingKey {
        case account, enabledProviders, method
        case isSessionRecent = "sessionRecent"
    }

    package var accounts: [Account] { [account] }

    package mutating func rename(by names: inout Pseudonyms) { account.rename(by: &names) }

    package mutating func flip(_ fact: DecidingFact) -> Bool {
        switch fact {
        case .accountDisabled: account.isDisabled.toggle()
        case .sessionRecent: isSessionRecent.toggle()
        case .providerEnabled, .emailTrusted, .emailProven, .emailTaken, .numberTaken, .identityLinked,
            .providerLinked, .createsUsers, .passwordRight, .passwordLocked, .proofGiven, .methodQuarantined,
            .oneAccountPerEmail, .signUpAllowed:
            return false
        }
        return true
    }

    package mutating func enable(_ providers: Set<ProviderID>) {
        enabledProviders = providers.intersection(account.linkedProviders.keys)
    }
}
