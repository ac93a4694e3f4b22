import JSON

/// A native app of the project (`concord.apps`). A sign-in on a provider's page may return to it.
package struct RegisteredApp: Sendable, Hashable {
    /// `1:NNN:ios:HEX`.
    package var appID: String?
    package var bundleID: String?
    package var packageName: String?
    /// SHA-1 fingerprints of the Android app's signing certificates, in lower-case hexadecimal without colons.
    package var certificates: Set<String>
    /// The app's client id at Google. Reversed, it is the app's URL scheme.
    package var clientID: String?
    /// iOS: the app's team. If it is set, links open the app.
    package var teamID: String?
    /// iOS: the app's id in the App Store, for users who do not have the app.
    package var appStoreID: String?
    /// Android: SHA-256 fingerprints of these certificates, in upper-case hexadecimal with colons. If there is one,
    /// links open the app.
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

    /// A page's claim about the app for which it works. `nil` claims nothing.
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

    package enum Denial: Sendable, Hashable {
        case unknownApp
        case unknownCertificate
        case unknownClient
    }

    fileprivate static func fingerprint(_ text: String) -> String { text.lowercased().filter { $0 != ":" } }
}

extension ProjectSettings {
    /// Returns `nil` if one app matches all of `claim`, or if nothing is claimed. Otherwise the reason to reject it.
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
