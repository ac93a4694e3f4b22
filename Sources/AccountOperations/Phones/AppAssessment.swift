package import IdentityProviders
import JSON

/// The site keys of reCAPTCHA Enterprise, which scores users without showing a challenge.
package struct AssessmentKeys: Sendable, Hashable {
    /// The Google Cloud project.
    package var project: String
    /// `nil`: apps of that kind get no tokens.
    package var web: String?
    package var iOS: String?
    package var android: String?

    package init(project: String, web: String?, iOS: String?, android: String?) {
        self.project = project
        self.web = web
        self.iOS = iOS
        self.android = android
    }

    /// Apps for Android send that type or none.
    package func siteKey(for clientType: String?) -> String? {
        switch clientType {
        case "CLIENT_TYPE_WEB": web
        case "CLIENT_TYPE_IOS": iOS
        case nil, "CLIENT_TYPE_ANDROID": android
        default: nil
        }
    }
}

/// Assesses tokens of reCAPTCHA Enterprise (cloud.google.com/recaptcha/docs, "Create an assessment"). A token is valid
/// once.
package struct AssessmentVerifier: AppVerifying {
    private static let tokenBytesMax = 16_384
    /// A token for another action proves nothing here.
    private static let actions: Set = ["sendVerificationCode", "mfaSmsEnrollment", "mfaSmsSignIn"]

    private let keys: AssessmentKeys
    private let apiKey: String
    private let address: String
    private let scoreMin: Double
    private let http: any HTTPFetching
    private let timeout: Duration

    /// - `base`: URL of the API, without a slash at the end.
    /// - `scoreMin`: from 0, certainly a robot, to 1, certainly a person. Lower scores are refused.
    package init(
        keys: AssessmentKeys,
        apiKey: String,
        base: String,
        scoreMin: Double,
        http: any HTTPFetching,
        timeout: Duration
    ) {
        self.keys = keys
        self.apiKey = apiKey
        self.address = "\(base)/v1/projects/\(keys.project)/assessments"
        self.scoreMin = scoreMin
        self.http = http
        self.timeout = timeout
    }

    /// - Throws: `ProviderUnavailable` without a usable answer, also if Google refuses our key: not the app user's
    ///   fault.
    package func isGenuine(_ request: AppRequest) async throws -> Bool {
        guard case .assessment(let token, let clientType, _) = request.credential,
            token.utf8.count <= Self.tokenBytesMax, let siteKey = keys.siteKey(for: clientType)
        else { return false }
        let body = JSONWriter.object { writer in
            writer.field("event") { event in
                event.field("token", token)
                event.field("siteKey", siteKey)
                event.field("userIpAddress", request.clientAddress)
            }
        }
        let asked = ProviderRequest(
            .post,
            address,
            fields: [
                ProviderRequest.Field(name: "content-type", value: "application/json"),
                ProviderRequest.Field(name: "x-goog-api-key", value: apiKey),
            ],
            body: body
        )
        let answer = try await http.answer(to: asked, deadline: .now + timeout)
        guard answer.isSuccess, let json = answer.json else { throw ProviderUnavailable.unexpectedStatus }
        guard let properties = json["tokenProperties"], let isValid = properties["valid"]?.bool else {
            throw ProviderUnavailable.malformedAnswer
        }
        guard isValid, Self.actions.contains(properties["action"]?.string ?? "") else { return false }
        guard let score = json["riskAnalysis"]?["score"]?.number else { throw ProviderUnavailable.malformedAnswer }
        return score >= scoreMin
    }
}

extension JSONValue {
    fileprivate var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }
}
