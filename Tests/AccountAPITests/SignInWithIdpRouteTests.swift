import AccountTestSupport
import JSON
import Testing

/// The answers of `accounts:signInWithIdp`, whole, for each of its endings.
struct SignInWithIdpRouteTests {
    private static let path = "/v1/accounts:signInWithIdp"

    /// A request with the form that a client got from a provider.
    private func request(_ postBody: String, _ extra: [String: JSONValue] = [:]) -> JSONValue {
        let body: [String: JSONValue] = [
            "requestUri": "http://localhost", "postBody": .string(postBody), "returnSecureToken": true,
        ]
        return .object(body.merging(extra) { _, new in new })
    }

    private func google(_ subject: String, email: String, _ more: String = "") -> String {
        let claims = #"{"sub":"\#(subject)","email":"\#(email)","email_verified":true,"name":"Ada Lovelace"\#(more)}"#
        return "providerId=google.com&id_token=\(claims)&access_token=ya29.of-google"
    }

    /// Twitter has no ID tokens: development takes the profile in place of the access token.
    private func twitter(_ subject: String, email: String) -> String {
        let profile =
            #"{"sub":"\#(subject)","email":"\#(email)","name":"Ada","screen_name":"ada","#
            + #""picture":"https://pbs.twimg.com/ada.png","followers_count":42}"#
        return "providerId=twitter.com&access_token=\(profile)&oauth_token_secret=secret-of-twitter"
    }

    @Test func `the answers of accounts:signInWithIdp equal the golden transcript`() async throws {
        try await TestAPI.with { api in
            var transcript = Transcript(Self.path)
            let ada = google(
                "ada",
                email: "Ada@gmail.com",
                #","given_name":"Ada","family_name":"Lovelace","picture":"https://example.com/ada.png","locale":"en-GB""#
            )
            let new = try await transcript.post("new", request(ada), to: api.wire).json
            #expect(new["isNewUser"] == true)
            let known = try await transcript.post("known", request(ada), to: api.wire).json
            #expect(known["localId"] == new["localId"] && known["isNewUser"] == nil)
            #expect(known["oauthIdToken"]?.string?.hasPrefix(#"{"sub":"ada""#) == true)
            #expect(known["oauthAccessToken"] == "ya29.of-google")

            _ = try await api.signUp("bob@example.com")
            let bob = twitter("bob", email: "bob@example.com")
            try await transcript.post("the address is another account's", request(bob), to: api.wire)
            let conflict = try await transcript.post(
                "the same, asking for the credential",
                request(bob, ["returnIdpCredential": true]),
                to: api.wire
            )
            #expect(conflict.status == 200 && conflict.json["needConfirmation"] == true)
            #expect(conflict.json["idToken"] == nil)

            let session = try await api.signIn("bob@example.com").json["idToken"] ?? .null
            try await transcript.post(
                "linked by the pending token alone",
                [
                    "requestUri": "http://localhost", "idToken": session,
                    "pendingToken": conflict.json["pendingToken"] ?? .null,
                ],
                to: api.wire
            )
            try await transcript.post(
                "a pending token that was used",
                ["requestUri": "http://localhost", "pendingToken": conflict.json["pendingToken"] ?? .null],
                to: api.wire
            )
            try await transcript.post(
                "linked by a provider's credential",
                request(google("bob", email: "bob@work.example"), ["idToken": session]),
                to: api.wire
            )
            for (title, credential) in [
                ("linking what is linked already", bob),
                ("linking what another account has", ada),
                ("linking where another account has the address", twitter("other", email: "ada@gmail.com")),
                ("linking another user of a linked provider", twitter("other", email: "other@example.com")),
            ] {
                let refused = try await transcript.post(title, request(credential, ["idToken": session]), to: api.wire)
                #expect(refused.status == 400)
                let kept = try await transcript.post(
                    "\(title), asking for the credential",
                    request(credential, ["idToken": session, "returnIdpCredential": true]),
                    to: api.wire
                )
                #expect(kept.status == 200)
                #expect(kept.json["errorMessage"]?.string == refused.errorMessage)
                #expect(kept.json["idToken"] == nil)
            }
            let stranger = twitter("stranger", email: "stranger@example.com")
            try await transcript.post(
                "a reauthentication of an unknown user",
                request(stranger, ["autoCreate": false]),
                to: api.wire
            )
            try await transcript.post(
                "a reauthentication of an unknown user, asking for the credential",
                request(stranger, ["autoCreate": false, "returnIdpCredential": true]),
                to: api.wire
            )
            try transcript.expect(matches: "sign-in-with-idp.txt")
        }
    }

