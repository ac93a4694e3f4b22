package import AccountLinking
import AccountStore

extension AccountOperations {
    /// Mails the owner of an address the sign-in methods of their account, with a code that proves the mailbox.
    ///
    /// Strangers get the same answer after the same work whether or not the address has an account. The worker that
    /// sends the mail reads the account (`resolve`).
    ///
    /// - `continueURL`: the page of the app to return to; it must be on an authorized domain.
    /// - `locale`: the language of the mail, as sent.
    /// - `clientAddress`: the network address that limits count.
    package func requestLookUp(
        of email: EmailAddress,
        continueURL: String?,
        tenant: TenantID,
        locale: String?,
        clientAddress: String?
    ) async throws {
        var settings = EmailCodeSettings()
        settings.continueURL = continueURL
        _ = try await sendEmailCode(
            EmailCodeRequest(
                action: .lookUp(email),
                settings: settings,
                locale: locale,
                isAdministrator: false,
                returnsLink: false,
                clientAddress: clientAddress,
                tenant: tenant
            )
        )
    }

    /// Checks the page of an app to which a mail leads back, before anything about the address is read.
    ///
    /// - Throws: `Denial` for a malformed URL, or one that the project does not authorize.
    package func requireAuthorized(mailReturningTo continueURL: String?) throws {
        var settings = EmailCodeSettings()
        settings.continueURL = continueURL
        if let denial = settings.denial(in: self) { throw denial }
    }

    /// The mail of a lookup as it is sent: with the account's sign-in methods, or with the news that the address has no
    /// account; `nil` if the project does not mail that.
    ///
    /// Reads as much for an address without an account.
    func resolveLookUp(_ mail: Mail, tenant: TenantID) async throws -> Mail? {
        guard let link = mail.link else { return nil }
        let found = try await owner(of: mail, tenant: tenant)
        guard let user = found.user else {
            guard project.settings.lookUpMailsUnknownAddresses else { return nil }
            var mail = mail
            mail.code = nil
            mail.shortCode = nil
            mail.link = nil
            return mail
        }
        return listing(ways(to: user, found.suspended), of: user, by: link, in: mail)
    }

    /// The account that has the recipient's address, with its suspended methods. Reads as much for an address without
    /// an account.
    func owner(
        of mail: Mail,
        tenant: TenantID
    ) async throws -> (user: UserRecord?, suspended: [QuarantinedMethod]) {
        guard let mailbox = EmailAddress(mail.to) else { return (nil, []) }
        let now = effects.now()
        let recipient = try await store.recipient(of: mailbox, tenant: tenant, at: now)
        let user = try await store.user(recipient.owner ?? .nobody, tenant: tenant)
        let suspended = try await store.quarantinedMethods(of: user?.id ?? .nobody, tenant: tenant, at: now)
        // Another spelling than the account's may be another mailbox (rule M25).
        guard let user, let address = user.email?.address, address.isSameMailbox(as: mailbox) else { return (nil, []) }
        return (user, suspended)
    }

    /// The mail with a button for each method that works now, and one that sets a first password.
    ///
    /// - `link`: the page with the secret of a lookup.
    func listing(_ ways: WaysIn, of user: UserRecord, by link: String, in mail: Mail) -> Mail {
        var mail = mail
        mail.displayName = user.profile.displayName
        mail.ways = ways.working.map { method in
            Mail.Way(method: method.name, link: mailLinks.lookUpPage(link, email: mail.email, way: method.name))
        }
        if ways.offersPassword {
            let link = mailLinks.lookUpPage(link, email: mail.email, way: "setPassword")
            mail.ways.append(Mail.Way(method: SignInMethod.password.name, link: link, setsPassword: true))
        }
        return mail
    }
}
