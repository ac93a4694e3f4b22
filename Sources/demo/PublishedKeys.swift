import Crypto
import FoundationEssentials
import JSON

/// A server's published key set. The demo verifies tokens with it, like any relying party.
struct PublishedKeys {
    private let keys: [String: P256.Signing.PublicKey]

    /// Reads a JSON Web Key Set (RFC 7517 §5), without keys that are not for ES256.
    init(keySet: JSONValue) throws {
        var keys: [String: P256.Signing.PublicKey] = [:]
        for key in keySet["keys"]?.array ?? [] {
            guard key["crv"]?.string == "P-256", let id = key["kid"]?.string,
                let x = key["x"]?.string.flatMap({ Base64URL.decode($0) }),
                let y = key["y"]?.string.flatMap({ Base64URL.decode($0) })
            else { continue }
            keys[id] = try P256.Signing.PublicKey(x963Representation: [4] + x + y)
        }
        self.keys = keys
    }

    /// Returns the claims of `token`, or the problem with it.
    func claims(of token: String, issuer: String, audience: String) -> Result<JSONValue, Problem> {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = object(in: parts[0]), let claims = object(in: parts[1]),
            let signature = Base64URL.decode(parts[2])
        else { return .failure(Problem("an ID token that is no JWT")) }
        guard header["alg"]?.string == "ES256", let key = header["kid"]?.string.flatMap({ keys[$0] }) else {
            return .failure(Problem("an ID token under a key that is not published"))
        }
        guard let parsed = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
            key.isValidSignature(parsed, for: Array("\(parts[0]).\(parts[1])".utf8))
        else { return .failure(Problem("an ID token with a wrong signature")) }
        guard claims["iss"]?.string == issuer else { return .failure(Problem("an ID token of another issuer")) }
        guard claims["aud"]?.string == audience else { return .failure(Problem("an ID token for somebody else")) }
        let now = Int64(Date().timeIntervalSince1970)
        guard let expiry = claims["exp"]?.integer, expiry > now else {
            return .failure(Problem("an ID token that has expired"))
        }
        return .success(claims)
    }

    private func object(in part: Substring) -> JSONValue? {
        Base64URL.decode(part).flatMap { try? JSONValue(parsing: $0) }
    }

    struct Problem: Error {
        let description: String

        init(_ description: String) {
            self.description = description
        }
    }
}
