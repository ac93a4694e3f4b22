package import AccountLinking
import AccountStore

/// The sign-in methods of an address that anonymous callers may see (`accounts:createAuthUri`).
package struct FoundSignInMethods: Sendable, Hashable {
    package var isRegistered: Bool
    package var providers: [ProviderID]
    /// Names of methods; `password` and `emailLink` both belong to the provider `password`.
    package var methods: [String]
}

extension AccountOperations {
    /// The methods of the account that owns `email`, or else of the first account with a provider row that shows it.
    ///
    /// With email enumeration protection the result is `nil`. Nothing is read, so that the response time reveals
    /// nothing.
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
                // If accounts may share an address, a provider does not identify this one.
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
