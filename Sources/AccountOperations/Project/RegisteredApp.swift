import JSON

/// A native app of the project (`concord.apps`): whom a sign-in on a provider's page may lead back to.
package struct RegisteredApp: Sendable, Hashable {
    /// `1:NNN:ios:HEX`.
    package var appID: String?
    package var bundleID: String?
    package var packageName: String?
    /// Fingerprints of certificates that the Android app is signed with, in lower-case hexadecimal without colons.
    package var certificates: Set<String>
    /// Its client id at Google, whose reverse is a scheme of its own.
    package var clientID: String?
    /// iOS: whose team it is of; with it, links open the app.
    package var teamID: String?
    /// iOS: where it is got, for whoever has not got it.
    package var appStoreID: String?
    /// Android: SHA-256 fingerprints of those certificates, in upper-case hexadecimal with colons; with one, links open the
    /// app.
    package var linkCertificates: [String]

    init(stored: JSONValue) {
        appID = stored["appId"]?.string
        bundleID = stored["bundleId"]?.string
        packageName = stored["packageName"]?.string
        certificates = Set(stored["sha1Certs"]?.array?.compactMap { $0.string.map(Self.fingerprint) } ?? [])
        clientID = stored["clientId"]?.string
        teamID = stored["teamId"]?.string
        appStoreID = stored["appStoreId"]?.string
        linkCertificates = stored["sha256Certs"]?.array?.compactMap { $0.string?.uppercased() } ?? []
    }

    /// What a page says of the app that it works for. Only what is not `nil` is said.
    package struct Claim: Sendable, Hashable {
        package var appID: String?
        package var bundleID: String?
        package var packageName: String?
        package var certificate: String?
        package var clientID: String?

        package init(
            appID: String?,
            bundleID: String?,
            packageName: String?,
            certificate: String?,
            clientID: String?
        ) {
            self.appID = appID
            self.bundleID = bundleID
            self.packageName = packageName
            self.certificate = certificate
            self.clientID = clientID
        }

        var isEmpty: Bool {
            self == Claim(appID: nil, bundleID: nil, packageName: nil, certificate: nil, clientID: nil)
        }
    }

    /// Why a claim does not hold.
    package enum Denial: Sendable, Hashable {
        case unknownApp
        case unknownCertificate
        case unknownClient
    }

    fileprivate static func fingerprint(_ text: String) -> String { text.lowercased().filter { $0 != ":" } }
}

extension ProjectSettings {
    /// Whether one app is everything that `claim` says; `nil` when it is, or when nothing is said.
    package func denial(of claim: RegisteredApp.Claim) -> RegisteredApp.Denial? {
        guard !claim.isEmpty else { return nil }
        let named = apps.filter { app in
            (claim.appID == nil || claim.appID == app.appID)
                && (claim.bundleID == nil || claim.bundleID == app.bundleID)
                && (claim.packageName == nil || claim.packageName == app.packageName)
        }
        guard !named.isEmpty else { return .unknownApp }
        let signed = named.filter { app in
            claim.certificate.map { app.certificates.contains(RegisteredApp.fingerprint($0)) } ?? true
        }
        guard !signed.isEmpty else { return .unknownCertificate }
        return signed.contains { claim.clientID == nil || claim.clientID == $0.clientID } ? nil : .unknownClient
    }
}
