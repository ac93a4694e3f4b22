import AccountLinking
import JSON
import Synchronization

/// Mints session cookies with separate keys, and publishes their public halves.
///
/// Safe to use from any task. Rotation replaces the key set as a whole.
package final class SessionCookieAuthority: Sendable {
    private let issuer: String
    private let development: DevelopmentTokens?
    private let keys: Mutex<TokenAuthority.KeySet>

    /// - `development`: the form of cookies in development; `nil` signs each as a JWT.
    package init(projectID: String, keys: TokenAuthority.KeySet, development: DevelopmentTokens? = nil) {
        self.issuer = "https://session.firebase.google.com/\(projectID)"
        self.development = development
        self.keys = Mutex(keys)
    }

    package func replaceKeys(_ newKeys: TokenAuthority.KeySet) {
        keys.withLock { $0 = newKeys }
    }

    /// A cookie with every claim of an ID token except issuer and times.
    ///
    /// - `idToken`: already verified.
    /// - Returns: `nil` if the text is not a token.
    func mint(fromVerified idToken: String, lifetimeSeconds: Int64, at now: Timestamp) throws -> String? {
        let parts = idToken.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let payload = Base64URL.decode(parts[1]),
            var claims = try JSONValue(parsing: payload).object
        else { return nil }
        // In development the ID token carries its own signature; the cookie gets another.
        claims[DevelopmentTokens.claim] = nil
        claims["iss"] = .string(issuer)
        claims["iat"] = .integer(now.secondsSinceEpoch)
        claims["exp"] = .integer(now.secondsSinceEpoch + lifetimeSeconds)
        let key = keys.withLock { $0.signing }
        let cookie = Array(JSONValue.object(claims).text.utf8)
        return try development?.mint(cookie, signedBy: key) ?? key.sign(cookie)
    }

    /// The published keys as a JSON Web Key Set (RFC 7517 §5).
    package func jsonWebKeySet() throws -> [UInt8] { try keys.withLock { $0 }.jsonWebKeySet() }

    /// The published certificates by key id, the form Admin SDKs fetch.
    package func certificates() -> [UInt8] { keys.withLock { $0 }.certificates() }
}
