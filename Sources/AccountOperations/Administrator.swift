/// An administrator who calls over HTTP. The policy history names it as author.
package enum Administrator: Sendable, Hashable {
    /// A registered service account: its name, and the key that it used.
    case serviceAccount(email: String, keyID: String)
    /// `Bearer owner`, on the administrators' listener or in development.
    case owner
    /// A caller without a credential, on a route that only development has.
    case emulator

    /// `service-account:EMAIL/KEY-ID`, `owner` or `emulator`.
    package var author: String {
        switch self {
        case .serviceAccount(let email, let keyID): "service-account:\(email)/\(keyID)"
        case .owner: "owner"
        case .emulator: "emulator"
        }
    }
}
