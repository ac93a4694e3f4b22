extension ProviderID {
    /// The known provider that uses `issuer`; `nil` for any other issuer.
    ///
    /// Issuers are compared character by character (OpenID Connect Discovery 1.0, section 4.3). Microsoft has one
    /// issuer for each directory, with only the directory in its path.
    package static func known(forIssuer issuer: String) -> ProviderID? {
        byIssuer[issuer] ?? (MicrosoftDirectory(issuer: issuer) == nil ? nil : .microsoft)
    }

    /// Returns true for a known issuer that accepts accounts with any address, because it owns no domain.
    /// The directory of one organization at Microsoft is not such an issuer.
    package static func isOpenToEveryone(knownIssuer issuer: String) -> Bool {
        guard known(forIssuer: issuer) != nil else { return false }
        return MicrosoftDirectory(issuer: issuer)?.isShared ?? true
    }
}

/// The party that assigns the subjects of a provider. Providers of one party identify the same people.
package enum SubjectAuthority: Sendable, Hashable {
    case provider(ProviderID)
    case issuer(String)
}

extension ProviderID {
    /// Returns true if the provider's id does not determine the party that assigns its subjects.
    package var hasManyIssuers: Bool { isOpenIDConnect || self == .microsoft }

    /// The party that assigns the provider's subjects under `issuer`. A known issuer belongs to its provider, under any
    /// registered id. Each directory of Microsoft assigns its own.
    package func authority(issuer: String?) -> SubjectAuthority {
        guard hasManyIssuers, let issuer else { return .provider(self) }
        guard let known = ProviderID.known(forIssuer: issuer), known != .microsoft else { return .issuer(issuer) }
        return .provider(known)
    }
}

/// A directory of Microsoft Entra, as its issuer names it (learn.microsoft.com, "ID token claims reference").
private struct MicrosoftDirectory {
    /// An id, a domain, or a name that covers many directories.
    private let name: Substring

    /// `nil` for an issuer that is not Microsoft's.
    init?(issuer: String) {
        let forms = [("https://login.microsoftonline.com/", "/v2.0"), ("https://sts.windows.net/", "/")]
        guard let (start, end) = forms.first(where: { issuer.hasPrefix($0.0) && issuer.hasSuffix($0.1) }),
            issuer.utf8.count > start.utf8.count + end.utf8.count
        else { return nil }
        name = issuer.dropFirst(start.count).dropLast(end.count)
        // Rejects further path segments, queries and anything that a URL parser could read in another way.
        guard name.utf8.count <= 253, name.utf8.allSatisfy(Self.isNameByte), name != ".", name != ".." else {
            return nil
        }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// Returns true if the name covers all directories, or all personal accounts.
    var isShared: Bool {
        ["common", "organizations", "consumers", "9188040d-6c67-4c5b-b112-36a304b66dad"].contains(name.lowercased())
    }
}
