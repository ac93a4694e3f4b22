import NIOSSL

/// The networks in which issuers may be, and the certificate authorities to trust for outgoing requests.
struct ProvidersConfiguration: Sendable, Hashable {
    let allowsPrivateNetworks: Bool
    /// Additional certificate authorities, in PEM.
    let certificateAuthorities: [UInt8]
}

extension ProvidersConfiguration {
    static let entries: [ConfigurationEntry] = [allowPrivateNetworksKey.entry, certificateAuthoritiesKey.entry]

    private static let allowPrivateNetworksKey = ConfigurationKey(
        "providers.allow_private_networks",
        .truth,
        default: false,
        "Allows `oidc.*` issuers and webhook endpoints outside the public internet, over HTTPS only"
    )
    private static let certificateAuthoritiesKey = ConfigurationKey(
        optional: "providers.certificate_authorities",
        .path,
        "PEM certificates of more authorities to trust for issuers, webhooks, SMS gateways and telemetry"
    )

    /// Reads the `providers` keys. The reader records mistakes.
    init(reading reader: inout ConfigurationReader) {
        allowsPrivateNetworks = reader.value(Self.allowPrivateNetworksKey)
        certificateAuthorities = reader.certificates(Self.certificateAuthoritiesKey)
    }
}

extension ConfigurationReader {
    /// Reads the PEM certificates in the file that a setting names. Records a mistake if there are none.
    mutating func certificates(_ key: ConfigurationKey<String?>) -> [UInt8] {
        guard let path = value(key), let bytes = contents(of: path, named: key) else { return [] }
        guard let certificates = try? NIOSSLCertificate.fromPEMBytes(bytes), !certificates.isEmpty else {
            refuse(key, "the file holds no PEM certificate")
            return []
        }
        return bytes
    }
}
