package import AccountLinking
import AccountStore

/// An account that an administrator requests.
package struct CreateAccount: Sendable {
    /// Random unless given.
    package var id: UserID?
    /// The value as sent; validated in the documented order.
    package var email: String?
    package var isEmailVerified = false
    package var password: String?
    /// The value as sent; validated in the documented order.
    package var phoneNumber: String?
    package var displayName: String?
    package var photoURL: String?
    package var isDisabled = false
    package var secondFactors: [FactorDescription] = []

    package init() {}
}

extension AccountOperations {
    /// Creates an account on an administrator's request. Opens no session.
    /// - Throws: `PasswordHasher.Overloaded`, `Contention`, or a database error.
    package func createAccount(_ request: CreateAccount, tenant: TenantID) async throws -> UserRecord {
        guard let id = request.id ?? UserID(effects.newLocalID()) else {
            throw UnexpectedDecision(.accountCreatedByAdmin)
        }
        let facts = try await judge(request, tenant: tenant)
        let factors = try wanted(request.secondFactors)
        var hash: String?
        if let password = request.password { hash = try await passwords.hash(password, for: .administrator) }
        let now = effects.now()
        let event = effects.newEventID()
        let epoch = effects.newSessionEpoch()
        return try await retrying(effects) {
            var claim = AddressClaim.free
            if let email = facts.email { claim = try await store.claim(on: email, tenant: tenant, at: now) }
            let verdict = decideCreateByAdmin(
                request: facts,
                isIDTaken: try await isTaken(id, tenant: tenant),
                isPhoneNumberTaken: try await isTaken(facts.phoneNumber, tenant: tenant),
                isEmailTaken: claim.owner != nil
            )
            switch verdict.decision {
            case .refuse(let refusal): throw refused(.refusal(refusal), by: verdict.rule)
            case .create(let change):
                let blank = UserRecord(tenant: tenant, id: id, sessionEpoch: epoch, createdAt: now)
                var user = blank.applying(change, ChangeContext(now: now, methodProof: .administrator))
                user.profile.displayName = request.displayName
                user.profile.photoURL = request.photoURL
                user.secondFactors = try enrolling(factors, on: user, at: now)
                let write = AccountWrite(
                    previous: nil,
                    user: user,
                    passwordHash: hash,
                    event: AccountEvent(id: event, occurredAt: now, kind: .userCreated, rule: verdict.rule),
                    // An administrator's request ends a reservation.
                    sideWrites: claim.clearing
                )
                try await store.apply(write).requireApplied()
                return user
            }
        }
    }

    /// Parses the request in the documented order of errors: id, number, address, password. Stops at the first error.
    /// - Throws: the denial of the first part that is malformed, refused or taken.
    private func judge(_ request: CreateAccount, tenant: TenantID) async throws -> NewAccount {
        if let given = request.id { try requireFree(isIDTaken: try await isTaken(given, tenant: tenant)) }
        var phoneNumber: PhoneNumber?
        if let raw = request.phoneNumber {
            guard let number = PhoneNumber(raw) else { throw Denial.invalidPhoneNumber }
            try requireFree(isPhoneNumberTaken: try await isTaken(number, tenant: tenant))
            phoneNumber = number
        }
        var email: EmailAddress?
        if let raw = request.email {
            guard let address = EmailAddress(raw) else { throw Denial.invalidEmail }
            try requireFree(isEmailTaken: try await store.user(owning: .email(address), tenant: tenant) != nil)
            email = address
        }
        if let password = request.password, let objection = objection(toNew: password, for: email) {
            throw objection
        }
        return NewAccount(
            email: email,
            isEmailVerified: request.isEmailVerified,
            hasPassword: request.password != nil,
            phoneNumber: phoneNumber,
            isDisabled: request.isDisabled
        )
    }

    /// The second factors of a new account.
    /// - Throws: the denial of a kind that administrators cannot enrol, or the refusal of the rules.
    private func enrolling(
        _ factors: RequestedFactors,
        on user: UserRecord,
        at now: Timestamp
    ) throws(Denial) -> [SecondFactor] {
        guard let wanted = factors.replacing([], at: now) else { throw Denial.secondFactor(.notForAdministrators) }
        let verdict = decideReplaceSecondFactors(account: user.account, enrolled: [], wanted: wanted)
        if case .refuse(let refusal) = verdict.decision { throw refused(.refusal(refusal), by: verdict.rule) }
        return wanted
    }

    /// Asks the rules about one part, as if the rest of the request were free, and throws if they refuse it.
    private func requireFree(
        isIDTaken: Bool = false,
        isPhoneNumberTaken: Bool = false,
        isEmailTaken: Bool = false
    ) throws(Denial) {
        let verdict = decideCreateByAdmin(
            request: NewAccount(),
            isIDTaken: isIDTaken,
            isPhoneNumberTaken: isPhoneNumberTaken,
            isEmailTaken: isEmailTaken
        )
        if case .refuse(let refusal) = verdict.decision { throw refused(.refusal(refusal), by: verdict.rule) }
    }

    /// Returns true also if the account was merged into another.
    private func isTaken(_ id: UserID, tenant: TenantID) async throws -> Bool {
        if try await store.user(id, tenant: tenant) != nil { return true }
        return try await store.isMergedAway(id, tenant: tenant)
    }

    private func isTaken(_ number: PhoneNumber?, tenant: TenantID) async throws -> Bool {
        guard let number else { return false }
        return try await store.user(owning: .phone(number), tenant: tenant) != nil
    }
}
