public import Foundation

/// A provider's page that an earlier process opened, and whose answer was not used.
public struct UnfinishedRedirect: Sendable, Hashable {
    /// The operation that the page was opened for.
    public enum Operation: String, Sendable, Hashable {
        case signIn, link, reauthenticate
    }

    /// The operation.
    public let operation: Operation
    /// The provider.
    public let providerID: String
    /// The user to link or reauthenticate; `nil` for a sign-in.
    public let uid: String?
    /// The time at which the page was opened.
    public let startTime: Date
    /// True if the answer is stored: ``Auth/resumeRedirect(uiDelegate:)`` returns at once.
    public let isAnswered: Bool
}

extension Auth {
    /// Seconds in which the server takes the answer of a page.
    private static let redirectSeconds: TimeInterval = 3_600

    /// Returns the provider's page that an earlier process opened; `nil` if there is none, or it is an hour old.
    public func unfinishedRedirect() throws(AuthError) -> UnfinishedRedirect? {
        guard let pending = try pendingRedirect(), let providerID = pending.providerID else { return nil }
        return UnfinishedRedirect(
            operation: UnfinishedRedirect.Operation(rawValue: pending.operation) ?? .signIn,
            providerID: providerID,
            uid: pending.uid,
            startTime: pending.startTime,
            isAnswered: pending.answer != nil
        )
    }

    /// Continues with the page that an earlier process opened, and returns the provider's credential.
    ///
    /// On Apple's systems the answer comes to ``canHandle(_:)`` first. With a loopback receiver, this call listens on
    /// the same port again, and the person reloads the page.
    ///
    /// - Throws: `webContextCancelled` if no page was opened, or its time is over.
    public func resumeRedirect(uiDelegate: (any WebAuthenticating)? = nil) async throws(AuthError) -> AuthCredential {
        guard let pending = try pendingRedirect() else {
            throw AuthError(.webContextCancelled, "no page was opened within an hour. Sign in again")
        }
        if let answer = pending.answer { return credential(of: pending, answer) }
        let opener = try opener(uiDelegate)
        let page = page("signInWithRedirect", event: pending.eventID)
        return try await webFlows.alone { () throws(AuthError) in
            try takeAnswer(try await opener.resume(page, at: WebCallback(text: pending.callback)))
        }
    }

    /// Forgets the page that an earlier process opened.
    public func discardRedirect() throws(AuthError) {
        _ = try keeper.change { state in state.redirect = nil }
    }

    func storeRedirect(_ redirect: PendingRedirect) throws(AuthError) {
        _ = try keeper.change { state in state.redirect = redirect }
    }

    /// Forgets the page or the text of a credential that was used. If that fails, it expires.
    func forgetUsed(_ credential: AuthCredential) {
        switch credential.kind {
        case .redirect(_, let secret):
            _ = try? keeper.change { state in
                if state.redirect?.sessionSecret == secret { state.redirect = nil }
            }
        case .phone(let verificationID, _):
            _ = try? keeper.change { state in
                state.phoneVerifications.removeAll { $0.verificationID == verificationID }
            }
        case .password, .emailLink, .phoneProof, .oauth: break
        }
    }

    /// Stores the answer to the page that an earlier process opened. Returns false if there is no such page.
    func storeAnswer(_ url: URL) throws(AuthError) -> Bool {
        guard let pending = try pendingRedirect() else { return false }
        guard page("signInWithRedirect", event: pending.eventID).isCallback(url) else { return false }
        do {
            _ = try takeAnswer(url)
        } catch  where error.code != .storeNotWritable && error.code != .storeUnreadable {
            // The page failed, and the person reads why in the browser. The page is forgotten.
        }
        return true
    }

    /// Stores the answer of a page, and returns its credential.
    func takeAnswer(_ url: URL) throws(AuthError) -> AuthCredential {
        guard let result = WebResult(url) else {
            throw AuthError(.webInternalError, "the address is no answer of a page")
        }
        if let error = result.error(verifiesApp: false) {
            try discardRedirect()
            throw error
        }
        guard let link = result.link else {
            throw AuthError(.webSignInUserInteractionFailure, "the page answered without a result")
        }
        let pending = try keeper.change { state -> PendingRedirect? in
            guard state.redirect?.eventID == result.eventID else { return nil }
            state.redirect?.answer = Secret(link)
            return state.redirect
        }
        guard let pending = pending.result else {
            throw AuthError(.webContextCancelled, "another page was opened meanwhile. Sign in again")
        }
        return credential(of: pending, Secret(link))
    }

    private func pendingRedirect() throws(AuthError) -> PendingRedirect? {
        guard let pending = try keeper.read().redirect, pending.scope == configuration.scope,
            configuration.now().timeIntervalSince(pending.startTime) < Self.redirectSeconds
        else { return nil }
        return pending
    }

    private func credential(of pending: PendingRedirect, _ answer: Secret) -> AuthCredential {
        AuthCredential(
            pending.providerID ?? "",
            .redirect(requestURI: answer, sessionID: pending.sessionSecret)
        )
    }
}

extension AuthError {
    /// True if the server decided: the same request gets the same answer.
    var isVerdict: Bool {
        switch code {
        case .networkError, .taskCancelled, .serverUnavailable, .invalidServerAnswer, .storeNotWritable,
            .storeUnreadable:
            false
        default: true
        }
    }
}

extension WebCallback {
    /// The form in the session store.
    var text: String {
        switch self {
        case .scheme: "scheme"
        case .loopback(let port): "loopback:\(port)"
        }
    }

    init(text: String?) {
        let parts = (text ?? "").split(separator: ":")
        if parts.count == 2, parts[0] == "loopback", let port = Int(parts[1]), (1...65_535).contains(port) {
            self = .loopback(port: port)
        } else {
            self = .scheme
        }
    }
}
