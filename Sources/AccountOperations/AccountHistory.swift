package import AccountLinking
import AccountStore
import JSON

/// The history of an account, for its user: without rules, networks or facts of decisions.
package struct AccountHistory: Sendable {
    package struct Entry: Sendable {
        /// The name of the decision, for operators.
        package let id: DecisionID
        package let occurredAt: Timestamp
        package let kind: HistoryKind
        /// The sign-in method that the entry is about, if it is known.
        package let method: SignInMethod?
        /// The kind of the second factor of a sign-in.
        package let secondFactor: String?
        /// The id of a merge.
        package let merge: String?
    }

    /// Newest first.
    package let entries: [Entry]
    /// The token of the next page; `nil` on the last one. A page may have fewer entries than requested.
    package let next: String?

    package static let entriesMax = 100
}

/// The kinds of entries in an account's history. The set is closed. Raw values are names on the wire.
package enum HistoryKind: String, Sendable, Hashable, CaseIterable {
    case accountCreated = "account-created"
    case accountImported = "account-imported"
    case signedIn = "signed-in"
    case methodAdded = "method-added"
    case methodRemoved = "method-removed"
    case methodRestored = "method-restored"
    case suspendedMethodDeleted = "suspended-method-deleted"
    /// The owner proved the address, and methods that others may have added were suspended.
    case ownerProvenMethodsSuspended = "owner-proven-methods-suspended"
    case passwordChanged = "password-changed"
    case passwordReset = "password-reset"
    case emailChanged = "email-changed"
    case emailVerified = "email-verified"
    case emailRecovered = "email-recovered"
    case profileChanged = "profile-changed"
    case changedByAdministrator = "changed-by-administrator"
    /// Another change of the account.
    case accountChanged = "account-changed"
    case secondFactorsChanged = "second-factors-changed"
    case conflictOpened = "conflict-opened"
    case conflictProofRequested = "conflict-proof-requested"
    case conflictProven = "conflict-proven"
    case conflictResolved = "conflict-resolved"
    case conflictDeclined = "conflict-declined"
    case sessionHandedOver = "session-handed-over"
    case sessionEnded = "session-ended"
    case allSessionsEnded = "all-sessions-ended"
    case mergePrepared = "merge-prepared"
    case mergeAborted = "merge-aborted"
    case accountsMerged = "accounts-merged"
    case mergedAway = "merged-away"
    case mergeUndone = "merge-undone"
    case accountRepaired = "account-repaired"
    case repairUndone = "repair-undone"
}

extension HistoryKind {
    /// The kind of the entry for an event; `nil` for an event that the user does not see. Attempts of strangers are
    /// counted with the sessions, and an account has no history from before its deletion.
    ///
    /// - `rule`: `nil` for a rule of another version.
    init?(_ kind: AccountEvent.Kind, _ rule: Rule?) {
        switch kind {
        case .refused, .conflictProofFailed, .userDeleted: return nil
        case .userCreated: self = .accountCreated
        case .userImported: self = .accountImported
        case .signedIn: self = .signedIn
        case .methodLinked: self = .methodAdded
        case .accountTakenOver: self = .ownerProvenMethodsSuspended
        case .conflictOpened: self = .conflictOpened
        case .conflictProofRequested: self = .conflictProofRequested
        case .conflictProven: self = .conflictProven
        case .conflictResolved: self = .conflictResolved
        case .conflictDeclined: self = .conflictDeclined
        case .userUpdated: self = rule.flatMap { Self.updates[$0] } ?? .accountChanged
        case .secondFactorsChanged: self = .secondFactorsChanged
        case .methodRestored: self = .methodRestored
        case .quarantineDiscarded: self = .suspendedMethodDeleted
        case .sessionHandedOver: self = .sessionHandedOver
        case .sessionEnded: self = .sessionEnded
        case .sessionsRevoked: self = .allSessionsEnded
        case .mergePrepared: self = .mergePrepared
        case .mergeAborted: self = .mergeAborted
        case .accountsMerged: self = .accountsMerged
        case .mergedAway: self = .mergedAway
        case .mergeUndone: self = .mergeUndone
        case .accountRepaired: self = .accountRepaired
        case .repairUndone: self = .repairUndone
        }
    }

    /// The updates that have a separate kind, by their rules. Other updates are `accountChanged`.
    private static let updates: [Rule: HistoryKind] = [
        .passwordChanged: .passwordChanged,
        .passwordReset: .passwordReset,
        .resetKeepsProviders: .passwordReset,
        .resetReleasesNumber: .passwordReset,
        .resetUnlinksProviders: .passwordReset,
        .resetSetsFirstPassword: .passwordReset,
        .emailAdded: .emailChanged,
        .emailChanged: .emailChanged,
        .emailChangedByCode: .emailChanged,
        .emailRecovered: .emailRecovered,
        .recoverySuspendsAdditions: .emailRecovered,
        .emailVerified: .emailVerified,
        .firstProofBySession: .emailVerified,
        .firstProofElsewhere: .emailVerified,
        .methodUnlinked: .methodRemoved,
        .profileEdited: .profileChanged,
        .accountUpdatedByAdmin: .changedByAdministrator,
    ]
}

