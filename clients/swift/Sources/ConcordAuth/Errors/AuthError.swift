public import Foundation

/// A failure of the client. Every function of this package throws this type alone.
///
/// ```swift
/// do throws(AuthError) {
///     try await auth.signIn(withEmail: email, password: password)
/// } catch {
///     guard error.code == .wrongPassword else { throw error }
///     …
/// }
/// ```
///
/// Descriptions of an error contain no token, handle, code or password, so an app may log them.
public struct AuthError: Error, Sendable {
    public var code: AuthErrorCode
    /// An explanation for developers, in English. Texts for users are the app's.
    public var message: String
    /// The address that the failed sign-in was about.
    public var email: String?
    /// A credential that an app can use next: to link after ``AuthErrorCode/accountExistsWithDifferentCredential``, to
    /// sign in after ``AuthErrorCode/credentialAlreadyInUse``. The credential that the call was given may be used up.
    public var updatedCredential: AuthCredential?
    /// The conflict that the sign-in opened. The client has stored it: `auth.pendingConflicts()` returns it after a
    /// restart of the app.
    public var conflict: AuthConflict?
    /// Completes the sign-in after ``AuthErrorCode/secondFactorRequired``.
    public var resolver: MultiFactorResolver?
    /// The server's name of the failure, for example `WEAK_PASSWORD` or `conflict-expired`.
    public var serverCode: String?
    /// The decision that explains the refusal, for operators (`concord decision show`).
    public var decision: String?
    /// Seconds after which trying again is useful.
    public var retryAfter: TimeInterval?
    /// The members of a problem document beside its type, for example `methods` of a reauthentication.
    public var details: [String: JSONValue]
    /// The error of the transport, the store or the task.
    public var underlying: (any Error)?

    public init(
        _ code: AuthErrorCode,
        _ message: String,
        serverCode: String? = nil,
        underlying: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.serverCode = serverCode
        self.underlying = underlying
        details = [:]
    }

    /// The error of a cancelled task.
    static let cancelled = AuthError(.taskCancelled, "the task was cancelled", underlying: CancellationError())
}

extension AuthError: CustomStringConvertible, CustomDebugStringConvertible, LocalizedError {
    public var description: String {
        "\(code)" + (serverCode.map { " (\($0))" } ?? "") + ": " + message
            + (decision.map { "; decision \($0)" } ?? "")
    }

    public var debugDescription: String { description }
    public var errorDescription: String? { description }
}
