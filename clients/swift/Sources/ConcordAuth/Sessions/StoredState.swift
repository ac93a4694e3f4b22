import Foundation

/// Everything that the client stores. An app treats it as opaque; ``SessionStore`` implementations store
/// ``encoded()``.
///
/// A state is written as a whole: no reader ever sees a session with another session's tokens.
public struct StoredState: Sendable, Codable, Equatable {
    /// Identifies one written state. It changes with every write.
    public typealias Version = UInt64

    /// The most conflicts, mailed links and verification IDs that are stored. The oldest makes room.
    static let mostPending = 8

    private(set) var format = StoredState.format
    /// The version of this state.
    public internal(set) var version: Version
    /// The server and project of this state (``AuthConfiguration/scope``); `nil` if nothing was stored for one yet.
    var scope: String?
    /// The states of other servers and projects that use the same store, the newest last.
    var others: [StoredState] = []
    var session: StoredSession?
    /// Number of sign-outs. A sign-in that finds another number when its tokens arrive began before a sign-out.
    var signOuts: UInt64 = 0
    /// The session that a refused refresh ended last. Tokens that an earlier request got reopen it; a sign-out does not
    /// leave it.
    var endedSession: UUID?
    /// The token that makes this device known to the accounts that signed in on it.
    var deviceToken: Secret?
    /// Open conflicts, newest last.
    var conflicts: [AuthConflict] = []
    /// Addresses that a sign-in link was requested for, newest last.
    var emailLinks: [PendingEmailLink] = []
    /// Text messages under way, newest last.
    var phoneVerifications: [PendingPhoneVerification] = []
    /// The web flow that is open.
    var redirect: PendingRedirect?
    /// The page of Concord that is open.
    var page: PendingPage?
    /// The receipt of a silent push.
    var pushCredential: PushCredential?

    /// Reads a state of this format. A member that is missing has its default: an older version of the package wrote
    /// the
    /// state. A member that this version does not know is ignored, and lost with the next write; a change that must not
    /// lose it raises ``format``.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func list<Element: Decodable>(_ key: CodingKeys) throws -> [Element] {
            try container.decodeIfPresent([Element].self, forKey: key) ?? []
        }
        version = try container.decode(Version.self, forKey: .version)
        scope = try container.decodeIfPresent(String.self, forKey: .scope)
        others = try list(.others)
        session = try container.decodeIfPresent(StoredSession.self, forKey: .session)
        signOuts = try container.decodeIfPresent(UInt64.self, forKey: .signOuts) ?? 0
        endedSession = try container.decodeIfPresent(UUID.self, forKey: .endedSession)
        deviceToken = try container.decodeIfPresent(Secret.self, forKey: .deviceToken)
        conflicts = try list(.conflicts)
        emailLinks = try list(.emailLinks)
        phoneVerifications = try list(.phoneVerifications)
        redirect = try container.decodeIfPresent(PendingRedirect.self, forKey: .redirect)
        page = try container.decodeIfPresent(PendingPage.self, forKey: .page)
        pushCredential = try container.decodeIfPresent(PushCredential.self, forKey: .pushCredential)
    }

    /// An empty state. Versions start at a random number, so that a store that was emptied meanwhile is another one.
    init() { version = .random(in: 0...(.max >> 16)) }
}

extension StoredState: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "StoredState(version \(version), user \(session?.user.uid ?? "none"))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A session, with the account as the server last described it.
struct StoredSession: Sendable, Codable, Equatable {
    /// Identifies the sign-in. Refreshed tokens stay in it; another sign-in, even of the same user, begins another one.
    let id: UUID
    /// The server and project of the session (``AuthConfiguration/scope``).
    let scope: String
    var refreshToken: Secret
    var idToken: Secret
    /// The time of this machine at which the ID token arrived.
    var receiveTime: Date
    /// Seconds that the ID token is valid for, from its arrival.
    var lifetime: TimeInterval
    var user: StoredUser
    /// Number of changes to the account in this session. The answer of a lookup that began before the last change is
    /// old. Optional, because older versions of the package did not store it.
    var changes: Int?
}

/// An account, as `accounts:lookup` describes it.
struct StoredUser: Sendable, Codable, Equatable {
    struct Provider: Sendable, Codable, Equatable {
        var providerID: String
        var uid: String
        var email: String?
        var displayName: String?
        var photoURL: String?
        var phoneNumber: String?
    }

    struct Factor: Sendable, Codable, Equatable {
        var uid: String
        var displayName: String?
        var enrollmentDate: Date?
        /// The number, or `nil` for a TOTP app.
        var phoneNumber: String?
    }

    var uid: String
    var email: String?
    var isEmailVerified = false
    var displayName: String?
    var photoURL: String?
    var phoneNumber: String?
    var isAnonymous = false
    var hasPassword = false
    var creationDate: Date?
    var lastSignInDate: Date?
    var providers: [Provider] = []
    var factors: [Factor] = []
    var tenantID: String?
}

/// A sign-in link that was requested on this device.
struct PendingEmailLink: Sendable, Codable, Equatable {
    let scope: String
    let email: String
    let continueURL: String?
    let requestTime: Date
}

/// A text message that was requested on this device.
struct PendingPhoneVerification: Sendable, Codable, Equatable {
    let scope: String
    let verificationID: Secret
    let phoneNumber: String
    let requestTime: Date
}

/// A web flow that was started on this device.
struct PendingRedirect: Sendable, Codable, Equatable {
    let scope: String
    /// `signIn`, `link`, `reauthenticate` or `verifyApp`.
    let operation: String
    let eventID: String
    /// The secret whose digest the page got.
    let sessionSecret: Secret
    let providerID: String?
    /// The user to link or reauthenticate.
    let uid: String?
    let startTime: Date
    /// The form of the callback, as its opener encodes it.
    let callback: String?
    /// The address to which the provider sent the browser, once the page has answered.
    var answer: Secret?
}
