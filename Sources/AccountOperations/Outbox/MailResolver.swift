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
        case .code(.passwordReset): try await resolveReset(mail, tenant: tenant)
        case .wrongDoor: try await resolveRightDoor(mail, tenant: tenant)
        case .code, .addressInUse, .conflictProof, .methodsQuarantined, .signInMethodsChanged, .accountsMerged,
            .mergeUndone, .signUpMailbox:
            mail
        // The next one goes here.
        }
    }
}
