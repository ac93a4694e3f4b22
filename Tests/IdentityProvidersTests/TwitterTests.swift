import AccountLinking
import AccountTestSupport
import JSON
import Testing

@testable import IdentityProviders

/// Twitter over a real socket, against a provider that checks every signature.
struct TwitterTests {
    private typealias Simulator = ProviderSimulator<SimulatedTwitter>

    private func scene(
        _ simulator: Simulator,
        key: String = SimulatedTwitter.key,
        secret: String? = SimulatedTwitter.secret,
        timeout: Duration = .seconds(120)
    ) -> ProviderScene {
        ProviderScene(simulator, .twitter, clientID: key, secret: secret, timeout: timeout)
    }

    private func native(_ token: String, _ secret: String?) -> ProviderCredential {
        ProviderCredential(provider: .twitter, accessToken: token, tokenSecret: secret)
    }

    // MARK: Success

    @Test func `the whole flow returns Twitter's profile, token and secret`() async throws {
        try await Simulator.run(SimulatedTwitter()) { simulator async throws in
            let scene = scene(simulator)
            let begun = try await scene.begin(["lang": "fr", "screen_name": "a&b", "oauth_token": "another"])
            let page = try #require(simulator.addresses[.authorization])
            let token = try #require(begun.flow.requestToken)
            #expect(begun.address == "\(page)?oauth_token=\(token)&lang=fr&screen_name=a%26b")
            #expect(begun.flow.redirectURI == ProviderScene.redirectURI && begun.flow.nonce == nil)

            let callback = try await simulator.visit(begun.address)
            #expect(callback.hasPrefix("\(ProviderScene.redirectURI)?state=state%2Fof%2Bflow&oauth_token=\(token)&"))
            let answer = scene.credential(callback, answering: begun.flow)
            let verified = try #require(try await scene.verify(answer).verified)
            let person = SimulatedPerson()
            #expect(verified.incoming.identity == ProviderIdentity(provider: .twitter, subject: person.id))
            #expect(verified.incoming.issuer == nil && verified.federatedID == person.id)
            let address = try #require(EmailAddress("ada@example.com"))
            #expect(verified.incoming.email == .present(address, flag: .absent, hostedDomain: nil))
            #expect(
                verified.incoming.profile
                    == Profile(displayName: person.name, photoURL: person.picture, screenName: person.screenName)
            )
            let raw = try JSONValue(parsing: Array(verified.rawUserInfo.utf8))
            #expect(raw == SimulatedTwitter.profile(of: person))

            // The token is the real one: it signs in by itself.
            let returned = try #require(verified.tokens.accessToken)
            let secret = try #require(verified.tokens.tokenSecret)
            #expect(verified.tokens == ProviderTokens(accessToken: returned, tokenSecret: secret))
            let again = try await scene.verify(native(returned, secret)).verified
            #expect(again?.incoming == verified.incoming)
        }
    }

    @Test func `a token of the app signs in, and only tokens of Twitter are returned`() async throws {
        try await Simulator.run(SimulatedTwitter()) { simulator async throws in
            let issued = simulator.provider.issueToken(for: SimulatedPerson())
            var credential = native(issued.token, issued.secret)
            credential.idToken = "made up"
            credential.refreshToken = "made up"
            let verified = try #require(try await scene(simulator).verify(credential).verified)
            #expect(verified.incoming.identity.subject == SimulatedPerson().id)
            #expect(verified.tokens == ProviderTokens(accessToken: issued.token, tokenSecret: issued.secret))
        }
    }

    @Test func `an address that the app may not read, or that the user lacks, is absent`() async throws {
        try await Simulator.run(SimulatedTwitter()) { simulator async throws in
            let scene = scene(simulator)
            var person = SimulatedPerson()
            let issued = simulator.provider.issueToken(for: person)
            simulator.provider.change { $0.tellsEmails = false }
            #expect(try await scene.verify(native(issued.token, issued.secret)).verified?.incoming.email == .absent)
            simulator.provider.change { $0.tellsEmails = true }
            person.email = nil
            let other = simulator.provider.issueToken(for: person)
            #expect(try await scene.verify(native(other.token, other.secret)).verified?.incoming.email == .absent)
        }
    }

    // MARK: Refusals

    @Test func `a refusal by the user cancels the sign-in`() async throws {
        try await Simulator.run(SimulatedTwitter()) { simulator async throws in
            let scene = scene(simulator)
            simulator.provider.change { $0.consents = false }
            let begun = try await scene.begin()
            let callback = try await simulator.visit(begun.address)
            let answer = scene.credential(callback, answering: begun.flow)
            #expect(try await scene.verify(answer) == .invalid(.cancelledByUser))
            #expect(simulator.requests(at: .token).isEmpty)
        }
    }

    @Test func `an answer is accepted once, and only for its flow`() async throws {
        try await Simulator.run(SimulatedTwitter()) { simulator async throws in
            let scene = scene(simulator)
            let first = try await scene.begin()
            let second = try await scene.begin()
            #expect(first.flow.requestToken != second.flow.requestToken)
            let callback = try await simulator.visit(first.address)
            let mixedUp = scene.credential(callback, answering: second.flow)
            #expect(try await scene.verify(mixedUp) == .invalid(.unknownFlow))
            var answer = scene.credential(callback, answering: first.flow)
            answer.requestToken = nil
            #expect(try await scene.verify(answer) == .invalid(.unknownFlow))
            answer.requestToken = first.flow.requestToken
            answer.verifier = String(repeating: "a", count: 4097)
            #expect(try await scene.verify(answer) == .invalid(.malformed))
            answer.verifier = nil
            #expect(try await scene.verify(answer) == .invalid(.missingCredential))
            // Without its flow, the answer belongs to no user, even with the attacker's own tokens beside it.
            answer.flow = nil
            #expect(try await scene.verify(answer) == .invalid(.missingCredential))
            #expect(simulator.requests(at: .token).isEmpty)

            let right = scene.credential(callback, answering: first.flow)
            let verdicts = try await withThrowingTaskGroup(of: CredentialVerification.self) { group in
                for _ in 1...8 { group.addTask { try await scene.verify(right) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(verdicts.count { $0.verified != nil } == 1)
            #expect(verdicts.count { $0 == .invalid(.refusedByProvider) } == 7)
        }
    }

    @Test func `a token beside a flow's answer is ignored`() async throws {
        try await Simulator.run(SimulatedTwitter()) { simulator async throws in
            let scene = scene(simulator)
            var other = SimulatedPerson()
            other.id = "666"
            let issued = simulator.provider.issueToken(for: other)
            let begun = try await scene.begin()
            var answer = scene.credential(try await simulator.visit(begun.address), answering: begun.flow)
            (answer.accessToken, answer.tokenSecret) = (issued.token, issued.secret)
            let verified = try #require(try await scene.verify(answer).verified)
            #expect(verified.incoming.identity.subject == SimulatedPerson().id)
            #expect(verified.tokens.accessToken != issued.token)
        }
    }

    @Test func `a wrong verifier is refused, and then also the right one`() async throws {
        try await Simulator.run(SimulatedTwitter()) { simulator async throws in
            let scene = scene(simulator)
            let begun = try await scene.begin()
            let right = scene.credential(try await simulator.visit(begun.address), answering: begun.flow)
            var wrong = right
            wrong.verifier = "guessed"
            #expect(try await scene.verify(wrong) == .invalid(.refusedByProvider))
            #expect(try await scene.verify(right) == .invalid(.refusedByProvider))
        }
    }

    @Test func `tokens that are forged, revoked or of another app are refused`() async throws {
        try await Simulator.run(SimulatedTwitter()) { simulator async throws in
            let scene = scene(simulator)
            let person = SimulatedPerson()
            let others = simulator.provider.issueToken(to: "key-of-another", for: person)
            #expect(try await scene.verify(native(others.token, others.secret)) == .invalid(.refusedByProvider))
            let issued = simulator.provider.issueToken(for: person)
            #expect(try await scene.verify(native(issued.token, "another")) == .invalid(.refusedByProvider))
            #expect(try await scene.verify(native("made-up", issued.secret)) == .invalid(.refusedByProvider))
            simulator.provider.revoke(issued.token)
            #expect(try await scene.verify(native(issued.token, issued.secret)) == .invalid(.refusedByProvider))
            let asked = simulator.requests(at: .profile).count
            #expect(try await scene.verify(native(issued.token, nil)) == .invalid(.missingCredential))
            #expect(try await scene.verify(native("", issued.secret)) == .invalid(.missingCredential))
            for text in ["a\nb", "a b", "\u{E9}", String(repeating: "a", count: 4097)] {
                #expect(try await scene.verify(native(text, issued.secret)) == .invalid(.malformed))
                #expect(try await scene.verify(native(issued.token, text)) == .invalid(.malformed))
            }
            #expect(simulator.requests(at: .profile).count == asked)
        }
    }

    @Test func `a registration that Twitter does not know cannot begin a sign-in`() async throws {
        try await Simulator.run(SimulatedTwitter()) { simulator async throws in
            #expect(try await scene(simulator, key: "unheard-of").prepare() == .invalid(.clientRefused))
            #expect(try await scene(simulator, secret: "wrong").prepare() == .invalid(.clientRefused))
            let elsewhere = try await scene(simulator).prepare(redirectURI: "http://localhost/elsewhere")
            #expect(elsewhere == .invalid(.refusedByProvider))
        }
    }

    @Test func `without key or secret Twitter gets no request`() async throws {
        try await Simulator.run(SimulatedTwitter()) { simulator async throws in
            var scenes = [scene(simulator, secret: nil), scene(simulator, secret: ""), scene(simulator, key: "")]
            scenes.append(scene(simulator))
            scenes[3].configuration.clientIDs = []
            for scene in scenes {
                #expect(try await scene.prepare() == .invalid(.incompleteConfiguration))
                #expect(try await scene.verify(native("token", "secret")) == .invalid(.incompleteConfiguration))
            }
            #expect(simulator.requests(at: .requestToken).isEmpty && simulator.requests(at: .profile).isEmpty)
        }
    }

    // MARK: Wrong answers and outages

    @Test(arguments: [
        "oauth_token=a&oauth_token_secret=b", "oauth_token=a&oauth_token_secret=b&oauth_callback_confirmed=false",
        "oauth_token=&oauth_token_secret=b&oauth_callback_confirmed=true",
        "oauth_token=a&oauth_callback_confirmed=true",
        "oauth_token=%ZZ&oauth_token_secret=b&oauth_callback_confirmed=true",
        "oauth_token=\(String(repeating: "a", count: 1025))&oauth_token_secret=b&oauth_callback_confirmed=true",
    ])
    func `an answer without temporary credentials is malformed`(body: String) async throws {
        try await Simulator.run(SimulatedTwitter()) { simulator async throws in
            simulator.reply(.text(body), at: .requestToken)
            await #expect(throws: ProviderUnavailable.malformedAnswer) { try await scene(simulator).prepare() }
        }
    }

    @Test func `the profile of another user than the token's is malformed`() async throws {
        try await Simulator.run(SimulatedTwitter()) { simulator async throws in
            let scene = scene(simulator)
            var other = SimulatedPerson()
            other.id = "666"
            let begun = try await scene.begin()
            let answer = scene.credential(try await simulator.visit(begun.address), answering: begun.flow)
            simulator.reply(.json(SimulatedTwitter.profile(of: other)), at: .profile)
            await #expect(throws: ProviderUnavailable.malformedAnswer) { try await scene.verify(answer) }
        }
    }

    @Test(arguments: [[:], ["id": 42], ["id_str": 42], ["id_str": ""], ["id_str": .null]] as [JSONValue])
    func `a profile without a user is malformed`(profile: JSONValue) async throws {
        try await Simulator.run(SimulatedTwitter()) { simulator async throws in
            simulator.reply(.json(profile), at: .profile)
            await #expect(throws: ProviderUnavailable.malformedAnswer) {
                try await scene(simulator).verify(native("token", "secret"))
            }
        }
    }

    @Test func `outages are distinguished from refusals at every endpoint`() async throws {
        try await Simulator.run(SimulatedTwitter()) { simulator async throws in
            let scene = scene(simulator)
            for (reply, failure) in LocalServer.Reply.outages {
                simulator.reply(reply, at: .requestToken)
                await #expect(throws: failure) { try await scene.prepare() }
                simulator.reply(nil, at: .requestToken)
                let begun = try await scene.begin()
                let answer = scene.credential(try await simulator.visit(begun.address), answering: begun.flow)
                for address in [ProviderAddress.token, .profile] {
                    simulator.reply(reply, at: address)
                    await #expect(throws: failure) { try await scene.verify(answer) }
                    simulator.reply(nil, at: address)
                }
            }
        }
    }

    @Test func `a provider that does not answer in time is an outage`() async throws {
        try await Simulator.run(SimulatedTwitter()) { simulator async throws in
            let begun = try await scene(simulator).begin()
            let answer = scene(simulator)
                .credential(try await simulator.visit(begun.address), answering: begun.flow)
            let hurried = scene(simulator, timeout: .milliseconds(300))
            for stall in LocalServer.Reply.stalls {
                simulator.reply(stall, at: .requestToken)
                await #expect(throws: ProviderUnavailable.timedOut) { try await hurried.prepare() }
                simulator.reply(stall, at: .token)
                await #expect(throws: ProviderUnavailable.timedOut) { try await hurried.verify(answer) }
                simulator.reply(stall, at: .profile)
                await #expect(throws: ProviderUnavailable.timedOut) {
                    try await hurried.verify(native("token", "secret"))
                }
            }
        }
    }
}
