package import AccountLinking

/// The proof that a request comes from an app of the project (docs/guides/phone.md, "Who may ask").
package enum AppCredential: Sendable, Hashable {
    case none
    /// Token of a solved challenge.
    case recaptcha(token: String)
    /// Token of an assessment (reCAPTCHA Enterprise).
    case assessment(token: String, clientType: String?, version: String?)
    /// The app could not get a token for an assessment.
    case unassessed
    /// Content of a silent push.
    case push(receipt: String, secret: String)
    case playIntegrity(token: String)
    /// Always refused: SafetyNet is discontinued.
    case safetyNet
}

/// A request that needs proof of the app.
package struct AppRequest: Sendable, Hashable {
    package var credential: AppCredential
    /// The number that gets the message.
    package var number: PhoneNumber
    /// The app's own claim. Credentials are bound to it and to the API key.
    package var iOSBundleID: String?
    package var apiKey: String?
    /// The client's network address, if known.
    package var clientAddress: String?

    package init(
        credential: AppCredential,
        number: PhoneNumber,
        iOSBundleID: String?,
        apiKey: String?,
        clientAddress: String?
    ) {
        self.credential = credential
        self.number = number
        self.iOSBundleID = iOSBundleID
        self.apiKey = apiKey
        self.clientAddress = clientAddress
    }
}

/// Verifies credentials of one form.
package protocol AppVerifying: Sendable {
    /// Returns true if the credential proves that an app of the project sends the request. Never called while a
    /// transaction or a connection is held.
    /// - Throws: an error if there is no answer.
    func isGenuine(_ request: AppRequest) async throws -> Bool
}

/// The verifier of each form of credential. A form without a verifier is refused.
package struct AppVerifiers: Sendable {
    package var recaptcha: (any AppVerifying)?
    /// The challenge that people are shown; `nil` if there is none.
    package var challenge: AppChallenge?
    package var assessments: (any AppVerifying)?
    /// The site keys with which apps get tokens for assessments; `nil` if there are none.
    package var assessmentKeys: AssessmentKeys?
    package var pushes: (any AppVerifying)?
    /// Bundle identifiers of the apps for iOS that get pushes.
    package var pushTopics: Set<String>
    package var playIntegrity: (any AppVerifying)?
    /// True if requests without proof of the app may send messages to real numbers. Only the limits on messages then
    /// bound the cost.
    package var acceptsUnverified: Bool

    package init(
        recaptcha: (any AppVerifying)? = nil,
        challenge: AppChallenge? = nil,
        assessments: (any AppVerifying)? = nil,
        assessmentKeys: AssessmentKeys? = nil,
        pushes: (any AppVerifying)? = nil,
        pushTopics: Set<String> = [],
        playIntegrity: (any AppVerifying)? = nil,
        acceptsUnverified: Bool = false
    ) {
        self.recaptcha = recaptcha
        self.challenge = challenge
        self.assessments = assessments
        self.assessmentKeys = assessmentKeys
        self.pushes = pushes
        self.pushTopics = pushTopics
        self.playIntegrity = playIntegrity
        self.acceptsUnverified = acceptsUnverified
    }

    /// True if browsers can only present an assessment, because there is no challenge.
    package var needsAssessments: Bool { assessmentKeys != nil && recaptcha == nil }

    /// True if the operator pays for the verification of `request`.
    func isPaid(_ request: AppRequest) -> Bool {
        switch request.credential {
        case .assessment: assessments != nil && !acceptsUnverified
        case .none, .recaptcha, .unassessed, .push, .playIntegrity, .safetyNet: false
        }
    }

    /// The reason why `request` is refused; `nil` if it is accepted.
    func denial(of request: AppRequest) async throws -> PhoneDenial? {
        if acceptsUnverified { return nil }
        switch request.credential {
        case .none where needsAssessments, .unassessed where needsAssessments: return .missingRecaptchaToken
        // After this answer SDKs show the challenge.
        case .unassessed where assessmentKeys != nil: return .invalidAppCredential
        case .none, .unassessed:
            return request.iOSBundleID == nil ? .missingAppCredential : .missingClientIdentifier
        case .recaptcha: return try await judged(request, by: recaptcha, otherwise: .captchaCheckFailed)
        case .assessment:
            let fallsBack = assessmentKeys != nil && !needsAssessments
            return try await judged(
                request,
                by: assessments,
                otherwise: fallsBack ? .invalidAppCredential : .invalidRecaptchaToken
            )
        case .push: return try await judged(request, by: pushes, otherwise: .invalidAppCredential)
        case .playIntegrity: return try await judged(request, by: playIntegrity, otherwise: .appNotVerified)
        case .safetyNet: return .appNotVerified
        }
    }

    private func judged(
        _ request: AppRequest,
        by verifier: (any AppVerifying)?,
        otherwise denial: PhoneDenial
    ) async throws -> PhoneDenial? {
        guard let verifier else { return denial }
        return try await verifier.isGenuine(request) ? nil : denial
    }
}

/// Accepts every credential. Development only: SDKs send made-up tokens to an emulator.
package struct DevelopmentAppVerifier: AppVerifying {
    package init() {}

    package func isGenuine(_ request: AppRequest) async throws -> Bool { true }
}
