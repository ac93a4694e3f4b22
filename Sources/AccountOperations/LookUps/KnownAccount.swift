package import AccountLinking
import AccountStore

/// An account as its owner sees it before signing in: on a device that the account knows, or with a proof of the
/// mailbox.
package struct KnownAccount: Sendable {
    package let email: EmailAddress
    package let ways: WaysIn
    /// The method of the newest sign-in; `nil` if unknown, if it does not work now, and for a device, which remembers it
    /// itself.
    package let lastUsed: SignInMethod?

    /// The methods that work now, as `createAuthUri` names them: without the phone, which no address finds.
    package var found: FoundSignInMethods {
        var found = FoundSignInMethods(isRegistered: true, providers: [], methods: [])
        for method in ways.working {
            switch method {
            case .password, .emailLink:
                if !found.providers.contains(.password) { found.providers.append(.password) }
            case .provider(let provider): found.providers.append(provider)
            case .phone: continue
            }
            found.methods.append(method.name)
        }
        return found
    }
}

extension AccountOperations {
    /// The sign-in methods of an account as they are now.
    func ways(to user: UserRecord, _ suspended: [QuarantinedMethod]) -> WaysIn {
        waysIn(
            to: user.account,
            policy: policy,
            enabledProviders: enabledProviders(of: user.account),
            suspended: suspended.map { ($0.method, $0.expiresAt) }
        )
    }

    /// `user` as its owner sees it.
    func known(_ user: UserRecord, at email: EmailAddress, _ facts: WaysInFacts) -> KnownAccount {
        let ways = ways(to: user, facts.suspended)
        return KnownAccount(
            email: user.email?.address ?? email,
            ways: ways,
            lastUsed: facts.newestSignInProvider(of: user).flatMap { usedMethod(signInProvider: $0, ways: ways) }
        )
    }
}
