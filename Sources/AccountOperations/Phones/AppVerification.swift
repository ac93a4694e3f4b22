package import AccountLinking

/// Proves that a request comes from an app of the project (docs/guides/phone.md, "Who may ask").
package enum AppCredential: Sendable, Hashable {
    case none
    /// Solved challenge.
    case recaptcha(token: String)
    /// reCAPTCHA Enterprise.
    case assessment(token: String, clientType: String?, version: String?)
    /// The app got no token.
    case unassessed
    case push(receipt: String, secret: String)
    case playIntegrity(token: String)
    /// Always refused: SafetyNet is discontinued.
    case safetyNet
}

package struct AppRequest: Sendable, Hashable {
    package var credential: AppCredential
    package var number: PhoneNumber
    /// The app's own claim, to which credentials are bound.
    package var iOSBundleID: String?
    package var apiKey: String?
    package var clientAddress: String?
}

/// Verifies credentials of one form.
package protocol AppVerifying: Sendable {
    /// True if an app of the project sends the request. Never called while a transaction or a connection is held.
    /// - Throws: an error without an answer.
    func isGenuine(_ request: AppRequest) async throws -> Bool
}

/// A form of credential without a verifier is refused.
package struct AppVerifiers: Sendable {
    package var recaptcha: (any AppVerifying)?
    package var challenge: AppChallenge?
    package var assessments: (any AppVerifying)?
    package var assessmentKeys: AssessmentKeys?
    package var pushes: (any AppVerifying)?
    /// Bundle identifiers.
    package var pushTopics: Set<String>
    package var playIntegrity: (any AppVerifying)?
    /// Real numbers get messages without proof of the app. Only the limits on messages bound the cost.
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

    /// The proof that Concord's own pages need before they may ask for a text.
    package var textChallenge: TextChallenge {
        if acceptsUnverified { return .none }
        guard recaptcha != nil else { return .unavailable }
        return challenge == nil ? .none : .required
    }

    /// True if browsers have no challenge.
    package var needsAssessments: Bool { assessmentKeys != nil && recaptcha == nil }

    /// True if the verification costs money.
    func isPaid(_ request: AppRequest) -> Bool {
        switch request.credential {
        case .assessment: assessments != nil && !acceptsUnverified
        case .none, .recaptcha, .unassessed, .push, .playIntegrity, .safetyNet: false
        }
    }

    /// `nil` if the request is accepted.
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

/// The proof that a request for a text from one of Concord's own pages needs. Raw values are those of the wire.
package enum TextChallenge: String, Sendable, Hashable, CaseIterable {
    /// No challenge: the page sends a made-up token.
    case none
    /// The token of a solved challenge.
    case required
    /// Only apps can prove themselves, so the pages offer no texts.
    case unavailable
}

/// Development only: SDKs send made-up tokens to an emulator.
package struct DevelopmentAppVerifier: AppVerifying {
    package init() {}

    package func isGenuine(_ request: AppRequest) async throws -> Bool { true }
}