/// A place in the history of an account, sealed: a client cannot name one from before the account existed.
private struct HistoryPlace: Sendable {
    let user: UserRecord
    let event: AccountEvent.ID

    private static let context = "history-place/1"
    private static let bytesMax = 4096

    func sealed(by sealer: Sealer) throws -> String {
        let content = JSONValue.array(Self.account(user) + [.string(DecisionID(event).text)])
        return Base64URL.encode(try sealer.seal(Array(content.text.utf8), context: Self.context))
    }

    /// The account. A later account with the same id has another time of creation.
    private static func account(_ user: UserRecord) -> [JSONValue] {
        [
            .string(user.tenant.rawValue), .string(user.id.rawValue),
            .string(String(user.createdAt.microsecondsSinceEpoch)),
        ]
    }

    init(user: UserRecord, event: AccountEvent.ID) {
        self.user = user
        self.event = event
    }

    /// `nil` for text that is no place in the history of `user`.
    init?(_ text: String, of user: UserRecord, sealer: Sealer) {
        guard text.utf8.count <= Self.bytesMax, let sealed = Base64URL.decode(text),
            let content = try? sealer.open(sealed, context: Self.context),
            let parts = (try? JSONValue(parsing: content))?.array, parts.count == 4,
            Array(parts.dropLast()) == Self.account(user), let id = parts[3].string.flatMap({ DecisionID($0) })
        else { return nil }
        self.init(user: user, event: id.event)
    }
}

extension AccountOperations {
    /// A page of the history of a session's account, newest first. Two round trips.
    ///
    /// - `token`: of the page before; `nil` for the first page.
    /// - `countMax`: 1 to `AccountHistory.entriesMax`.
    /// - Returns: `nil` if `token` is not of this list.
    package func history(
        idToken: String,
        tenant: TenantID,
        after token: String?,
        countMax: Int
    ) async throws -> AccountHistory? {
        let user = try await authenticate(idToken: idToken, tenant: tenant).user
        var before: AccountEvent.ID?
        if let token {
            guard let place = HistoryPlace(token, of: user, sealer: sealer) else { return nil }
            before = place.event
        }
        return try await history(of: user, before: before, countMax: countMax)
    }

    /// The history of an account, `countMax` events at most. One round trip for each hundred.
    func history(of user: UserRecord, before: AccountEvent.ID? = nil, countMax: Int) async throws -> AccountHistory {
        var (entries, before, left) = ([AccountHistory.Entry](), before, countMax)
        while left > 0 {
            let count = min(left, AccountHistory.entriesMax)
            let events = try await store.events(of: user.id, tenant: user.tenant, before: before, countMax: count)
            // An earlier account had the same id.
            let own = events.prefix { $0.kind != AccountEvent.Kind.userDeleted.rawValue }
            entries += own.compactMap(AccountHistory.Entry.init)
            guard events.count == count, own.count == count, let last = own.last else {
                return AccountHistory(entries: entries, next: nil)
            }
            before = last.id
            left -= count
        }
        let next = try before.map { try HistoryPlace(user: user, event: $0).sealed(by: sealer) }
        return AccountHistory(entries: entries, next: next)
    }
}

extension AccountHistory.Entry {
    /// `nil` for an event that the user does not see, and for one of another version.
    fileprivate init?(_ event: StoredEvent) {
        let rule = Rule(rawValue: event.rule)
        guard let kind = AccountEvent.Kind(rawValue: event.kind).flatMap({ HistoryKind($0, rule) }) else { return nil }
        self.init(
            id: DecisionID(event.id),
            occurredAt: event.occurredAt,
            kind: kind,
            method: event.method ?? rule.flatMap(\.method),
            secondFactor: event.details?["secondFactor"]?.string,
            merge: event.details?["merge"]?.string
        )
    }
}

extension StoredEvent {
    /// The method that the event's credential or removal is of.
    fileprivate var method: SignInMethod? {
        if let provider = details?["provider"]?.string { return SignInMethod(name: provider) }
        for record in records {
            if let removal = record.question as? RemoveMethodQuestion { return removal.method }
            if let credential = record.question.presentedCredential {
                return .provider(credential.identity.provider)
            }
        }
        return nil
    }
}

extension Rule {
    /// The method of sign-ins by this rule, if the rule names one.
    fileprivate var method: SignInMethod? { Self.methods[self] }

    private static let methods: [Rule: SignInMethod] = [
        .signInByPassword: .password,
        .signUpByPassword: .password,
        .passwordAddedToOwnEmail: .password,
        .emailAndPasswordLinked: .password,
        .quarantinedPasswordRestored: .password,
        .signInByEmailLink: .emailLink,
        .signUpByEmailLink: .emailLink,
        .takeoverByEmailLink: .emailLink,
        .emailSetByEmailLink: .emailLink,
        .signInByPhoneCode: .phone,
        .signUpByPhone: .phone,
        .phoneLinked: .phone,
    ]
}
