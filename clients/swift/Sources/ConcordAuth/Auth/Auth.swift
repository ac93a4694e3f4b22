import Foundation

/// The client of one project of a Concord server: signs users in, keeps the session, and refreshes its tokens.
///
/// ```swift
/// try Auth.configure(AuthConfiguration(
///     server: URL(string: "https://id.example.com")!, apiKey: "API-KEY", projectID: "PROJECT-ID"
/// ))
/// let result = try await Auth.auth().signIn(withEmail: "ada@example.com", password: "correct horse")
/// print(result.user.uid)
/// ```
///
/// Names follow FirebaseAuth. Differences: every function is `async` or immediate, errors are ``AuthError``, and state
/// is observed with ``authStateChanges`` and ``idTokenChanges``.
///
/// **Concurrency.** All functions may be called from any task, at the same time. Sign-ins at once leave one consistent
/// session, that of the last one that stored it. A cancelled task throws ``AuthErrorCode/taskCancelled`` at once; the
/// request may have reached the server all the same. A function has one deadline for all its requests,
/// ``AuthConfiguration/requestTimeout``; a function that waits for a person or a silent push has one for each request.
/// A change of the store waits for other writers, 10 seconds at most on the thread of the caller, and then throws
/// ``AuthErrorCode/storeNotWritable``. Each deadline is a bound for its own wait.
///
/// **Killed apps.** The client stores each result before it returns it. A sign-in whose tokens arrived survives the
/// end of the process at any later point. If the store cannot be written, see ``storeFailure``.
public final class Auth: Sendable {
    struct State {
        /// The user object of the session, as long as the app holds it.
        weak var user: User?
        var published: Published?
        var nextListener = 0
        var stateListeners: [Int: AsyncStream<User?>.Continuation] = [:]
        var tokenListeners: [Int: AsyncStream<User?>.Continuation] = [:]
    }

    /// The order of lookups, so that an older answer replaces no newer one.
    struct Lookups {
        var started = 0
        var stored = 0
    }

    public let configuration: AuthConfiguration
    let backend: Backend
    let keeper: StateKeeper
    let tokens: TokenRefresher
    let state = Locked(State())
    let lookups = Locked(Lookups())
    let webFlows = WebFlows()
    let verification = AppVerification()
    let testSettings = AuthSettings()

    private static let shared = Locked<Auth?>(nil)

    /// - Throws: ``AuthErrorCode/insecureServer``, ``AuthErrorCode/invalidArgument`` or
    ///   ``AuthErrorCode/invalidAPIKey``. The store is not touched.
    public convenience init(configuration: AuthConfiguration) throws(AuthError) {
        try self.init(configuration: configuration, pause: nil)
    }

    /// - Parameters:
    ///   - configuration: The server, the project and the store.
    ///   - pause: Waits between attempts of a call, in tests.
    /// - Throws: As ``init(configuration:)``.
    init(
        configuration: AuthConfiguration,
        pause: (@Sendable (TimeInterval) async throws -> Void)?
    ) throws(AuthError) {
        try configuration.check()
        self.configuration = configuration
        var backend = Backend(configuration)
        if let pause { backend.pause = pause }
        self.backend = backend
        keeper = StateKeeper(configuration.sessions, scope: configuration.scope)
        tokens = TokenRefresher(backend: backend, keeper: keeper)
    }

    deinit {
        state.with { state in
            for listener in state.stateListeners.values { listener.finish() }
            for listener in state.tokenListeners.values { listener.finish() }
        }
    }

    /// Sets the client that ``auth()`` returns. Call it once, when the app starts.
    public static func configure(_ configuration: AuthConfiguration) throws(AuthError) {
        let auth = try Auth(configuration: configuration)
        shared.with { $0 = auth }
    }

    /// The client of ``configure(_:)``. Calling it first is a programming error, as in FirebaseAuth.
    public static func auth() -> Auth {
        guard let auth = shared.with({ $0 }) else {
            preconditionFailure("Call Auth.configure(_:) before Auth.auth().")
        }
        return auth
    }

    /// The signed-in user; `nil` if there is none or the store cannot be read.
    ///
    /// The same object is returned as long as the app holds it and the session lasts. ``storedUser()`` throws the
    /// error of an unreadable store.
    public var currentUser: User? {
        guard let state = try? keeper.read() else { return self.state.with { $0.user } }
        return publish(state)
    }

    /// The signed-in user, as ``currentUser``; throws if the store cannot be read.
    public func storedUser() throws(AuthError) -> User? { publish(try keeper.read()) }

    /// The language of mails and texts (BCP 47); `nil` for the project's.
    public var languageCode: String? {
        get { backend.language.with { $0 } }
        set { backend.language.with { $0 = newValue } }
    }

    /// Sets ``languageCode`` to the app's language.
    public func useAppLanguage() { languageCode = Locale.preferredLanguages.first }

    /// Ends the session on this device. Works offline. Conflicts and mailed links stay.
    ///
    /// A refresh that is under way cannot bring the session back. A sign-in that began before the sign-out, in any
    /// process, stores nothing and throws ``AuthErrorCode/nullUser``; a later one signs in. Other sessions of the
    /// account stay; `user.sessions()` lists them.
    ///
    /// - Throws: ``AuthErrorCode/storeUnreadable`` or ``AuthErrorCode/storeFutureFormat``:
    ///   ``discardStoredState()`` then ends the session. ``AuthErrorCode/storeNotWritable``: the user is signed out in
    ///   this process, and the store still has the session.
    public func signOut() throws(AuthError) {
        let changed = try keeper.changeInMemory { state in
            state.session = nil
            state.endedSession = nil
            state.redirect = nil
            state.page = nil
            state.signOuts &+= 1
        }
        publish(changed.state)
        if let failure = changed.failure { throw failure }
    }

    /// The failure of the last write, while the newest session is in memory alone; `nil` if everything is stored.
    ///
    /// If the store cannot be written, a sign-in throws ``AuthErrorCode/storeNotWritable``, and its user is signed in
    /// until the process ends. Refreshed tokens are used, and no call fails for them. A later change that can be
    /// written
    /// stores everything.
    public var storeFailure: AuthError? { keeper.writeFailure }

    /// Revokes a token of Sign in with Apple of the current user, at Apple.
    ///
    /// - Throws: ``AuthErrorCode/nullUser`` if no user is signed in.
    public func revokeToken(withAuthorizationCode code: String) async throws(AuthError) {
        guard let user = try storedUser() else { throw .signedOut }
        try await user.revokeToken(withAuthorizationCode: code)
    }

    /// Starts over with an empty store, after ``AuthErrorCode/storeUnreadable`` or ``AuthErrorCode/storeFutureFormat``.
    /// Sessions and pending conflicts of all servers and projects in the store are lost.
    public func discardStoredState() throws(AuthError) {
        try keeper.discard()
        publish(StoredState())
    }
}
