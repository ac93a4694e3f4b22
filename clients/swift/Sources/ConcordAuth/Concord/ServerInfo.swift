/// The version of a server and the parts of the API that it has.
///
/// Source: `GET /concord/v1/about`.
public struct ServerInfo: Sendable, Hashable, Decodable {
    /// A part of the API that a server may lack.
    public enum Feature: String, Sendable, Hashable, CaseIterable {
        case account, accountPage, asksFirst, conflict, devices, loopbackReceiver, lookup, merge, pendingSignUp
        case quarantine, signInPage
    }

    /// The server's version; `nil` if the server hides it.
    public let version: String?
    /// The version of Concord's own API. This client knows version 1. A later version answers its requests too.
    public let api: Int
    /// The names of the parts that the server has, also those that this client does not know.
    public let features: [String]

    /// Returns true if the server has the part.
    public func has(_ feature: Feature) -> Bool { features.contains(feature.rawValue) }
}

extension Auth {
    /// Asks the server for its version and the parts of the API that it has.
    ///
    /// - Throws: `notFound` for servers before this route.
    public func serverInfo() async throws(AuthError) -> ServerInfo {
        try await backend.call(.get("/concord/v1/about"))
    }
}
