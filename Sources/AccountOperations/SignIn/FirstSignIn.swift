import AccountLinking
import AccountStore
import IdentityProviders
import JSON

/// A provider's credential that would create an account, while the person chooses: the `pendingToken` of `asksFirst`
/// (ADR 0123).
///
/// Nothing is stored. The handle seals the verified credential, and counts as the credential itself until it expires.
/// The handle can be used more than once, as an ID token can.
struct FirstSignIn: Sendable {
    let tenant: TenantID
    let expiresAt: Timestamp
    let credential: VerifiedCredential

    private static let context = "first-sign-in/1"
    /// Holds two tokens of the longest that a provider may send, with all claims.
    private static let bytesMax = 128 * 1024

    func sealed(by sealer: Sealer) throws -> String {
        let handle = try sealed(credential, by: sealer)
        guard handle.utf8.count > Self.bytesMax else { return handle }
        // Unverified values of the client, and the raw profile, which no rule reads.
        var smaller = credential
        smaller.tokens.accessToken = nil
        smaller.tokens.tokenSecret = nil
        smaller.tokens.refreshToken = nil
        smaller.tokens.authorizationCode = nil
        smaller.rawUserInfo = "{}"
        return try sealed(smaller, by: sealer)
    }

    private func sealed(_ credential: VerifiedCredential, by sealer: Sealer) throws -> String {
        let content: JSONValue = .array([
            .string(tenant.rawValue), .integer(expiresAt.microsecondsSinceEpoch), credential.stored,
        ])
        return Base64URL.encode(try sealer.seal(Array(content.text.utf8), context: Self.context))
    }
}

extension FirstSignIn {
    /// `nil` for text that this service did not seal as one.
    init?(_ text: String, sealer: Sealer) {
        guard text.utf8.count <= Self.bytesMax, let sealed = Base64URL.decode(text),
            let content = try? sealer.open(sealed, context: Self.context),
            // Allows more depth than parsing of a provider's response, because that is nested inside.
            let parts = (try? JSONValue(parsing: content, depthMax: 128))?.array, parts.count == 3,
            let tenant = parts[0].string, let end = parts[1].integer,
            let credential = VerifiedCredential(stored: parts[2])
        else { return nil }
        self.init(
            tenant: TenantID(tenant),
            expiresAt: Timestamp(microsecondsSinceEpoch: end),
            credential: credential
        )
    }
}

extension AccountOperations {
    /// The handle with which the person continues a first sign-in.
    ///
    /// - `end`: latest expiry of the conflict or handle that held the credential before. Its provider was not asked
    ///   again.
    func firstSignIn(
        with credential: VerifiedCredential,
        until end: Timestamp?,
        tenant: TenantID,
        at now: Timestamp
    ) throws -> String {
        let anew = now.adding(seconds: Lifetimes.firstSignInSeconds)
        let expiresAt = end.map { min($0, anew) } ?? anew
        var credential = credential
        // Bounds the age that a returning caller can claim: the sign-in at the provider is over by now.
        credential.signedInAt = min(credential.signedInAt ?? now, now)
        // The use of the ID token is stored at least as long as the handle can be used.
        credential.expiresAt = credential.expiresAt.map { max($0, expiresAt) }
        return try FirstSignIn(tenant: tenant, expiresAt: expiresAt, credential: credential).sealed(by: sealer)
    }

    /// - Throws: `Denial.invalidPendingToken` if the handle has expired, or is of another tenant.
    func requireUsable(_ waiting: FirstSignIn, tenant: TenantID, at now: Timestamp) throws(Denial) {
        let verdict = decideFirstSignIn(
            of: waiting.tenant,
            handleTenant: tenant,
            expiresAt: waiting.expiresAt,
            now: now
        )
        guard verdict.decision == .usable else { throw refused(.invalidPendingToken, by: verdict.rule) }
    }
}
