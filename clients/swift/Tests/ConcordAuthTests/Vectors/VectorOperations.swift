import Foundation

@testable import ConcordAuth

/// What an operation of a journey gave the app.
struct VectorResult {
    var result: AuthDataResult?
    var value: [String: JSONValue] = [:]
}

/// An app of a journey: one device, with its client.
struct VectorApp {
    let rig: Rig
    var auth: Auth
    var resolver: MultiFactorResolver?
    var secret: TOTPSecret?
    var verificationID: String?
    var proven: ProvenLookup?
    /// The clients of the other devices.
    var others: [Auth] = []

    /// Runs an operation by its name in `VECTORS.md`; `nil` if the client does not have it.
    mutating func run(_ operation: String, _ arguments: JSONValue) async throws -> VectorResult? {
        let parts = operation.split(separator: ".").map(String.init)
        switch parts.first {
        case "signUp", "signIn", "link", "reauthenticate": return try await signIn(operation, arguments)
        case "secondFactor", "phone": return try await secondFactor(operation, arguments)
        case "conflict": return try await conflict(operation, arguments)
        case "lookup": return try await lookUp(operation, arguments)
        case "pendingSignUp", "firstSignIn": return try await pending(operation, arguments)
        case "shortCode", "emailCode", "about", "signInPage", "reauthenticationPolicy", "decision":
            return try await server(operation, arguments)
        case "methods", "suspendedMethods", "sessions", "events", "export", "merge", "devices":
            return try await ownAccount(operation, arguments)
        default: return try await account(operation, arguments)
        }
    }

    func user() throws -> User {
        guard let user = try auth.storedUser() else { throw AuthError(.nullUser, "no user") }
        return user
    }

    private func signIn(_ operation: String, _ arguments: JSONValue) async throws -> VectorResult? {
        func text(_ name: String) -> String { arguments[name]?.stringValue ?? "" }
        let password = EmailAuthProvider.credential(withEmail: text("email"), password: text("password"))
        let number = AuthCredential(
            "phone",
            .phone(verificationID: Secret(text("verificationID")), code: Secret(text("code")))
        )
        switch operation {
        case "signUp.password":
            return VectorResult(
                result: try await auth.createUser(withEmail: text("email"), password: text("password"))
            )
        case "signUp.anonymous": return VectorResult(result: try await auth.signInAnonymously())
        case "signIn.password": return VectorResult(result: try await auth.signIn(with: password))
        case "signIn.credential":
            guard arguments["asksFirst"] == true else {
                return VectorResult(result: try await auth.signIn(with: provider(arguments)))
            }
            do throws(AuthError) {
                return VectorResult(result: try await auth.signIn(with: provider(arguments), asksFirst: true))
            } catch {
                guard let waiting = error.firstSignIn else { throw error }
                return VectorResult(value: [
                    "asksFirst": true, "providerId": waiting.providerID.json, "email": waiting.email?.json ?? .null,
                    "pendingToken": waiting.credential.pendingToken?.text.json ?? .null,
                ])
            }
        case "signIn.customToken":
            return VectorResult(result: try await auth.signIn(withCustomToken: text("token")))
        case "signIn.emailLink":
            let email = arguments["email"]?.stringValue
            return VectorResult(result: try await auth.signIn(withEmail: email, link: text("link")))
        case "signIn.twitter":
            let tokens = TwitterAuthProvider.credential(withToken: text("accessToken"), secret: text("secret"))
            return VectorResult(result: try await auth.signIn(with: tokens))
        case "signIn.phone": return VectorResult(result: try await auth.signIn(with: number))
        case "signIn.temporaryProof":
            let proof = Secret(text("temporaryProof"))
            let credential = AuthCredential("phone", .phoneProof(phoneNumber: text("phoneNumber"), proof: proof))
            return VectorResult(result: try await auth.signIn(with: credential))
        case "link.password": return VectorResult(result: try await user().link(with: password))
        case "link.emailLink":
            let mailed = EmailAuthProvider.credential(withEmail: text("email"), link: text("link"))
            return VectorResult(result: try await user().link(with: mailed))
        case "link.credential": return VectorResult(result: try await user().link(with: provider(arguments)))
        case "link.pendingToken":
            let tokens = OAuthTokens(pendingToken: Secret(text("pendingToken")))
            let waiting = AuthCredential("github.com", .oauth(tokens))
            return VectorResult(result: try await user().link(with: waiting))
        case "link.phone": return VectorResult(result: try await user().link(with: number))
        case "reauthenticate.password":
            return VectorResult(result: try await user().reauthenticate(with: password))
        case "reauthenticate.credential":
            return VectorResult(result: try await user().reauthenticate(with: provider(arguments)))
        default: return nil
        }
    }

    private func provider(_ arguments: JSONValue) -> AuthCredential {
        .oauth(
            arguments["providerID"]?.stringValue ?? "",
            idToken: arguments["idToken"]?.stringValue,
            accessToken: arguments["accessToken"]?.stringValue
        )
    }

