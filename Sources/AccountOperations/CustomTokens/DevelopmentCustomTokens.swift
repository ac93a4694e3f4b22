package import AccountLinking
import JSON

/// Accepts signed tokens, and any unsigned token or bare JSON, with any issuer and expiry.
///
/// INVARIANT: only the `dev` command and tests construct it; `serve` cannot reach it.
package struct DevelopmentCustomTokens: CustomTokenVerifier {
    private let signed: ServiceAccountTokens

    package init(signed: ServiceAccountTokens) {
        self.signed = signed
    }

    package func verify(_ token: String, at now: Timestamp) async throws -> CustomToken {
        guard token.utf8.count <= CustomToken.bytesMax else {
            throw Denial.invalidCustomToken(reason: "Invalid assertion format")
        }
        if token.hasPrefix("{") {
            guard let payload = try? JSONValue(parsing: Array(token.utf8)), payload.object != nil else {
                throw Denial.invalidCustomToken(reason: "Invalid assertion format")
            }
            return try CustomToken.read(payload)
        }
        guard let payload = Self.unsignedPayload(of: token) else { return try await signed.verify(token, at: now) }
        guard payload["aud"]?.string == ServiceAccountTokens.customTokenAudience else {
            throw Denial.invalidCustomToken(reason: "Invalid audience")
        }
        return try CustomToken.read(payload)
    }

    /// `nil` unless the token has `alg: none` and no signature.
    private static func unsignedPayload(of token: String) -> JSONValue? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[2].isEmpty,
            let header = Base64URL.decode(parts[0]).flatMap({ try? JSONValue(parsing: $0) }),
            header["alg"]?.string == "none",
            let payload = Base64URL.decode(parts[1]).flatMap({ try? JSONValue(parsing: $0) }), payload.object != nil
        else { return nil }
        return payload
    }
}
