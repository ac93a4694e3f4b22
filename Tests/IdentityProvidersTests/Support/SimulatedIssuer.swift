import AccountLinking
import AccountTestSupport
import Crypto
import IdentityProviders
import JSON

/// A known provider with ID tokens, as tests simulate it. The values come from the provider's documentation, not from
/// Concord's verifier.
struct SimulatedIssuer: Sendable {
    let provider: ProviderID
    let issuer: String
    let keySetURL: String
    /// The parameters with which its page requests a new sign-in.
    var reauthentication: [String: String] = [:]
    /// False if its ID tokens need claims that those of others do not have.
    var hasCommonClaims = true
    /// False if its page returns no ID tokens.
    var hasCodeFlow = true
    /// Adds the fields that a project registers beside the client's id and secret.
    var register: @Sendable (inout ProviderConfiguration) -> Void = { _ in }
    /// Adds the differences of the provider from others, and the registration for them.
    var adapt: @Sendable (inout OIDCSimulator.Character, inout ProviderConfiguration) throws -> Void = { _, _ in }

    static let all: [SimulatedIssuer] = [
        .init(
            provider: .google,
            issuer: "https://accounts.google.com",
            keySetURL: "https://www.googleapis.com/oauth2/v3/certs",
            reauthentication: ["max_age": "0"],
            adapt: { character, _ in character.keys = [try SharedKeys.rsa()] }
        ),
        .init(
            provider: .apple,
            issuer: "https://appleid.apple.com",
            keySetURL: "https://appleid.apple.com/auth/keys",
            register: { $0.appleBundleIDs = ["com.example.app"] },
            adapt: { character, configuration in
                character.keys = [try SharedKeys.rsa()]
                character.authentication = .signed(appleKey.publicKey, keyID: "key-1", teamID: "team-1")
                configuration.clientSecret = nil
                configuration.appleKey = AppleKey(
                    teamID: "team-1",
                    keyID: "key-1",
                    privateKey: appleKey.pemRepresentation
                )
            }
        ),
        .init(
            provider: .facebook,
            issuer: "https://www.facebook.com",
            keySetURL: "https://limited.facebook.com/.well-known/oauth/openid/jwks/",
            hasCodeFlow: false
        ),
        .init(
            provider: .microsoft,
            issuer: "https://login.microsoftonline.com/\(Scene.tenant)/v2.0",
            keySetURL: "https://login.microsoftonline.com/common/discovery/v2.0/keys",
            reauthentication: ["prompt": "login"],
            hasCommonClaims: false,
            adapt: { character, _ in
                character.keys = [try SharedKeys.rsa()]
                character.user["tid"] = .string(Scene.tenant)
                character.user["oid"] = .string(Scene.object)
            }
        ),
        .init(
            provider: .yahoo,
            issuer: "https://api.login.yahoo.com",
            keySetURL: "https://api.login.yahoo.com/openid/v1/certs",
            reauthentication: ["prompt": "login"],
            adapt: { character, _ in
                character.authentication = .basic
                character.expectsVerifiers = false
            }
        ),
        .init(
            provider: .linkedIn,
            issuer: "https://www.linkedin.com/oauth",
            keySetURL: "https://www.linkedin.com/oauth/openid/jwks",
            adapt: { character, _ in
                character.keys = [try SharedKeys.rsa()]
                character.expectsVerifiers = false
                character.expectsNonces = false
            }
        ),
        // Add the next provider with ID tokens before this line.
    ]

    static func of(_ provider: ProviderID) -> SimulatedIssuer? { all.first { $0.provider == provider } }

    /// The key with which a client of Apple signs its secret.
    private static let appleKey = P256.Signing.PrivateKey()
}
