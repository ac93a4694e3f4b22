/// Settings of one client that tests change.
public final class AuthSettings: Sendable {
    private let disabled = Locked(false)

    /// True if texts are requested without proof that the request comes from the app. Only fictional numbers of the
    /// project then get a verification ID; a real number is refused, and nothing is sent to it.
    public var isAppVerificationDisabledForTesting: Bool {
        get { disabled.with { $0 } }
        set { disabled.with { $0 = newValue } }
    }
}

/// The environment of an APNs token.
public enum AuthAPNSTokenType: Sendable, Hashable {
    /// A build for development.
    case sandbox
    /// A build for TestFlight or the App Store.
    case prod
    /// The client decides: development in debug builds of this package.
    case unknown

    var isSandbox: Bool {
        switch self {
        case .sandbox: return true
        case .prod: return false
        case .unknown:
            #if DEBUG
            return true
            #else
            return false
            #endif
        }
    }
}
