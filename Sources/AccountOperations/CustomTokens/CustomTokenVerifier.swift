package import AccountLinking
package import JSON

package struct CustomToken: Sendable, Hashable {
    package var user: UserID
    package var tenant: TenantID
    /// An object, or `nil`.
    package var claims: JSONValue?
}

/// Verifies custom tokens. Production accepts tokens of registered service accounts only.
package protocol CustomTokenVerifier: Sendable {
    /// - Throws: `Denial` if the token is refused: `invalidCustomToken`, `credentialMismatch`, `missingIdentifier`,
    ///   `invalidClaims`, `forbiddenClaim`, `claimsTooLarge`; or a database error.
    func verify(_ token: String, at now: Timestamp) async throws -> CustomToken
}

extension CustomToken {
    /// Longer text is not a token.
    static let bytesMax = 16_384

    /// The token's origin must be verified.
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
