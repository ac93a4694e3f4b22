package import Crypto
package import CryptoExtras
package import JSON

/// A provider's private key in a test, and its public half as the provider publishes it.
package struct ProviderKey: Sendable {
    package enum Material: Sendable {
        case rsa(_RSA.Signing.PrivateKey)
        case p256(P256.Signing.PrivateKey)
        case p384(P384.Signing.PrivateKey)
        case ed25519(Curve25519.Signing.PrivateKey)
    }

    package var id: String?
    package var algorithm: String
    package let material: Material

    package static func rsa(_ id: String?, algorithm: String = "RS256") throws -> Self {
        Self(id: id, algorithm: algorithm, material: .rsa(try .init(keySize: .bits2048)))
    }

    package static func p256(_ id: String?) -> Self { Self(id: id, algorithm: "ES256", material: .p256(.init())) }
    package static func p384(_ id: String?) -> Self { Self(id: id, algorithm: "ES384", material: .p384(.init())) }
    package static func ed25519(_ id: String?) -> Self { Self(id: id, algorithm: "EdDSA", material: .ed25519(.init())) }

    package static func key(_ id: String?, for algorithm: String) throws -> Self {
        switch algorithm {
        case "ES256": .p256(id)
        case "ES384": .p384(id)
        case "EdDSA": .ed25519(id)
        default: try .rsa(id, algorithm: algorithm)
        }
    }

    package func sign(_ input: [UInt8]) throws -> [UInt8] {
        switch (material, algorithm) {
        case (.rsa(let key), "RS384"):
            Array(try key.signature(for: SHA384.hash(data: input), padding: .insecurePKCS1v1_5).rawRepresentation)
        case (.rsa(let key), "RS512"):
            Array(try key.signature(for: SHA512.hash(data: input), padding: .insecurePKCS1v1_5).rawRepresentation)
        case (.rsa(let key), "PS256"):
            Array(try key.signature(for: SHA256.hash(data: input), padding: .PSS).rawRepresentation)
        case (.rsa(let key), _):
            Array(try key.signature(for: SHA256.hash(data: input), padding: .insecurePKCS1v1_5).rawRepresentation)
        case (.p256(let key), _): Array(try key.signature(for: SHA256.hash(data: input)).rawRepresentation)
        case (.p384(let key), _): Array(try key.signature(for: SHA384.hash(data: input)).rawRepresentation)
        case (.ed25519(let key), _): Array(try key.signature(for: input))
        }
    }

    package init(id: String?, algorithm: String, material: Material) {
        self.id = id
        self.algorithm = algorithm
        self.material = material
    }

    /// The public key as a member of a key set, with its use and algorithm.
    package func jwk() throws -> [String: JSONValue] {
        var members: [String: JSONValue] = ["use": "sig", "alg": .string(algorithm)]
        if let id { members["kid"] = .string(id) }
        switch material {
        case .rsa(let key):
            let primitives = try key.publicKey.getKeyPrimitives()
            members["kty"] = "RSA"
            members["n"] = .string(Base64URL.encode(primitives.modulus))
            members["e"] = .string(Base64URL.encode(primitives.publicExponent))
        case .p256(let key): members.merge(Self.curve("P-256", key.publicKey.x963Representation)) { $1 }
        case .p384(let key): members.merge(Self.curve("P-384", key.publicKey.x963Representation)) { $1 }
        case .ed25519(let key):
            members["kty"] = "OKP"
            members["crv"] = "Ed25519"
            members["x"] = .string(Base64URL.encode(key.publicKey.rawRepresentation))
        }
        return members
    }

    private static func curve(_ name: JSONValue, _ point: some Sequence<UInt8>) -> [String: JSONValue] {
        let coordinates = Array(point).dropFirst()
        let size = coordinates.count / 2
        return [
            "kty": "EC", "crv": name,
            "x": .string(Base64URL.encode(coordinates.prefix(size))),
            "y": .string(Base64URL.encode(coordinates.suffix(size))),
        ]
    }

    /// Signs `claims` as a compact JWT. `header` replaces or adds header members.
    package func token(_ claims: [String: JSONValue], header: [String: JSONValue] = [:]) throws -> String {
        var members: [String: JSONValue] = ["alg": .string(algorithm), "typ": "JWT"]
        if let id { members["kid"] = .string(id) }
        members.merge(header) { $1 }
        let input = CompactToken.signingInput(header: .object(members), claims: .object(claims))
        return input + "." + Base64URL.encode(try sign(Array(input.utf8)))
    }
}

/// Compact tokens built by hand.
package enum CompactToken {
    package static func signingInput(header: JSONValue, claims: JSONValue) -> String {
        Base64URL.encode(header.text.utf8) + "." + Base64URL.encode(claims.text.utf8)
    }

    /// A token without a signature, as development tools make it.
    package static func unsigned(_ claims: [String: JSONValue], algorithm: JSONValue = "none") -> String {
        signingInput(header: ["alg": algorithm, "typ": "JWT"], claims: .object(claims)) + "."
    }
}
