import CryptoExtras
import FoundationEssentials
import JSON

/// A public key of an issuer and its allowed algorithms (RFC 7517, RFC 7518 §6).
struct VerificationKey: Sendable {
    enum Material: Sendable {
        case rsa(_RSA.Signing.PublicKey)
        case p256(P256.Signing.PublicKey)
        case p384(P384.Signing.PublicKey)
        case ed25519(Curve25519.Signing.PublicKey)
    }

    /// `kid`.
    let id: String?
    /// `alg`: the only algorithm of the key, if the issuer names one.
    let declaredAlgorithm: SignatureAlgorithm?
    let material: Material

    /// Reads one member of a key set. Returns `nil` for a key of another type or curve, for encryption, with a
    /// forbidden algorithm, or too weak (RSA below 2048 bits).
    init?(jwk: JSONValue) {
        if let use = jwk["use"], use != .string("sig") { return nil }
        if let operations = jwk["key_ops"]?.array, !operations.contains(.string("verify")) { return nil }
        guard let material = Self.material(of: jwk) else { return nil }
        self.material = material
        self.id = jwk["kid"]?.string
        if let name = jwk["alg"]?.string {
            guard let algorithm = SignatureAlgorithm(rawValue: name) else { return nil }
            self.declaredAlgorithm = algorithm
        } else {
            self.declaredAlgorithm = nil
        }
    }

    private static func material(of jwk: JSONValue) -> Material? {
        func bytes(_ name: String) -> [UInt8]? { jwk[name]?.string.flatMap { Base64URL.decode($0) } }
        switch (jwk["kty"]?.string, jwk["crv"]?.string) {
        case ("RSA", _):
            // 8192 bits at most: the cost of a verification grows with the square of the size.
            guard let modulus = bytes("n"), let exponent = bytes("e"), modulus.count <= 1024, exponent.count <= 8 else {
                return nil
            }
            return (try? _RSA.Signing.PublicKey(n: modulus, e: exponent)).map(Material.rsa)
        case ("EC", "P-256"):
            guard let x = bytes("x"), let y = bytes("y"), x.count == 32, y.count == 32 else { return nil }
            return (try? P256.Signing.PublicKey(x963Representation: [0x04] + x + y)).map(Material.p256)
        case ("EC", "P-384"):
            guard let x = bytes("x"), let y = bytes("y"), x.count == 48, y.count == 48 else { return nil }
            return (try? P384.Signing.PublicKey(x963Representation: [0x04] + x + y)).map(Material.p384)
        case ("OKP", "Ed25519"):
            guard let x = bytes("x") else { return nil }
            return (try? Curve25519.Signing.PublicKey(rawRepresentation: x)).map(Material.ed25519)
        default: return nil
        }
    }

    /// Returns true if this key may verify a signature by `algorithm`: its type and its declared algorithm match.
    func serves(_ algorithm: SignatureAlgorithm) -> Bool {
        if let declaredAlgorithm, declaredAlgorithm != algorithm { return false }
        return switch (material, algorithm) {
        case (.rsa, .rs256), (.rsa, .rs384), (.rsa, .rs512), (.rsa, .ps256): true
        case (.p256, .es256), (.p384, .es384), (.ed25519, .edDSA): true
        case (.rsa, _), (.p256, _), (.p384, _), (.ed25519, _): false
        }
    }

    /// Returns true if `signature` over `input` is this key's, by `algorithm`; false also if key and algorithm do not
    /// match.
    func isSignature(_ signature: [UInt8], over input: [UInt8], by algorithm: SignatureAlgorithm) -> Bool {
        guard serves(algorithm) else { return false }
        switch (material, algorithm) {
        case (.rsa(let key), .rs256):
            let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
            return key.isValidSignature(signature, for: SHA256.hash(data: input), padding: .insecurePKCS1v1_5)
        case (.rsa(let key), .rs384):
            let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
            return key.isValidSignature(signature, for: SHA384.hash(data: input), padding: .insecurePKCS1v1_5)
        case (.rsa(let key), .rs512):
            let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
            return key.isValidSignature(signature, for: SHA512.hash(data: input), padding: .insecurePKCS1v1_5)
        case (.rsa(let key), .ps256):
            let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
            return key.isValidSignature(signature, for: SHA256.hash(data: input), padding: .PSS)
        case (.p256(let key), .es256):
            guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
            return key.isValidSignature(signature, for: SHA256.hash(data: input))
        case (.p384(let key), .es384):
            guard let signature = try? P384.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
            return key.isValidSignature(signature, for: SHA384.hash(data: input))
        case (.ed25519(let key), .edDSA):
            return key.isValidSignature(signature, for: input)
        case (.rsa, _), (.p256, _), (.p384, _), (.ed25519, _):
            return false
        }
    }
}
