import AccountOperations
import HTTPTypes
import Logging

/// The log of changes by administrators: who changed which fields over which route, never a value or an account.
struct ChangeLog: Sendable {
    static let message: Logger.Message = "changed by an administrator"

    let logger: Logger

    /// Logs a request that succeeded, at `notice` if it changes the project and at `info` otherwise.
    func record(_ administrator: Administrator, _ route: Route, query: [String: String], _ body: RequestBody) {
        guard route.changes else { return }
        let mask = query["updateMask"]?.split(separator: ",").map(String.init) ?? []
        let fields = (mask.isEmpty ? body.names.sorted() : mask).filter(Self.isFieldName)
        var metadata: Logger.Metadata = ["route": "\(route.name)", "actor": "\(administrator.author)"]
        if !fields.isEmpty { metadata["fields"] = "\(fields.prefix(Self.fieldsMax).joined(separator: ","))" }
        logger.log(level: route.changesProject ? .notice : .info, Self.message, metadata: metadata)
    }

    private static let fieldsMax = 50
    private static let fieldLengthMax = 100

    /// Returns true for letters, `.` and `_`. An unknown field is ignored, so its name may be any text.
    private static func isFieldName(_ name: String) -> Bool {
        name.utf8.count <= fieldLengthMax
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "."),
                    UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}

extension Route {
    /// False if the route only reads, signs in, or issues a session cookie.
    fileprivate var changes: Bool { method != .get && !Self.namesWithoutChange.contains(name) }

    /// True if the route changes settings, providers, the policy, branding or webhooks, not accounts.
    fileprivate var changesProject: Bool {
        ["config", "Configs", "policy", "webhooks", "/branding/"].contains { path.contains($0) }
    }

    /// The routes for administrators with a method that usually changes something.
    private static let namesWithoutChange = Set(
        [
            lookUp, query, downloadAccount, createAuthURI, createSessionCookie, token, signInWithPassword,
            signInWithIdp,
            signInWithCustomToken, signInWithEmailLink, signInWithPhoneNumber, startFactorSignIn, finishFactorSignIn,
            serviceAccountToken, verifyIOSClient,
        ].map(\.name)
    )
}
