import AccountLinking
import JSON

/// A handle to a stored conflict: the `pendingToken` of the wire, and the handle of Concord's own routes.
///
/// Seals the conflict, its account and its identity, so that all rows are found by their keys at once. Clients cannot
/// forge it or read the account. A conflict has many handles.
struct ConflictHandle: Sendable {
    let tenant: TenantID
    let user: UserID
    let conflict: [UInt8]
    let identity: ProviderIdentity

    private static let context = "conflict-handle/2"
    private static let bytesMax = 4096

    func sealed(by sealer: Sealer) throws -> String {
        let content: JSONValue = .array([
            .string(tenant.rawValue), .string(user.rawValue), .string(Base64URL.encode(conflict)),
            .string(identity.provider.rawValue), .string(identity.subject),
        ])
        return Base64URL.encode(try sealer.seal(Array(content.text.utf8), context: Self.context))
    }
}

extension ConflictHandle {
    /// `nil` for text that this service did not seal.
    init?(_ text: String, sealer: Sealer) {
        guard text.utf8.count <= Self.bytesMax, let sealed = Base64URL.decode(text),
            let content = try? sealer.open(sealed, context: Self.context),
            let parts = (try? JSONValue(parsing: content))?.array, parts.count == 5,
            let tenant = parts[0].string, let user = parts[1].string.flatMap(UserID.init),
            let conflict = parts[2].string.flatMap({ Base64URL.decode($0) }),
            let provider = parts[3].string.flatMap(ProviderID.init), let subject = parts[4].string,
            let identity = ProviderIdentity(provider: provider, subject: subject)
        else { return nil }
        self.init(tenant: TenantID(tenant), user: user, conflict: conflict, identity: identity)
    }
}
