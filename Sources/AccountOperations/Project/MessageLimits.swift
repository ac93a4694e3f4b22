import AccountLinking
import AccountStore
import Crypto
import JSON

/// Limits on messages, by their names in the project's configuration. They are Firebase's published limits
/// (firebase.google.com/docs/auth/limits). The limit of a number covers the needs of one person.
enum MessageLimits {
    static let all: [(name: String, limit: MessageLimit)] = [
        ("perNumberPerHour", MessageLimit(.recipient, windowSeconds: 3600, countMax: 5)),
        ("perNumberPerDay", MessageLimit(.recipient, windowSeconds: 86_400, countMax: 15)),
        ("perAddressPerMinute", MessageLimit(.address, windowSeconds: 60, countMax: 50)),
        ("perAddressPerHour", MessageLimit(.address, windowSeconds: 3600, countMax: 150)),
        ("perProjectPerMinute", MessageLimit(.project, windowSeconds: 60, countMax: 1000)),
        ("perProjectPerDay", MessageLimit(.project, windowSeconds: 86_400, countMax: 0)),
    ]

    /// Limits on mails that a client requests.
    static let ofMails: [(name: String, limit: MessageLimit)] = [
        ("perMailboxPerHour", MessageLimit(.recipient, windowSeconds: 3600, countMax: 5)),
        ("perMailboxPerDay", MessageLimit(.recipient, windowSeconds: 86_400, countMax: 20)),
        ("perAddressPerMinute", MessageLimit(.address, windowSeconds: 60, countMax: 50)),
        ("perAddressPerHour", MessageLimit(.address, windowSeconds: 3600, countMax: 150)),
        ("perProjectPerMinute", MessageLimit(.project, windowSeconds: 60, countMax: 1000)),
        ("perProjectPerDay", MessageLimit(.project, windowSeconds: 86_400, countMax: 0)),
    ]

    /// Limits on guesses at short codes. Five guesses for each mail would be unlimited wherever mails are. The
    /// project's limits are off: attackers in many networks would reach them, and then no correct code would be
    /// accepted.
    static let ofGuesses: [(name: String, limit: MessageLimit)] = [
        ("perMailboxPerDay", MessageLimit(.recipient, windowSeconds: 86_400, countMax: 100)),
        ("perAddressPerMinute", MessageLimit(.address, windowSeconds: 60, countMax: 20)),
        ("perAddressPerHour", MessageLimit(.address, windowSeconds: 3600, countMax: 60)),
        ("perProjectPerMinute", MessageLimit(.project, windowSeconds: 60, countMax: 0)),
        ("perProjectPerDay", MessageLimit(.project, windowSeconds: 86_400, countMax: 0)),
    ]

    /// Limits on accounts that clients create: Firebase's 100 an hour for each network address. The project's limits
    /// are off, because every sign-up would wait for the row that counts them.
    static let ofSignUps: [(name: String, limit: MessageLimit)] = [
        ("perAddressPerHour", MessageLimit(.address, windowSeconds: 3600, countMax: 100)),
        ("perProjectPerMinute", MessageLimit(.project, windowSeconds: 60, countMax: 0)),
        ("perProjectPerDay", MessageLimit(.project, windowSeconds: 86_400, countMax: 0)),
    ]

    /// Limits on sign-ins begun on a provider's page. The project's limit is off: attackers in many networks would
    /// reach it, and then no user could sign in on a provider's page.
    static let ofProviderFlows: [(name: String, limit: MessageLimit)] = [
        ("perAddressPerMinute", MessageLimit(.address, windowSeconds: 60, countMax: 100)),
        ("perAddressPerHour", MessageLimit(.address, windowSeconds: 3600, countMax: 1000)),
        ("perProjectPerMinute", MessageLimit(.project, windowSeconds: 60, countMax: 0)),
    ]

    static let ofConflicts: [(name: String, limit: MessageLimit)] = [
        ("perAddressPerMinute", MessageLimit(.address, windowSeconds: 60, countMax: 20)),
        ("perAddressPerHour", MessageLimit(.address, windowSeconds: 3600, countMax: 100)),
        ("perProjectPerMinute", MessageLimit(.project, windowSeconds: 60, countMax: 1000)),
    ]
}

