public import Foundation

/// The id of a provider, as the project names it.
public struct AuthProviderID: Sendable, Hashable, RawRepresentable, ExpressibleByStringLiteral {
    public var rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }
    public init(stringLiteral value: String) { rawValue = value }

    public static let apple: AuthProviderID = "apple.com"
    public static let email: AuthProviderID = "password"
    public static let facebook: AuthProviderID = "facebook.com"
    public static let gitHub: AuthProviderID = "github.com"
    public static let google: AuthProviderID = "google.com"
    public static let microsoft: AuthProviderID = "microsoft.com"
    public static let phone: AuthProviderID = "phone"
    public static let twitter: AuthProviderID = "twitter.com"
    public static let yahoo: AuthProviderID = "yahoo.com"

    /// An OpenID Connect provider of the project: `oidc.` and a name.
    public static func custom(_ id: String) -> AuthProviderID { AuthProviderID(rawValue: id) }
}

/// A provider that signs in on its own page: Twitter, GitHub, Microsoft, `oidc.*` and so on; and the credentials of any
/// provider.
public final class OAuthProvider: Sendable {
    private struct State {
        var scopes: [String]?
        var customParameters: [String: String]?
    }

    /// The provider's id.
    public let providerID: String
    let auth: Auth
    private let state = Locked(State())

    /// A provider whose flow the server of `auth` runs.
    public init(providerID: String, auth: Auth = Auth.auth()) {
        self.providerID = providerID
        self.auth = auth
    }

    public convenience init(providerID: AuthProviderID, auth: Auth = Auth.auth()) {
        self.init(providerID: providerID.rawValue, auth: auth)
    }

    public static func provider(providerID: AuthProviderID, auth: Auth = Auth.auth()) -> OAuthProvider {
        OAuthProvider(providerID: providerID, auth: auth)
    }

    /// Scopes to ask the provider for.
    public var scopes: [String]? {
        get { state.with { $0.scopes } }
        set { state.with { $0.scopes = newValue } }
    }

    /// Parameters for the provider's page, for example `lang`. The server ignores `client_id`, `redirect_uri`,
    /// `response_type`, `scope` and `state`.
    public var customParameters: [String: String]? {
        get { state.with { $0.customParameters } }
        set { state.with { $0.customParameters = newValue } }
    }

    /// A credential of tokens that the app got from the provider. `rawNonce` is the nonce whose SHA-256 the app sent to
    /// the provider.
    public static func credential(
        providerID: AuthProviderID,
        idToken: String,
        rawNonce: String? = nil,
        accessToken: String? = nil
    ) -> AuthCredential {
        .oauth(providerID.rawValue, idToken: idToken, accessToken: accessToken, rawNonce: rawNonce)
    }

    public static func credential(providerID: AuthProviderID, accessToken: String) -> AuthCredential {
        .oauth(providerID.rawValue, accessToken: accessToken)
    }

    /// A credential of Sign in with Apple: `identityToken` of the authorization, the nonce whose SHA-256 was in the
    /// request, and `fullName`, which Apple sends with the first sign-in alone.
    public static func appleCredential(
        withIDToken idToken: String,
        rawNonce: String?,
        fullName: PersonNameComponents?
    ) -> AuthCredential {
        .oauth("apple.com", idToken: idToken, rawNonce: rawNonce, fullName: fullName.flatMap(userParameter))
    }

    private static func userParameter(_ name: PersonNameComponents) -> String? {
        guard name.givenName != nil || name.familyName != nil else { return nil }
        let value = JSONValue.members([
            "name": .members(["firstName": name.givenName?.json, "lastName": name.familyName?.json])
        ])
        return (try? JSONEncoder().encode(value)).map { String(decoding: $0, as: UTF8.self) }
    }
}
