public import Foundation

/// The operation of a mailed code.
public enum ActionCodeOperation: Int, Sendable {
    /// An operation that this version of the client does not know.
    case unknown = 0
    case passwordReset = 1
    case verifyEmail = 2
    case recoverEmail = 3
    case emailLink = 4
    case verifyAndChangeEmail = 5
    case revertSecondFactorAddition = 6

    init(mode: String?) {
        self =
            switch mode {
            case "resetPassword": .passwordReset
            case "verifyEmail": .verifyEmail
            case "recoverEmail": .recoverEmail
            case "signIn": .emailLink
            case "verifyAndChangeEmail": .verifyAndChangeEmail
            case "revertSecondFactorAddition": .revertSecondFactorAddition
            default: .unknown
            }
    }

    init(requestType: String?) {
        self =
            switch requestType {
            case "PASSWORD_RESET": .passwordReset
            case "VERIFY_EMAIL": .verifyEmail
            case "RECOVER_EMAIL": .recoverEmail
            case "EMAIL_SIGNIN": .emailLink
            case "VERIFY_AND_CHANGE_EMAIL": .verifyAndChangeEmail
            case "REVERT_SECOND_FACTOR_ADDITION": .revertSecondFactorAddition
            default: .unknown
            }
    }
}

/// The parts of a mailed link.
public struct ActionCodeURL: Sendable {
    public let apiKey: String?
    public let operation: ActionCodeOperation
    public let code: String?
    /// ``ActionCodeSettings/url`` of the request.
    public let continueURL: URL?
    public let languageCode: String?

    /// Reads a link, or the link that another link contains as `link` or `deep_link_id`. `nil` if it has no code.
    public init?(link: String) {
        guard let parts = Parts(link, depth: 0) else { return nil }
        code = parts.code
        apiKey = parts.value("apiKey")
        operation = ActionCodeOperation(mode: parts.value("mode"))
        continueURL = parts.value("continueUrl").flatMap(URL.init(string:))
        languageCode = parts.value("lang") ?? parts.value("languageCode")
    }

    /// The query of the link that has the code.
    private struct Parts {
        let items: [URLQueryItem]
        let code: String

        init?(_ link: String, depth: Int) {
            guard depth < 3, link.utf8.count <= 16_384, let items = URLComponents(string: link)?.queryItems else {
                return nil
            }
            func value(_ name: String) -> String? { items.first { $0.name == name }?.value }
            if let code = value("oobCode"), !code.isEmpty {
                self.items = items
                self.code = code
            } else if let inner = value("link") ?? value("deep_link_id"), let parts = Parts(inner, depth: depth + 1) {
                self = parts
            } else {
                return nil
            }
        }

        func value(_ name: String) -> String? { items.first { $0.name == name }?.value }
    }

    /// The code of a sign-in link.
    ///
    /// - Throws: ``AuthErrorCode/invalidActionCode`` if the text is no sign-in link.
    static func signInCode(of link: String) throws(AuthError) -> String {
        guard let parts = ActionCodeURL(link: link), parts.operation == .emailLink, let code = parts.code else {
            throw AuthError(.invalidActionCode, "the text is no sign-in link")
        }
        return code
    }
}

extension ActionCodeURL: CustomStringConvertible, CustomReflectable {
    public var description: String { "ActionCodeURL(\(operation))" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The purpose of a mailed code, from the server.
public struct ActionCodeInfo: Sendable {
    public let operation: ActionCodeOperation
    /// The address that the code concerns, the new one for ``ActionCodeOperation/verifyAndChangeEmail``. Empty for
    /// sign-in links: a link does not reveal its address.
    public let email: String
    /// The address before the change.
    public let previousEmail: String?
}
