import Foundation

/// `Conflict` of `docs/openapi.json`.
struct ConflictWire: Decodable, Sendable {
    struct Proof: Decodable, Sendable {
        let attemptsLeft: Int
        let expireTime: Date
    }

    let state: String
    let kind: String
    let providerId: String
    let email: String?
    let openTime: Date
    let expireTime: Date
    let proof: Proof?
    let signInMethods: [String]?
    let suspended: [Suspension]?
    let replaced: [String]?

    var status: ConflictStatus {
        ConflictStatus(
            state: ConflictStatus.State(rawValue: state) ?? .unknown,
            email: email,
            openTime: openTime,
            expireTime: expireTime,
            attemptsLeft: proof?.attemptsLeft
        )
    }
}

/// `ProvenConflict` of `docs/openapi.json`.
struct ProvenConflictWire: Decodable, Sendable {
    let conflict: ConflictWire
    let proofToken: Secret
}
