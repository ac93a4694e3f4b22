/// What is to be taken off an account: `deleteProvider` and `deleteAttribute` of `accounts:update`.
package struct Removal: Sendable, Hashable {
    /// `password` takes the hash and the link flag, `phone` the number.
    package var providers: Set<ProviderID>
    /// `deleteAttribute: EMAIL`: the address, its proof and the link flag; the hash stays, of no use.
    package var email: Bool
    /// `deleteAttribute: PASSWORD`: the hash alone.
    package var password: Bool

    package init(providers: Set<ProviderID> = [], email: Bool = false, password: Bool = false) {
        self.providers = providers
        self.email = email
        self.password = password
    }
}

/// Decides an unlinking, by the user's own session or by an administrator (`spec/02` §5). Sessions stay.
///
/// Total and pure; the first matching rule wins. Unlinking `password` keeps the address and its claim (P7). What the
/// account does not have is no error: the SDKs refuse `no-such-provider` themselves.
///
/// - `request`: an administrator may take the last method, and may unlink from a disabled account.
package func decideUnlink(
    policy: LinkPolicy,
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
        if account.isDisabled { return Verdict(.k4, .refuse(.userDisabled)) }
        isSessionRecent = isRecent
        keepsLastMethod = policy.keepsLastSignInMethod
    }
    var change = AccountChange()
    let unlinksPassword = removal.providers.contains(.password)
    if account.hasPassword, unlinksPassword || removal.password { change.password = .remove }
    if account.hasEmailLink, unlinksPassword || removal.email { change.emailLink = false }
    if account.email != nil, removal.email { change.email = .remove }
    if account.phoneNumber != nil, removal.providers.contains(.phone) { change.phone = .remove }
    change.unlinkedProviders = removal.providers.intersection(account.linkedProviders.keys)

    if change.isEmpty { return Verdict(.k1, .unchanged(account.id)) }
    if change.email == .remove, !isSessionRecent { return Verdict(.k5, .refuse(.credentialTooOld)) }
    if keepsLastMethod {
        let isLast = !account.signInMethods.isEmpty && account.applying(change).signInMethods.isEmpty
        if isLast { return Verdict(.k2, .refuse(.lastSignInMethod)) }
    }
    return Verdict(.k3, .apply(account.id, change, issuesTokens: false))
}
