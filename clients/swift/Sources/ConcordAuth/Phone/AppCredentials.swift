public import Foundation

/// A text message that was requested on this device, and whose code was not used.
public struct UnfinishedPhoneVerification: Sendable, Hashable {
    /// The verification ID, for ``PhoneAuthProvider/credential(withVerificationID:verificationCode:)``.
    public let verificationID: String
    /// The number, masked for a second factor.
    public let phoneNumber: String
    /// The time of the request.
    public let requestTime: Date
}

extension UnfinishedPhoneVerification: CustomStringConvertible, CustomReflectable {
    public var description: String { "UnfinishedPhoneVerification(\(requestTime))" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The receipt of a silent push with its secret. The server trusts it for a week.
struct PushCredential: Sendable, Codable, Equatable {
    let scope: String
    let receipt: Secret
    let secret: Secret
}

extension Auth {
    /// Seconds for which a code is valid (`concord.sms.codeSeconds`).
    private static let codeSeconds: TimeInterval = 600
    /// Seconds to wait for a push at most, if the server names more.
    private static let pushSecondsMax: TimeInterval = 30

    /// Returns the texts whose code is still valid, the newest first. An app calls it at launch, and asks for the code.
    public func pendingPhoneVerifications() throws(AuthError) -> [UnfinishedPhoneVerification] {
        let now = configuration.now()
        return try keeper.read().phoneVerifications.reversed()
            .filter { $0.scope == configuration.scope && now.timeIntervalSince($0.requestTime) < Self.codeSeconds }
            .map { pending in
                UnfinishedPhoneVerification(
                    verificationID: pending.verificationID.text,
                    phoneNumber: pending.phoneNumber,
                    requestTime: pending.requestTime
                )
            }
    }

    func add(_ verification: PendingPhoneVerification) throws(AuthError) {
        // The text is on its way, so the caller gets the ID also if the store cannot be written.
        _ = try keeper.changeInMemory { state in
            state.phoneVerifications.removeAll {
                $0.verificationID == verification.verificationID
                    || verification.requestTime.timeIntervalSince($0.requestTime) >= Self.codeSeconds
            }
            state.phoneVerifications.append(verification)
            state.phoneVerifications.removeFirst(max(0, state.phoneVerifications.count - StoredState.mostPending))
        }
    }

    func store(pushCredential: PushCredential?) throws(AuthError) {
        _ = try keeper.change { state in state.pushCredential = pushCredential }
    }

    private struct Receipt: Decodable, Sendable {
        let receipt: String
        let suggestedTimeout: LooseNumber?
    }

    /// Returns the stored receipt, or that of another silent push; `nil` if no push comes.
    func pushCredential(_ pushes: (any AppPushRegistering)?) async throws(AuthError) -> PushCredential? {
        if let stored = try keeper.read().pushCredential, stored.scope == configuration.scope { return stored }
        guard let token = try await verification.token(pushes) else { return nil }
        let answer: Receipt
        do {
            let body: [String: JSONValue?] = [
                "appToken": token.text.json,
                "isSandbox": token.isSandbox ? true : nil,
            ]
            answer = try await backend.call(Call<Receipt>.post("/v1/accounts:verifyIosClient", body))
        } catch  where error.code == .invalidAppCredential || error.code == .missingAppToken {
            // The server sends no pushes to this app.
            return nil
        }
        let seconds = min(answer.suggestedTimeout.flatMap { TimeInterval($0.text) } ?? 10, Self.pushSecondsMax)
        guard let secret = try await verification.secret(ofReceipt: answer.receipt, within: seconds) else { return nil }
        let credential = PushCredential(
            scope: configuration.scope,
            receipt: Secret(answer.receipt),
            secret: Secret(secret)
        )
        try store(pushCredential: credential)
        return credential
    }

    /// Returns the token of a challenge that the person solved on a page of the server.
    func challengeToken(_ uiDelegate: (any WebAuthenticating)?) async throws(AuthError) -> String {
        let opener = try opener(uiDelegate)
        let page = page("verifyApp", event: Digest.random())
        let url = try await webFlows.alone { () throws(AuthError) in
            // The challenge has no secret to store: a restarted app asks for another one.
            try await opener.open(page) { _ in }
        }
        guard let result = WebResult(url) else {
            throw AuthError(.webInternalError, "the address is no answer of a page")
        }
        if let error = result.error(verifiesApp: true) { throw error }
        guard let token = result.challengeToken, !token.isEmpty else {
            throw AuthError(.appVerificationUserInteractionFailure, "the page answered without a token")
        }
        return token
    }
}
