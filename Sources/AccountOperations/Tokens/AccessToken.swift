package import AccountLinking
import JSON

/// The claims of a service account's bearer token (RFC 6750). Issuer and audience differ from those of ID tokens, so
/// that neither passes for the other.
package struct AccessTokenClaims: Sendable, Hashable {
    package var email: String
    /// The token is valid while this key is registered.
    package var keyID: String
    package var expiresAt: Timestamp

    private static let audience = "urn:concord:administration"

    private static func issuer(of project: String) -> String { "urn:concord:service-accounts:\(project)" }

    func payload(project: String) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("iss", Self.issuer(of: project))
            writer.field("aud", Self.audience)
            writer.field("sub", email)
            writer.field("key", keyID)
            writer.field("exp", expiresAt.secondsSinceEpoch)
        }
    }
}

extension AccessTokenClaims {
    init?(payload: [UInt8], project: String) {
        guard let claims = try? JSONValue(parsing: payload),
            claims["iss"]?.string == Self.issuer(of: project), claims["aud"]?.string == Self.audience,
            let email = claims["sub"]?.string, let keyID = claims["key"]?.string,
            let seconds = claims["exp"]?.integer
        else { return nil }
        self.init(email: email, keyID: keyID, expiresAt: Timestamp(secondsSinceEpoch: seconds))
    }
}
