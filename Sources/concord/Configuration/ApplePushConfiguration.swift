import AccountOperations
import Crypto
import Delivery
import HTTPClient
import NIOSSL

/// The settings of silent pushes to apps for iOS.
struct ApplePushConfiguration: Sendable {
    /// The credentials by bundle identifier; empty if no app gets pushes.
    let apps: [String: APNsCredential]
    let hosts: APNsHosts
    /// Additional certificate authorities for the hosts, in PEM.
    let certificateAuthorities: [UInt8]
    let timeout: Duration
    let connectionsMax: Int
}

extension ApplePushConfiguration {
    static let entries: [ConfigurationEntry] = [
        keyFileKey.entry, keyIDKey.entry, teamIDKey.entry, bundleIDsKey.entry, certificatesKey.entry,
        productionURLKey.entry, sandboxURLKey.entry, certificateAuthoritiesKey.entry, timeoutKey.entry,
        connectionsKey.entry,
    ]

    private static let keyFileKey = ConfigurationKey(
        optional: "apns.key_file",
        .path,
        "Key of a team for Apple's push service (AuthKey_….p8); its pushes verify the team's iOS apps"
    )
    private static let keyIDKey = ConfigurationKey(
        optional: "apns.key_id",
        .identifier("the ID of a key"),
        "ID of that key"
    )
    private static let teamIDKey = ConfigurationKey(
        optional: "apns.team_id",
        .identifier("the ID of a team"),
        "ID of the team"
    )
    private static let bundleIDsKey = ConfigurationKey(
        list: "apns.bundle_ids",
        .text("a bundle identifier"),
        "Apps of that team that receive pushes"
    )
    private static let certificatesKey = ConfigurationKey(
        list: "apns.certificates",
        .text("BUNDLE-ID=PATH"),
        "Apps that use a certificate instead, each with the PEM file of certificate and key"
    )
    private static let productionURLKey = ConfigurationKey(
        "apns.production_url",
        .gatewayURL,
        default: APNsHosts().production,
        "URL of Apple's push service"
    )
    private static let sandboxURLKey = ConfigurationKey(
        "apns.sandbox_url",
        .gatewayURL,
        default: APNsHosts().sandbox,
        "URL of the push service for development builds"
    )
    private static let certificateAuthoritiesKey = ConfigurationKey(
        optional: "apns.certificate_authorities",
        .path,
        "PEM certificates of more authorities to trust for the push service"
    )
    private static let timeoutKey = ConfigurationKey(
        "apns.timeout",
        .duration(milliseconds: 500...8000),
        default: .seconds(4),
        "Time for sending one push"
    )
    private static let connectionsKey = ConfigurationKey(
        "apns.connections",
        .wholeNumber(1...32),
        default: 4,
        "Pushes that one server sends in parallel"
    )

    /// Reads the `apns` keys. The reader records mistakes.
    init(reading reader: inout ConfigurationReader) {
        hosts = APNsHosts(
            production: reader.value(Self.productionURLKey),
            sandbox: reader.value(Self.sandboxURLKey)
        )
        for (key, url) in [(Self.productionURLKey, hosts.production), (Self.sandboxURLKey, hosts.sandbox)]
        where !url.hasPrefix("https:") {
            reader.refuse(key, "HTTP/2 needs TLS: give an https URL")
        }
        timeout = reader.value(Self.timeoutKey)
        connectionsMax = reader.value(Self.connectionsKey)
        certificateAuthorities = reader.certificates(Self.certificateAuthoritiesKey)
        var apps: [String: APNsCredential] = [:]
        let bundleIDs = reader.value(Self.bundleIDsKey)
        if let key = Self.key(reading: &reader) {
            if bundleIDs.isEmpty { reader.refuse(Self.bundleIDsKey, "required beside apns.key_file") }
            for bundleID in bundleIDs { apps[bundleID] = key }
        } else if !bundleIDs.isEmpty {
            reader.refuse(Self.bundleIDsKey, "needs apns.key_file")
        }
        for entry in reader.value(Self.certificatesKey) {
            let parts = entry.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else {
                reader.refuse(Self.certificatesKey, "give BUNDLE-ID=PATH")
                continue
            }
            guard apps[parts[0]] == nil else {
                reader.refuse(Self.certificatesKey, "\(parts[0]) is given twice; keep one")
                continue
            }
            guard let pem = reader.contents(of: parts[1], named: Self.certificatesKey) else { continue }
            guard let chain = try? NIOSSLCertificate.fromPEMBytes(pem), !chain.isEmpty,
                (try? NIOSSLPrivateKey(bytes: pem, format: .pem)) != nil
            else {
                reader.refuse(Self.certificatesKey, "the file of \(parts[0]) holds no certificate with its key, in PEM")
                continue
            }
            apps[parts[0]] = .certificate(pem)
        }
        if !apps.isEmpty, !CurlLibrary.hasHTTP2 {
            reader.refuse(
                bundleIDs.isEmpty ? Self.certificatesKey : Self.bundleIDsKey,
                "this machine's libcurl has no HTTP/2, which Apple's push service needs; install one with nghttp2"
            )
        }
        self.apps = apps
    }

    /// The team's key, if it is completely configured.
    private static func key(reading reader: inout ConfigurationReader) -> APNsCredential? {
        let path = reader.value(keyFileKey)
        let id = reader.value(keyIDKey)
        let team = reader.value(teamIDKey)
        guard let path else {
            for key in [keyIDKey, teamIDKey] where reader.value(key) != nil {
                reader.refuse(key, "needs apns.key_file")
            }
            return nil
        }
        guard let id, let team else {
            reader.refuse(id == nil ? keyIDKey : teamIDKey, "required beside apns.key_file")
            return nil
        }
        guard let bytes = reader.contents(of: path, named: keyFileKey) else { return nil }
        guard let pem = String(validating: bytes, as: UTF8.self),
            let key = try? P256.Signing.PrivateKey(pemRepresentation: pem)
        else {
            reader.refuse(
                keyFileKey,
                "the file holds no key from Apple: give a PEM file that begins -----BEGIN PRIVATE KEY-----"
            )
            return nil
        }
        return .key(id: id, team: team, key)
    }

    /// The sender of pushes; `nil` if no app gets pushes.
    func channel() -> PushChannel? {
        guard !apps.isEmpty else { return nil }
        return PushChannel(
            APNsSender(apps: apps, hosts: hosts, authorities: certificateAuthorities),
            timeout: timeout,
            concurrencyMax: connectionsMax
        )
    }
}
