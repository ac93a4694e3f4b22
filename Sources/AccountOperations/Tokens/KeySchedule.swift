import AccountLinking
import AccountStore

/// When signing keys are made, when each signs, and how long it is published. Pure: it looks at keys and at the time.
///
/// A key is published a day before it signs, so that every verifier has it by then; it signs for thirty days; and it
/// stays published until the last token it signed has expired.
struct KeySchedule: Sendable, Hashable {
    static let signingSeconds: Int64 = 30 * 86_400
    /// Longer than any cache of the published keys, ours and the verifiers', may be stale.
    static let leadSeconds: Int64 = 86_400
    /// Covers clocks that disagree, and a server that takes note of the next key late.
    static let marginSeconds: Int64 = 3600

    /// The longest life of a token these keys sign.
    let tokenSeconds: Int64

    init(_ purpose: SigningKeyRecord.Purpose) {
        switch purpose {
        case .idToken: tokenSeconds = Lifetimes.idTokenSeconds
        case .sessionCookie: tokenSeconds = Lifetimes.sessionCookieSeconds.upperBound
        }
    }

    /// What is to be done with a set of keys.
    struct Plan: Sendable, Hashable {
        /// The generation that signs now; `nil` when there is no key.
        var signing: Int64?
        /// The generations whose signatures count now, the oldest first.
        var published: [Int64]
        /// The key that is due; `nil` when none is.
        var next: NextKey?
    }

    struct NextKey: Sendable, Hashable {
        var generation: Int64
        var signsFrom: Timestamp
        /// Until when the generation before it stays published.
        var previousPublishedUntil: Timestamp?
    }

    /// The plan for the keys of one purpose at `now`. Total: every set of keys has exactly one.
    ///
    /// `algorithm`: what new keys are made for. A newest key of another algorithm is replaced early, but not before it
    /// signs: servers that are told different algorithms make at most one key a day between them.
    func plan(_ keys: [SigningKeyRecord], algorithm: String, at now: Timestamp) -> Plan {
        let keys = keys.sorted { $0.generation < $1.generation }
        guard let newest = keys.last else {
            // The very first signs at once: there is nobody yet who could know an older one.
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
            let signsFrom = now.adding(seconds: Self.leadSeconds)
            plan.next = NextKey(
                generation: newest.generation + 1,
                signsFrom: signsFrom,
                previousPublishedUntil: signsFrom.adding(seconds: tokenSeconds + Self.marginSeconds)
            )
        }
        return plan
    }
}
