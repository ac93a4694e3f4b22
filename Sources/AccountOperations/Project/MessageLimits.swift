import AccountLinking
import AccountStore
import Crypto
import JSON

/// The limits on messages, by their names in the project's configuration: those that production publishes
/// (firebase.google.com/docs/auth/limits), and for a number what a person needs.
enum MessageLimits {
    static let all: [(name: String, limit: MessageLimit)] = [
        ("perNumberPerHour", MessageLimit(.recipient, windowSeconds: 3600, countMax: 5)),
        ("perNumberPerDay", MessageLimit(.recipient, windowSeconds: 86_400, countMax: 15)),
        ("perAddressPerMinute", MessageLimit(.address, windowSeconds: 60, countMax: 50)),
        ("perAddressPerHour", MessageLimit(.address, windowSeconds: 3600, countMax: 150)),
        ("perProjectPerMinute", MessageLimit(.project, windowSeconds: 60, countMax: 1000)),
        ("perProjectPerDay", MessageLimit(.project, windowSeconds: 86_400, countMax: 0)),
    ]

    /// Those on mails that somebody asks for.
    static let ofMails: [(name: String, limit: MessageLimit)] = [
        ("perMailboxPerHour", MessageLimit(.recipient, windowSeconds: 3600, countMax: 5)),
        ("perMailboxPerDay", MessageLimit(.recipient, windowSeconds: 86_400, countMax: 20)),
        ("perAddressPerMinute", MessageLimit(.address, windowSeconds: 60, countMax: 50)),
        ("perAddressPerHour", MessageLimit(.address, windowSeconds: 3600, countMax: 150)),
        ("perProjectPerMinute", MessageLimit(.project, windowSeconds: 60, countMax: 1000)),
        ("perProjectPerDay", MessageLimit(.project, windowSeconds: 86_400, countMax: 0)),
    ]

    /// Limits on guesses at short codes: five at each mail would be without bound where mails are. Those of the project are off:
    /// guessers in many networks would reach them, and then no right code of anybody would count.
    static let ofGuesses: [(name: String, limit: MessageLimit)] = [
        ("perMailboxPerDay", MessageLimit(.recipient, windowSeconds: 86_400, countMax: 100)),
        ("perAddressPerMinute", MessageLimit(.address, windowSeconds: 60, countMax: 20)),
        ("perAddressPerHour", MessageLimit(.address, windowSeconds: 3600, countMax: 60)),
        ("perProjectPerMinute", MessageLimit(.project, windowSeconds: 60, countMax: 0)),
        ("perProjectPerDay", MessageLimit(.project, windowSeconds: 86_400, countMax: 0)),
    ]

    /// Limits on accounts that clients make: production's 100 an hour by network address. Those of the project are off: every
    /// sign-up would wait for the row that counts them.
    static let ofSignUps: [(name: String, limit: MessageLimit)] = [
        ("perAddressPerHour", MessageLimit(.address, windowSeconds: 3600, countMax: 100)),
        ("perProjectPerMinute", MessageLimit(.project, windowSeconds: 60, countMax: 0)),
        ("perProjectPerDay", MessageLimit(.project, windowSeconds: 86_400, countMax: 0)),
    ]

    /// Limits on sign-ins that begin on a provider's page. That of the project is off: strangers in many networks would reach it,
    /// and then nobody could sign in on a provider's page.
    static let ofProviderFlows: [(name: String, limit: MessageLimit)] = [
        ("perAddressPerMinute", MessageLimit(.address, windowSeconds: 60, countMax: 100)),
        ("perAddressPerHour", MessageLimit(.address, windowSeconds: 3600, countMax: 1000)),
        ("perProjectPerMinute", MessageLimit(.project, windowSeconds: 60, countMax: 0)),
    ]

    /// Limits on conflicts that are opened or come up again.
    static let ofConflicts: [(name: String, limit: MessageLimit)] = [
        ("perAddressPerMinute", MessageLimit(.address, windowSeconds: 60, countMax: 20)),
        ("perAddressPerHour", MessageLimit(.address, windowSeconds: 3600, countMax: 100)),
        ("perProjectPerMinute", MessageLimit(.project, windowSeconds: 60, countMax: 1000)),
    ]
}

/// A kind of row that a stranger can make, as often as limits allow.
package enum LimitedResource: String, Sendable, CaseIterable {
    /// An account that a client makes, in whatever way.
    case signUps
    /// A sign-in that begins on a provider's page.
    case providerFlows
    /// A conflict that is opened or comes up again: each has an event.
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
    /// The limits on what is made for a client at `clientAddress`, to be counted where it is written.
    func limits(on row: LimitedResource, from clientAddress: String?) -> [CountedLimit] {
        (project.settings.rowLimits[row] ?? []).limiting(.row(row), to: "", from: clientAddress)
    }

    /// - Throws: the "no" to what would go over `limits`, or what the database could not do. At most one round trip.
    ///
    /// Asked before anything is written, so that a flood costs one read each. Exact is the count in the write.
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

/// What is counted within a window.
enum LimitedAction: Hashable {
    /// Messages of a kind.
    case message(OutboxMessage.Kind)
    /// Guesses at short codes in mails.
    case guess
    /// Assessments of whoever uses an app, each of which the operator pays for.
    case assessment
    /// Rows that a stranger makes.
    case row(LimitedResource)

    fileprivate var name: String {
        switch self {
        case .message(let kind): kind.rawValue
        case .guess: "guess"
        case .assessment: "assessment"
        case .row(let row): row.rawValue
        }
    }
}

extension [MessageLimit] {
    /// What one of `action` counts against, always in the same order, so that two writers never wait for each other in a
    /// circle: the site of an IPv6 client before its network, because all writers of a network write the site's row too.
    ///
    /// `clientAddress`: who asked for it, as far as it is known.
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

/// Where a project sends messages (`smsRegionConfig`).
enum MessageRegions: Sendable, Hashable {
    case allBut(Set<String>)
    case only(Set<String>)

    /// A list of no regions is not the absence of a list.
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

    /// `region`: ISO 3166-1 alpha-2.
    func contains(_ region: String) -> Bool {
        switch self {
        case .allBut(let regions): !regions.contains(region)
        case .only(let regions): regions.contains(region)
        }
    }
}
