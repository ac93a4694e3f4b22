import HTTPClient
import JSON

/// The program that listens at a port which Concord wants.
enum PortOccupant: Sendable, Hashable {
    /// The Authentication emulator of the Firebase CLI.
    case firebaseEmulator
    case concordDev
    case concordServe
    case unknown

    /// Time for all requests together.
    private static let timeout = Duration.seconds(2)
    private static let bodyBytesMax = 1 << 20

    /// Asks the program at `base`, an http URL without a slash at the end.
    static func find(at base: String) async -> PortOccupant {
        let found = await within(timeout) { () async throws -> PortOccupant in
            let root = try await json(base + "/")
            if let occupant = PortOccupant(root: root) { return occupant }
            let document = try await json(base + "/openapi.json")
            return document["info"]?["title"]?.string == "Concord" ? .concordServe : .unknown
        }
        guard case .success(let occupant) = found else { return .unknown }
        return occupant
    }

    /// - `root`: the answer to `GET /`. Both emulators say that they are ready; only Firebase's links to its manual.
    init?(root: JSONValue) {
        guard let emulator = root["authEmulator"] else { return nil }
        self = emulator["docs"] == nil ? .concordDev : .firebaseEmulator
    }

    /// The beginning of a sentence.
    var name: String {
        switch self {
        case .firebaseEmulator: "The Firebase Authentication emulator"
        case .concordDev: "Another `concord dev`"
        case .concordServe: "A `concord serve`"
        case .unknown: "Another process"
        }
    }

    /// The body of an answer; `null` if it is no JSON.
    private static func json(_ url: String) async throws -> JSONValue {
        let request = HTTPTransport.Request(
            "GET",
            url,
            responseBody: .collected(bytesMax: bodyBytesMax),
            deadline: .now + timeout
        )
        return (try? JSONValue(parsing: try await HTTPTransport.shared.response(to: request).body)) ?? .null
    }
}
