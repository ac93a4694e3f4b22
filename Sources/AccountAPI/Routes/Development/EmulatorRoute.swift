import HTTPTypes
import JSON

extension Route {
    /// What test suites poll until the server is there (`spec/01` §9). Development only.
    static let emulator = Route(.get, "/", service: .none, access: .anyone) { _ in
        .object { writer in
            writer.field("authEmulator", object: { writer in writer.field("ready", true) })
        }
    }
}
