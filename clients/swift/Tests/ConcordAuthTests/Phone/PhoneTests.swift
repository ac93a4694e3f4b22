import Foundation
import Testing

@testable import ConcordAuth

/// Texts: the proof of the app, fictional numbers, and codes that survive the app.
struct PhoneTests {
    private static let path = "/v1/accounts:sendVerificationCode"

    /// A device that gets pushes: the system hands the app a token, and the push follows the request for it.
    private struct Device: AppPushRegistering {
        let auth: Auth

        func register() async -> Bool {
            auth.setAPNSToken(Data([0x0a, 0xff]), type: .sandbox)
            return true
        }
    }

    private struct NoPushes: AppPushRegistering {
        func register() async -> Bool { false }
    }

    /// Solves the challenge at once.
    private struct Challenge: WebAuthenticating {
        func open(
            _ page: WebPage,
            willOpen: @Sendable (WebCallback) throws(AuthError) -> Void
        ) async throws(AuthError) -> URL {
            try willOpen(.scheme)
            let query = "authType=verifyApp&recaptchaToken=solved&eventId=\(page.eventID)"
            let inner = "https://id.example.com/__/auth/callback?" + query
            let text = inner.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            guard let url = URL(string: "app-1-42-ios-ab://firebaseauth/link?deep_link_id=\(text)"),
                page.isCallback(url)
            else { throw AuthError(.webInternalError, "no callback") }
            return url
        }
    }

    private func server() -> FakeConcord {
        let server = FakeConcord()
        server.script(Self.path, ["sessionInfo": "verification-1"])
        server.script("/v1/accounts:verifyIosClient", ["receipt": "receipt-1", "suggestedTimeout": "5"])
        return server
    }

    private static var push: [AnyHashable: Any] {
        [
            "aps": ["content-available": 1],
            "com.google.firebase.auth": ["receipt": "receipt-1", "secret": "secret-1"],
        ]
    }