/// A kind of row that unauthenticated callers can create, within limits.
package enum LimitedResource: String, Sendable, CaseIterable {
    /// An account that a client creates, by any method.
    case signUps
    /// A sign-in begun on a provider's page.
    case providerFlows
    /// A conflict that is opened or joined again. Each has an event.
    case conflicts

    /// The limits, by their names below `concord.<raw value>` in the project's configuration.
    var limits: [(name: String, limit: MessageLimit)] {
        switch self {
        case .signUps: MessageLimits.ofSignUps
        case .providerFlows: MessageLimits.ofProviderFlows
        case .conflicts: MessageLimits.ofConflicts
        }
    }
}

extension AccountOperations {
    /// The limits on rows made for a client at `clientAddress`, to be counted when the row is written.
    func limits(on row: LimitedResource, from clientAddress: String?) -> [CountedLimit] {
        (project.settings.rowLimits[row] ?? []).limiting(.row(row), to: "", from: clientAddress)
    }

    /// Refuses a row that would exceed `limits`, before anything is written: a flood costs one read for each request.
    /// The count in the write is exact. At most one round trip.
    ///
    /// - Throws: `Denial.limitReached`, or a database error.
    func requireRoom(
        for row: LimitedResource,
        within limits: [CountedLimit],
        tenant: TenantID,
        at now: Timestamp
    ) async throws {
        guard !limits.isEmpty, let reached = try await store.reached(limits, tenant: tenant, at: now).first else {
            return
        }
        metrics.limited(row, by: reached.scope)
        throw Denial.limitReached(row)
    }
}

enum LimitedAction: Hashable {
    case message(OutboxMessage.Kind)
    /// Guesses at short codes in mails.
    case guess
    /// Assessments of an app's user, each of which costs the operator money.
    case assessment
    case row(LimitedResource)
    /// Mails after a wrong door, which no one requests.
    case rightDoor

    fileprivate var name: String {
        switch self {
        case .message(let kind): kind.rawValue
        case .guess: "guess"
        case .assessment: "assessment"
        case .row(let row): row.rawValue
        case .rightDoor: "rightDoor"
        }
    }
}

extension [MessageLimit] {
    /// The limits that one of `action` counts against, always in the same order, so that concurrent writers do not
    /// deadlock. The site of an IPv6 client comes before its network, because all writers of a network also write the
    /// site's row.
    ///
    /// - `clientAddress`: network address of the requesting client, if known.
    func limiting(_ action: LimitedAction, to recipient: String, from clientAddress: String?) -> [CountedLimit] {
        flatMap { limit -> [CountedLimit] in
            switch limit.scope {
            case .recipient: return [limit.counting(action, by: recipient)]
            case .address:
                guard let clientAddress else { return [] }
                let ofNetwork = limit.counting(action, by: clientAddress)
                guard let site = ClientSite(ofNetwork: clientAddress) else { return [ofNetwork] }
                var ofSite = limit
                ofSite.countMax *= ClientSite.limitFactor
                return [ofSite.counting(action, by: site.name), ofNetwork]
            case .project: return [limit.counting(action, by: "")]
            }
        }
    }
}

extension MessageLimit {
    fileprivate func counting(_ action: LimitedAction, by key: String) -> CountedLimit {
        let text = "\(action.name) \(scope.rawValue) \(windowSeconds) \(key)"
        return CountedLimit(self, digest: [UInt8](SHA256.hash(data: [UInt8](text.utf8))))
    }
}

/// The regions to which a project sends messages (`smsRegionConfig`).
enum MessageRegions: Sendable, Hashable {
    case allBut(Set<String>)
    case only(Set<String>)

    /// An empty allow list allows no region. Without an allow list, all but the disallowed regions are allowed.
    init(stored: JSONValue?) {
        func regions(_ list: JSONValue?) -> Set<String>? {
            list?.array.map { Set($0.compactMap(\.string)) }
        }
        if let allowed = regions(stored?["allowlistOnly"]?["allowedRegions"]) {
            self = .only(allowed)
        } else {
            self = .allBut(regions(stored?["allowByDefault"]?["disallowedRegions"]) ?? [])
        }
    }

    /// - `region`: ISO 3166-1 alpha-2.
    func contains(_ region: String) -> Bool {
        switch self {
        case .allBut(let regions): !regions.contains(region)
        case .only(let regions): regions.contains(region)
        }
    }
}
