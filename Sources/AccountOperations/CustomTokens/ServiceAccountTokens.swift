package import AccountLinking
package import AccountStore
import Crypto
import CryptoExtras
import FoundationEssentials
import JSON

/// Verifies what registered service accounts signed: custom tokens, and assertions that ask for a bearer token.
package struct ServiceAccountTokens: CustomTokenVerifier {
    /// The audience of every custom token (`spec/04` §4).
    package static let customTokenAudience =
        "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"
    /// How far the clock of a backend may be ahead, in seconds.
    private static let skewSecondsMax: Int64 = 300

    private let store: AccountStore
    private let projectID: String

    package init(store: AccountStore, projectID: String) {
        self.store = store
        self.projectID = projectID
    }

    package func verify(_ token: String, at now: Timestamp) async throws -> Outcome<CustomToken> {
        switch try await verifyAssertion(token, at: now, isAudience: { $0 == Self.customTokenAudience }) {
        case .denied(let denial): .denied(denial)
        case .success(let assertion): CustomToken.read(assertion.payload)
        }
    }

    /// An assertion whose signature, issuer, audience and times hold.
    struct Assertion: Sendable {
        let account: ServiceAccountRecord
        let payload: JSONValue
    }

    /// Verifies a JWT signed with RS256 by a registered key (RFC 7519, RFC 7523 §3).
    func verifyAssertion(
        _ token: String,
        at now: Timestamp,
        isAudience: @Sendable (String) -> Bool
    ) async throws -> Outcome<Assertion> {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard token.utf8.count <= CustomToken.bytesMax, parts.count == 3,
            let header = Base64URL.decode(parts[0]).flatMap({ try? JSONValue(parsing: $0) }),
            let payload = Base64URL.decode(parts[1]).flatMap({ try? JSONValue(parsing: $0) }),
            let signature = Base64URL.decode(parts[2]), payload.object != nil
        else { return .denied(.invalidCustomToken(reason: "Invalid assertion format")) }
        // The registered key says which algorithm there is; the header may only agree.
        guard header["alg"]?.string == "RS256", let keyID = header["kid"]?.string else {
            return .denied(.invalidCustomToken(reason: "The token must be signed with RS256 and name its key"))
        }
        guard let account = try await store.serviceAccount(keyID: keyID) else {
            if let issuer = payload["iss"]?.string, namesAnotherProject(issuer) { return .denied(.credentialMismatch) }
            return .denied(.invalidCustomToken(reason: "The key is not registered"))
        }
        let signingInput = Array(token.utf8.dropLast(parts[2].utf8.count + 1))
        let key = try _RSA.Signing.PublicKey(derRepresentation: Data(account.publicKey))
        let isSigned = key.isValidSignature(
            _RSA.Signing.RSASignature(rawRepresentation: signature),
            for: SHA256.hash(data: signingInput),
            padding: .insecurePKCS1v1_5
        )
        guard isSigned else { return .denied(.invalidCustomToken(reason: "Invalid signature")) }
        guard payload["iss"]?.string == account.email, payload["sub"]?.string ?? account.email == account.email else {
            return .denied(.invalidCustomToken(reason: "The issuer is not the account whose key signed"))
        }
        guard let audience = payload["aud"]?.string, isAudience(audience) else {
            return .denied(.invalidCustomToken(reason: "Invalid audience"))
        }
        guard let issuedAt = payload["iat"]?.integer, let expiresAt = payload["exp"]?.integer,
            issuedAt >= 0, expiresAt > issuedAt, expiresAt - issuedAt <= Lifetimes.assertionSecondsMax,
            issuedAt <= now.secondsSinceEpoch + Self.skewSecondsMax
        else { return .denied(.invalidCustomToken(reason: "The token must expire within an hour of its issue")) }
        guard now.secondsSinceEpoch < expiresAt else {
            return .denied(.invalidCustomToken(reason: "The token has expired"))
        }
        return .success(Assertion(account: account, payload: payload))
    }

    /// Whether `issuer` is a service account's name that ends in another project than this one.
    private func namesAnotherProject(_ issuer: String) -> Bool {
        let suffix = ".iam.gserviceaccount.com"
        guard let at = issuer.firstIndex(of: "@"), issuer.hasSuffix(suffix) else { return false }
        return issuer[issuer.index(after: at)...] != projectID + suffix
    }
}
