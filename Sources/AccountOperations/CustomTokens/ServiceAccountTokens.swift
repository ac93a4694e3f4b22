package import AccountLinking
package import AccountStore
import Crypto
import CryptoExtras
import FoundationEssentials
import JSON

/// Verifies tokens of registered service accounts: custom tokens, and assertions that request a bearer token.
package struct ServiceAccountTokens: CustomTokenVerifier {
    /// The audience of every custom token (firebase.google.com/docs/auth/admin/create-custom-tokens).
    package static let customTokenAudience =
        "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"
    /// Largest accepted lead of a backend's clock.
    private static let skewSecondsMax: Int64 = 300

    private let store: AccountStore
    private let projectID: String

    package init(store: AccountStore, projectID: String) {
        self.store = store
        self.projectID = projectID
    }

    package func verify(_ token: String, at now: Timestamp) async throws -> CustomToken {
        let assertion = try await verifyAssertion(token, at: now, isAudience: { $0 == Self.customTokenAudience })
        return try CustomToken.read(assertion.payload)
    }

    /// An assertion with a valid signature, issuer, audience and times.
    struct Assertion: Sendable {
        let account: ServiceAccountRecord
        let payload: JSONValue
    }

    /// Verifies a JWT signed with RS256 by a registered key (RFC 7519, RFC 7523 §3).
    func verifyAssertion(
        _ token: String,
        at now: Timestamp,
        isAudience: @Sendable (String) -> Bool
    ) async throws -> Assertion {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard token.utf8.count <= CustomToken.bytesMax, parts.count == 3,
            let header = Base64URL.decode(parts[0]).flatMap({ try? JSONValue(parsing: $0) }),
            let payload = Base64URL.decode(parts[1]).flatMap({ try? JSONValue(parsing: $0) }),
            let signature = Base64URL.decode(parts[2]), payload.object != nil
        else { throw Denial.invalidCustomToken(reason: "Invalid assertion format") }
        // The registered key determines the algorithm. The header must agree.
        guard header["alg"]?.string == "RS256" else {
            throw Denial.invalidCustomToken(reason: "The token must be signed with RS256")
        }
        let issuer = payload["iss"]?.string
        let accounts = try await accounts(keyID: header["kid"]?.string, issuer: issuer)
        if accounts.isEmpty {
            if let issuer, namesAnotherProject(issuer) { throw Denial.credentialMismatch }
            throw Denial.invalidCustomToken(reason: "The key is not registered")
        }
        let signed = SHA256.hash(data: Array(token.utf8.dropLast(parts[2].utf8.count + 1)))
        guard let account = try accounts.first(where: { try $0.hasSigned(signed, as: signature) }) else {
            throw Denial.invalidCustomToken(reason: "Invalid signature")
        }
        guard issuer == account.email, payload["sub"]?.string ?? account.email == account.email else {
            throw Denial.invalidCustomToken(reason: "The issuer is not the account whose key signed")
        }
        guard let audience = payload["aud"]?.string, isAudience(audience) else {
            throw Denial.invalidCustomToken(reason: "Invalid audience")
        }
        guard let issuedAt = payload["iat"]?.integer, let expiresAt = payload["exp"]?.integer,
            issuedAt >= 0, expiresAt > issuedAt, expiresAt - issuedAt <= Lifetimes.assertionSecondsMax,
            issuedAt <= now.secondsSinceEpoch + Self.skewSecondsMax
        else { throw Denial.invalidCustomToken(reason: "The token must expire within an hour of its issue") }
        guard now.secondsSinceEpoch < expiresAt else {
            throw Denial.invalidCustomToken(reason: "The token has expired")
        }
        return Assertion(account: account, payload: payload)
    }

    /// The account of the named key, otherwise those of the issuer: the Admin SDKs for Node, Java and Go name no key
    /// (`kid` is optional, RFC 7515 §4.1.4).
    private func accounts(keyID: String?, issuer: String?) async throws -> [ServiceAccountRecord] {
        if let keyID { return try await store.serviceAccount(keyID: keyID).map { [$0] } ?? [] }
        guard let issuer else { return [] }
        return try await store.newestServiceAccounts(email: issuer)
    }

    private func namesAnotherProject(_ issuer: String) -> Bool {
        let suffix = ".iam.gserviceaccount.com"
        guard let at = issuer.firstIndex(of: "@"), issuer.hasSuffix(suffix) else { return false }
        return issuer[issuer.index(after: at)...] != projectID + suffix
    }
}

extension ServiceAccountRecord {
    /// RFC 7518 §3.3.
    fileprivate func hasSigned(_ digest: SHA256.Digest, as signature: [UInt8]) throws -> Bool {
        try _RSA.Signing.PublicKey(derRepresentation: Data(publicKey)).isValidSignature(
            _RSA.Signing.RSASignature(rawRepresentation: signature),
            for: digest,
            padding: .insecurePKCS1v1_5
        )
    }
}
