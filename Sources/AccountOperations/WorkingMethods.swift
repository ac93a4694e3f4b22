import AccountLinking
import IdentityProviders

extension AccountOperations {
    /// The account's providers by which its user can sign in now.
    func enabledProviders(of account: Account) -> Set<ProviderID> {
        Set(account.linkedProviders.keys.filter { canSignIn($0) })
    }

    func canSignIn(_ provider: ProviderID) -> Bool {
        providers.canSignIn(provider, configuration: project.configuration(of: provider))
    }

    /// The challenge that `session` must meet before `operation`; `nil` if its sign-in is recent enough.
    func challenge(
        _ session: AuthenticatedSession,
        for operation: SensitiveOperation,
        now: Timestamp
    ) -> ReauthenticationChallenge? {
        let account = session.user.account
        return reauthenticationChallenge(
            policy: policy,
            operation: operation,
            account: account,
            enabledProviders: enabledProviders(of: account),
            isSessionAnonymous: session.token.isAnonymous,
            authTime: session.token.authTime,
            now: now
        )
    }
}
