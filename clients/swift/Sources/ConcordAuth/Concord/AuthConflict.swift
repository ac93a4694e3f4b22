public import Foundation

/// A verified credential that waits: Concord may not link it to the account that it concerns before the account's owner
/// agrees.
///
/// Every error about a conflict carries one in ``AuthError/conflict``. Before the error is thrown, the conflict is in
/// the session store, so an app that was killed finds it in ``Auth/pendingConflicts()``. The value is `Codable`: an app
/// can store it elsewhere too. Its handle signs in the person whom the credential is about, so protect the encoded
/// value like a password. `description`, `dump` and string interpolation do not show it.
///
/// An owner settles a conflict in one of two ways:
///
/// - ``settle(with:in:)`` signs in with a method that the account already has, and links the credential.
/// - ``startProof(in:)``, ``prove(code:in:)`` and ``resolve(_:in:)`` prove the mailbox of the account, for owners who
///   no longer have their method.
///
/// ``decline(in:)`` makes the credential unusable.
///
/// Where a project confirms addresses (`linkPolicy.unprovenAddress: confirm`), the refusal does not say if an account
/// exists. ``Kind/unprovenAddress`` stands for both: ``resolve(_:in:)`` then creates the account, or links to it.
///
/// Source: `docs/concepts/conflict.md`.
public struct AuthConflict: Sendable, Codable, Hashable, Identifiable {
    /// The reason of a conflict.
    public enum Kind: String, Sendable, Codable, Hashable {
        /// An account has the address, and the provider's word is no proof of it.
        case accountExists = "account-exists-with-different-credential"
        /// A session links an identity that another account has.
        case credentialInUse = "credential-already-in-use"
        /// A session links a provider whose address another account has.
        case emailInUse = "email-already-in-use"
        /// The address is not proven. An account may have it or not: the owner of the mailbox learns which.
        case unprovenAddress = "unproven-address"
        /// A kind that this version of the client does not know.
        case unknown

        public init(from decoder: any Decoder) throws {
            self = Kind(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .unknown
        }
    }

    /// Identifies the conflict in this client. It opens nothing.
    public let id: String
    /// The reason of the conflict.
    public internal(set) var kind: Kind
    /// The provider of the credential that waits.
    public let providerID: String
    /// The address that the provider named. Masked (`a***@e***.com`) if the conflict came from another device.
    public internal(set) var email: String?
    /// The end of the conflict; `nil` until ``read(in:)``, because the project chooses the lifetime.
    public internal(set) var expireTime: Date?
    /// The server that holds the conflict.
    public let server: URL
    /// The project that holds the conflict.
    public let projectID: String
    /// The time at which this client got the conflict.
    public let receiveTime: Date
    /// The proof of ownership, until ``resolve(_:in:)`` uses it.
    public internal(set) var proof: ConflictProof?

    /// `pendingToken` of the answer: it settles the conflict together with a proof.
    var handle: Secret

    init(
        kind: Kind,
        providerID: String,
        email: String?,
        handle: String,
        server: URL,
        projectID: String,
        receiveTime: Date
    ) {
        id = Digest.hex(of: handle)
        self.kind = kind
        self.providerID = providerID
        self.email = email
        self.handle = Secret(handle)
        self.server = server
        self.projectID = projectID
        self.receiveTime = receiveTime
    }

    /// The longest lifetime that a project can give a conflict (`concord.conflictLifetimeSeconds`).
    static let lifetimeMax: TimeInterval = 2_592_000

    /// Returns true if the conflict certainly exists no more.
    func isExpired(at time: Date) -> Bool {
        (expireTime ?? receiveTime.addingTimeInterval(Self.lifetimeMax)) <= time
    }
}

/// The proof that the account's owner gave for a conflict, and what settling it changes.
///
/// Show ``suspended`` and ``replaced`` before ``AuthConflict/resolve(_:in:)``.
public struct ConflictProof: Sendable, Codable, Hashable {
    /// Methods that settling the conflict suspends.
    public let suspended: [Suspension]
    /// Providers whose linked identity settling the conflict replaces.
    public let replaced: [String]
    /// Methods by which the owner signs in to the account. Empty if there is no account.
    public let signInMethods: [String]
    /// False if no account has the address: ``AuthConflict/resolve(_:in:)`` creates it.
    public let accountExists: Bool
    /// The end of the proof.
    public let expireTime: Date?

    /// The proof token of the conflict or of the sign-up.
    let token: Secret
}

/// The state of a conflict at the server.
///
/// Source: `Conflict` of `docs/openapi.json`.
public struct ConflictStatus: Sendable, Hashable {
    /// A conflict's step between its opening and its end.
    public enum State: String, Sendable, Hashable {
        case open, proven, resolved, declined, expired, superseded
        /// A state that this version of the client does not know.
        case unknown
    }

    /// The step.
    public let state: State
    /// The address that the provider named, masked.
    public let email: String?
    /// The opening of the conflict.
    public let openTime: Date
    /// The end of the conflict.
    public let expireTime: Date
    /// Number of wrong codes before the proof under way ends; `nil` without a proof.
    public let attemptsLeft: Int?
}

extension AuthConflict: CustomStringConvertible, CustomDebugStringConvertible {
    public var description: String {
        "AuthConflict(\(kind.rawValue), \(providerID), \(server.host ?? ""), \(projectID))"
    }

    public var debugDescription: String { description }
}
