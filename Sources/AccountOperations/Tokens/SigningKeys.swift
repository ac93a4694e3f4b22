import AccountLinking
package import AccountStore
import FoundationEssentials
import Postgres

/// Loads the signing keys of a purpose, and makes the first one when there is none.
package struct SigningKeys: Sendable {
    /// A stored key did not open or is no key: the key-encryption key is wrong, or somebody edited the row.
    package struct Unreadable: Error, Sendable, CustomStringConvertible {
        package let keyID: String
        package let reason: String

        package var description: String { "signing key \(keyID) cannot be read: \(reason)" }
    }

    /// Longer than any token signed with it lives: ID tokens an hour, session cookies two weeks.
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

    /// The key set of `purpose` now. When the database has none, makes the first; of several servers that do so at once
    /// one wins, and all of them use its key.
    /// - Throws: `PostgresError`; `Unreadable`.
    package func load(_ purpose: SigningKeyRecord.Purpose) async throws -> TokenAuthority.KeySet {
        if let keys = try await stored(purpose) { return keys }
        try await store.addSigningKey(try newKey(purpose, generation: 1))
        guard let keys = try await stored(purpose) else {
            throw PostgresError(.misuse, "a signing key was inserted and is not there")
        }
        return keys
    }

    private func stored(_ purpose: SigningKeyRecord.Purpose) async throws -> TokenAuthority.KeySet? {
        let now = effects.now()
        let records = try await store.signingKeys()
            .filter { $0.purpose == purpose && ($0.publishedUntil ?? now) >= now }
            .sorted { $0.generation < $1.generation }
        let keys = try records.map { (record: $0, key: try open($0)) }
        // The newest that may sign already; a key is published before it signs.
        guard let signing = keys.last(where: { $0.record.signsFrom <= now }) ?? keys.first else { return nil }
        return TokenAuthority.KeySet(signing: signing.key, published: keys.map(\.key))
    }

    private func open(_ record: SigningKeyRecord) throws -> SigningKey {
        guard let algorithm = SigningKey.Algorithm(rawValue: record.algorithm) else {
            throw Unreadable(keyID: record.id, reason: "unknown algorithm")
        }
        let bytes: [UInt8]
        do {
            bytes = try sealer.open(record.sealedPrivateKey, context: Self.context(record.id))
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

    private func newKey(_ purpose: SigningKeyRecord.Purpose, generation: Int64) throws -> SigningKeyRecord {
        let now = effects.now()
        let id = effects.randomBytes(20).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
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
            generation: generation,
            algorithm: algorithm.rawValue,
            sealedPrivateKey: try sealer.seal(key.privateKeyBytes, context: Self.context(id)),
            certificate: key.certificate,
            createdAt: now,
            signsFrom: now
        )
    }

    private static func context(_ keyID: String) -> String { "signing_keys/\(keyID)" }
}
