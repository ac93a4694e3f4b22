#if os(iOS)
import UIKit

/// Registers the app for remote notifications. Silent pushes need no permission of the person.
///
/// This type is compiled on iOS only, and has not run there: `TESTPLAN.md` says what to try.
public struct AppleAppPushes: AppPushRegistering {
    public init() {}

    public func register() async -> Bool {
        #if targetEnvironment(simulator)
        return false
        #else
        await MainActor.run { UIApplication.shared.registerForRemoteNotifications() }
        return true
        #endif
    }
}
#endif
