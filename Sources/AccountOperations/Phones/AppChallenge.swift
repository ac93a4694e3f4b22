package import IdentityProviders
import JSON

/// reCAPTCHA v2, or a service with its protocol. Most users do not notice it.
package struct AppChallenge: Sendable, Hashable {
    /// Identifies the project to the challenge's script. Public.
    package var siteKey: String
    package var scriptURL: String
    /// Origins of its scripts, frames and pictures (RFC 6454).
    package var origins: [String]

    package init(siteKey: String, scriptURL: String, origins: [String]) {
        self.siteKey = siteKey
        self.scriptURL = scriptURL
        self.origins = origins
    }
}

/// Verifies the token of a challenge with its issuer (developers.google.com/recaptcha, "Verifying the user's
/// response"). A token is valid once.
package struct RecaptchaVerifier: AppVerifying {
    private let secret: String
    private let address: String
    private let http: any HTTPFetching
    private let timeout: Duration

    /// - `secret`: shared with the issuer.
    /// - `address`: URL of the verification.
    package init(secret: String, address: String, http: any HTTPFetching, timeout: Duration) {
        self.secret = secret
        self.address = address
        self.http = http
        self.timeout = timeout
    }

    /// - Throws: `ProviderUnavailable` without a usable answer, also if the issuer refuses our secret: not the app
    ///   user's fault.
    package func isGenuine(_ request: AppRequest) async throws -> Bool {
        guard case .recaptcha(let token) = request.credential, token.utf8.count <= Self.tokenBytesMax else {
            return false
        }
        var form = [(name: "secret", value: secret), (name: "response", value: token)]
        if let client = request.clientAddress { form.append((name: "remoteip", value: client)) }
        let answer = try await http.answer(to: .form(form, to: address), deadline: .now + timeout)
        guard answer.isSuccess, let json = answer.json else { throw ProviderUnavailable.unexpectedStatus }
        let errors = json["error-codes"]?.array?.compactMap(\.string) ?? []
        guard !errors.contains(where: { $0.hasSuffix("-secret") }), let isSolved = json["success"]?.bool else {
            throw ProviderUnavailable.malformedAnswer
        }
        return isSolved
    }

    private static let tokenBytesMax = 8192
}
