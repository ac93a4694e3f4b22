#if os(iOS) && canImport(UIKit)
import Foundation
import UIKit

/// Registers the app for remote notifications. Silent pushes need no permission of the person.
///
/// This type is compiled on iOS only, and has not run there: `TESTPLAN.md` says what to try.
public struct AppleAppPushes: AppPushRegistering {
    public init() {}

    /// Returns false in a simulator, which gets no pushes, and in an extension, which has no application object.
    public func register() async -> Bool {
        #if targetEnvironment(simulator)
        return false
        #else
        guard Bundle.main.bundleURL.pathExtension != "appex" else { return false }
        return await MainActor.run {
            // Named by text, so that extensions can link this package.
            let type = NSClassFromString("UIApplication") as AnyObject
            let shared = type.perform(NSSelectorFromString("sharedApplication"))?.takeUnretainedValue()
            guard let application = shared as? UIApplication else { return false }
            application.registerForRemoteNotifications()
            return true
        }
        #endif
    }
}
#endif
