import Foundation
import Testing

@testable import ConcordAuth

@Suite struct SignInTests {
    @Test func requestsNameTheAppAndTheLanguage() async throws {
        let rig = Rig()
        rig.playServer()
        let auth = try rig.auth()
        auth.languageCode = "fr"
        try await auth.signIn(withEmail: "ada@example.com", password: "correct horse")
        let request = try #require(rig.transport.requests.first)
        #expect(request.url.absoluteString == "https://id.example.com/v1/accounts:signInWithPassword")
        #expect(request.headers["X-Goog-Api-Key"] == "key")
        #expect(request.headers["X-Ios-Bundle-Identifier"] == "com.example.app")
        #expect(request.headers["X-Firebase-Locale"] == "fr")
        #expect(request.headers["X-Client-Version"]?.hasPrefix("Swift/ConcordAuth/") == true)
        #expect(request.json["email"] == "ada@example.com")
        #expect(request.json["password"] == "correct horse")
        #expect(request.json["returnDeviceToken"] == true)
    }

    @Test func theDeviceTokenIsKeptBeyondSignOutAndSentAgain() async throws {
        let rig = Rig()
        rig.playServer()
        rig.transport.on(Rig.password) { _ in
            guard case .object(var answer) = JSONValue.tokens("ada") else { return .json(200, .null) }
            answer["deviceToken"] = "device-1"
            return .json(200, .object(answer))
        }
        let auth = try rig.auth()
        try await auth.signIn(withEmail: "ada@example.com", password: "correct horse")
        try auth.signOut()
        try await auth.signIn(withEmail: "ada@example.com", password: "correct horse")
        let sent = rig.transport.requests.filter { $0.url.path == Rig.password }.map { $0.json["deviceToken"] }
        #expect(sent == [nil, "device-1"])
    }

    @Test(arguments: [
        ("EMAIL_NOT_FOUND", AuthErrorCode.userNotFound), ("INVALID_PASSWORD", .wrongPassword),
        ("INVALID_LOGIN_CREDENTIALS", .invalidCredential), ("USER_DISABLED", .userDisabled),
        ("TOO_MANY_ATTEMPTS_TRY_LATER : later", .tooManyRequests), ("PASSWORD_LOGIN_DISABLED", .operationNotAllowed),
        ("WEAK_PASSWORD : Password should be at least 6 characters", .weakPassword),
        ("API key not valid. Please pass a valid API key.", .invalidAPIKey),
    ])
    func messagesBecomeFirebaseAuthsCodes(_ message: String, _ code: AuthErrorCode) async throws {
        let rig = Rig()
        rig.transport.on(Rig.password) { _ in .error(message) }
        let auth = try rig.auth()
        do {
            try await auth.signIn(withEmail: "ada@example.com", password: "correct horse")
            Issue.record("the sign-in succeeded")
        } catch code {
            // `catch AuthErrorCode.wrongPassword` works.
        }
        #expect(try rig.store.read() == nil)
    }

    @Test func anonymousUsersAreOneUntilTheySignOut() async throws {
        let rig = Rig()
        let token = JSONValue.idToken("anon", provider: "anonymous")
        rig.transport.on(Rig.signUp) { _ in
            guard case .object(var answer) = JSONValue.tokens("anon", idToken: token) else { return .json(200, .null) }
            answer["kind"] = "identitytoolkit#SignupNewUserResponse"
            return .json(200, .object(answer))
        }
        rig.transport.on(Rig.lookup, 200, ["users": [["localId": "anon"]]])
        let auth = try rig.auth()
        let first = try await auth.signInAnonymously()
        #expect(first.additionalUserInfo?.isNewUser == true)
        #expect(first.user.isAnonymous)
        let second = try await auth.signInAnonymously()
        #expect(second.user === first.user)
        #expect(rig.transport.count(Rig.signUp) == 1)
    }

    @Test func aConflictIsStoredBeforeItsErrorIsThrown() async throws {
        let rig = Rig()
        rig.playServer()
        rig.transport.on(
            Rig.idp,
            200,
            [
                "kind": "identitytoolkit#VerifyAssertionResponse", "providerId": "github.com", "localId": "ada",
                "email": "ada@example.com", "needConfirmation": true, "verifiedProvider": ["password"],
                "oauthAccessToken": "gho_1", "pendingToken": "handle-1",
            ],
            headers: ["Concord-Decision": "decision-1"]
        )
        let auth = try rig.auth()
        let github = GitHubAuthProvider.credential(withToken: "gho_1")
        let error = try #require(await failure { try await auth.signIn(with: github) })
        #expect(error.code == .accountExistsWithDifferentCredential)
        #expect(error.email == "ada@example.com")
        #expect(error.decision == "decision-1")
        #expect(error.conflict?.kind == .accountExists)
        #expect(try rig.store.read()?.conflicts == error.conflict.map { [$0] })
        #expect(!"\(error)".contains("handle-1"))
        // The owner signs in, and links what waits. That settles the conflict.
        let user = try await auth.signIn(withEmail: "ada@example.com", password: "correct horse").user
        let waiting = try #require(error.updatedCredential)
        rig.transport.on(Rig.idp, 200, .tokens("ada"))
        try await user.link(with: waiting)
        let link = try #require(rig.transport.requests.last { $0.url.path == Rig.idp }?.json)
        #expect(link["pendingToken"] == "handle-1")
        #expect(link["postBody"] == nil)
        #expect(link["idToken"]?.stringValue != nil)
        #expect(try rig.store.read()?.conflicts == [])
        #expect(auth.currentUser === user)
    }

