import AccountLinking
import AccountStore
import Crypto
import JSON

/// The limits on messages, by their names in the project's configuration: those that production publishes (`spec/05` B7),
/// and for a number what a person needs.
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

    /// Those on guesses at short codes: five at each mail would be without bound where mails are, and over all mailboxes.
    static let ofGuesses: [(name: String, limit: MessageLimit)] = [
        ("perMailboxPerDay", MessageLimit(.recipient, windowSeconds: 86_400, countMax: 100)),
        ("perAddressPerMinute", MessageLimit(.address, windowSeconds: 60, countMax: 20)),
        ("perAddressPerHour", MessageLimit(.address, windowSeconds: 3600, countMax: 60)),
        ("perProjectPerMinute", MessageLimit(.project, windowSeconds: 60, countMax: 300)),
        ("perProjectPerDay", MessageLimit(.project, windowSeconds: 86_400, countMax: 10_000)),
    ]
}

/// What is counted within a window.
enum Counted: Hashable {
    /// Messages of a kind.
    case message(OutboxMessage.Kind)
    /// Guesses at short codes in mails.
    case guess
    /// Assessments of whoever uses an app, each of which the operator pays for.
    case assessment

    fileprivate var name: String {
        switch self {
        case .message(let kind): kind.rawValue
        case .guess: "guess"
        case .assessment: "assessment"
        }
    }
}

extension [MessageLimit] {
    /// What one of `counted` counts against, always in the same order, so that two writers never wait for each other in a
    /// circle.
    ///
    /// `clientAddress`: who asked for it, as far as it is known.
    func limiting(_ counted: Counted, to recipient: String, from clientAddress: String?) -> [CountedLimit] {
        compactMap { limit -> CountedLimit? in
            let key: String
            switch limit.scope {
            case .recipient: key = recipient
            case .address:
                guard let clientAddress else { return nil }
                key = clientAddress
            case .project: key = ""
            }
            let text = "\(counted.name) \(limit.scope.rawValue) \(limit.windowSeconds) \(key)"
            return CountedLimit(limit, digest: [UInt8](SHA256.hash(data: [UInt8](text.utf8))))
        }
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
