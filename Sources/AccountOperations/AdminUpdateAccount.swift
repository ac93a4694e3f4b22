package import AccountLinking
import AccountStore

/// Changes that an administrator requests (`accounts:update` with `localId`).
package struct AdminUpdateAccount: Sendable {
    /// A provider identity to link (`linkProviderUserInfo`).
    package struct Link: Sendable {
        package var identity: ProviderIdentity
        package var email: EmailAddress?
        package var displayName: String?
        package var photoURL: String?
        package var screenName: String?

        package init(identity: ProviderIdentity) {
            self.identity = identity
        }
    }

    /// The value as sent; validated after the account is found.
    package var email: String?
    package var isEmailVerified: Bool?
    package var password: String?
    /// The value as sent; validated last.
    package var phoneNumber: String?
    package var profile = ProfileEdit()
    package var isDisabled: Bool?
    /// Text of a JSON object without a `CustomClaims.Defect`. Empty text and an empty object clear the claims.
    package var customAttributes: String?
    /// Stored as given. Every session ends.
    package var validSince: Timestamp?
    package var createdAt: Timestamp?
    package var lastLoginAt: Timestamp?
    package var link: Link?
    package var removal = Removal()
    /// Second factors that replace those of the account; `nil` leaves them.
    package var secondFactors: [FactorDescription]?

    package init() {}
}

extension AccountOperations {
    /// Applies all changes that an administrator requests, or none.
    /// - Throws: `PasswordHasher.Overloaded`, `Contention`, or a database error.
    package func updateAccount(
        _ request: AdminUpdateAccount,
        of id: UserID,
        tenant: TenantID
    ) async throws -> Updated {
        // Decide before hashing, in the documented order of errors: a refused request costs no hash.
        let found = try await accountToUpdate(id, tenant: tenant)
        var email: EmailAddress?
        if let raw = request.email {
            guard let address = EmailAddress(raw) else { throw Denial.invalidEmail }
            let owner = try await owner(of: .email(address), tenant: tenant)
            try requireAllowed(AdminUpdate(email: address), of: found.account, emailOwner: owner)
            email = address
        }
        let address = email ?? found.email?.address
        if let password = request.password, let objection = objection(toNew: password, for: address) {
            throw objection
        }
        let factors = try request.secondFactors.map(wanted)
        var phoneNumber: PhoneNumber?
        if let raw = request.phoneNumber {
            guard let number = PhoneNumber(raw) else { throw Denial.invalidPhoneNumber }
            phoneNumber = number
        }

        var hash: String?
        if let password = request.password { hash = try await passwords.hash(password, for: .administrator) }
        var attempt = UpdateAttempt(effects: effects, methodProof: .administrator, passwordHash: hash)
        if let link = request.link {
            attempt = UpdateAttempt(
                effects: effects,
                methodProof: .administrator,
                linkedProvider: link.row(at: attempt.now),
                passwordHash: hash
            )
        }
        let update = AdminUpdate(
            email: email,
            isEmailVerified: request.isEmailVerified,
            setsPassword: hash != nil,
            phoneNumber: phoneNumber,
            isDisabled: request.isDisabled,
            identity: request.link?.identity,
            revokesSessions: request.validSince != nil
        )
        return try await retrying(effects) { [attempt] in
            try await attemptUpdate(request, update, factors, of: id, tenant: tenant, attempt)
        }
    }

