package import AccountLinking
import AccountStore

/// A first factor that the project's sign-in page can offer to everyone.
package struct OfferedMethod: Sendable, Hashable {
    package let method: SignInMethod
    /// The name of a provider that the project has registered itself; `nil` for other methods.
    package let displayName: String?
}

extension AccountOperations {
    /// The first factors by which clients can sign in now, the same for everyone. Reads only the cached project.
    ///
    /// Known providers come in the order of their table, then the project's own by id. A provider without the values
    /// that its page needs is left out: a browser cannot be sent there.
    package var offeredMethods: [OfferedMethod] {
        let policy = policy
        var methods: [SignInMethod] = []
        if policy.allowsPasswordSignIn { methods.append(.password) }
        if policy.allowsEmailLinkSignIn { methods.append(.emailLink) }
        if policy.allowsPhoneSignIn { methods.append(.phone) }
        let known = KnownProvider.all.map(\.id).filter(sendsBrowser)
        let own = project.registeredProviders.filter { KnownProvider.byID[$0] == nil && sendsBrowser(to: $0) }
        let providers = own.sorted { $0.rawValue < $1.rawValue }
        return (methods + known.map(SignInMethod.provider)).map { OfferedMethod(method: $0, displayName: nil) }
            + providers.map { provider in
                OfferedMethod(
                    method: .provider(provider),
                    displayName: project.registration(of: provider)?.displayName
                )
            }
    }

    /// Returns true if a browser can sign in on the page of `provider`: it is enabled, and its registration has what
    /// the flow needs.
    private func sendsBrowser(to provider: ProviderID) -> Bool {
        guard canSignIn(provider) else { return false }
        // In development, known providers need no registration.
        guard let record = project.registration(of: provider) else { return true }
        guard record.clientID?.isEmpty == false else { return false }
        let hasSecret = record.sealedClientSecret != nil
        switch provider {
        case .apple: return record.appleTeamID != nil && record.appleKeyID != nil && record.sealedAppleKey != nil
        case _ where provider.isOpenIDConnect:
            return record.acceptsAuthorizationCodes ? hasSecret : record.acceptsIDTokens
        default: return hasSecret
        }
    }
}
