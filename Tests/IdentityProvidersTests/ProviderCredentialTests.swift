import AccountLinking
import IdentityProviders
import Testing

/// The parameters of `signInWithIdp`.
struct ProviderCredentialTests {
    private func credential(_ requestURI: String, _ postBody: String? = nil) -> ProviderCredential? {
        let parameters = ProviderParameters(requestURI: requestURI, postBody: postBody, sessionID: "session")
        return parameters.provider.map(parameters.credential)
    }

    @Test
    func `the body overrides the query, and the fragment overrides both`() {
        let uri = "https://app.example/cb?providerId=google.com&id_token=query&code=c#access_token=fragment&nonce=n"
        let merged = credential(uri, "id_token=body&access_token=body")
        #expect(merged?.provider == .google)
        #expect(merged?.idToken == "body")
        #expect(merged?.accessToken == "fragment")
        #expect(merged?.authorizationCode == "c")
        #expect(merged?.rawNonce == "n")
        #expect(merged?.sessionID == "session")
    }

    @Test
    func `every parameter is read into its field`() {
        let body = """
            providerId=Apple.com&id_token=i&access_token=a&oauth_token_secret=s&refresh_token=r&code=c&expires_in=3599\
            &nonce=n&user=%7B%22name%22%3A%7B%7D%7D&error=access_denied
            """
        #expect(
            credential("http://localhost", body)
                == ProviderCredential(
                    provider: .apple,
                    idToken: "i",
                    accessToken: "a",
                    tokenSecret: "s",
                    refreshToken: "r",
                    authorizationCode: "c",
                    expiresInSeconds: 3599,
                    rawNonce: "n",
                    sessionID: "session",
                    appleUser: #"{"name":{}}"#,
                    providerError: "access_denied"
                )
        )
    }

    @Test
    func `empty parameters are absent`() {
        let body = "providerId=google.com&id_token=&access_token=a&nonce=&expires_in=soon"
        #expect(
            credential("http://localhost", body)
                == ProviderCredential(provider: .google, accessToken: "a", sessionID: "session")
        )
    }

    @Test(
        arguments: [
            ("id_token=a%2Bb+c%20d", "a+b c d"), ("id_token=%7b%22sub%22%7D", #"{"sub"}"#), ("id_token=%zz%4", "%zz%4"),
            ("id_token=%C3%A9", "é"), ("id_token=a=b==", "a=b=="), ("&&id_token=x&&", "x"),
            ("id_token=a&id_token=b", "b"),
            ("id_token=%", "%"),
        ]
    )
    func `escapes are decoded, malformed ones are unchanged`(body: String, expected: String) {
        #expect(credential("http://localhost?providerId=google.com", body)?.idToken == expected)
    }

    @Test(
        arguments: [
            "", "http://localhost", "http://localhost?", "http://localhost?providerId=",
            "http://localhost?providerId=goo%20gle", "#", "?", "http://localhost?providerid=google.com",
        ]
    )
    func `without a provider there is no credential`(uri: String) {
        #expect(credential(uri, "id_token=x") == nil)
    }

    @Test
    func `every parameter of the provider's answer is read into its field`() {
        let uri = "https://auth.example/__/auth/handler?oauth_token=t&oauth_verifier=v&denied=d&iss=https%3A%2F%2Fi"
        let answer = ProviderParameters(requestURI: uri + "&state=s", postBody: nil, sessionID: nil)
        #expect(answer.provider == nil)
        #expect(answer.state == "s")
        let credential = answer.credential(of: .twitter)
        #expect(credential.requestToken == "t")
        #expect(credential.verifier == "v")
        #expect(credential.deniedToken == "d")
        #expect(credential.answeringIssuer == "https://i")
    }

    /// A code is bound to the flow that requested it, so a state beside a code always counts.
    @Test(
        arguments: [
            ("state=s", "s"), ("state=s&error=access_denied", "s"), ("state=s&code=c&providerId=google.com", "s"),
            ("state=s&oauth_verifier=v&providerId=twitter.com", "s"),
            ("state=s&id_token=t&providerId=google.com", nil),
            ("state=&code=c", nil), ("code=c&providerId=google.com", nil),
        ]
    )
    func `a state names a flow, unless the client sends a token`(query: String, state: String?) {
        let parameters = ProviderParameters(requestURI: "http://localhost?" + query, postBody: nil, sessionID: nil)
        #expect(parameters.state == state)
    }
}
