// The declarations of the SDK for iOS that the guides use, with the signatures of its release 12.19. The compiler
// checks the guides against them, because the SDK does not build on Linux.
import Foundation

public final class Auth: @unchecked Sendable {
    public class func auth() -> Auth { fatalError() }
    public func useEmulator(withHost host: String, port: Int) {}
    @discardableResult
    public func signIn(with credential: AuthCredential) async throws -> AuthDataResult { fatalError() }
}

open class AuthCredential: NSObject, @unchecked Sendable {}

open class AuthDataResult: NSObject {
    public let user: User
    init(user: User) { self.user = user }
}

open class User: NSObject {
    @discardableResult
    open func link(with credential: AuthCredential) async throws -> AuthDataResult { fatalError() }
}

open class AuthErrors: NSObject {
    public static let domain: String = "FIRAuthErrorDomain"
    public static let userInfoEmailKey: String = "FIRAuthErrorUserInfoEmailKey"
    public static let userInfoUpdatedCredentialKey: String = "FIRAuthErrorUserInfoUpdatedCredentialKey"
}

public enum AuthErrorCode: Int, Error {
    case accountExistsWithDifferentCredential = 17012
}
