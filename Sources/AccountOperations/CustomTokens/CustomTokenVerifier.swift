package import AccountLinking
package import JSON

/// The contents of a verified custom token.
package struct CustomToken: Sendable, Hashable {
    package var user: UserID
    package var tenant: TenantID
    /// Claims of the session that the token starts: an object, or `nil`.
    package var claims: JSONValue?
}

/// Verifies custom tokens, which trusted backends sign.
///
/// Production accepts registered service accounts only; development also accepts unsigned tokens.
package protocol CustomTokenVerifier: Sendable {
    /// Returns the token's contents.
    /// - Throws: `Denial` if the token is refused: `invalidCustomToken`, `credentialMismatch`, `missingIdentifier`,
    ///   `invalidClaims`, `forbiddenClaim`, `claimsTooLarge`; or a database error.
    func verify(_ token: String, at now: Timestamp) async throws -> CustomToken
}

extension CustomToken {
    /// Longer text is not a token.
    static let bytesMax = 16_384

    /// Reads the payload of a token whose origin was verified.
    static func read(_ payload: JSONValue) throws(Denial) -> CustomToken {
        guard let name = payload["uid"]?.string ?? payload["user_id"]?.string, !name.isEmpty else {
            throw Denial.missingIdentifier
        }
        guard let user = UserID(name) else {
            throw Denial.invalidCustomToken(reason: "The uid must have 1 to 128 characters")
        }
        var token = CustomToken(user: user, tenant: TenantID(payload["tenant_id"]?.string ?? ""), claims: nil)
        switch payload["claims"] {
        case nil, .null: break
        case .object(let claims):
            if let defect = CustomClaims.defect(of: claims) { throw defect.denial }
            let value = JSONValue.object(claims)
            guard value.text.unicodeScalars.count <= CustomClaims.lengthMax else { throw Denial.claimsTooLarge }
            token.claims = claims.isEmpty ? nil : value
        default: throw Denial.invalidClaims
        }
        return token
    }
}
