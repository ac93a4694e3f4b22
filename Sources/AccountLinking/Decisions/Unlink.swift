/// What is to be taken off an account: `deleteProvider` and `deleteAttribute` of `accounts:update`.
package struct Removal: Sendable, Hashable {
    /// `password` takes the hash and the link flag, `phone` the number.
    package var providers: Set<ProviderID>
    /// `deleteAttribute: EMAIL`: the address, its proof and the link flag; the hash stays, of no use.
    package var email: Bool
    /// `deleteAttribute: PASSWORD`: the hash alone.
    package var password: Bool
    /// The link flag alone.
    package var emailLink: Bool

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

    /// One sign-in method, and nothing else.
    package init(_ method: SignInMethod) {
        switch method {
        case .password: self.init(password: true)
        case .emailLink: self.init(emailLink: true)
        case .phone: self.init(providers: [.phone])
        case .provider(let provider): self.init(providers: [provider])
        }
    }
}

/// Decides an unlinking, by the user's own session or by an administrator. Sessions stay.
///
/// Total and pure; the first matching rule wins. Unlinking `password` keeps the address and its claim (P7). What the
/// account does not have is no error: the SDKs refuse `no-such-provider` themselves.
///
/// - `enabledProviders`: those whose credentials are accepted now; the others are no way in that could be left.
/// - `request`: an administrator may take the last method, and may unlink from a disabled account.
package func decideUnlink(
    policy: LinkPolicy,
    enabledProviders: Set<ProviderID>,
    account: Account,
    removal: Removal,
    request: RequestOrigin
) -> Verdict<UpdateDecision> {
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
    // Whoever loses an address has to hear of it, and can take it back: the session may be stolen.
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

/// Decides whether the user's own session takes a sign-in method off the account, on Concord's own routes: as
/// `decideUnlink`, but the last method that works always stays, and the sign-in has to be recent.
///
/// Total and pure. What is refused whoever signs in is refused before anybody is asked to sign in anew.
///
/// - `enabledProviders`: those whose credentials are accepted now.
/// - `isSessionRecent`: whether its sign-in is recent enough for `SensitiveOperation.removeMethod`.
package func decideRemoveMethod(
    policy: LinkPolicy,
    enabledProviders: Set<ProviderID>,
    account: Account,
    method: SignInMethod,
    isSessionRecent: Bool
) -> Verdict<UpdateDecision> {
    var policy = policy
    policy.keepsLastSignInMethod = true
    // Asked for below, whatever the policy.
    policy.linkingNeedsRecentSignIn = false
    let verdict = decideUnlink(
        policy: policy,
        enabledProviders: enabledProviders,
        account: account,
        removal: Removal(method),
        request: .client(isSessionRecent: isSessionRecent)
    )
    if case .apply = verdict.decision, !isSessionRecent {
        return Verdict(.removalNeedsRecentSignIn, .refuse(.credentialTooOld))
    }
    return verdict
}