    @Test func aConflictSurvivesAStoreThatCannotBeWritten() async throws {
        final class ReadOnly: SessionStore {
            func read() throws -> StoredState? { nil }
            func replace(_: StoredState.Version?, with _: StoredState) throws -> Bool {
                throw SessionStoreError.unavailable("the disk is full")
            }
            func discard() throws {}
        }
        let rig = Rig(store: ReadOnly())
        rig.transport.on(
            Rig.idp,
            200,
            ["providerId": "github.com", "needConfirmation": true, "email": "a@b.c", "pendingToken": "handle-1"]
        )
        let auth = try rig.auth()
        let github = GitHubAuthProvider.credential(withToken: "gho_1")
        let error = try #require(await failure { try await auth.signIn(with: github) })
        #expect(error.code == .accountExistsWithDifferentCredential)
        #expect(error.conflict?.kind == .unprovenAddress)
        #expect(error.updatedCredential?.pendingToken?.text == "handle-1")
        #expect((error.underlying as? AuthError)?.code == .storeNotWritable)
    }

    @Test func aCredentialInUseComesBackWithTheError() async throws {
        let rig = Rig()
        rig.playServer()
        let auth = try rig.auth()
        let user = try await auth.signIn(withEmail: "ada@example.com", password: "correct horse").user
        rig.transport.on(
            Rig.idp,
            200,
            [
                "providerId": "google.com", "email": "bob@example.com", "oauthIdToken": "google-token",
                "errorMessage": "FEDERATED_USER_ID_ALREADY_LINKED", "pendingToken": "handle-2",
            ]
        )
        let google = GoogleAuthProvider.credential(withIDToken: "google-token", accessToken: nil)
        let error = try #require(await failure { try await user.link(with: google) })
        #expect(error.code == .credentialAlreadyInUse)
        #expect(error.email == "bob@example.com")
        #expect(error.updatedCredential?.provider == "google.com")
        #expect(error.conflict?.kind == .credentialInUse)
        #expect(auth.currentUser === user)
    }

    @Test func aSecondFactorCompletesTheSignIn() async throws {
        let rig = Rig()
        rig.playServer()
        rig.transport.on(
            Rig.password,
            200,
            [
                "localId": "ada", "email": "ada@example.com", "mfaPendingCredential": "pending-1",
                "mfaInfo": [
                    ["mfaEnrollmentId": "f1", "displayName": "App", "totpInfo": [:]],
                    ["mfaEnrollmentId": "f2", "phoneInfo": "+*******3434", "enrolledAt": "2026-01-01T00:00:00.000Z"],
                ],
            ]
        )
        let auth = try rig.auth()
        let error = await failure { try await auth.signIn(withEmail: "ada@example.com", password: "correct horse") }
        #expect(error?.code == .secondFactorRequired)
        let resolver = try #require(error?.resolver)
        #expect(resolver.hints.map(\.factorID) == ["totp", "phone"])
        #expect(resolver.hints[1].phoneNumber == "+*******3434")
        #expect(resolver.hints[1].enrollmentDate != nil)
        #expect(auth.currentUser == nil)
        let finalize = "/v2/accounts/mfaSignIn:finalize"
        rig.transport.on(finalize) { _ in .error("INVALID_CODE") }
        let assertion = TOTPMultiFactorGenerator.assertionForSignIn(withEnrollmentID: "f1", oneTimePassword: "123456")
        let wrong = await failure { try await resolver.resolveSignIn(with: assertion) }
        #expect(wrong?.code == .invalidVerificationCode)
        rig.transport.on(finalize) { _ in .json(200, .tokens("ada")) }
        try await resolver.resolveSignIn(with: assertion)
        let sent = try #require(rig.transport.requests.last { $0.url.path == finalize }?.json)
        #expect(sent["mfaPendingCredential"] == "pending-1")
        #expect(sent["mfaEnrollmentId"] == "f1")
        #expect(sent["totpVerificationInfo"] == ["verificationCode": "123456"])
        #expect(auth.currentUser?.uid == "ada")
    }

    @Test func providerTokensAreSentAsAForm() {
        let apple = OAuthProvider.appleCredential(
            withIDToken: "a.b&c",
            rawNonce: "n+1",
            fullName: {
                var name = PersonNameComponents()
                name.givenName = "Zoë"
                return name
            }()
        )
        guard case .oauth(let tokens) = apple.kind else { return }
        let form = tokens.form(provider: apple.provider)
        #expect(form.hasPrefix("providerId=apple.com&id_token=a.b%26c&nonce=n%2B1&user=%7B"))
        #expect(form.contains("Zo%C3%AB"))
    }
}
