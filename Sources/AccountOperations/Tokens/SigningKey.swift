import Crypto
import CryptoExtras
package import FoundationEssentials
import JSON
import SwiftASN1
import X509

/// A key that signs tokens, with the certificate that publishes it. Immutable.
package struct SigningKey: Sendable {
    package enum Algorithm: String, Sendable, CaseIterable {
        /// ECDSA on P-256 with SHA-256: 14 µs a signature.
        case es256 = "ES256"
        /// RSASSA-PKCS1-v1_5 with SHA-256 and 2048 bits, for verifiers that require it: 444 µs a signature.
        case rs256 = "RS256"
    }

    private enum PrivateKey: Sendable {
        case es256(P256.Signing.PrivateKey)
        case rs256(_RSA.Signing.PrivateKey)
    }

    private enum PublicKey: Sendable {
        case es256(P256.Signing.PublicKey)
        case rs256(_RSA.Signing.PublicKey)
    }

    package let id: String
    package let algorithm: Algorithm
    /// The X.509 certificate, DER.
    package let certificate: [UInt8]
    private let privateKey: PrivateKey
    private let publicKey: PublicKey
    /// The same for every token of this key.
    let header: [UInt8]
    /// With the dot.
    private let encodedHeader: String

    /// Makes a self-signed certificate, which Admin SDKs expect for every key id.
    ///
    /// - `validity`: of the certificate. Verifiers ignore these dates.
    package static func generate(
        id: String,
        algorithm: Algorithm,
        commonName: String,
        validity: Range<Date>
    ) throws -> SigningKey {
        let privateKey: PrivateKey
        let certificateKey: Certificate.PrivateKey
        switch algorithm {
        case .es256:
            let key = P256.Signing.PrivateKey()
            privateKey = .es256(key)
            certificateKey = Certificate.PrivateKey(key)
        case .rs256:
            let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
            privateKey = .rs256(key)
            certificateKey = Certificate.PrivateKey(key)
        }
        let name = try DistinguishedName { CommonName(commonName) }
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: certificateKey.publicKey,
            notValidBefore: validity.lowerBound,
            notValidAfter: validity.upperBound,
            issuer: name,
            subject: name,
            signatureAlgorithm: algorithm == .es256 ? .ecdsaWithSHA256 : .sha256WithRSAEncryption,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
            },
            issuerPrivateKey: certificateKey
        )
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return SigningKey(
            id: id,
            algorithm: algorithm,
            certificate: serializer.serializedBytes,
            privateKey: privateKey
        )
    }

    /// `nil` if the bytes are not such a key.
    package init?(id: String, algorithm: Algorithm, privateKeyBytes: [UInt8], certificate: [UInt8]) {
        let key: PrivateKey?
        switch algorithm {
        case .es256: key = (try? P256.Signing.PrivateKey(rawRepresentation: privateKeyBytes)).map(PrivateKey.es256)
        case .rs256: key = (try? _RSA.Signing.PrivateKey(derRepresentation: privateKeyBytes)).map(PrivateKey.rs256)
        }
        guard let key else { return nil }
        self.init(id: id, algorithm: algorithm, certificate: certificate, privateKey: key)
    }

    private init(id: String, algorithm: Algorithm, certificate: [UInt8], privateKey: PrivateKey) {
        self.id = id
        self.algorithm = algorithm
        self.certificate = certificate
        self.privateKey = privateKey
        self.publicKey =
            switch privateKey {
            case .es256(let key): .es256(key.publicKey)
            case .rs256(let key): .rs256(key.publicKey)
            }
        self.header = JSONWriter.object { writer in
            writer.field("alg", algorithm.rawValue)
            writer.field("kid", id)
            writer.field("typ", "JWT")
        }
        self.encodedHeader = Base64URL.encode(header) + "."
    }

    /// For sealing.
    package var privateKeyBytes: [UInt8] {
        switch privateKey {
        case .es256(let key): Array(key.rawRepresentation)
        case .rs256(let key): Array(key.derRepresentation)
        }
    }

    /// A compact JWT (RFC 7515 §3.1). `payload` must be a JSON object.
    package func sign(_ payload: [UInt8]) throws -> String {
        let signingInput = encodedHeader + Base64URL.encode(payload)
        return signingInput + "." + Base64URL.encode(try signature(over: signingInput.utf8))
    }

    func signature(over signingInput: some Sequence<UInt8>) throws -> [UInt8] {
        let input = Array(signingInput)
        return switch privateKey {
        case .es256(let key): Array(try key.signature(for: input).rawRepresentation)
        case .rs256(let key):
            Array(try key.signature(for: SHA256.hash(data: input), padding: .insecurePKCS1v1_5).rawRepresentation)
        }
    }

    func verifies(_ signature: [UInt8], over signingInput: some Sequence<UInt8>) -> Bool {
        let input = Array(signingInput)
        switch publicKey {
        case .es256(let key):
            guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
            return key.isValidSignature(signature, for: input)
        case .rs256(let key):
            return key.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: signature),
                for: SHA256.hash(data: input),
                padding: .insecurePKCS1v1_5
            )
        }
    }

    /// RFC 7517; RFC 7518 §6.
    func publicJWK() throws -> JSONValue {
        var members: [String: JSONValue] = [
            "use": .string("sig"), "alg": .string(algorithm.rawValue), "kid": .string(id),
        ]
        switch publicKey {
        case .es256(let key):
            let point = Array(key.rawRepresentation)
            members["kty"] = .string("EC")
            members["crv"] = .string("P-256")
            members["x"] = .string(Base64URL.encode(point.prefix(32)))
            members["y"] = .string(Base64URL.encode(point.suffix(32)))
        case .rs256(let key):
            let primitives = try key.getKeyPrimitives()
            members["kty"] = .string("RSA")
            members["n"] = .string(Base64URL.encode(primitives.modulus))
            members["e"] = .string(Base64URL.encode(primitives.publicExponent))
        }
        return .object(members)
    }

    var certificatePEM: String {
        PEMDocument(type: "CERTIFICATE", derBytes: certificate).pemString + "\n"
    }
}
