package import AccountLinking
import AccountStore
import Crypto

/// The client's key for a request that it may repeat: the value of `Idempotency-Key`
/// (draft-ietf-httpapi-idempotency-key-header), not parsed.
package struct IdempotencyKey: Sendable {
    fileprivate let text: String

    /// `nil` unless `text` is 1 to 255 visible ASCII characters.
    package init?(_ text: String) {
        guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return nil
        }
        self.text = text
    }
}

/// A request that its caller may repeat. Concord applies it once, and gives each repetition the same answer for a day.
///
/// The answer is made before the request is applied, and stored in the transaction that applies it: neither exists
/// without the other. Refusals, and requests that change nothing, are not stored: a repetition is decided again.
package struct IdempotentRequest<Value: Sendable>: Sendable {
    /// SHA-256 over caller, route and key.
    fileprivate let keyDigest: [UInt8]
    /// SHA-256 over route and request.
    fileprivate let requestDigest: SHA256Digest
    fileprivate let answer: @Sendable (Value) -> [UInt8]

    /// - `credential`: the caller's credential, so that callers do not share keys. Empty if answers are stored with the
    ///   account of the calling session.
    /// - `route`: method and path.
    /// - `request`: the request in a canonical form.
    /// - `answer`: makes the whole answer, at most 60 KiB.
    package init(
        key: IdempotencyKey,
        credential: String,
        route: String,
        request: String,
        answer: @escaping @Sendable (Value) -> [UInt8]
    ) {
        self.keyDigest = Array(Self.digest(["key", credential, route, key.text]))
        self.requestDigest = Self.digest(["request", route, request])
        self.answer = answer
    }

    /// Hashes each part with its length in front, so that parts cannot run together.
    private static func digest(_ parts: [String]) -> SHA256Digest {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(parts.reduce(0) { $0 + 8 + $1.utf8.count })
        for part in parts {
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: part.utf8.count >> shift))
            }
            bytes += part.utf8
        }
        return SHA256.hash(data: bytes)
    }

    /// The key under which the answer is stored.
    func key(of user: UserID?, tenant: TenantID) -> StoredResponseKey {
        StoredResponseKey(tenant: tenant, user: user, digest: keyDigest)
    }

    fileprivate func context(of user: UserID?, tenant: TenantID) -> String {
        SealingContext.storedAnswer(tenant: tenant.rawValue, user: user?.rawValue ?? "", keyDigest: keyDigest)
    }
}

/// A change that a client of Concord's own routes requests, with its conditions.
package struct ChangeRequest<Answer: Sendable>: Sendable {
    let tenant: TenantID
    /// Version of the account or conflict that the client has seen; `nil` accepts any.
    let expectedVersion: Int64?
    /// `nil` if the request may not be repeated.
    let idempotent: IdempotentRequest<Answer>?

    package init(tenant: TenantID, expectedVersion: Int64? = nil, idempotent: IdempotentRequest<Answer>? = nil) {
        self.tenant = tenant
        self.expectedVersion = expectedVersion
        self.idempotent = idempotent
    }
}

extension AccountOperations {
    /// The write that stores the answer beside the change; empty for a request without a key.
    func storeAnswer<Value>(
        _ value: Value,
        to idempotent: IdempotentRequest<Value>?,
        of user: UserID?,
        tenant: TenantID,
        at now: Timestamp
    ) throws -> [AccountWrite.SideWrite] {
        guard let idempotent else { return [] }
        // The request may hold a password, and a digest does not protect it from guessing: seal it as well.
        let sealed = try sealer.seal(
            Array(idempotent.requestDigest) + idempotent.answer(value),
            context: idempotent.context(of: user, tenant: tenant)
        )
        return [
            .keep(
                sealed,
                for: idempotent.key(of: user, tenant: tenant),
                at: now,
                until: now.adding(seconds: Lifetimes.storedResponseSeconds)
            )
        ]
    }

    /// The answer to a request that was applied before, or the refusal of another request under its key; `nil` for a
    /// new request. One round trip, none without a key.
    func storedAnswer<Value>(
        to idempotent: IdempotentRequest<Value>?,
        of user: UserID?,
        tenant: TenantID,
        at now: Timestamp
    ) async throws -> Denial? {
        guard let idempotent else { return nil }
        let stored = try await store.storedResponse(idempotent.key(of: user, tenant: tenant), at: now)
        return try storedAnswer(to: idempotent, stored: stored, of: user, tenant: tenant)
    }

    /// The same for an answer that was read already.
    func storedAnswer<Value>(
        to idempotent: IdempotentRequest<Value>?,
        stored: [UInt8]?,
        of user: UserID?,
        tenant: TenantID
    ) throws -> Denial? {
        guard let idempotent, let stored else { return nil }
        let opened = try sealer.open(stored, context: idempotent.context(of: user, tenant: tenant))
        let digest = Array(opened.prefix(SHA256.byteCount))
        guard idempotent.requestDigest.equals(digest) else { return .idempotencyKeyReused }
        return .answeredBefore(Array(opened.dropFirst(SHA256.byteCount)))
    }
}
