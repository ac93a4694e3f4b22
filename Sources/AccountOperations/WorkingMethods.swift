import AccountLinking
import AccountStore
import IdentityProviders

extension AccountOperations {
    /// The providers of an account by which its user can be signed in now.
    func enabledProviders(of account: Account) -> Set<ProviderID> {
        Set(account.linkedProviders.keys.filter { canSignIn($0) })
    }

    func canSignIn(_ provider: ProviderID) -> Bool {
        providers.canSignIn(provider, configuration: project.configuration(of: provider))
    }

    /// What `session` has to do before `operation`; `nil` when its sign-in is recent enough.
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
