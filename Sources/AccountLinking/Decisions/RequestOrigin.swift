/// The caller of a change that users can make to their own account, and administrators to any.
package enum RequestOrigin: Sendable, Hashable {
    /// The user's own session. `reauthentication` decides whether it is recent enough.
    case client(isSessionRecent: Bool)
    case administrator
}

extension RequestOrigin: Codable {
    private enum CodingKeys: String, CodingKey {
        case administrator, sessionRecent
    }

    package init(from decoder: any Decoder) throws {
        let facts = try decoder.container(keyedBy: CodingKeys.self)
        self =
            try facts.decode(Bool.self, forKey: .administrator)
            ? .administrator : .client(isSessionRecent: facts.decode(Bool.self, forKey: .sessionRecent))
    }

    package func encode(to encoder: any Encoder) throws {
        var facts = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .administrator: try facts.encode(true, forKey: .administrator)
        case .client(let isSessionRecent): try facts.encode(isSessionRecent, forKey: .sessionRecent)
        }
    }
}