    @Test func `Twitter's profile, token and secret are returned unchanged, for sign-in and linking`() async throws {
        try await TestAPI.with { api in
            let session = try await api.signUpAnonymously()
            let form = twitter("ada", email: "ada@example.com")
            let profile = try #require(
                form.split(separator: "&").first { $0.hasPrefix("access_token=") }?.dropFirst("access_token=".count)
            )
            let linked = try await api.post(Self.path, request(form, ["idToken": session["idToken"] ?? .null]))
            let signedIn = try await api.post(Self.path, request(form))
            for answer in [linked, signedIn] {
                #expect(answer.status == 200, "\(answer.text)")
                #expect(answer.json["localId"] == session["localId"])
                #expect(answer.json["providerId"] == "twitter.com")
                #expect(answer.json["screenName"] == "ada" && answer.json["displayName"] == "Ada")
                #expect(answer.json["photoUrl"] == "https://pbs.twimg.com/ada.png")
                let raw = try JSONValue(parsing: Array(try #require(answer.json["rawUserInfo"]?.string).utf8))
                #expect(raw == (try JSONValue(parsing: Array(profile.utf8))))
                #expect(answer.json["oauthAccessToken"]?.string == String(profile))
                #expect(answer.json["oauthTokenSecret"] == "secret-of-twitter")
                #expect(answer.json["oauthIdToken"] == nil)
            }
        }
    }

    /// The recovery that Firebase documents for `auth/account-exists-with-different-credential`, with a sign-in that
    /// has only an ID token which the client made: SDKs rebuild the credential from the answer's access token.
    @Test(arguments: ["github.com", "facebook.com", "twitter.com", "google.com"])
    func `a simulated sign-in that ends in a conflict returns tokens to link with`(_ provider: String) async throws {
        try await TestAPI.with { api in
            let email = "ann@example.com"
            _ = try await api.signUp(email)
            let madeUp = "providerId=\(provider)&id_token={\"sub\":\"1\",\"email\":\"\(email)\"}"
            func rebuilt(_ answer: TestAPI.Answer) throws -> String {
                let token = try #require(answer.json["oauthAccessToken"]?.string, "\(answer.text)")
                let secret = answer.json["oauthTokenSecret"]?.string
                #expect((secret != nil) == (provider == "twitter.com"))
                return "providerId=\(provider)&access_token=\(token)&oauth_token_secret=\(secret ?? "")"
            }
            let asks: [String: JSONValue] = ["returnIdpCredential": true]
            let conflict = try await api.post(Self.path, request(madeUp, asks))
            #expect(conflict.json["needConfirmation"] == true, "\(conflict.text)")
            #expect((conflict.json["oauthIdToken"] == nil) == (provider == "twitter.com"))
            let session = try await api.signIn(email).json["idToken"] ?? .null
            let linked = try await api.post(Self.path, request(try rebuilt(conflict), ["idToken": session]))
            #expect(linked.status == 200 && linked.json["email"]?.string == email, "\(linked.text)")

            // `auth/credential-already-in-use`, and the sign-in that an app answers it with.
            let other = try await api.signUpAnonymously()["idToken"] ?? .null
            let taken = try await api.post(Self.path, request(madeUp, asks.merging(["idToken": other]) { $1 }))
            #expect(taken.json["errorMessage"] == "FEDERATED_USER_ID_ALREADY_LINKED", "\(taken.text)")
            #expect((taken.json["oauthIdToken"] == nil) == (provider == "twitter.com"))
            let signedIn = try await api.post(Self.path, request(try rebuilt(taken), asks))
            #expect(signedIn.json["localId"] == linked.json["localId"], "\(signedIn.text)")
            #expect(try rebuilt(signedIn) == (try rebuilt(taken)))
        }
    }

    @Test(arguments: ["refresh_token", "access_token", "oauth_token_secret", "code", "user", "nonce", "x"])
    func `text with U+0000 is refused, because PostgreSQL cannot store it`(_ name: String) async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("bob@example.com")
            let rows = try await api.service.database.rowCounts()
            let form = twitter("bob", email: "bob@example.com") + "&\(name)=a%00b"
            for answer in [
                try await api.post(Self.path, request(form)),
                try await api.post(Self.path, request("", ["requestUri": .string("http://localhost?" + form)])),
                try await api.post(Self.path, request("", ["requestUri": .string("http://localhost#" + form)])),
            ] {
                #expect(answer.status == 400, "\(answer.text)")
                #expect(answer.text.contains("Strings must not contain U+0000."), "\(answer.text)")
            }
            #expect(try await api.service.database.rowCounts() == rows)
        }
    }

    @Test func `presenting a pending token does not extend it, but a new sign-in at the provider does`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("bob@example.com")
            func ask(
                _ postBody: String?,
                _ pendingToken: JSONValue?,
                _ idToken: JSONValue? = nil
            ) async throws -> TestAPI.Answer {
                var extra: [String: JSONValue] = ["returnIdpCredential": true]
                extra["pendingToken"] = pendingToken
                extra["idToken"] = idToken
                return try await api.post(Self.path, request(postBody ?? "", extra))
            }
            let bob = twitter("bob", email: "bob@example.com")
            var handle = try #require(try await ask(bob, nil).json["pendingToken"])
            for _ in 0..<3 {
                api.service.clock.advance(seconds: 1000)
                let answer = try await ask(nil, handle)
                #expect(answer.json["needConfirmation"] == true, "\(answer.text)")
                handle = try #require(answer.json["pendingToken"])
            }
            api.service.clock.advance(seconds: 599)
            handle = try #require(try await ask(bob, nil).json["pendingToken"])
            api.service.clock.advance(seconds: 1000)
            #expect(try await ask(nil, handle).json["needConfirmation"] == true, "the provider was asked anew")
            api.service.clock.advance(seconds: 2601)
            let session = try await api.signIn("bob@example.com").json["idToken"]
            let late = try await ask(nil, handle, session)
            #expect(late.errorMessage?.hasPrefix("INVALID_PENDING_TOKEN") == true, "\(late.text)")
        }
    }
}