    @Test("a silent push proves the app, and its receipt serves the next text and the next process")
    func silentPush() async throws {
        let server = server()
        let store = InMemorySessionStore()
        let auth = try server.auth(store)
        let provider = PhoneAuthProvider.provider(auth: auth, pushes: Device(auth: auth))
        // The push may come before the answer that names its receipt.
        #expect(auth.canHandleNotification(Self.push))
        #expect(try await provider.verifyPhoneNumber("+16505550100") == "verification-1")
        let asked = try #require(server.bodies("/v1/accounts:verifyIosClient").first)
        #expect(asked == ["appToken": "0aff", "isSandbox": true])
        let next = try server.auth(store)
        _ = try await PhoneAuthProvider.provider(auth: next, pushes: NoPushes()).verifyPhoneNumber("+16505550101")
        #expect(server.bodies("/v1/accounts:verifyIosClient").count == 1)
        #expect(
            server.bodies(Self.path)
                == ["+16505550100", "+16505550101"].map { number in
                    ["phoneNumber": .string(number), "iosReceipt": "receipt-1", "iosSecret": "secret-1"]
                }
        )
    }

    @Test("a push that comes later than the answer is awaited")
    func latePush() async throws {
        let server = server()
        let auth = try server.auth(InMemorySessionStore())
        let provider = PhoneAuthProvider.provider(auth: auth, pushes: Device(auth: auth))
        let sent = Task { try await provider.verifyPhoneNumber("+16505550100") }
        while server.bodies("/v1/accounts:verifyIosClient").isEmpty { try await Task.sleep(nanoseconds: 1_000_000) }
        #expect(auth.canHandleNotification(Self.push))
        #expect(try await sent.value == "verification-1")
        #expect(server.bodies(Self.path).first?["iosSecret"]?.stringValue == "secret-1")
    }

    @Test("without a push the person solves a challenge", arguments: ["no token", "no push", "refused"])
    func challenge(reason: String) async throws {
        let server = server()
        switch reason {
        case "no push":
            server.script("/v1/accounts:verifyIosClient", ["receipt": "receipt-1", "suggestedTimeout": "0"])
        case "refused":
            server.script(
                "/v1/accounts:verifyIosClient",
                status: 400,
                ["error": ["code": 400, "message": "INVALID_APP_CREDENTIAL", "errors": []]]
            )
        default: break
        }
        let auth = try server.auth(InMemorySessionStore())
        let pushes: any AppPushRegistering = reason == "no token" ? NoPushes() : Device(auth: auth)
        let provider = PhoneAuthProvider.provider(auth: auth, pushes: pushes)
        _ = try await provider.verifyPhoneNumber("+16505550100", uiDelegate: Challenge())
        #expect(server.bodies(Self.path) == [["phoneNumber": "+16505550100", "recaptchaToken": "solved"]])
    }

    @Test("a receipt that the server refuses is replaced once")
    func refusedReceipt() async throws {
        let server = server()
        let store = InMemorySessionStore()
        let auth = try server.auth(store)
        try auth.store(
            pushCredential: PushCredential(
                scope: auth.configuration.scope,
                receipt: Secret("old"),
                secret: Secret("old")
            )
        )
        server.script(
            Self.path,
            status: 400,
            ["error": ["code": 400, "message": "INVALID_APP_CREDENTIAL", "errors": []]]
        )
        #expect(auth.canHandleNotification(Self.push))
        let provider = PhoneAuthProvider.provider(auth: auth, pushes: Device(auth: auth))
        await expect(.invalidAppCredential) { try await provider.verifyPhoneNumber("+16505550100") }
        let receipts = server.bodies(Self.path).map { $0["iosReceipt"]?.stringValue }
        #expect(receipts == ["old", "receipt-1"])
        #expect(try auth.pendingPhoneVerifications().isEmpty)
    }

    @Test("for tests the request has no proof of the app")
    func fictionalNumber() async throws {
        let server = server()
        let auth = try server.auth(InMemorySessionStore())
        auth.settings?.isAppVerificationDisabledForTesting = true
        let provider = PhoneAuthProvider.provider(auth: auth, pushes: Device(auth: auth))
        _ = try await provider.verifyPhoneNumber("+16505553434")
        #expect(server.bodies(Self.path) == [["phoneNumber": "+16505553434"]])
        #expect(server.requests.last?.headers["X-Firebase-Locale"] == "fr")
        #expect(server.requests.last?.headers["X-Ios-Bundle-Identifier"] == "com.example.app")
    }

    @Test("a verification ID survives the app, and leaves the store with its code or its time")
    func verificationID() async throws {
        let server = server()
        let store = InMemorySessionStore()
        let auth = try server.auth(store)
        auth.settings?.isAppVerificationDisabledForTesting = true
        _ = try await PhoneAuthProvider.provider(auth: auth).verifyPhoneNumber("+16505553434")
        let next = try server.auth(store)
        let pending = try #require(try next.pendingPhoneVerifications().first)
        #expect(pending.phoneNumber == "+16505553434")
        #expect(try server.auth(store, project: "other").pendingPhoneVerifications().isEmpty)
        let later = try server.auth(store, now: { Date().addingTimeInterval(601) })
        #expect(try later.pendingPhoneVerifications().isEmpty)
        let credential = PhoneAuthProvider.provider(auth: next)
            .credential(withVerificationID: pending.verificationID, verificationCode: "654321")
        try await next.signIn(with: credential)
        let body = try #require(server.bodies("/v1/accounts:signInWithPhoneNumber").first)
        #expect(body["sessionInfo"]?.stringValue == "verification-1" && body["code"]?.stringValue == "654321")
        #expect(try next.pendingPhoneVerifications().isEmpty)
    }

    @Test("an empty number is refused without a request")
    func emptyNumber() async throws {
        let server = server()
        let auth = try server.auth(InMemorySessionStore())
        await expect(.missingPhoneNumber) {
            try await PhoneAuthProvider.provider(auth: auth).verifyPhoneNumber("")
        }
        #expect(server.requests.isEmpty)
    }

    @Test("a second factor of a pending sign-in is named by its id")
    func secondFactor() async throws {
        let server = server()
        server.script("/v2/accounts/mfaSignIn:start", ["phoneResponseInfo": ["sessionInfo": "verification-2"]])
        server.script(
            "/v1/accounts:signInWithPassword",
            [
                "mfaPendingCredential": "pending", "localId": "ada",
                "mfaInfo": [["mfaEnrollmentId": "factor-1", "phoneInfo": "+*******0100"]],
            ]
        )
        let auth = try server.auth(InMemorySessionStore())
        auth.settings?.isAppVerificationDisabledForTesting = true
        let error = await expect(.secondFactorRequired) {
            try await auth.signIn(withEmail: "ada@example.com", password: "correct horse")
        }
        let resolver = try #require(error?.resolver)
        let provider = PhoneAuthProvider.provider(auth: auth)
        let hint = try #require(resolver.hints.first)
        #expect(
            try await provider.verifyPhoneNumber(with: hint, multiFactorSession: resolver.session) == "verification-2"
        )
        #expect(
            server.bodies("/v2/accounts/mfaSignIn:start") == [
                ["mfaPendingCredential": "pending", "mfaEnrollmentId": "factor-1", "phoneSignInInfo": [:]]
            ]
        )
        await expect(.missingMultiFactorSession) {
            try await provider.verifyPhoneNumber(with: hint, multiFactorSession: nil)
        }
        await expect(.invalidMultiFactorSession) {
            try await provider.verifyPhoneNumber("+16505550100", multiFactorSession: resolver.session)
        }
    }

    @Test("only Concord's pushes are handled")
    func notifications() throws {
        let auth = try FakeConcord().auth(InMemorySessionStore())
        let text = #"{"receipt":"r","secret":"s"}"#
        #expect(auth.canHandleNotification(["com.google.firebase.auth": text]))
        #expect(auth.canHandleNotification(["com.google.firebase.auth": ["warning": "x"]]))
        #expect(!auth.canHandleNotification(["com.google.firebase.auth": ["receipt": "r"]]))
        #expect(!auth.canHandleNotification(["com.google.firebase.auth": 1]))
        #expect(!auth.canHandleNotification(["aps": ["alert": "Hello"]]))
    }
}