    /// Stores a session, as an earlier process did.
    private func store(refreshToken: String) throws {
        let fresh = try FreshTokens(
            idToken: JSONValue.idToken("uid"),
            refreshToken: refreshToken,
            expiresIn: "3600",
            localID: "uid",
            serverTime: nil,
            projectID: Rig.project
        )
        let session = StoredSession(fresh, scope: auth.configuration.scope, at: auth.configuration.now())
        _ = try auth.keeper.change { $0.session = session }
    }

    private func account(_ operation: String, _ arguments: JSONValue) async throws -> VectorResult? {
        func text(_ name: String) -> String { arguments[name]?.stringValue ?? "" }
        switch operation {
        case "user.reload": try await user().reload()
        case "user.delete": try await user().delete()
        case "user.updatePassword": try await user().updatePassword(to: text("password"))
        case "user.updateProfile":
            let request = try user().createProfileChangeRequest()
            request.displayName = text("displayName")
            request.photoURL = URL(string: text("photoURL"))
            try await request.commitChanges()
        case "unlink": try await user().unlink(fromProvider: text("providerID"))
        case "token.refresh":
            if let token = arguments["refreshToken"]?.stringValue { try store(refreshToken: token) }
            return VectorResult(value: ["id_token": .string(try await user().getIDToken(forcingRefresh: true))])
        case "mail.signInLink":
            var settings = ActionCodeSettings()
            settings.url = URL(string: text("continueURL"))
            settings.handleCodeInApp = true
            auth.languageCode = arguments["languageCode"]?.stringValue ?? auth.languageCode
            try await auth.sendSignInLink(toEmail: text("email"), actionCodeSettings: settings)
        case "mail.passwordReset": try await auth.sendPasswordReset(withEmail: text("email"))
        case "mail.verifyEmail": try await user().sendEmailVerification()
        case "mail.changeEmail":
            try await user().sendEmailVerification(beforeUpdatingEmail: text("newEmail"))
        case "actionCode.check":
            return VectorResult(value: ["email": .string(try await auth.checkActionCode(text("code")).email)])
        case "actionCode.apply": try await auth.applyActionCode(text("code"))
        case "passwordReset.confirm":
            try await auth.confirmPasswordReset(withCode: text("code"), newPassword: text("password"))
        case "signInMethods.fetch":
            let methods = try await auth.fetchSignInMethods(forEmail: text("email"))
            return VectorResult(value: methods.isEmpty ? [:] : ["signinMethods": .array(methods.map(\.json))])
        default: return nil
        }
        return VectorResult()
    }

    private mutating func secondFactor(_ operation: String, _ arguments: JSONValue) async throws -> VectorResult? {
        func text(_ name: String) -> String { arguments[name]?.stringValue ?? "" }
        let phone = PhoneAuthProvider.provider(auth: auth)
        auth.testSettings.isAppVerificationDisabledForTesting = true
        switch operation {
        case "phone.start": verificationID = try await phone.verifyPhoneNumber(text("phoneNumber"))
        case "secondFactor.enrollTOTP":
            secret = try await TOTPMultiFactorGenerator.generateSecret(with: user().multiFactor.session())
            return VectorResult(value: ["sharedSecretKey": secret?.sharedSecretKey().json ?? .null])
        case "secondFactor.finishTOTP":
            guard let secret else { return nil }
            let assertion = TOTPMultiFactorGenerator.assertionForEnrollment(
                with: secret,
                oneTimePassword: text("code")
            )
            try await user().multiFactor.enroll(with: assertion, displayName: text("displayName"))
            return VectorResult()
        case "secondFactor.enrollPhone":
            let session = try await user().multiFactor.session()
            verificationID = try await phone.verifyPhoneNumber(text("phoneNumber"), multiFactorSession: session)
        case "secondFactor.startPhone":
            guard let resolver, let hint = resolver.hints.first(where: { $0.uid == text("enrollmentID") }) else {
                return nil
            }
            verificationID = try await phone.verifyPhoneNumber(with: hint, multiFactorSession: resolver.session)
        case "secondFactor.finishPhone":
            let credential = phone.credential(
                withVerificationID: verificationID ?? "",
                verificationCode: text("code")
            )
            let assertion = PhoneMultiFactorGenerator.assertion(with: credential)
            try await user().multiFactor.enroll(with: assertion, displayName: text("displayName"))
            return VectorResult()
        case "secondFactor.resolvePhone":
            let credential = phone.credential(
                withVerificationID: verificationID ?? "",
                verificationCode: text("code")
            )
            let assertion = PhoneMultiFactorGenerator.assertion(with: credential)
            return VectorResult(result: try await resolver?.resolveSignIn(with: assertion))
        case "secondFactor.resolveTOTP":
            let assertion = TOTPMultiFactorGenerator.assertionForSignIn(
                withEnrollmentID: text("enrollmentID"),
                oneTimePassword: text("code")
            )
            return VectorResult(result: try await resolver?.resolveSignIn(with: assertion))
        case "secondFactor.withdraw":
            try await user().multiFactor.unenroll(withFactorUID: text("enrollmentID"))
            return VectorResult()
        default: return nil
        }
        return VectorResult(value: ["sessionInfo": verificationID?.json ?? .null])
    }
}
