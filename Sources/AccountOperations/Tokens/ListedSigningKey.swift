package import AccountLinking
package import AccountStore

/// A signing key as operators see it, without its private half.
package struct ListedSigningKey: Sendable, Hashable {
    package enum State: String, Sendable {
        /// Published, and does not sign yet.
        case next
        case signing
        /// Signs no more, and verifies the tokens that it signed.
        case retired
        /// No token of it is valid. The purge deletes it.
        case expired
    }

    package let id: String
    package let purpose: SigningKeyRecord.Purpose
    package let generation: Int64
    package let algorithm: String
    package let state: State
    package let createdAt: Timestamp
    package let signsFrom: Timestamp
    package let publishedUntil: Timestamp?

    /// All signing keys, by purpose, the newest first.
    /// - Throws: `PostgresError`.
    package static func all(_ store: AccountStore, at now: Timestamp) async throws -> [ListedSigningKey] {
        let records = try await store.signingKeys()
        return SigningKeyRecord.Purpose.allCases.flatMap { purpose in
            let keys = records.filter { $0.purpose == purpose }.sorted { $0.generation > $1.generation }
            let plan = KeySchedule(purpose).plan(keys, algorithm: keys.first?.algorithm ?? "", at: now)
            return keys.map { ListedSigningKey($0, plan, at: now) }
        }
    }

    private init(_ record: SigningKeyRecord, _ plan: KeySchedule.Plan, at now: Timestamp) {
        id = record.id
        purpose = record.purpose
        generation = record.generation
        algorithm = record.algorithm
        state =
            if record.generation == plan.signing {
                .signing
            } else if !plan.published.contains(record.generation) {
                .expired
            } else {
                record.signsFrom > now ? .next : .retired
            }
        createdAt = record.createdAt
        signsFrom = record.signsFrom
        publishedUntil = record.publishedUntil
    }
}
