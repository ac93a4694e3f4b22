import AccountLinking
package import AccountStore
import FoundationEssentials
import JSON
import Postgres

/// Loads the signing keys of a purpose, and makes the next one when it is due.
package struct SigningKeys: Sendable {
    /// The key-encryption key is wrong, or the row was edited.
    package struct Unreadable: Error, Sendable, CustomStringConvertible {
        package let keyID: String
        package let reason: String

        package var description: String { "signing key \(keyID) cannot be read: \(reason)" }
    }

    /// Longer than any token lives.
    private static let certificateLifetimeSeconds: Int64 = 10 * 365 * 86_400

    private let store: AccountStore
    private let sealer: Sealer
    private let effects: Effects
    private let algorithm: SigningKey.Algorithm
    private let projectID: String

    package init(
        store: AccountStore,
        sealer: Sealer,
        effects: Effects,
        algorithm: SigningKey.Algorithm,
        projectID: String
    ) {
        self.store = store
        self.sealer = sealer
        self.effects = effects
        self.algorithm = algorithm
        self.projectID = projectID
    }

    /// Returns the current keys, and makes the next one if it is due. Call it periodically. If several servers make the
    /// same generation at once, all use the winner's key.
    /// - Throws: `PostgresError`; `Unreadable`.
    package func load(_ purpose: SigningKeyRecord.Purpose) async throws -> TokenAuthority.KeySet {
        let schedule = KeySchedule(purpose)
        var records = try await stored(purpose)
        if let next = schedule.plan(records, algorithm: algorithm.rawValue, at: effects.now()).next {
            try await store.addSigningKey(
                try newKey(purpose, next),
                previousPublishedUntil: next.previousPublishedUntil
            )
            records = try await stored(purpose)
        }
        let plan = schedule.plan(records, algorithm: algorithm.rawValue, at: effects.now())
        let published = try records.filter { plan.published.contains($0.generation) }
            .map { try Self.open($0, sealer) }
        guard let record = records.first(where: { $0.generation == plan.signing }),
            let signing = published.first(where: { $0.id == record.id })
        else { throw PostgresError(.misuse, "a signing key was inserted and is not there") }
        return TokenAuthority.KeySet(signing: signing, published: published, signsFrom: record.signsFrom)
    }

    /// The outcome of an early rotation.
    package enum Rotation: Sendable, Hashable {
        /// The new key.
        case made(SigningKeyRecord)
        /// The next key exists already, and does not sign yet.
        case waiting(SigningKeyRecord)
        /// The first server makes the first key.
        case noKey
    }

    /// Makes the next key before it is due. Servers publish it within a minute. It signs a day later, and the previous
    /// key stays published until its last token has expired.
    /// - Throws: `PostgresError`.
    package func rotate(_ purpose: SigningKeyRecord.Purpose) async throws -> Rotation {
        let now = effects.now()
        guard let newest = try await stored(purpose).last else { return .noKey }
        guard newest.signsFrom <= now else { return .waiting(newest) }
        let next = KeySchedule(purpose).next(after: newest, at: now)
        try await store.addSigningKey(
            try newKey(purpose, next),
            previousPublishedUntil: next.previousPublishedUntil
        )
        // If a server made the same generation at once, its key counts.
        guard let record = try await stored(purpose).first(where: { $0.generation == next.generation }) else {
            throw PostgresError(.misuse, "a signing key was inserted and is not there")
        }
        return .made(record)
    }

    /// Oldest first.
    private func stored(_ purpose: SigningKeyRecord.Purpose) async throws -> [SigningKeyRecord] {
        try await store.signingKeys().filter { $0.purpose == purpose }.sorted { $0.generation < $1.generation }
    }

    /// Keys that are neither stored nor published, for a process that issues no tokens: no server accepts a token that
    /// they sign.
    package static func unpublished(_ effects: Effects) throws -> TokenAuthority.KeySet {
        let start = Date(timeIntervalSince1970: Double(effects.now().secondsSinceEpoch))
        let key = try SigningKey.generate(
            id: Hexadecimal.encode(effects.randomBytes(20)),
            algorithm: .es256,
            commonName: "unpublished",
            validity: start..<start.addingTimeInterval(Double(certificateLifetimeSeconds))
        )
        return TokenAuthority.KeySet(signing: key, published: [key])
    }

    /// Opens the newest key of each purpose, like a server at start. A process that cannot must not seal anything,
    /// because no server could open it.
    ///
    /// Before the first server starts there are no keys, and any `sealer` is accepted. Commands make no keys, because
    /// they would choose the algorithm.
    /// - Throws: `PostgresError`; `Unreadable`.
    package static func check(_ store: AccountStore, _ sealer: Sealer) async throws {
        for keys in Dictionary(grouping: try await store.signingKeys(), by: \.purpose).values {
            if let newest = keys.max(by: { $0.generation < $1.generation }) { _ = try open(newest, sealer) }
        }
    }

    private static func open(_ record: SigningKeyRecord, _ sealer: Sealer) throws -> SigningKey {
        guard let algorithm = SigningKey.Algorithm(rawValue: record.algorithm) else {
            throw Unreadable(keyID: record.id, reason: "unknown algorithm")
        }
        let bytes: [UInt8]
        do {
            bytes = try sealer.open(record.sealedPrivateKey, context: context(record.id))
        } catch {
            throw Unreadable(keyID: record.id, reason: "\(error); check the key-encryption keys")
        }
        guard
            let key = SigningKey(
                id: record.id,
                algorithm: algorithm,
                privateKeyBytes: bytes,
                certificate: record.certificate
            )
        else { throw Unreadable(keyID: record.id, reason: "the private key is malformed") }
        return key
    }

    private func newKey(
        _ purpose: SigningKeyRecord.Purpose,
        _ next: KeySchedule.NextKey
    ) throws -> SigningKeyRecord {
        let now = effects.now()
        let id = Hexadecimal.encode(effects.randomBytes(20))
        let start = Date(timeIntervalSince1970: Double(now.secondsSinceEpoch))
        let key = try SigningKey.generate(
            id: id,
            algorithm: algorithm,
            commonName: "\(purpose.rawValue).\(projectID)",
            validity: start..<start.addingTimeInterval(Double(Self.certificateLifetimeSeconds))
        )
        return SigningKeyRecord(
            id: id,
            purpose: purpose,
            generation: next.generation,
            algorithm: algorithm.rawValue,
            sealedPrivateKey: try sealer.seal(key.privateKeyBytes, context: Self.context(id)),
            certificate: key.certificate,
            createdAt: now,
            signsFrom: next.signsFrom
        )
    }

    private static func context(_ keyID: String) -> String { SealingContext.signingKey(keyID) }
}