    private func attemptUpdate(
        _ request: AdminUpdateAccount,
        _ update: AdminUpdate,
        _ factors: RequestedFactors?,
        of id: UserID,
        tenant: TenantID,
        _ attempt: UpdateAttempt
    ) async throws -> Updated {
        let user = try await accountToUpdate(id, tenant: tenant)
        var claim = AddressClaim.free
        if let email = update.email { claim = try await store.claim(on: email, tenant: tenant, at: attempt.now) }
        let question = UpdateByAdminQuestion(
            account: user.account,
            update: update,
            emailOwner: claim.owner?.account,
            phoneOwner: try await owner(of: update.phoneNumber.map(Identifier.phone), tenant: tenant),
            identityOwner: try await owner(of: update.identity.map(Identifier.federated), tenant: tenant)
        )
        var plan = UpdatePlan(user.account)
        let policy = policy
        try plan.ask(question, policy)
        // Providers are unlinked before one is linked: the provider to link is not removed.
        var removal = request.removal
        if let linked = update.identity?.provider { removal.providers.remove(linked) }
        let unlinking = UnlinkQuestion(
            account: plan.account,
            enabledProviders: enabledProviders(of: plan.account),
            removal: removal,
            request: .administrator
        )
        try plan.ask(unlinking, policy)
        if let factors {
            guard let wanted = factors.replacing(user.secondFactors, at: attempt.now) else {
                throw Denial.secondFactor(.notForAdministrators)
            }
            try plan.add(
                decideReplaceSecondFactors(account: plan.account, enrolled: user.secondFactors, wanted: wanted)
            )
        }
        if let refusal = plan.refusal {
            try await keepRefusal(plan, of: user)
            throw refused(.refusal(refusal.decision), by: refusal.rule)
        }
        var changed = user.applying(plan.change, attempt.context)
        request.edit(&changed, linkedBefore: user.linkedProviders, at: attempt.now)
        // An administrator's request ends a reservation.
        var sideWrites = claim.clearing
        if let lastLoginAt = request.lastLoginAt {
            sideWrites.append(.lastLogin(lastLoginAt, of: id, tenant: tenant))
        }
        return try await apply(
            changed,
            previous: user,
            plan: plan,
            otherwise: .adminUpdateUnchanged,
            attempt,
            sideWrites: sideWrites
        )
    }

    func accountToUpdate(_ id: UserID, tenant: TenantID) async throws -> UserRecord {
        let user = try await store.user(id, tenant: tenant)
        try requireAllowed(AdminUpdate(), of: user?.account)
        guard let user else { throw UnexpectedDecision(.adminUpdateUnknownAccount) }
        return user
    }

    /// Asks the rules about one part of an update, and throws if they refuse it.
    private func requireAllowed(_ part: AdminUpdate, of account: Account?, emailOwner: Account? = nil) throws(Denial) {
        let question = UpdateByAdminQuestion(
            account: account,
            update: part,
            emailOwner: emailOwner,
            phoneOwner: nil,
            identityOwner: nil
        )
        let verdict = question.decide(policy)
        if case .refuse(let refusal) = verdict.decision { throw refused(.refusal(refusal), by: verdict.rule) }
    }

    private func owner(of identifier: Identifier?, tenant: TenantID) async throws -> Account? {
        guard let identifier else { return nil }
        return try await store.user(owning: identifier, tenant: tenant)?.account
    }
}

extension AdminUpdateAccount {
    /// Applies the fields that no decision reads.
    fileprivate func edit(
        _ user: inout UserRecord,
        linkedBefore: [ProviderID: UserRecord.LinkedProvider],
        at now: Timestamp
    ) {
        user.profile = profile.applied(to: user.profile)
        if let customAttributes { user.customAttributes = CustomClaims.stored(customAttributes) }
        if let validSince { user.validSince = Timestamp(secondsSinceEpoch: validSince.secondsSinceEpoch) }
        if let createdAt { user.createdAt = createdAt }
        if let lastLoginAt { user.lastLoginAt = lastLoginAt }
        // The identity was linked before: replace its description.
        if let link, let before = linkedBefore[link.identity.provider], before.identity == link.identity,
            user.linkedProviders[link.identity.provider] == before
        {
            var row = link.row(at: now)
            row.linkedAt = before.linkedAt
            row.issuer = before.issuer
            user.linkedProviders[link.identity.provider] = row
        }
    }
}

extension AdminUpdateAccount.Link {
    fileprivate func row(at now: Timestamp) -> UserRecord.LinkedProvider {
        UserRecord.LinkedProvider(
            identity: identity,
            issuer: nil,
            email: email,
            displayName: displayName,
            photoURL: photoURL,
            screenName: screenName,
            linkedAt: now,
            updatedAt: now
        )
    }
}
