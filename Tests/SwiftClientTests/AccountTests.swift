import AccountTestSupport
import ConcordAuth
import Foundation
import JSON
import Testing

extension SwiftClientTests {
    /// The owner's account against `concord dev`: links, numbers, second factors, merges, suspended methods.
    @Suite(.serialized, .devServer) struct AccountTests {
        @Test func `the client knows what the server supports`() async throws {
            try await DevServer.run { server in
                let info = try await server.auth().serverInfo()
                #expect(info.api == 1)
                for feature in ServerInfo.Feature.allCases { #expect(info.has(feature), "\(feature)") }
            }
        }

        @Test func `a mailed link signs in after a restart, without the address`() async throws {
            try await DevServer.run { server in
                var settings = ActionCodeSettings()
                settings.url = try DevServer.url("http://localhost/finish?page=2")
                settings.handleCodeInApp = true
                let email = server.address()
                try await server.auth().sendSignInLink(toEmail: email, actionCodeSettings: settings)
                let link = try await server.link(to: email)

                // A device that did not request the link does not know the address.
                let elsewhere = try server.auth("elsewhere")
                #expect(elsewhere.isSignIn(withEmailLink: link))
                let unknown = await #expect(throws: AuthError.self) { try await elsewhere.signIn(link: link) }
                #expect(unknown?.code == .missingEmail)

                let restarted = try server.auth()
                let user = try await restarted.signIn(link: link).user
                #expect(user.email == email && user.isEmailVerified)
                let used = await #expect(throws: AuthError.self) {
                    try await restarted.signIn(withEmail: email, link: link)
                }
                #expect(used?.code == .invalidActionCode)
            }
        }

        @Test func `a provider's page signs in by a port of this machine`() async throws {
            try await DevServer.run { server in
                let email = server.address()
                let auth = try server.auth()
                let provider = OAuthProvider(providerID: .gitHub, auth: auth)
                let result = try await auth.signIn(
                    with: provider,
                    uiDelegate: HandlerPage(server: server, email: email).browser
                )
                #expect(result.user.email == email)
                #expect(result.user.providerData.map(\.providerID) == ["github.com"])
                let uid = result.user.uid
                try await result.user.reauthenticate(
                    with: provider,
                    uiDelegate: HandlerPage(server: server, email: email).browser
                )
                #expect(auth.currentUser?.uid == uid)
                let other = await #expect(throws: AuthError.self) {
                    try await result.user.reauthenticate(
                        with: provider,
                        uiDelegate: HandlerPage(server: server, email: server.address("other")).browser
                    )
                }
                #expect(other?.code == .userMismatch)
                #expect(auth.currentUser?.uid == uid)
            }
        }

        // MARK: Numbers

