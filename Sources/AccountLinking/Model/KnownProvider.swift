/// A provider that Concord knows by name. All lists of such providers derive from `all`.
///
/// `IdentityProviders/Providers` verifies credentials, and `EmailTrust` defines the trust in a provider's addresses.
package struct KnownProvider: Sendable {
    package let id: ProviderID
    /// The name that pages and mails show.
    package let displayName: String
    /// True if Concord verifies its credentials. Other providers can only be registered and imported.
    package let signsIn: Bool
    /// Issuers of its ID tokens. The first one is recorded. Empty for a provider without ID tokens.
    package let issuers: [String]
    /// First of its 4 columns in the CSV of the Firebase CLI.
    package let firebaseColumn: Int?
    /// Name in the identities of Supabase. `nil` also for Microsoft, whose subjects differ there.
    package let supabaseName: String?

    private init(
        _ id: ProviderID,
        _ displayName: String,
        signsIn: Bool = true,
        issuers: [String] = [],
        firebaseColumn: Int? = nil,
        supabaseName: String? = nil
    ) {
        self.id = id
        self.displayName = displayName
        self.signsIn = signsIn
        self.issuers = issuers
        self.firebaseColumn = firebaseColumn
        self.supabaseName = supabaseName
    }
}

extension ProviderID {
    package static let google = Self(wellKnown: "google.com")
    package static let apple = Self(wellKnown: "apple.com")
    package static let facebook = Self(wellKnown: "facebook.com")
    package static let twitter = Self(wellKnown: "twitter.com")
    package static let gitHub = Self(wellKnown: "github.com")
    package static let microsoft = Self(wellKnown: "microsoft.com")
    package static let yahoo = Self(wellKnown: "yahoo.com")
    package static let linkedIn = Self(wellKnown: "linkedin.com")
    package static let playGames = Self(wellKnown: "playgames.google.com")
    package static let gameCenter = Self(wellKnown: "gc.apple.com")
}

extension KnownProvider {
    package static let all: [KnownProvider] = [
        .init(
            .google,
            "Google",
            // Older tokens name the issuer without the scheme.
            issuers: ["https://accounts.google.com", "accounts.google.com"],
            firebaseColumn: 7,
            supabaseName: "google"
        ),
        .init(.apple, "Apple", issuers: ["https://appleid.apple.com"], firebaseColumn: 28, supabaseName: "apple"),
        .init(
            .facebook,
            "Facebook",
            issuers: ["https://www.facebook.com", "https://limited.facebook.com"],
            firebaseColumn: 11,
            supabaseName: "facebook"
        ),
        .init(.twitter, "X (Twitter)", firebaseColumn: 15, supabaseName: "twitter"),
        .init(.gitHub, "GitHub", firebaseColumn: 19, supabaseName: "github"),
        .init(
            .microsoft,
            "Microsoft",
            // Represents the issuers of all directories: `ProviderID.known(forIssuer:)`.
            issuers: ["https://login.microsoftonline.com/common/v2.0"],
            firebaseColumn: 32
        ),
        .init(.yahoo, "Yahoo", issuers: ["https://api.login.yahoo.com"], firebaseColumn: 48),
        .init(
            .linkedIn,
            "LinkedIn",
            issuers: ["https://www.linkedin.com/oauth", "https://www.linkedin.com"],
            firebaseColumn: 44,
            supabaseName: "linkedin"
        ),
        .init(.playGames, "Google Play Games", signsIn: false, firebaseColumn: 40),
        .init(.gameCenter, "Game Center", signsIn: false, firebaseColumn: 36),
        // Add the next provider before this line.
    ]

    package static let byID = Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0) })
}

/// A type with one value for each provider whose credentials Concord verifies. `IdentityProviders` declares each value
/// in the provider's file, and the compiler reports a missing one.
package protocol KnownProviderValues {
    static var google: Self { get }
    static var apple: Self { get }
    static var facebook: Self { get }
    static var twitter: Self { get }
    static var gitHub: Self { get }
    static var microsoft: Self { get }
    static var yahoo: Self { get }
    static var linkedIn: Self { get }
    // Add the next provider before this line, and to `all`.
}

extension KnownProviderValues {
    package static var all: [Self] { [google, apple, facebook, twitter, gitHub, microsoft, yahoo, linkedIn] }
}

extension ProviderID {
    /// Provider of each issuer.
    static let byIssuer = Dictionary(
        uniqueKeysWithValues: KnownProvider.all.flatMap { known in known.issuers.map { ($0, known.id) } }
    )
}
