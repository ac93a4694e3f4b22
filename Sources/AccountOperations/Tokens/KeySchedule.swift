import AccountLinking
import AccountStore

/// The times at which keys are made, sign, and are published. Pure.
///
/// A key is published a day before it signs, so that every verifier has it by then. It signs for 30 days, and stays
/// published until its last token has expired.
struct KeySchedule: Sendable, Hashable {
    static let signingSeconds: Int64 = 30 * 86_400
    /// Longer than any cache of published keys is stale.
    static let leadSeconds: Int64 = 86_400
    /// Covers clocks that disagree, and servers that load the next key late.
    static let marginSeconds: Int64 = 3600

    /// The longest life of a token that these keys sign.
    let tokenSeconds: Int64

    init(_ purpose: SigningKeyRecord.Purpose) {
        switch purpose {
        case .idToken: tokenSeconds = Lifetimes.idTokenSeconds
        case .sessionCookie: tokenSeconds = Lifetimes.sessionCookieSeconds.upperBound
        }
    }

    struct Plan: Sendable, Hashable {
        /// `nil` if there is no key.
        var signing: Int64?
        /// Generations whose signatures are valid, oldest first.
        var published: [Int64]
        /// The key that is due.
        var next: NextKey?
    }

    struct NextKey: Sendable, Hashable {
        var generation: Int64
        var signsFrom: Timestamp
        var previousPublishedUntil: Timestamp?
    }

    /// Total: every set of keys has exactly one plan.
    ///
    /// - `algorithm`: of new keys. A newest key of another algorithm is replaced early, but only once it signs, so that
    ///   servers that disagree make at most one key a day.
    func plan(_ keys: [SigningKeyRecord], algorithm: String, at now: Timestamp) -> Plan {
        let keys = keys.sorted { $0.generation < $1.generation }
        guard let newest = keys.last else {
            // The first key signs at once, because no verifier has an older one.
            return Plan(
                signing: nil,
                published: [],
                next: NextKey(generation: 1, signsFrom: now, previousPublishedUntil: nil)
            )
        }
        let published = keys.filter { key in key.publishedUntil.map { now < $0 } ?? true }
        let signing = published.last { $0.signsFrom <= now } ?? published.first
        var plan = Plan(signing: signing?.generation, published: published.map(\.generation), next: nil)
        let isAging = newest.signsFrom.adding(seconds: Self.signingSeconds - Self.leadSeconds) <= now
        let isOfAnotherKind = newest.algorithm != algorithm && newest.signsFrom <= now
        if isAging || isOfAnotherKind {
            plan.next = next(after: newest, at: now)
        }
        return plan
    }

    /// The key that replaces `newest`: published at `now`, and signing a day later.
    func next(after newest: SigningKeyRecord, at now: Timestamp) -> NextKey {
        let signsFrom = now.adding(seconds: Self.leadSeconds)
        return NextKey(
            generation: newest.generation + 1,
            signsFrom: signsFrom,
            previousPublishedUntil: signsFrom.adding(seconds: tokenSeconds + Self.marginSeconds)
        )
    }
}
