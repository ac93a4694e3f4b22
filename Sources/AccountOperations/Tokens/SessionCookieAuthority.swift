import AccountLinking
import JSON
import Synchronization

/// Mints session cookies with separate keys. Safe to use from any task.
package final class SessionCookieAuthority: Sendable {
    private let issuer: String
    private let development: DevelopmentTokens?
    private let keys: Mutex<TokenAuthority.KeySet>

    /// - `development`: the form in development; `nil` signs each cookie as a JWT.
    package init(projectID: String, keys: TokenAuthority.KeySet, development: DevelopmentTokens? = nil) {
        self.issuer = "https://session.firebase.google.com/\(projectID)"
        self.development = development
        self.keys = Mutex(keys)
    }

    package func replaceKeys(_ newKeys: TokenAuthority.KeySet) {
        keys.withLock { $0 = newKeys }
    }

    /// Copies every claim of a verified ID token except issuer and times.
    /// - Returns: `nil` if the text is not a token.
    func mint(fromVerified idToken: String, lifetimeSeconds: Int64, at now: Timestamp) throws -> String? {
        let parts = idToken.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let payload = Base64URL.decode(parts[1]),
            var claims = try JSONValue(parsing: payload).object
        else { return nil }
        // In development the ID token carries its own signature.
        claims[DevelopmentTokens.claim] = nil
        claims["iss"] = .string(issuer)
        claims["iat"] = .integer(now.secondsSinceEpoch)
        claims["exp"] = .integer(now.secondsSinceEpoch + lifetimeSeconds)
        let key = keys.withLock { $0.signing }
        let cookie = Array(JSONValue.object(claims).text.utf8)
        return try development?.mint(cookie, signedBy: key) ?? key.sign(cookie)
    }

    /// RFC 7517 §5.
    package func jsonWebKeySet() throws -> [UInt8] { try keys.withLock { $0 }.jsonWebKeySet() }

    /// By key id, as Admin SDKs fetch them.
    package func certificates() -> [UInt8] { keys.withLock { $0 }.certificates() }
}
