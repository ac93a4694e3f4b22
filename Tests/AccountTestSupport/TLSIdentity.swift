import Crypto
import Foundation
package import NIOSSL
import SwiftASN1
import X509

/// A key and a self-signed certificate for 127.0.0.1.
package struct TLSIdentity: Sendable {
    package let pem: String
    package let keyPEM: String

    package init() throws {
        let key = P256.Signing.PrivateKey()
        let certificateKey = Certificate.PrivateKey(key)
        let name = try DistinguishedName { CommonName("server of a test") }
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: certificateKey.publicKey,
            notValidBefore: Date(timeIntervalSinceNow: -3600),
            notValidAfter: Date(timeIntervalSinceNow: 86_400),
            issuer: name,
            subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                Critical(KeyUsage(digitalSignature: true, keyCertSign: true))
                SubjectAlternativeNames([.ipAddress(ASN1OctetString(contentBytes: [127, 0, 0, 1]))])
            },
            issuerPrivateKey: certificateKey
        )
        pem = try certificate.serializeAsPEM().pemString
        keyPEM = key.pemRepresentation
    }
}

extension TLSIdentity {
    package var certificate: NIOSSLCertificate {
        get throws { try NIOSSLCertificate(bytes: Array(pem.utf8), format: .pem) }
    }

    package var key: NIOSSLPrivateKey {
        get throws { try NIOSSLPrivateKey(bytes: Array(keyPEM.utf8), format: .pem) }
    }

    /// The TLS context of a server with one protocol. If `clients` is not empty, only these may connect.
    func context(protocol name: String, clients: [TLSIdentity]) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(try certificate)],
            privateKey: .privateKey(try key)
        )
        configuration.applicationProtocols = [name]
        if !clients.isEmpty {
            configuration.certificateVerification = .noHostnameVerification
            configuration.trustRoots = .certificates(try clients.map { try $0.certificate })
        }
        return try NIOSSLContext(configuration: configuration)
    }
}
