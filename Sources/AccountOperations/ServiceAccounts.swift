import AccountLinking
import AccountStore
import Crypto
import CryptoExtras
import FoundationEssentials
import JSON

/// A new service account, with the only copy of its private key.
package struct NewServiceAccount: Sendable {
    package let keyID: String
    package let email: String
    /// PKCS #8, PEM.
    package let privateKeyPEM: String
    /// SubjectPublicKeyInfo, DER.
    package let publicKey: [UInt8]

    /// - `name`: the part of the account's name before the `@`.
    package init(name: String, projectID: String, effects: Effects) throws {
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        keyID = Hexadecimal.encode(effects.randomBytes(20))
        email = "\(name)@\(projectID).iam.gserviceaccount.com"
        privateKeyPEM = key.pkcs8PEMRepresentation
        publicKey = Array(key.publicKey.derRepresentation)
    }

    /// The credentials file, in the form that Google's client libraries read.
    ///
    /// - `baseURL`: Concord's URL, without a trailing slash.
    package func credentialsFile(projectID: String, baseURL: String) -> String {
        JSONValue.object([
            "type": .string("service_account"), "project_id": .string(projectID),
            "private_key_id": .string(keyID), "private_key": .string(privateKeyPEM),
            "client_email": .string(email), "client_id": .string(keyID),
            "token_uri": .string(baseURL + AccountOperations.tokenPath),
        ]).text
    }
}

package struct IssuedAccessToken: Sendable {
    package let token: String
    package let expiresInSeconds: Int64
}

extension AccountOperations {
    /// The path of the endpoint that issues bearer tokens to service accounts.
    package static let tokenPath = "/oauth2/token"

    /// Audiences that some of Google's client libraries send regardless of the credentials file. Harmless: the key is
    /// registered only here, so Google accepts no assertion signed with it.
    private static let fixedAudiences = [
        "https://oauth2.googleapis.com/token", "https://www.googleapis.com/oauth2/v4/token",
    ]

    /// Issues a bearer token to a service account for an assertion that it signed (RFC 7523 §2.1).
    ///
    /// - `publicURL`: the audience must be this with `tokenPath`; if it is `nil`, any address that ends with
    ///   `tokenPath`.
    /// - Returns: `nil` for an invalid assertion, without the reason.
    package func issueAccessToken(assertion: String, publicURL: String?) async throws -> IssuedAccessToken? {
        let now = effects.now()
        let accounts = ServiceAccountTokens(store: store, projectID: project.settings.projectID)
        let verified: ServiceAccountTokens.Assertion
        do {
            verified = try await accounts.verifyAssertion(assertion, at: now) { audience in
                if Self.fixedAudiences.contains(audience) { return true }
                guard let publicURL else { return audience.hasSuffix(Self.tokenPath) }
                return audience == publicURL + Self.tokenPath
            }
        } catch is Denial {
            return nil
        }
        let claims = AccessTokenClaims(
            email: verified.account.email,
            keyID: verified.account.keyID,
            expiresAt: now.adding(seconds: Lifetimes.accessTokenSeconds)
        )
        return IssuedAccessToken(
            token: try tokens.mintAccessToken(claims),
            expiresInSeconds: Lifetimes.accessTokenSeconds
        )
    }

    /// The service account of a bearer token; `nil` unless it is still registered. One round trip.
    package func serviceAccount(accessToken token: String) async throws -> Administrator? {
        guard let claims = tokens.verifyAccessToken(token, at: effects.now()) else { return nil }
        return try await store.serviceAccount(keyID: claims.keyID).map {
            .serviceAccount(email: $0.email, keyID: $0.keyID)
        }
    }
}
