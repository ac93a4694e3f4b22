public import Foundation

/// A signed-in user: the account as the server last described it, and its session.
///
/// Properties show the newest state that this process knows: after ``reload()``, a link or a change by another task,
/// the same object shows the new values. After a sign-out they keep the last values, and every function throws
/// ``AuthErrorCode/nullUser``.
public final class User: Sendable {
    let auth: Auth
    let sessionID: UUID
    let profile: Locked<StoredUser>
    /// The id of the account.
    public let uid: String

    init(_ session: StoredSession, auth: Auth) {
        self.auth = auth
        sessionID = session.id
        uid = session.user.uid
        profile = Locked(session.user)
    }

    private func read<Value>(_ value: (StoredUser) -> Value) -> Value { profile.with { value($0) } }

    /// Always `Firebase`, as in FirebaseAuth. The providers of the account are in ``providerData``.
    public var providerID: String { "Firebase" }
    public var email: String? { read { $0.email } }
    public var isEmailVerified: Bool { read { $0.isEmailVerified } }
    public var displayName: String? { read { $0.displayName } }
    public var photoURL: URL? { read { $0.photoURL.flatMap(URL.init(string:)) } }
    public var phoneNumber: String? { read { $0.phoneNumber } }
    /// True if the account has no sign-in method.
    public var isAnonymous: Bool { read { $0.isAnonymous } }
    public var tenantID: String? { read { $0.tenantID } }
    /// The methods of the account: one row for passwords and mailed links, one for each provider, one for the number.
    public var providerData: [UserInfo] { read { $0.providers.map(UserInfo.init) } }
    public var metadata: UserMetadata {
        read { UserMetadata(lastSignInDate: $0.lastSignInDate, creationDate: $0.creationDate) }
    }
    public var multiFactor: MultiFactor { MultiFactor(user: self) }

    /// The refresh token of the session; `nil` after a sign-out. Treat it like a password.
    public var refreshToken: String? {
        guard let session = try? auth.keeper.read().session, session.id == sessionID else { return nil }
        return session.refreshToken.text
    }

    /// Loads the account.
    ///
    /// - Throws: ``AuthErrorCode/userTokenExpired``, ``AuthErrorCode/userNotFound`` or ``AuthErrorCode/userDisabled``
    ///   if the session ended; the user is signed out then.
    public func reload() async throws(AuthError) { try await load() }
}

extension User: CustomStringConvertible, CustomReflectable {
    public var description: String { "User(\(uid))" }
    public var customMirror: Mirror { Mirror(self, children: ["uid": uid]) }
}

extension User: Equatable {
    /// Returns true if both are the same account.
    public static func == (left: User, right: User) -> Bool { left.uid == right.uid }
}

/// One method of an account.
public struct UserInfo: Sendable, Hashable {
    /// `password`, `phone`, or the provider's id.
    public let providerID: String
    /// The account's id at the provider: the address for `password`, the number for `phone`.
    public let uid: String
    public let email: String?
    public let displayName: String?
    public let photoURL: URL?
    public let phoneNumber: String?

    init(_ provider: StoredUser.Provider) {
        providerID = provider.providerID
        uid = provider.uid
        email = provider.email
        displayName = provider.displayName
        photoURL = provider.photoURL.flatMap(URL.init(string:))
        phoneNumber = provider.phoneNumber
    }
}

/// The times of an account.
public struct UserMetadata: Sendable, Hashable {
    public let lastSignInDate: Date?
    public let creationDate: Date?
}
