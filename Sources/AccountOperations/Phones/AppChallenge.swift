package import IdentityProviders
import JSON

/// The challenge by which a person shows to be using an app, as a rule without noticing: reCAPTCHA v2, or what speaks like
/// it.
package struct AppChallenge: Sendable, Hashable {
    /// Names the project to the challenge's script; public.
    package var siteKey: String
    /// The script that shows the challenge.
    package var scriptURL: String
    /// Where that script takes more from: scripts, frames and pictures (origins, RFC 6454).
    package var origins: [String]

    package init(siteKey: String, scriptURL: String, origins: [String]) {
        self.siteKey = siteKey
        self.scriptURL = scriptURL
        self.origins = origins
    }
}

/// Asks whoever issued a challenge's token whether it was solved (developers.google.com/recaptcha, "Verifying the user's
/// response"). A token is good once, and so is the question.
package struct RecaptchaVerifier: AppVerifying {
    private let secret: String
    private let address: String
    private let http: any HTTPFetching
    private let timeout: Duration

    /// `secret`: shared with the issuer; never shown. `address`: where it is asked.
    package init(secret: String, address: String, http: any HTTPFetching, timeout: Duration) {
        self.secret = secret
        self.address = address
        self.http = http
        self.timeout = timeout
    }

    /// - Throws: `ProviderUnavailable` when there is no usable answer, also when the issuer does not take our secret: that
    /// is nobody's fault who uses the app.
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
