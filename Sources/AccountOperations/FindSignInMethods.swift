package import AccountLinking
import AccountStore

/// The sign-in methods of an address, as far as anonymous callers may see them (`accounts:createAuthUri`).
package struct FoundSignInMethods: Sendable, Hashable {
    package var isRegistered: Bool
    package var providers: [ProviderID]
    /// Names of methods; `password` and `emailLink` are two of one provider.
    package var methods: [String]
}

extension AccountOperations {
    /// The ways in of the account that owns `email`, or else of the first one of whose provider rows shows it.
    ///
    /// With addresses protected the answer is `nil` and nothing is looked up, so that its time tells nothing either.
    package func findSignInMethods(email: EmailAddress, tenant: TenantID) async throws -> FoundSignInMethods? {
        let policy = policy
        guard !policy.protectsEmailEnumeration else { return nil }
        guard let account = try await match(email, tenant: tenant)?.account else {
            return FoundSignInMethods(isRegistered: false, providers: [], methods: [])
        }
        var providers: [ProviderID] = []
        var methods: [String] = []
        for method in account.signInMethods {
            switch method {
            case .password, .emailLink:
                if providers.isEmpty { providers.append(.password) }
                methods.append(method.name)
            case .provider(let provider):
                // Where accounts may share an address, a provider is not what identifies this one.
                guard policy.isOneAccountPerEmail else { continue }
                providers.append(provider)
                methods.append(method.name)
            case .phone: continue
            }
        }
        return FoundSignInMethods(isRegistered: true, providers: providers, methods: methods)
    }

    private func match(_ email: EmailAddress, tenant: TenantID) async throws -> UserRecord? {
        if let owner = try await store.user(owning: .email(email), tenant: tenant) { return owner }
        guard policy.isOneAccountPerEmail else { return nil }
        guard let linked = try await store.userIDs(linkedWithEmail: email, tenant: tenant).first else { return nil }
        return try await store.user(linked, tenant: tenant)
    }

    /// A random identifier for one run of a sign-in flow.
    package func newFlowID() -> String { effects.newLocalID() }
}
