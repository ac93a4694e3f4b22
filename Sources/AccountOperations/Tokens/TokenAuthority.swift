package import AccountLinking
package import AccountStore
import Crypto
import JSON
import Synchronization

/// Mints and verifies ID tokens. Safe to use from any task.
package final class TokenAuthority: Sendable {
    /// Callers learn no more.
    package enum Rejection: Error, Sendable, Hashable {
        /// Undecodable, not signed by a published key, or for another audience.
        case invalid
        case expired(VerifiedIDToken)
    }

    /// The keys of one purpose.
    package struct KeySet: Sendable {
        package var signing: SigningKey
        /// Includes `signing`.
        package var published: [SigningKey]
        /// Time at which `signing` began to sign; `nil` if unknown.
        package var signsFrom: Timestamp?
    }

    private struct State {
        var keys: KeySet
        /// Minted or verified tokens, by SHA-256 of the text. Facts that can change are checked again each time.
        var verified: [SHA256Digest: VerifiedIDToken] = [:]
        var verifiedBefore: [SHA256Digest: VerifiedIDToken] = [:]

        func cached(_ digest: SHA256Digest) -> VerifiedIDToken? {
            verified[digest] ?? verifiedBefore[digest]
        }

        /// Two generations instead of a list in order of use: constant work, bounded memory. Tokens of a retired key
        /// are not cached.
        mutating func remember(_ token: VerifiedIDToken, for digest: SHA256Digest, signedBy key: SigningKey) {
            guard keys.published.contains(where: { $0.id == key.id }) else { return }
            if verified.count >= TokenAuthority.cachedTokensMax {
                verifiedBefore = verified
                verified = [:]
            }
            verified[digest] = token
        }
    }

    /// In each of two generations: about 10 MiB.
    private static let cachedTokensMax = 16_384
    /// Longer text is not a token of Concord: everything in it has a bound, also a provider's attributes
    /// (`OpenIDConnect.attributesBytesMax`).
    private static let tokenBytesMax = 65_536

    private let issuer: String
    private let audience: String
    private let development: DevelopmentTokens?
    private let state: Mutex<State>

    /// - `projectID`: the audience of every token, and the end of its issuer.
    /// - `development`: the form in development; `nil` signs each token as a JWT and refuses every other form.
    package init(projectID: String, keys: KeySet, development: DevelopmentTokens? = nil) {
        self.issuer = "https://securetoken.google.com/\(projectID)"
        self.audience = projectID
        self.development = development
        self.state = Mutex(State(keys: keys))
    }

    /// Clears the cache if the published keys differ.
    package func replaceKeys(_ keys: KeySet) {
        state.withLock { state in
            let isSamePublished = state.keys.published.map(\.id) == keys.published.map(\.id)
            state.keys = keys
            guard !isSamePublished else { return }
            state.verified = [:]
            state.verifiedBefore = [:]
        }
    }

    /// Valid for an hour from `now`.
    package func mintIDToken(for user: UserRecord, session: SessionRecord, at now: Timestamp) throws -> String {
        let key = state.withLock { $0.keys.signing }
        let payload = IDTokenClaims.payload(
            for: user,
            session: session,
            issuer: issuer,
            audience: audience,
            issuedAt: now
        )
        let token = try development?.mint(payload, signedBy: key) ?? key.sign(payload)
        // SDKs look up the account as soon as they have a token.
        let verified = IDTokenClaims.verified(for: user, session: session, issuedAt: now)
        let digest = SHA256.hash(data: Array(token.utf8))
        state.withLock { $0.remember(verified, for: digest, signedBy: key) }
        return token
    }

    /// Checks signature, issuer, audience and expiry. `decideAccess` checks the session.
    package func verifyIDToken(_ token: String, at now: Timestamp) throws(Rejection) -> VerifiedIDToken {
        guard token.utf8.count <= Self.tokenBytesMax else { throw .invalid }
        let bytes = Array(token.utf8)
        let digest = SHA256.hash(data: bytes)
        let cached = state.withLock { $0.cached(digest) }
        let verified = if let cached { cached } else { try checkSignature(of: bytes, digest: digest) }
        guard now < verified.expiresAt else { throw .expired(verified) }
        return verified
    }

    private func checkSignature(of token: [UInt8], digest: SHA256Digest) throws(Rejection) -> VerifiedIDToken {
        guard let (payload, key) = developmentPayload(of: token) ?? verifiedPayload(of: token),
            let verified = IDTokenClaims.decode(payload, issuer: issuer, audience: audience)
        else { throw .invalid }
        state.withLock { $0.remember(verified, for: digest, signedBy: key) }
        return verified
    }

    /// `nil` for any other form, and outside development.
    private func developmentPayload(of token: [UInt8]) -> (payload: [UInt8], key: SigningKey)? {
        development?.verifiedPayload(of: token, keys: state.withLock { $0.keys.published })
    }

    /// The payload that a published key signed, with any claims.
    private func verifiedPayload(of token: [UInt8]) -> (payload: [UInt8], key: SigningKey)? {
        let parts = token.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]), let payload = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2])
        else { return nil }
        let keys = state.withLock { $0.keys.published }
        // Compared, not interpreted, so that only the key's own algorithm is used.
        guard let key = keys.first(where: { $0.header == header }) else { return nil }
        let signingInput = token.dropLast(parts[2].count + 1)
        return key.verifies(signature, over: signingInput) ? (payload, key) : nil
    }

    /// Lets a service account act as administrator until the token expires or its key is removed.
    package func mintAccessToken(_ claims: AccessTokenClaims) throws -> String {
        let key = state.withLock { $0.keys.signing }
        return try key.sign(claims.payload(project: audience))
    }

    /// `nil` for anything but an unexpired access token of this project.
    package func verifyAccessToken(_ token: String, at now: Timestamp) -> AccessTokenClaims? {
        guard token.utf8.count <= Self.tokenBytesMax,
            let payload = verifiedPayload(of: Array(token.utf8))?.payload,
            let claims = AccessTokenClaims(payload: payload, project: audience), now < claims.expiresAt
        else { return nil }
        return claims
    }

    /// RFC 7517 §5.
    package func jsonWebKeySet() throws -> [UInt8] { try state.withLock { $0.keys }.jsonWebKeySet() }

    /// By key id, as Admin SDKs fetch them.
    package func certificates() -> [UInt8] { state.withLock { $0.keys }.certificates() }

    /// The algorithms of ID tokens, each once, in a fixed order.
    package var algorithms: [String] {
        if development != nil { return [DevelopmentTokens.algorithm] }
        return Set(state.withLock { $0.keys.published }.map(\.algorithm.rawValue)).sorted()
    }
}

extension TokenAuthority.KeySet {
    func jsonWebKeySet() throws -> [UInt8] {
        let members = try published.map { try $0.publicJWK() }
        return JSONWriter.object { writer in
            writer.field("keys", array: members) { writer, member in writer.value(member) }
        }
    }

    func certificates() -> [UInt8] {
        JSONWriter.object { writer in
            for key in published { writer.field(key.id, key.certificatePEM) }
        }
    }
}
