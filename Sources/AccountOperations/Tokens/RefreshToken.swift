package import AccountLinking
import JSON

/// Opaque to clients. The user id is for finding the session on one shard: a modified id names a session whose secret
/// does not match.
package struct RefreshToken: Sendable {
    var tenant: TenantID
    var user: UserID
    /// 16 bytes.
    var session: [UInt8]
    /// 32 bytes. Stored only as SHA-256.
    var secret: [UInt8]

    private static let version: UInt8 = 1
    static let sessionBytes = 16
    static let secretBytes = 32

    package var encoded: String {
        let tenant = Array(tenant.rawValue.utf8)
        let user = Array(user.rawValue.utf8)
        // Both fit: tenant and user ids have at most 128 characters, user ids at most 512 bytes.
        var bytes: [UInt8] = [Self.version, UInt8(truncatingIfNeeded: tenant.count)]
        bytes += tenant
        bytes += [UInt8(user.count >> 8), UInt8(user.count & 0xFF)]
        bytes += user
        bytes += session
        bytes += secret
        return Base64URL.encode(bytes)
    }

    /// - `session`: 16 bytes. `secret`: 32 bytes.
    package init(tenant: TenantID, user: UserID, session: [UInt8], secret: [UInt8]) {
        self.tenant = tenant
        self.user = user
        self.session = session
        self.secret = secret
    }

    /// `nil` for text that is no id.
    static func sessionID(_ text: String) -> [UInt8]? {
        Base64URL.decode(text).flatMap { $0.count == sessionBytes ? $0 : nil }
    }

    /// `nil` for a text that Concord did not make.
    init?(_ encoded: String) {
        guard encoded.utf8.count <= 2048, var rest = Base64URL.decode(encoded)?[...],
            rest.popFirst() == Self.version, let tenantLength = rest.popFirst(),
            rest.count >= Int(tenantLength) + 2,
            let tenant = String(validating: rest.prefix(Int(tenantLength)), as: UTF8.self),
            // The client's tenant id is sent to PostgreSQL, which refuses a zero byte.
            !tenant.utf8.contains(0)
        else { return nil }
        rest = rest.dropFirst(Int(tenantLength))
        guard let high = rest.popFirst(), let low = rest.popFirst() else { return nil }
        let userLength = Int(high) << 8 | Int(low)
        guard rest.count == userLength + Self.sessionBytes + Self.secretBytes,
            let userText = String(validating: rest.prefix(userLength), as: UTF8.self), let user = UserID(userText)
        else { return nil }
        rest = rest.dropFirst(userLength)
        self.init(
            tenant: TenantID(tenant),
            user: user,
            session: Array(rest.prefix(Self.sessionBytes)),
            secret: Array(rest.suffix(Self.secretBytes))
        )
    }
}
