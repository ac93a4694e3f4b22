public import Foundation

/// Registers the app for remote notifications, so that the system gives it an APNs token.
///
/// ``AppleAppPushes`` does it on iOS. The app, or the system's callback, hands the token to
/// ``Auth/setAPNSToken(_:type:)``.
public protocol AppPushRegistering: Sendable {
    /// Asks the system for a token. Returns false if this device gets no pushes, such as a simulator.
    func register() async -> Bool
}

/// The proof that a request for a text message comes from a genuine app: the secret of a silent push, or the token of a
/// challenge.
final class AppVerification: Sendable {
    struct Token: Sendable {
        let text: String
        let isSandbox: Bool
    }

    private struct State {
        var token: Token?
        /// A promise for callers that wait for the token.
        var awaited: Promise<Token>?
        /// Secrets that pushes brought, by receipt. They can come before the answer that names the receipt.
        var secrets: [String: String] = [:]
        var order: [String] = []
        /// Callers that wait for a receipt's push.
        var waiting: [String: Promise<String>] = [:]
    }

    private let state = Locked(State())
    private static let secretsMax = 16
    /// Seconds that the system has to give the app its token.
    static let tokenSeconds: TimeInterval = 5

    func take(_ token: Token) {
        let awaited = state.with { state in
            state.token = token
            defer { state.awaited = nil }
            return state.awaited
        }
        awaited?.settle(.success(token))
    }

    /// Returns the APNs token; `nil` if the app gets none in time.
    func token(_ registrar: (any AppPushRegistering)?) async throws(AuthError) -> Token? {
        if let token = state.with({ $0.token }) { return token }
        guard let registrar, await registrar.register() else { return nil }
        let (token, awaited) = state.with { state in
            let awaited = state.awaited ?? Promise<Token>()
            state.awaited = awaited
            return (state.token, awaited)
        }
        if let token { return token }
        return try await awaited.value(within: Self.tokenSeconds)
    }

    /// Takes the secret of a push.
    func take(secret: String, ofReceipt receipt: String) {
        let waiting = state.with { state in
            if state.secrets.updateValue(secret, forKey: receipt) == nil { state.order.append(receipt) }
            if state.order.count > Self.secretsMax { state.secrets[state.order.removeFirst()] = nil }
            return state.waiting.removeValue(forKey: receipt)
        }
        waiting?.settle(.success(secret))
    }

    /// Returns the secret of the push with this receipt; `nil` if it does not come in time.
    func secret(ofReceipt receipt: String, within seconds: TimeInterval) async throws(AuthError) -> String? {
        let (secret, waiting) = state.with { state in
            let waiting = state.waiting[receipt] ?? Promise<String>()
            if state.secrets[receipt] == nil { state.waiting[receipt] = waiting }
            return (state.secrets[receipt], waiting)
        }
        if let secret { return secret }
        defer { _ = state.with { $0.waiting.removeValue(forKey: receipt) } }
        return try await waiting.value(within: seconds)
    }
}

extension Promise {
    /// The result; `nil` if it is not there within `seconds`.
    func value(within seconds: TimeInterval) async throws(AuthError) -> Value? {
        let first = Promise<Value?>()
        let waiter = Task {
            do throws(AuthError) {
                first.settle(.success(try await value()))
            } catch {
                first.settle(.failure(error))
            }
        }
        let timer = Task {
            try await Task.sleep(nanoseconds: UInt64(max(0, seconds) * 1_000_000_000))
            first.settle(.success(nil))
        }
        defer {
            waiter.cancel()
            timer.cancel()
        }
        return try await first.value()
    }
}

extension Auth {
    /// Settings that tests change. Never `nil`; optional as in FirebaseAuth.
    public var settings: AuthSettings? { testSettings }

    /// Hands the app's APNs token to the client: from
    /// `application(_:didRegisterForRemoteNotificationsWithDeviceToken:)`.
    public func setAPNSToken(_ token: Data, type: AuthAPNSTokenType) {
        let text = token.map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }
        .joined()
        verification.take(AppVerification.Token(text: text, isSandbox: type.isSandbox))
    }

    /// Handles a remote notification: from `application(_:didReceiveRemoteNotification:fetchCompletionHandler:)`.
    ///
    /// - Returns: True if the notification is Concord's silent push. The app then does nothing with it.
    public func canHandleNotification(_ userInfo: [AnyHashable: Any]) -> Bool {
        let members: [String: Any]
        switch userInfo["com.google.firebase.auth"] {
        case let object as [String: Any]: members = object
        case let text as String:
            let parsed = JSONValue.parse(Data(text.utf8))?.objectValue ?? [:]
            members = parsed.compactMapValues(\.stringValue)
        default: return false
        }
        if members["warning"] != nil { return true }
        guard let receipt = members["receipt"] as? String, let secret = members["secret"] as? String else {
            return false
        }
        verification.take(secret: secret, ofReceipt: receipt)
        return true
    }
}
