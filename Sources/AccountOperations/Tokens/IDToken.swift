package import AccountLinking
package import AccountStore
import JSON

/// The claims that Concord uses.
package struct VerifiedIDToken: Sendable, Hashable {
    package var user: UserID
    package var tenant: TenantID
    /// `concord.auth_time` if present, otherwise `auth_time`.
    package var authTime: Timestamp
    package var issuedAt: Timestamp
    package var expiresAt: Timestamp
    /// The account's epoch at minting.
    package var sessionEpoch: Int64
    /// `nil` in tokens of older versions.
    package var session: [UInt8]?
    package var signInProvider: String
    package var secondFactor: SessionRecord.SecondFactor?

    var isAnonymous: Bool { signInProvider == "anonymous" }
}

/// Writes and reads the claims of ID tokens.
enum IDTokenClaims {
    /// Names that administrators and developers may not set.
    static let forbiddenNames: Set<String> = [
        "iss", "aud", "sub", "iat", "exp", "nbf", "jti", "nonce", "azp", "acr", "amr", "cnf", "auth_time", "firebase",
        "at_hash", "c_hash",
    ]

    /// Names that Concord writes itself, so that no custom claim has them.
    private static let reservedNames: Set<String> = forbiddenNames.union([
        "user_id", "email", "email_verified", "phone_number", "provider_id", "concord",
        DevelopmentTokens.claim,
    ])

    /// Profile, then the account's custom claims, then the session's, then the reserved ones.
    static func payload(
        for user: UserRecord,
        session: SessionRecord,
        issuer: String,
        audience: String,
        issuedAt: Timestamp
    ) -> [UInt8] {
        let custom = customClaims(of: user, session: session)
        let authTime = session.authTime.secondsSinceEpoch
        let shownAuthTime = Self.shownAuthTime(of: session, user)
        let now = issuedAt.secondsSinceEpoch
        return JSONWriter.object { writer in
            if custom["name"] == nil { writer.field("name", user.profile.displayName) }
            if custom["picture"] == nil { writer.field("picture", user.profile.photoURL) }
            for (name, value) in custom.sorted(by: { $0.key < $1.key }) { writer.field(name, value) }
            if session.signInProvider == "anonymous" { writer.field("provider_id", "anonymous") }
            writer.field("iss", issuer)
            writer.field("aud", audience)
            writer.field("auth_time", shownAuthTime)
            writer.field("user_id", user.id.rawValue)
            writer.field("sub", user.id.rawValue)
            writer.field("iat", now)
            writer.field("exp", now + Lifetimes.idTokenSeconds)
            if let email = user.email {
                writer.field("email", email.address.lowercased)
                writer.field("email_verified", email.isVerified)
            }
            writer.field("phone_number", user.phoneNumber?.rawValue)
            writer.field("firebase") { writer in
                writer.field("identities") { writer in writeIdentities(of: user, to: &writer) }
                writer.field("sign_in_provider", session.signInProvider)
                writer.field("sign_in_second_factor", session.secondFactor?.kind)
                writer.field("second_factor_identifier", session.secondFactor?.enrollmentID)
                if user.tenant != .project { writer.field("tenant", user.tenant.rawValue) }
                writer.field("sign_in_attributes", session.signInAttributes)
            }
            writer.field("concord") { writer in
                writer.field("epoch", user.sessionEpoch)
                writer.field("session", Base64URL.encode(session.id))
                if shownAuthTime != authTime { writer.field("auth_time", authTime) }
            }
        }
    }

    /// The sign-in time for Admin SDKs, which take a token for revoked if it precedes the account's `validSince`. A
    /// session that began after a revocation was not revoked, even if its user signed in at the provider before.
    private static func shownAuthTime(of session: SessionRecord, _ user: UserRecord) -> Int64 {
        let revoked = min(user.validSince.secondsSinceEpoch, session.start.secondsSinceEpoch)
        return max(session.authTime.secondsSinceEpoch, revoked)
    }

    private static func customClaims(of user: UserRecord, session: SessionRecord) -> [String: JSONValue] {
        var claims: [String: JSONValue] = [:]
        if let text = user.customAttributes, let value = try? JSONValue(parsing: Array(text.utf8)) {
            claims = value.object ?? [:]
        }
        if let sessionClaims = session.claims?.object { claims.merge(sessionClaims) { _, session in session } }
        return claims.filter { !reservedNames.contains($0.key) }
    }

    private static func writeIdentities(of user: UserRecord, to writer: inout JSONWriter) {
        if let email = user.email { writer.field("email", [email.address.lowercased]) }
        if let number = user.phoneNumber { writer.field("phone", [number.rawValue]) }
        for (provider, row) in user.linkedProviders.sorted(by: { $0.key < $1.key }) {
            writer.field(provider.rawValue, [row.identity.subject])
        }
    }

    /// The result of `decode`.
    static func verified(for user: UserRecord, session: SessionRecord, issuedAt: Timestamp) -> VerifiedIDToken {
        let now = issuedAt.secondsSinceEpoch
        return VerifiedIDToken(
            user: user.id,
            tenant: user.tenant,
            authTime: Timestamp(secondsSinceEpoch: session.authTime.secondsSinceEpoch),
            issuedAt: Timestamp(secondsSinceEpoch: now),
            expiresAt: Timestamp(secondsSinceEpoch: now + Lifetimes.idTokenSeconds),
            sessionEpoch: user.sessionEpoch,
            session: session.id,
            signInProvider: session.signInProvider,
            secondFactor: session.secondFactor
        )
    }

    /// `nil` if Concord did not make the payload.
    static func decode(_ payload: [UInt8], issuer: String, audience: String) -> VerifiedIDToken? {
        guard let claims = try? JSONValue(parsing: payload), let firebase = claims["firebase"],
            claims["iss"]?.string == issuer, claims["aud"]?.string == audience,
            let user = claims["sub"]?.string.flatMap({ UserID($0) }),
            let authTime = claims["auth_time"]?.integer,
            let issuedAt = claims["iat"]?.integer,
            let expiresAt = claims["exp"]?.integer,
            let sessionEpoch = claims["concord"]?["epoch"]?.integer,
            let signInProvider = firebase["sign_in_provider"]?.string
        else { return nil }
        var secondFactor: SessionRecord.SecondFactor?
        if let kind = firebase["sign_in_second_factor"]?.string,
            let id = firebase["second_factor_identifier"]?.string
        {
            secondFactor = SessionRecord.SecondFactor(kind: kind, enrollmentID: id)
        }
        return VerifiedIDToken(
            user: user,
            tenant: TenantID(firebase["tenant"]?.string ?? ""),
            authTime: Timestamp(secondsSinceEpoch: claims["concord"]?["auth_time"]?.integer ?? authTime),
            issuedAt: Timestamp(secondsSinceEpoch: issuedAt),
            expiresAt: Timestamp(secondsSinceEpoch: expiresAt),
            sessionEpoch: sessionEpoch,
            session: claims["concord"]?["session"]?.string.flatMap(RefreshToken.sessionID),
            signInProvider: signInProvider,
            secondFactor: secondFactor
        )
    }
}