        @Test func `a fictional number signs in after a restart`() async throws {
            try await DevServer.run { server in
                let number = "+16505550123"
                try await server.configure(
                    "signIn.phoneNumber.testPhoneNumbers",
                    ["signIn": ["phoneNumber": ["testPhoneNumbers": [number: "123456"]]]]
                )
                let auth = try server.auth()
                auth.settings?.isAppVerificationDisabledForTesting = true
                _ = try await PhoneAuthProvider.provider(auth: auth).verifyPhoneNumber(number)

                let restarted = try server.auth()
                let waiting = try #require(try restarted.pendingPhoneVerifications().first)
                #expect(waiting.phoneNumber == number)
                let provider = PhoneAuthProvider.provider(auth: restarted)
                func credential(_ code: String) -> AuthCredential {
                    provider.credential(withVerificationID: waiting.verificationID, verificationCode: code)
                }
                let wrong = await #expect(throws: AuthError.self) {
                    try await restarted.signIn(with: credential("654321"))
                }
                #expect(wrong?.code == .invalidVerificationCode)
                let user = try await restarted.signIn(with: credential("123456")).user
                #expect(user.phoneNumber == number)
                #expect(try restarted.pendingPhoneVerifications() == [])
            }
        }

        @Test func `a real number gets a code after the challenge of a page`() async throws {
            try await DevServer.run { server in
                let number = "+16505550142"
                let auth = try server.auth()
                let provider = PhoneAuthProvider.provider(auth: auth)
                let page = HandlerPage(server: server, email: "")
                let id = try await provider.verifyPhoneNumber(number, uiDelegate: page.browser)
                let code = try await server.text(to: number)
                let credential = provider.credential(withVerificationID: id, verificationCode: code)
                #expect(try await auth.signIn(with: credential).user.phoneNumber == number)
            }
        }

        // MARK: Second factors

        @Test func `an authenticator app is the second factor of a sign-in`() async throws {
            try await DevServer.run { server in
                let email = server.address()
                let uid = try await server.signUpProven(email)
                let auth = try server.auth()
                let user = try await auth.signIn(withEmail: email, password: DevServer.password).user
                let secret = try await TOTPMultiFactorGenerator.generateSecret(with: user.multiFactor.session())
                let app = Authenticator(secret: secret.sharedSecretKey())
                try await user.multiFactor.enroll(
                    with: TOTPMultiFactorGenerator.assertionForEnrollment(with: secret, oneTimePassword: app.code()),
                    displayName: "app"
                )
                #expect(user.multiFactor.enrolledFactors.map(\.factorID) == ["totp"])
                try auth.signOut()

                let error = await #expect(throws: AuthError.self) {
                    try await auth.signIn(withEmail: email, password: DevServer.password)
                }
                #expect(error?.code == .secondFactorRequired && auth.currentUser == nil)
                let resolver = try #require(error?.resolver)
                let factor = try #require(resolver.hints.first)
                func assertion(_ code: String) -> MultiFactorAssertion {
                    TOTPMultiFactorGenerator.assertionForSignIn(withEnrollmentID: factor.uid, oneTimePassword: code)
                }
                let wrong = await #expect(throws: AuthError.self) {
                    try await resolver.resolveSignIn(with: assertion("000000"))
                }
                #expect(wrong?.code == .invalidVerificationCode)
                // The enrollment used the code of its step.
                let signedIn = try await resolver.resolveSignIn(with: assertion(app.code(steps: 1))).user
                #expect(signedIn.uid == uid)
                #expect(try await signedIn.getIDTokenResult().signInSecondFactor == "totp")
            }
        }

        @Test func `a text is the second factor of a sign-in, and a conflict is settled behind it`() async throws {
            try await DevServer.run { server in
                let (email, number) = (server.address(), "+16505550143")
                let uid = try await server.signUpProven(email)
                let auth = try server.auth()
                let provider = PhoneAuthProvider.provider(auth: auth)
                let browser = HandlerPage(server: server, email: "").browser
                let user = try await auth.signIn(withEmail: email, password: DevServer.password).user
                let id = try await provider.verifyPhoneNumber(
                    number,
                    uiDelegate: browser,
                    multiFactorSession: user.multiFactor.session()
                )
                let enrolled = provider.credential(
                    withVerificationID: id,
                    verificationCode: try await server.text(to: number)
                )
                try await user.multiFactor.enroll(
                    with: PhoneMultiFactorGenerator.assertion(with: enrolled),
                    displayName: nil
                )
                try auth.signOut()

                let token = DevServer.gitHubToken(email)
                let opened = await #expect(throws: AuthError.self) {
                    try await auth.signIn(with: GitHubAuthProvider.credential(withToken: token))
                }
                let conflict = try #require(opened?.conflict)
                let known = EmailAuthProvider.credential(withEmail: email, password: DevServer.password)
                let error = await #expect(throws: AuthError.self) { try await conflict.settle(with: known, in: auth) }
                #expect(error?.code == .secondFactorRequired)
                let resolver = try #require(error?.resolver)
                let factor = try #require(resolver.hints.first)
                #expect(factor.factorID == "phone" && factor.phoneNumber != number)
                let second = try await provider.verifyPhoneNumber(
                    with: factor,
                    uiDelegate: browser,
                    multiFactorSession: resolver.session
                )
                let code = try await server.text(to: number)
                let credential = provider.credential(withVerificationID: second, verificationCode: code)
                let signedIn = try await resolver.resolveSignIn(
                    with: PhoneMultiFactorGenerator.assertion(with: credential)
                )
                try await conflict.link(to: signedIn.user)
                #expect(signedIn.user.uid == uid)
                #expect(try await server.account(email).providers == ["github.com", "password"])
                #expect(try auth.pendingConflicts() == [])
            }
        }

        // MARK: Own account

        @Test func `a method that the owner's proof suspended is restored`() async throws {
            try await DevServer.run { server in
                let email = server.address()
                let uid = try await server.signUp(email)
                let auth = try server.auth()
                var settings = ActionCodeSettings()
                settings.url = try DevServer.url("http://localhost/")
                settings.handleCodeInApp = true
                try await auth.sendSignInLink(toEmail: email, actionCodeSettings: settings)
                let user = try await auth.signIn(link: server.link(to: email)).user
                #expect(user.uid == uid)
                let refused = await #expect(throws: AuthError.self) {
                    try await server.auth("other").signIn(withEmail: email, password: DevServer.password)
                }
                #expect(refused?.code == .wrongPassword, "\(refused as Any)")

                let suspended = try await user.suspendedMethods()
                #expect(suspended.methods.map(\.method) == ["password"])
                let wrong = await #expect(throws: AuthError.self) {
                    try await user.restorePassword("wrong password", version: suspended.version)
                }
                #expect(wrong?.code == .wrongProof)
                let methods = try await user.restorePassword(DevServer.password)
                #expect(methods.methods.contains { $0.method == "password" && $0.works })
                let again = try await server.auth("other").signIn(withEmail: email, password: DevServer.password)
                #expect(again.user.uid == uid)
                #expect(try await user.suspendedMethods().methods == [])
            }
        }

        @Test func `two accounts of one person are merged, and the merge is undone`() async throws {
            try await DevServer.run { server in
                let (auth, otherAuth) = (try server.auth(), try server.auth("other"))
                let user = try await auth.createUser(withEmail: server.address(), password: DevServer.password).user
                let token = DevServer.gitHubToken(server.address("grace"))
                let other = try await otherAuth.signIn(with: GitHubAuthProvider.credential(withToken: token)).user
                let preview = try await user.previewMerge(with: other)
                #expect(preview.survivor == user.uid && preview.absorbed == other.uid)
                let choices = Dictionary(preview.undecided.map { ($0, MergeSide.survivor) }) { first, _ in first }
                if !choices.isEmpty {
                    let undecided = await #expect(throws: AuthError.self) { try await user.merge(with: other) }
                    #expect(undecided?.code == .choicesNeeded)
                }
                let merge = try await user.merge(with: other, choices: choices)
                #expect(merge.state == .committed)
                try await user.reload()
                #expect(user.providerData.contains { $0.providerID == "github.com" })
                let ended = await #expect(throws: AuthError.self) { try await other.getIDToken(forcingRefresh: true) }
                #expect(ended?.code == .userTokenExpired || ended?.code == .userNotFound, "\(ended as Any)")
                #expect(otherAuth.currentUser == nil)

                #expect(try await user.undoMerge(merge.id).state == .undone)
                #expect(auth.currentUser == nil)
                let back = try await otherAuth.signIn(with: GitHubAuthProvider.credential(withToken: token)).user
                #expect(back.uid == other.uid)
            }
        }

        @Test func `sessions are listed and ended, and a deleted account is gone`() async throws {
            try await DevServer.run { server in
                let email = server.address()
                try await server.signUpProven(email)
                let (auth, otherAuth) = (try server.auth(), try server.auth("other"))
                let user = try await auth.signIn(withEmail: email, password: DevServer.password).user
                let other = try await otherAuth.signIn(withEmail: email, password: DevServer.password).user
                let listed = try await user.sessions().sessions
                #expect(listed.filter(\.isCurrent).count == 1 && listed.count >= 2)
                #expect(try await user.endOtherSessions())
                let ended = await #expect(throws: AuthError.self) { try await other.getIDToken(forcingRefresh: true) }
                #expect(ended?.code == .userTokenExpired && otherAuth.currentUser == nil)

                // A revoked session in the store signs out at the next use, and keeps the rest of the store.
                try await user.delete()
                #expect(auth.currentUser == nil && server.isStored("app"))
                await #expect(throws: Missing.self) { try await server.account(email) }
                let gone = await #expect(throws: AuthError.self) { try await user.reload() }
                #expect(gone?.code == .nullUser)
            }
        }
    }
}

extension DevServer {
    /// Returns true if the file of a session store exists.
    fileprivate func isStored(_ name: String) -> Bool { FileManager.default.fileExists(atPath: store(name)) }
}
