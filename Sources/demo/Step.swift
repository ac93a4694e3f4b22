import JSON
import NIOHTTP1

/// One step of the story: an action and its expected result.
struct Step: Sendable {
    let name: String
    /// - Returns: the result, for the line that is shown.
    /// - Throws: `UnexpectedAnswer` if the result is another one.
    let play: @Sendable (inout Story) async throws -> String

    /// The story, in order.
    static let all: [Step] = [
        registration, signUp, conflict, nothingChanged, waysIn, proof, link, eitherWay, handleUsedUp, shorterWindow,
        tooOld, reauthentication, deletion, gone, addressIsFree, tidyingUp,
    ]

    private static let registration = Step(name: "The administrator registers the provider") { story in
        let answer = try await story.asAdministrator(
            .POST,
            "/oauthIdpConfigs?oauthIdpConfigId=\(Story.provider)",
            [
                "displayName": .string("Demo"), "enabled": .bool(true), "issuer": .string(story.issuer.url),
                "clientId": .string(Story.clientID), "responseType": .object(["idToken": .bool(true)]),
            ]
        )
        try expectSuccess(answer)
        try expect(
            answer.json["name"]?.string,
            "projects/\(story.project)/oauthIdpConfigs/\(Story.provider)",
            as: "the name"
        )
        return "\(Story.provider), issuer \(story.issuer.url)"
    }

    private static let signUp = Step(name: "Ada signs up with a password") { story in
        let answer = try await story.asClient(
            "signUp",
            ["email": .string(story.email), "password": .string(story.password), "returnSecureToken": .bool(true)]
        )
        (story.userID, story.idToken) = try await story.session(in: answer, with: "password")
        return "account \(story.userID), ID token verified"
    }

    private static let conflict = Step(name: "She signs in with the provider: same address, unverified") { story in
        let answer = try await story.signInWithProvider()
        guard answer.json["needConfirmation"]?.bool == true, let handle = answer.json["pendingToken"]?.string else {
            throw UnexpectedAnswer(expected: "needConfirmation and a pendingToken", came: answer.summary)
        }
        guard answer.json["idToken"] == nil, answer.json["refreshToken"] == nil else {
            throw UnexpectedAnswer(expected: "no session", came: "tokens")
        }
        story.pendingToken = handle
        return "account exists with different credential"
    }

    private static let nothingChanged = Step(name: "The account is as it was") { story in
        try expect(try await story.linkedProviders(story.idToken), ["password"], as: "sign-in providers")
        return "password is its only provider"
    }

    private static let waysIn = Step(name: "The app asks for Ada's sign-in methods") { story in
        let answer = try await story.asClient(
            "createAuthUri",
            ["identifier": .string(story.email), "continueUri": .string("http://localhost")]
        )
        try expectSuccess(answer)
        let methods = (answer.json["signinMethods"]?.array ?? []).compactMap(\.string)
        try expect(methods, ["password"], as: "sign-in methods")
        return "password"
    }

    private static let proof = Step(name: "She proves the account is hers, with the password") { story in
        let session = try await story.session(in: story.signInWithPassword(), with: "password")
        try expect(session.userID, story.userID, as: "account")
        story.idToken = session.idToken
        return "signed in, ID token verified"
    }

    private static let link = Step(name: "The handle links the waiting credential") { story in
        let answer = try await story.asClient("signInWithIdp", linkRequest(story))
        let session = try await story.session(in: answer, with: Story.provider)
        try expect(session.userID, story.userID, as: "account")
        let providers = try await story.linkedProviders(session.idToken)
        try expect(providers, [Story.provider, "password"], as: "sign-in providers")
        story.idToken = session.idToken
        return providers.joined(separator: " and ")
    }

    private static let eitherWay = Step(name: "Both methods lead to the same account") { story in
        let byPassword = try await story.session(in: story.signInWithPassword(), with: "password")
        try expect(byPassword.userID, story.userID, as: "account by password")
        let byProvider = try await story.session(in: story.signInWithProvider(), with: Story.provider)
        try expect(byProvider.userID, story.userID, as: "account by provider")
        story.idToken = byProvider.idToken
        return "\(story.userID) by password and by provider"
    }

