import AccountLinking
import AccountStore
import Crypto
import JSON

/// What a client chose to tell a repeated request from a new one: the value of `Idempotency-Key`
/// (draft-ietf-httpapi-idempotency-key-header), taken as it is.
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

/// A request that its caller may repeat: it is applied once, and answered each time as it was then, for a day.
///
/// The answer is made before the request is applied and kept in the transaction that applies it, so that neither is ever
/// there without the other. What is refused or changes nothing is not kept: repeated, it is judged anew.
package struct Once<Value: Sendable>: Sendable {
    /// SHA-256 over caller, route and key.
    fileprivate let keyDigest: [UInt8]
    /// SHA-256 over route and request.
    fileprivate let requestDigest: SHA256Digest
    fileprivate let answer: @Sendable (Value) -> [UInt8]

    ///
    /// - `credential`: what the caller presents, so that nobody else's key is the same key; empty where answers are kept
    ///   with the account of the session that calls.
    /// - `route`: method and path.
    /// - `request`: what is asked, in one form however it was written.
    /// - `answer`: the whole answer, at most 60 KiB.
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

    /// Each part with its length in front, so that none runs into the next.
    private static func digest(_ parts: [String]) -> SHA256Digest {
        var hash = SHA256()
        for part in parts {
            withUnsafeBytes(of: UInt64(part.utf8.count).bigEndian) { hash.update(bufferPointer: $0) }
            hash.update(data: Array(part.utf8))
        }
        return hash.finalize()
    }

    /// Where the answer is kept.
    func key(of user: UserID?, tenant: TenantID) -> KeptAnswerKey {
        KeptAnswerKey(tenant: tenant, user: user, digest: keyDigest)
    }

    fileprivate func context(of user: UserID?, tenant: TenantID) -> String {
        (["kept_answers", tenant.rawValue, user?.rawValue ?? ""]
            + [Hexadecimal.encode(keyDigest)])
            .joined(separator: "\u{1F}")
    }
}

extension AccountOperations {
    /// What keeps the answer to a request, to be written with what it changes; nothing where it came without a key.
    func keeping<Value>(
        _ value: Value,
        for once: Once<Value>?,
        of user: UserID?,
        tenant: TenantID,
        at now: Timestamp
    ) throws -> [AccountWrite.Companion] {
        guard let once else { return [] }
        // What was asked may hold a password, and a digest hides none from whoever can guess: it is sealed as well.
        let sealed = try sealer.seal(
            Array(once.requestDigest) + once.answer(value),
            context: once.context(of: user, tenant: tenant)
        )
        return [
            .keep(
                sealed,
                for: once.key(of: user, tenant: tenant),
                at: now,
                until: now.adding(seconds: Lifetimes.keptAnswerSeconds)
            )
        ]
    }

    /// What is said to a request whose key was used before; `nil` where it was not.
    func denial<Value>(
        of once: Once<Value>?,
        answered kept: [UInt8]?,
        of user: UserID?,
        tenant: TenantID
    ) throws -> Denial? {
        guard let once, let kept else { return nil }
        let opened = try sealer.open(kept, context: once.context(of: user, tenant: tenant))
        let digest = Array(opened.prefix(SHA256.byteCount))
        guard once.requestDigest.equals(digest) else { return .idempotencyKeyReused }
        return .answeredBefore(Array(opened.dropFirst(SHA256.byteCount)))
    }
}
