/// The smallest change that resolves a finding. The set is closed; docs/guides/audits.md documents how a plan writes
/// each repair.
package enum Repair: Sendable, Hashable {
    /// Reserves an identifier for the account that has it, if it is reserved for no account.
    case claim(ClaimedIdentifier)
    /// Releases an identifier that is reserved for an account without it.
    case release(kind: String, key: String)
    /// Deletes rows that name an account that does not exist.
    case deleteRecords(OrphanTable)
    /// Removes the record of a method whose credential is missing.
    case forgetMethod(SignInMethod)
    /// Records an existing method, with the time when it was set or linked.
    case recordMethod(SignInMethod)
    /// Marks the address as unverified until its owner proves it.
    case unproveAddress
    /// Suspends the method. Its owner gets a mail and can restore it.
    case suspend(SignInMethod, endsSessions: Bool)
    case endSessions
    /// Deletes a phone number that cannot be used to sign in.
    case forgetNumber
    /// Deletes unused mailed codes of a kind that were made before a time.
    case voidCodes(EmailCodeRecord.Kind, madeBefore: Timestamp)
    /// Deletes records that ended before a time.
    case deleteOverdue(OverdueRecords, endedBefore: Timestamp)

    /// The kind of identifier to claim. An account has at most one of each, so the value is not needed.
    package enum ClaimedIdentifier: Sendable, Hashable {
        case email
        case phone
        case federated(ProviderID)
    }

    /// Tables that may have orphaned rows. Raw values are names of tables.
    package enum OrphanTable: String, Sendable, Hashable, CaseIterable {
        case linkedProviders = "linked_providers"
        case signInMethods = "sign_in_methods"
        case secondFactors = "second_factors"
        case passwordCredentials = "password_credentials"
        case sessions
        case oneTimeCodes = "one_time_codes"
        case conflicts
    }

    package enum OverdueRecords: Sendable, Hashable {
        case codes(EmailCodeRecord.Kind)
        case conflicts
        /// Sessions of an earlier epoch. They ended at `validSince`.
        case sessions
    }
}

extension Repair {
    /// The description for people. It has no value that identifies a person.
    package var words: String {
        switch self {
        case .claim(.email): "reserve the account's address for it"
        case .claim(.phone): "reserve the account's phone number for it"
        case .claim(.federated(let provider)):
            "reserve the account's identity of \(provider.rawValue) for it"
        case .release(let kind, _): "release an identifier (\(kind)) that is reserved for an account without it"
        case .deleteRecords(let table):
            "delete the rows of \(table.rawValue) that name no account"
                + finality
        case .forgetMethod(let method): "remove \(method.name) from the recorded methods: its credential is missing"
        case .recordMethod(let method): "record \(method.name) as a sign-in method"
        case .unproveAddress:
            "mark the address as unverified; the user who verifies it takes over the account, and older methods are suspended"
        case .suspend(let method, false): "suspend \(method.name); its owner gets a mail and can restore it"
        case .suspend(let method, true):
            "suspend \(method.name) and end all sessions; its owner gets a mail and can restore it"
        case .endSessions: "end all sessions"
        case .forgetNumber: "delete a phone number that cannot be used to sign in"
        case .voidCodes(let kind, _): "delete unused codes of \(kind.rawValue)" + finality
        case .deleteOverdue(.codes(let kind), _): "delete expired codes of \(kind.rawValue)" + finality
        case .deleteOverdue(.conflicts, _): "delete expired conflicts" + finality
        case .deleteOverdue(.sessions, _): "delete sessions that have ended" + finality
        }
    }

    private var finality: String { canBeUndone ? "" : "; this cannot be undone" }

    /// True if the repair concerns rows that name no existing account.
    package var needsNoAccount: Bool {
        switch self {
        case .deleteRecords: true
        case .claim, .release, .forgetMethod, .recordMethod, .unproveAddress, .suspend, .endSessions, .forgetNumber,
            .voidCodes, .deleteOverdue:
            false
        }
    }

    /// True if the repair can be undone. Rows need their account to be restored. An undo restores no sessions, codes or
    /// conflicts, because they would let their holder sign in without a new proof.
    package var canBeUndone: Bool {
        switch self {
        case .deleteRecords, .voidCodes, .deleteOverdue: false
        case .claim, .release, .forgetMethod, .recordMethod, .unproveAddress, .suspend, .endSessions, .forgetNumber:
            true
        }
    }

    /// The change of the facts that decisions read; empty if only other rows change.
    package var change: AccountChange {
        var change = AccountChange()
        switch self {
        case .unproveAddress: change.email = .unprove
        case .endSessions: change.endsSessions = true
        case .suspend(let method, let endsSessions):
            change.quarantinesRemovals = true
            change.endsSessions = endsSessions
            switch method {
            case .password: change.password = .remove
            case .emailLink: change.emailLink = false
            case .phone: change.phone = .remove
            case .provider(let provider): change.unlinkedProviders = [provider]
            }
        case .claim, .release, .deleteRecords, .forgetMethod, .recordMethod, .forgetNumber, .voidCodes, .deleteOverdue:
            break
        }
        return change
    }
}

extension UserRecord {
    /// The record after `repair`. Pure.
    package func repaired(by repair: Repair, at now: Timestamp) -> UserRecord {
        var user = applying(repair.change, ChangeContext(now: now, methodProof: .administrator))
        switch repair {
        case .forgetMethod(let method): user.methodProofs[method] = nil
        case .recordMethod(let method):
            // A number has no separate time.
            let since: Timestamp? =
                switch method {
                case .password: passwordUpdatedAt
                case .provider(let provider): linkedProviders[provider]?.linkedAt
                case .phone: phoneNumber.map { _ in createdAt }
                case .emailLink: nil
                }
            if let since, user.methodProofs[method] == nil {
                user.methodProofs[method] = MethodProof(proof: .administrator, provenAt: since)
            }
        case .forgetNumber: user.unprovenPhoneNumber = nil
        case .claim, .release, .deleteRecords, .unproveAddress, .suspend, .endSessions, .voidCodes, .deleteOverdue:
            break
        }
        return user
    }
}
