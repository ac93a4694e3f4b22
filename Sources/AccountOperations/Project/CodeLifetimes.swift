package import AccountLinking
import AccountStore
import JSON

/// How long a code that travels by mail lives, by what it is for (`spec/05` A2). All in seconds.
package struct CodeLifetimes: Sendable, Hashable {
    package var passwordResetSeconds: Int64 = 3600
    package var emailSignInSeconds: Int64 = 6 * 3600
    package var verifyEmailSeconds: Int64 = 3 * 86400
    package var verifyAndChangeEmailSeconds: Int64 = 3 * 86400
    package var recoverEmailSeconds: Int64 = 30 * 86400

    package init() {}

    /// Reads `concord.codeLifetimes`: seconds by request type. What is absent or not positive has its default.
    init(stored: JSONValue?) {
        self.init()
        func read(_ kind: OneTimeCodeRecord.Kind, _ seconds: inout Int64) {
            if let stored = stored?[kind.rawValue]?.integer, stored > 0 { seconds = stored }
        }
        read(.passwordReset, &passwordResetSeconds)
        read(.emailSignIn, &emailSignInSeconds)
        read(.verifyEmail, &verifyEmailSeconds)
        read(.verifyAndChangeEmail, &verifyAndChangeEmailSeconds)
        read(.recoverEmail, &recoverEmailSeconds)
    }

    package func seconds(_ kind: OneTimeCodeRecord.Kind) -> Int64 {
        switch kind {
        case .passwordReset: passwordResetSeconds
        case .emailSignIn: emailSignInSeconds
        case .verifyEmail: verifyEmailSeconds
        case .verifyAndChangeEmail: verifyAndChangeEmailSeconds
        case .recoverEmail: recoverEmailSeconds
        }
    }
}
