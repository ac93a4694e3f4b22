package import Crypto
package import JSON

extension P256.Signing.PrivateKey {
    /// A JWT (RFC 7519) signed with ES256 (RFC 7518 §3.4), whose header names the key as `keyID`: the form that Apple
    /// accepts from the holder of one of its keys.
    ///
    /// - Throws: the error of the signature.
    package func signedToken(keyID: String, claims: (inout JSONWriter) -> Void) throws -> String {
        let header = JSONWriter.object { writer in
            writer.field("alg", "ES256")
            writer.field("kid", keyID)
            writer.field("typ", "JWT")
        }
        let input = Base64URL.encode(header) + "." + Base64URL.encode(JSONWriter.object(claims))
        let signature = try signature(for: SHA256.hash(data: Array(input.utf8)))
        return input + "." + Base64URL.encode(Array(signature.rawRepresentation))
    }
}
