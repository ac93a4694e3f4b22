import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `POST /concord/v1/session:exchange`: exchanges the code that an app got from a page of Concord for a session
    /// (RFC 6749 §4.1.3, RFC 7636 §4.5).
    ///
    /// Requires no API key: the code and the verifier are the secrets.
    static let exchangeSessionCode = Route(.post, "/concord/v1/session:exchange", access: .anyone) { request in
        guard let code = try request.body.nonEmptyString("code") else {
            throw Problem(.malformedRequest, "`code` is required.")
        }
        guard let verifier = try request.body.nonEmptyString("codeVerifier").flatMap(CodeVerifier.init) else {
            throw Problem(.malformedRequest, "`codeVerifier` must be 43 to 128 letters, digits, or `-._~`.")
        }
        let deviceRequest = try request.deviceRequest()
        return try await request.answer(boundTo: code, as: APIResponse.handedOver) { idempotent in
            let operations = request.operations
            var session = try await operations.exchangeSessionCode(code, verifier, request.change(idempotent))
            // Not in the stored answer: a repetition gets its token at the next refresh.
            session.deviceToken = try await operations.newDeviceToken(deviceRequest, of: session)
            return session
        }
    }
}

extension APIRequest {
    /// The page of the app, with the app's values.
    func appReturn() throws -> AppReturn {
        guard let continueURL = try body.nonEmptyString("continueUrl") else {
            throw Problem(.malformedRequest, "`continueUrl` is required.")
        }
        do {
            return try AppReturn(
                continueURL: continueURL,
                state: try body.nonEmptyString("state"),
                codeChallenge: try body.nonEmptyString("codeChallenge")
            )
        } catch let defect as AppReturn.Defect {
            throw Problem(.malformedRequest, defect.detail)
        }
    }
}

extension APIResponse {
    @Sendable fileprivate static func handedOver(_ session: HandedSession) -> APIResponse {
        .object(after: session.decision) { writer in
            writer.field("localId", session.user.rawValue)
            writer.tokens(session.tokens)
            writer.field("deviceToken", session.deviceToken)
        }
    }
}

extension AppReturn.Defect {
    fileprivate var detail: String {
        switch self {
        case .continueURL:
            "`continueUrl` must be an absolute http or https URL of at most \(AppReturn.urlBytesMax) bytes."
        case .state: "`state` must be at most \(AppReturn.stateBytesMax) printable ASCII characters."
        case .codeChallenge:
            "`codeChallenge` must be a SHA-256 in base64url: \(AppReturn.codeChallengeLength) characters."
        }
    }
}
