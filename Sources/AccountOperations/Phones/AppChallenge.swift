package import IdentityProviders
import JSON

/// The challenge that shows that a person uses an app, usually unnoticed: reCAPTCHA v2, or a service with the same
/// protocol.
package struct AppChallenge: Sendable, Hashable {
    /// Identifies the project to the challenge's script. Public.
    package var siteKey: String
    /// URL of the script that shows the challenge.
    package var scriptURL: String
    /// Origins from which that script loads scripts, frames and pictures (RFC 6454).
    package var origins: [String]

    package init(siteKey: String, scriptURL: String, origins: [String]) {
        self.siteKey = siteKey
        self.scriptURL = scriptURL
        self.origins = origins
    }
}

/// Asks the issuer of a challenge's token whether the challenge was solved (developers.google.com/recaptcha, "Verifying
/// the user's response"). A token can be verified once.
package struct RecaptchaVerifier: AppVerifying {
    private let secret: String
    private let address: String
    private let http: any HTTPFetching
    private let timeout: Duration

    /// - `secret`: shared with the issuer; never shown.
    /// - `address`: URL of the verification.
    package init(secret: String, address: String, http: any HTTPFetching, timeout: Duration) {
        self.secret = secret
        self.address = address
        self.http = http
        self.timeout = timeout
    }

    /// - Throws: `ProviderUnavailable` if there is no usable answer, also if the issuer refuses our secret: this is not
    ///   the app user's fault.
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
