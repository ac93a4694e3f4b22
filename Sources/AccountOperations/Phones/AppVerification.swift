package import AccountLinking

/// The proof that a request comes from an app of the project (docs/guides/phone.md, "Who may ask").
package enum AppCredential: Sendable, Hashable {
    case none
    /// Of a challenge that a person has solved.
    case recaptcha(token: String)
    /// Of an assessment (reCAPTCHA Enterprise).
    case assessment(token: String, clientType: String?, version: String?)
    /// It could not get one.
    case unassessed
    /// What a silent push brought to the app.
    case push(receipt: String, secret: String)
    case playIntegrity(token: String)
    /// Nobody answers for these any more.
    case safetyNet
}

/// A request that an app has to answer for.
package struct AppRequest: Sendable, Hashable {
    package var credential: AppCredential
    /// The number that is to be sent a message.
    package var number: PhoneNumber
    /// As the app says itself; only what a credential is bound to. So is the API key that it calls with.
    package var iOSBundleID: String?
    package var apiKey: String?
    /// The network address of the client, as far as it is known.
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

/// Judges credentials of one form. A port: each form has its own.
package protocol AppVerifying: Sendable {
    /// Whether the credential shows that an app of the project asks. Never while a transaction or a connection is held.
    /// - Throws: when that could not be found out.
    func isGenuine(_ request: AppRequest) async throws -> Bool
}

/// Who judges which form; where nobody does, a credential of that form is worth nothing.
package struct AppVerifiers: Sendable {
    package var recaptcha: (any AppVerifying)?
    /// What people are shown for it; `nil` where there is nothing to be shown.
    package var challenge: AppChallenge?
    package var assessments: (any AppVerifying)?
    /// What apps get tokens for assessments with; `nil` where there are none.
    package var assessmentKeys: AssessmentKeys?
    package var pushes: (any AppVerifying)?
    /// The apps for iOS that can be pushed to: bundle identifiers.
    package var pushTopics: Set<String>
    package var playIntegrity: (any AppVerifying)?
    /// Whether real numbers are sent messages for whoever asks. What that costs is bounded by the limits on messages alone.
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

    /// Whether an assessment is all that a browser can show: there is no challenge to fall back on.
    package var needsAssessments: Bool { assessmentKeys != nil && recaptcha == nil }

    /// Whether the operator pays somebody to judge `request`.
    func isPaid(_ request: AppRequest) -> Bool {
        switch request.credential {
        case .assessment: assessments != nil && !acceptsUnverified
        case .none, .recaptcha, .unassessed, .push, .playIntegrity, .safetyNet: false
        }
    }

    /// Why `request` is not believed; `nil` when it is.
    func denial(of request: AppRequest) async throws -> PhoneDenial? {
        if acceptsUnverified { return nil }
        switch request.credential {
        case .none where needsAssessments, .unassessed where needsAssessments: return .missingRecaptchaToken
        // After which SDKs show the challenge.
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

/// Accepts every credential. Development only: the SDKs send made-up tokens to an emulator.
package struct DevelopmentAppVerifier: AppVerifying {
    package init() {}

    package func isGenuine(_ request: AppRequest) async throws -> Bool { true }
}
