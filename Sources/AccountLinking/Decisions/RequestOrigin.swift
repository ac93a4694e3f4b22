/// Who asks for a change that users may make to their own account and administrators to any.
package enum RequestOrigin: Sendable, Hashable {
    /// The user's own session; whether it is recent enough for the change is for `reauthentication` to say.
    case client(isSessionRecent: Bool)
    case administrator
}
