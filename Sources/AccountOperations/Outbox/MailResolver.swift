import AccountLinking
import AccountStore

// Some mails depend on facts that the request must not read, because its time would reveal them to a stranger. The
// request stores what it knows; the worker that sends the mail reads the rest.

extension AccountOperations {
    /// The mail as it is sent; `nil` if there is nothing to send.
    ///
    /// - Throws: a database error. The mail is then sent later.
    func resolve(_ mail: Mail, tenant: TenantID) async throws -> Mail? {
        switch mail.template {
        case .code(.lookUp): try await resolveLookUp(mail, tenant: tenant)
        case .code, .addressInUse, .conflictProof, .methodsQuarantined, .signInMethodsChanged, .accountsMerged,
            .mergeUndone, .signUpMailbox:
            mail
        // The next one goes here.
        }
    }

    /// The sign-in methods of an account as they are now. One round trip.
    func waysIn(to user: UserRecord, at now: Timestamp) async throws -> WaysIn {
        ways(to: user, try await store.quarantinedMethods(of: user.id, tenant: user.tenant, at: now))
    }

    /// The sign-in methods of an account whose suspended methods were read.
    func ways(to user: UserRecord, _ suspended: [QuarantinedMethod]) -> WaysIn {
        AccountLinking.waysIn(
            to: user.account,
            policy: policy,
            enabledProviders: enabledProviders(of: user.account),
            suspended: suspended.map { ($0.method, $0.expiresAt) }
        )
    }
}