    private static let handleUsedUp = Step(name: "The handle is presented again") { story in
        try expectRefusal(try await story.asClient("signInWithIdp", linkRequest(story)), "INVALID_PENDING_TOKEN")
        return "INVALID_PENDING_TOKEN"
    }

    private static let shorterWindow = Step(name: "The administrator shortens the time of a recent sign-in") { story in
        let before = try await story.asAdministrator(.GET, "/config")
        try expectSuccess(before)
        guard let window = before.json["concord"]?["recentSignInSeconds"] else {
            throw UnexpectedAnswer(expected: "the present window", came: before.summary)
        }
        story.recentSignInSeconds = window
        try expectSuccess(try await setRecentSignIn(.integer(windowSeconds), story))
        return "\(window.text) s → \(windowSeconds) s"
    }

    private static let tooOld = Step(name: "Ada waits and then asks to delete her account") { story in
        // `auth_time` has whole seconds; one more makes the difference certain.
        try await Task.sleep(for: .seconds(windowSeconds + 1) + .milliseconds(200))
        let answer = try await story.asClient("delete", ["idToken": .string(story.idToken)])
        try expectRefusal(answer, "CREDENTIAL_TOO_OLD_LOGIN_AGAIN")
        return "CREDENTIAL_TOO_OLD_LOGIN_AGAIN"
    }

    private static let reauthentication = Step(name: "She reauthenticates with the provider") { story in
        let answer = try await story.signInWithProvider(["autoCreate": .bool(false)])
        let session = try await story.session(in: answer, with: Story.provider)
        try expect(session.userID, story.userID, as: "account")
        story.idToken = session.idToken
        return "a new session, nothing created"
    }

    private static let deletion = Step(name: "She deletes her account") { story in
        try expectSuccess(try await story.asClient("delete", ["idToken": .string(story.idToken)]))
        return "done"
    }

    private static let gone = Step(name: "The account is gone") { story in
        try expectRefusal(try await story.asClient("lookup", ["idToken": .string(story.idToken)]), "USER_NOT_FOUND")
        try expectRefusal(try await story.signInWithPassword(), "EMAIL_NOT_FOUND")
        try expectRefusal(try await story.signInWithProvider(["autoCreate": .bool(false)]), "USER_NOT_FOUND")
        return "no session, no password, no provider finds it"
    }

    private static let addressIsFree = Step(name: "The provider's identity and the address are free again") { story in
        let answer = try await story.signInWithProvider()
        let session = try await story.session(in: answer, with: Story.provider)
        guard session.userID != story.userID, answer.json["isNewUser"]?.bool == true else {
            throw UnexpectedAnswer(expected: "a new account", came: "account \(session.userID)")
        }
        try expect(answer.json["email"]?.string, story.email, as: "the address")
        story.idToken = session.idToken
        return "a new account, \(session.userID)"
    }

    private static let tidyingUp = Step(name: "The settings are restored") { story in
        try expectSuccess(try await story.asClient("delete", ["idToken": .string(story.idToken)]))
        try expectSuccess(try await story.asAdministrator(.DELETE, "/oauthIdpConfigs/\(Story.provider)"))
        try expectSuccess(try await setRecentSignIn(story.recentSignInSeconds, story))
        return "account, provider and setting"
    }

    // MARK: Requests of more than one step

    /// Long enough for two requests in a row on a busy machine.
    private static let windowSeconds: Int64 = 2

    private static func linkRequest(_ story: Story) -> [String: JSONValue] {
        [
            "idToken": .string(story.idToken), "pendingToken": .string(story.pendingToken),
            "requestUri": .string("http://localhost"), "returnIdpCredential": .bool(true),
            "returnSecureToken": .bool(true),
        ]
    }

    private static func setRecentSignIn(_ seconds: JSONValue, _ story: Story) async throws -> HTTPCaller.Answer {
        try await story.asAdministrator(
            .PATCH,
            "/config?updateMask=concord.recentSignInSeconds",
            ["concord": .object(["recentSignInSeconds": seconds])]
        )
    }
}
