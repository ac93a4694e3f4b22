import AccountLinking
import Crypto
import FoundationEssentials
import JSON

/// The requirements on the claims of an ID token for a sign-in (OpenID Connect Core 1.0 §3.1.3.7).
struct IDTokenRequirements: Sendable {
    /// The rule that binds a provider's tokens to the client that requested them.
    enum NonceRule: Sendable, Hashable {
        /// The claim must be the SHA-256 of the raw nonce in lower-case hexadecimal. A thief of the token can read the
        /// claim, but not the raw nonce (Apple, Facebook).
        case hashed
        /// The claim is the hash, or the raw nonce itself, as in web flows. Without a raw nonce, the session id of the
        /// redirect flow replaces it. A claim that looks like a hash is compared only as a hash. Otherwise a thief
        /// could present the claim as the raw nonce.
        case hashedOrPlain
        /// Like `hashedOrPlain`, but only if the client presents a nonce: Google's SDKs bind tokens to nonces that
        /// Firebase's clients never send.
        case optional
        /// The claim must equal this secret nonce of the flow.
        case exactly(String)
    }

    var issuers: Set<String>
    /// Replaces `issuers` if every tenant has its own issuer.
    var tenants: TenantIssuers?
    var audiences: Set<String>
    /// True if `azp` must be one of the audiences even if the token has only one. Google's tokens for Android name
    /// the Android client there, which projects do not register.
    var checksEveryAuthorizedParty: Bool
    var nonceRule: NonceRule

    /// Maximum difference in seconds between the clocks of issuer and server.
    static let clockSkewSeconds = 60.0
    /// Maximum lifetime of a token, from `iat` to `exp`: that of Apple's tokens, the longest of all providers.
    static let lifetimeSecondsMax = 86_400.0

    /// Returns the first rule that `claims` break, in the order issuer, audience, times, nonce, subject.
    func violation(by claims: JSONValue, of credential: ProviderCredential, at now: Timestamp) -> InvalidCredential? {
        guard let issuer = claims["iss"]?.string else { return .malformedClaim("iss") }
        guard tenants.map({ $0.issuer(of: claims) == issuer }) ?? issuers.contains(issuer) else { return .wrongIssuer }
        return audienceViolation(claims) ?? timeViolation(claims, at: now)
            ?? credential.flow?.violation(by: claims) ?? nonceRule.violation(by: claims, of: credential)
            ?? subjectViolation(claims)
    }

    private func audienceViolation(_ claims: JSONValue) -> InvalidCredential? {
        let named: [String]
        switch claims["aud"] {
        case .string(let audience): named = [audience]
        case .array(let values):
            named = values.compactMap { $0.string }
            guard named.count == values.count else { return .malformedClaim("aud") }
        default: return .malformedClaim("aud")
        }
        guard named.contains(where: audiences.contains) else { return .wrongAudience }
        guard let party = claims["azp"] else { return named.count > 1 ? .wrongAuthorizedParty : nil }
        guard let party = party.string else { return .malformedClaim("azp") }
        guard named.count > 1 || checksEveryAuthorizedParty else { return nil }
        return audiences.contains(party) ? nil : .wrongAuthorizedParty
    }

    private func timeViolation(_ claims: JSONValue, at now: Timestamp) -> InvalidCredential? {
        let seconds = Double(now.microsecondsSinceEpoch) / 1_000_000
        let skew = Self.clockSkewSeconds
        let times = IDTokenTimes(of: claims)
        guard let expiry = times.expiry else { return .malformedClaim("exp") }
        guard seconds < expiry + skew else { return .expired }
        guard let issued = times.issued else { return .malformedClaim("iat") }
        guard issued <= seconds + skew else { return .notYetValid }
        guard expiry - issued <= Self.lifetimeSecondsMax else { return .livesTooLong }
        guard let start = claims["nbf"] else { return nil }
        guard let start = IDTokenTimes.numericDate(start) else { return .malformedClaim("nbf") }
        return start <= seconds + skew ? nil : .notYetValid
    }

    private func subjectViolation(_ claims: JSONValue) -> InvalidCredential? {
        claims["sub"]?.string.nonEmpty == nil ? .missingSubject : nil
    }

    /// Returns true if the Boolean claim is true. Some issuers send it as text. Anything else is not true.
    static func isTrue(_ value: JSONValue?) -> Bool { value == .bool(true) || value == .string("true") }
}

extension IDTokenRequirements.NonceRule {
    /// Returns the violation of the rule by `claims`; `nil` if there is none.
    func violation(by claims: JSONValue, of credential: ProviderCredential) -> InvalidCredential? {
        let presented: String?
        switch self {
        case .exactly(let nonce): return claims["nonce"] == .string(nonce) ? nil : .nonceMismatch
        case .hashed, .optional: presented = credential.rawNonce
        case .hashedOrPlain: presented = credential.rawNonce ?? credential.sessionID
        }
        guard let claim = claims["nonce"] else {
            // A client that sent a nonce must get a bound token, except where Apple reports that the platform does not
            // support nonces. A session id alone does not require a bound token.
            let isUnsupported = claims["nonce_supported"].map { !IDTokenRequirements.isTrue($0) } ?? false
            return credential.rawNonce == nil || isUnsupported ? nil : .nonceMismatch
        }
        guard let claim = claim.string else { return .malformedClaim("nonce") }
        guard let presented else { return self == .optional ? nil : .missingNonce }
        if claim == Self.hexadecimalDigest(of: presented) { return nil }
        let mayBePlain = self != .hashed && !Self.looksLikeDigest(claim)
        return mayBePlain && claim == presented ? nil : .nonceMismatch
    }

    private static func hexadecimalDigest(of text: String) -> String {
        Hexadecimal.encode(Array(SHA256.hash(data: Array(text.utf8))))
    }

    private static func looksLikeDigest(_ text: String) -> Bool {
        text.utf8.count == 64 && text.allSatisfy { $0.isASCII && $0.isHexDigit }
    }
}

extension AuthorizationFlow {
    /// The violation if `claims` answer a reauthentication flow without a new sign-in. A provider that does not report
    /// the sign-in time is trusted: its token was issued after the flow began.
    fileprivate func violation(by claims: JSONValue) -> InvalidCredential? {
        guard let start = signedInSince, let signedIn = IDTokenTimes(of: claims).signedIn else { return nil }
        let isNew = signedIn + IDTokenRequirements.clockSkewSeconds >= Double(start.secondsSinceEpoch)
        return isNew ? nil : .staleSignIn
    }
}

extension ProviderCredential {
    /// The rule for the nonce of its token: the flow's nonce, if a flow began here.
    func nonceRule(usual rule: IDTokenRequirements.NonceRule) -> IDTokenRequirements.NonceRule {
        flow?.nonce.map(IDTokenRequirements.NonceRule.exactly) ?? rule
    }
}
