import AccountLinking
import AccountStore
import JSON

extension AccountSnapshots.Place {
    /// A word that needs no quotes in a shell.
    var cursor: String { Base64URL.encode(Array("\(tenant.rawValue)\u{1F}\(userID)".utf8)) }

    /// `nil` for a text that `cursor` cannot have created.
    init?(cursor: String) {
        guard let bytes = Base64URL.decode(cursor), let text = String(validating: bytes, as: UTF8.self) else {
            return nil
        }
        let parts = text.split(separator: "\u{1F}", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty else { return nil }
        self.init(tenant: TenantID(String(parts[0])), userID: String(parts[1]))
    }
}
