import HTTPTypes
import JSON

extension Route {
    /// The route that test suites poll until the server is ready. Development only.
    static let emulator = Route(.get, "/", access: .anyone) { _ in
        .object { writer in
            writer.field("authEmulator") { writer in writer.field("ready", true) }
        }
    }
}
