package import AccountLinking
import AccountStore

/// The users who could no longer sign in if a provider were disabled.
package struct LockedOutUsers: Sendable, Hashable {
    package var count: Int
    /// True if every user of the provider was examined. Otherwise there may be more.
    package var isExact: Bool
}

extension AccountOperations {
    /// Limit of the users that are examined before a provider is disabled. An operator's request has time for these.
    package static let usersExaminedMax = 20_000
    private static let usersPerPage = 500

    /// Disables a registered provider, unless that locks users out. A user is locked out if no other method works now.
    ///
    /// With more than `usersExaminedMax` users, the count is not exact, and the request is refused. The count informs
    /// the operator and guards nothing: it misses a user who unlinks another method at the same moment.
    ///
    /// - `force`: disables the provider anyway.
    /// - `idempotent`: set if the caller may repeat the request.
    /// - Returns: the number of users who are locked out.
    /// - Throws: a database error.
    package func disableProvider(
        _ provider: ProviderID,
        force: Bool,
        idempotent: IdempotentRequest<LockedOutUsers>? = nil
    ) async throws -> LockedOutUsers {
        let now = effects.now()
        let tenant = TenantID.project
        let key = idempotent?.key(of: nil, tenant: tenant)
        if let answer = try await storedAnswer(to: idempotent, of: nil, tenant: tenant, at: now) { throw answer }
        guard try await providerConfig(provider) != nil else { throw Denial.providerNotRegistered }
        let lockedOut = try await usersLockedOut(without: provider)
        guard force || lockedOut == LockedOutUsers(count: 0, isExact: true) else {
            throw Denial.usersLockedOut(lockedOut)
        }
        let kept = try storeAnswer(lockedOut, to: idempotent, of: nil, tenant: tenant, at: now)
        switch try await store.disableProvider(provider, tenant: tenant, at: now, answerTo: key, sideWrites: kept) {
        case .notRegistered:
            throw Denial.providerNotRegistered
        case .answeredBefore(let answer):
            guard let denial = try storedAnswer(to: idempotent, stored: answer, of: nil, tenant: tenant) else {
                return lockedOut
            }
            throw denial
        case .disabled:
            await project.takeNoteOfStoredChange()
            return lockedOut
        }
    }

    private func usersLockedOut(without provider: ProviderID) async throws -> LockedOutUsers {
        var found = LockedOutUsers(count: 0, isExact: true)
        let policy = policy
        var examined = 0
        var place: FederatedCursor? = .beginning(of: provider)
        while let start = place {
            guard examined < Self.usersExaminedMax else {
                found.isExact = false
                break
            }
            let page = try await store.users(linkedTo: start, tenant: .project, countMax: Self.usersPerPage)
            for account in page.users.map(\.account) {
                var enabled = enabledProviders(of: account)
                guard !workingMethods(of: account, policy: policy, enabledProviders: enabled).isEmpty else { continue }
                enabled.remove(provider)
                if workingMethods(of: account, policy: policy, enabledProviders: enabled).isEmpty { found.count += 1 }
            }
            examined += Self.usersPerPage
            place = page.next
        }
        return found
    }
}
