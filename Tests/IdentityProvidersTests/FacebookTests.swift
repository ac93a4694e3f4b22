import AccountLinking
import AccountTestSupport
import JSON
import Testing

@testable import IdentityProviders

/// Facebook's Graph API over a real socket. `ProviderTests` covers Facebook's ID tokens.
struct FacebookTests {
    private typealias Simulator = ProviderSimulator<SimulatedFacebook>

    private func scene(
        _ simulator: Simulator,
        app: String = SimulatedFacebook.app,
        secret: String? = SimulatedFacebook.secret,
        timeout: Duration = .seconds(120)
    ) -> ProviderScene {
        ProviderScene(simulator, .facebook, clientID: app, secret: secret, timeout: timeout)
    }

    private func native(_ token: String) -> ProviderCredential {
        ProviderCredential(provider: .facebook, accessToken: token)
    }

    // MARK: Success

    @Test func `the whole flow returns Facebook's profile and token`() async throws {
        try await Simulator.run(SimulatedFacebook()) { simulator async throws in
            let scene = scene(simulator)
            let begun = try await scene.begin(["auth_type": "rerequest"])
            #expect(begun.address.contains("&scope=public_profile%20email&"))
            #expect(begun.address.hasSuffix("&auth_type=rerequest"))

            let callback = try await simulator.visit(begun.address)
            let answer = scene.credential(callback, answering: begun.flow)
            let verified = try #require(try await scene.verify(answer).verified)
            let person = SimulatedPerson()
            #expect(verified.incoming.identity == ProviderIdentity(provider: .facebook, subject: person.id))
            #expect(verified.incoming.issuer == "https://www.facebook.com" && verified.federatedID == person.id)
            let address = try #require(EmailAddress("ada@example.com"))
            #expect(verified.incoming.email == .present(address, flag: .absent, hostedDomain: nil))
            #expect(verified.incoming.profile == Profile(displayName: person.name, photoURL: person.picture))
            #expect(verified.firstName == "Ada" && verified.lastName == "Lovelace")
            let raw = try JSONValue(parsing: Array(verified.rawUserInfo.utf8))
            #expect(raw == SimulatedFacebook.profile(of: person))
            let token = try #require(verified.tokens.accessToken)
            #expect(verified.tokens == ProviderTokens(accessToken: token, expiresInSeconds: 5_183_944))
            #expect(try await scene.verify(native(token)).verified?.incoming == verified.incoming)
            // No URL contains the app's secret.
            let targets = simulator.requests(at: .tokenInfo) + simulator.requests(at: .profile)
            #expect(targets.allSatisfy { !$0.target.contains(SimulatedFacebook.secret) })
        }
    }

    @Test func `an address that the user did not share is absent`() async throws {
        try await Simulator.run(SimulatedFacebook()) { simulator async throws in
            var person = SimulatedPerson()
            person.email = nil
            let token = native(simulator.provider.issueToken(for: person))
            #expect(try await scene(simulator).verify(token).verified?.incoming.email == .absent)
        }
    }

    // MARK: Refusals

    @Test func `a refusal by the user cancels the sign-in`() async throws {
        try await Simulator.run(SimulatedFacebook()) { simulator async throws in
            let scene = scene(simulator)
            simulator.provider.change { $0.consents = false }
            let begun = try await scene.begin()
            let answer = scene.credential(try await simulator.visit(begun.address), answering: begun.flow)
            #expect(try await scene.verify(answer) == .invalid(.cancelledByUser))
        }
    }

    @Test func `a code is accepted once, and only for its flow`() async throws {
        try await Simulator.run(SimulatedFacebook()) { simulator async throws in
            let scene = scene(simulator)
            let begun = try await scene.begin()
            let answer = scene.credential(try await simulator.visit(begun.address), answering: begun.flow)
            #expect(try await scene.verify(answer).verified != nil)
            #expect(try await scene.verify(answer) == .invalid(.refusedByProvider))
            let other = try await scene.begin()
            var wrong = scene.credential(try await simulator.visit(other.address), answering: other.flow)
            wrong.flow?.codeVerifier = "another-verifier"
            #expect(try await scene.verify(wrong) == .invalid(.refusedByProvider))
        }
    }

    @Test func `tokens that are forged, revoked, of another app or of no user are refused`() async throws {
        try await Simulator.run(SimulatedFacebook()) { simulator async throws in
            let scene = scene(simulator)
            let person = SimulatedPerson()
            let others = simulator.provider.issueToken(to: "another", for: person)
            #expect(try await scene.verify(native(others)) == .invalid(.wrongAudience))
            #expect(try await scene.verify(native("EAABmadeup")) == .invalid(.refusedByProvider))
            let page = simulator.provider.issueToken(for: person, kind: "PAGE")
            #expect(try await scene.verify(native(page)) == .invalid(.unacceptableType))
            let token = simulator.provider.issueToken(for: person)
            simulator.provider.revoke(token)
            #expect(try await scene.verify(native(token)) == .invalid(.refusedByProvider))
            #expect(simulator.requests(at: .profile).isEmpty)
            // The token is revoked between the two requests.
            simulator.reply(.json(SimulatedFacebook.tokenInfo(of: person)), at: .tokenInfo)
            #expect(try await scene.verify(native(token)) == .invalid(.refusedByProvider))
        }
    }

    @Test(
        arguments: [
            ("EAAB\r\nHost: elsewhere", .malformed), ("EAAB 1", .malformed), ("EAAB\u{E9}", .malformed),
            (String(repeating: "a", count: 4097), .malformed), (String(repeating: "a", count: 1537), .tooLarge),
            (String(repeating: "|", count: 513), .tooLarge),
        ] as [(String, InvalidCredential)]
    )
    func `a text that cannot be a token is not sent to the provider`(
        token: String,
        reason: InvalidCredential
    ) async throws {
        try await Simulator.run(SimulatedFacebook()) { simulator async throws in
            #expect(try await scene(simulator).verify(native(token)) == .invalid(reason))
            #expect(simulator.requests(at: .tokenInfo).isEmpty)
        }
    }

    @Test func `a token of the maximum length is sent to the provider`() async throws {
        try await Simulator.run(SimulatedFacebook()) { simulator async throws in
            let token = String(repeating: "a", count: 1536)
            #expect(try await scene(simulator).verify(native(token)) == .invalid(.refusedByProvider))
            #expect(simulator.requests(at: .tokenInfo).count == 1)
        }
    }

    @Test func `a registration that Facebook does not know, or that lacks its secret, verifies nothing`() async throws {
        try await Simulator.run(SimulatedFacebook()) { simulator async throws in
            let begun = try await scene(simulator).begin()
            let answer = scene(simulator)
                .credential(try await simulator.visit(begun.address), answering: begun.flow)
            let token = simulator.provider.issueToken(for: SimulatedPerson())
            let wrong = scene(simulator, secret: "wrong")
            #expect(try await wrong.verify(answer) == .invalid(.refusedByProvider))
            #expect(try await wrong.verify(native(token)) == .invalid(.clientRefused))
            for secret in [nil, ""] {
                let scene = scene(simulator, secret: secret)
                #expect(try await scene.verify(native(token)) == .invalid(.incompleteConfiguration))
            }
            #expect(try await scene(simulator, secret: nil).verify(answer) == .invalid(.incompleteConfiguration))
            #expect(try await scene(simulator, secret: nil).prepare() == .invalid(.incompleteConfiguration))
        }
    }

    // MARK: Wrong answers and outages

    @Test func `a token of another app, or of another user, is no proof, even if the provider accepts it`() async throws
    {
        try await Simulator.run(SimulatedFacebook()) { simulator async throws in
            let scene = scene(simulator)
            let person = SimulatedPerson()
            let token = native(simulator.provider.issueToken(for: person))
            simulator.reply(.json(SimulatedFacebook.tokenInfo(of: person, app: "another")), at: .tokenInfo)
            #expect(try await scene.verify(token) == .invalid(.wrongAudience))
            var other = person
            other.id = "666"
            simulator.reply(.json(SimulatedFacebook.tokenInfo(of: other)), at: .tokenInfo)
            await #expect(throws: ProviderUnavailable.malformedAnswer) { try await scene.verify(token) }
            other.id = ""
            simulator.reply(.json(SimulatedFacebook.tokenInfo(of: other)), at: .tokenInfo)
            await #expect(throws: ProviderUnavailable.malformedAnswer) { try await scene.verify(token) }
        }
    }

    @Test func `outages are distinguished from refusals at every endpoint`() async throws {
        try await Simulator.run(SimulatedFacebook()) { simulator async throws in
            let scene = scene(simulator)
            let token = native(simulator.provider.issueToken(for: SimulatedPerson()))
            for (reply, failure) in LocalServer.Reply.outages {
                for address in [ProviderAddress.tokenInfo, .profile] {
                    simulator.reply(reply, at: address)
                    await #expect(throws: failure) { try await scene.verify(token) }
                    simulator.reply(nil, at: address)
                }
                let begun = try await scene.begin()
                let answer = scene.credential(try await simulator.visit(begun.address), answering: begun.flow)
                simulator.reply(reply, at: .token)
                await #expect(throws: failure) { try await scene.verify(answer) }
                simulator.reply(nil, at: .token)
            }
        }
    }

    @Test func `a provider that does not answer in time is an outage`() async throws {
        try await Simulator.run(SimulatedFacebook()) { simulator async throws in
            let hurried = scene(simulator, timeout: .milliseconds(300))
            let token = native(simulator.provider.issueToken(for: SimulatedPerson()))
            let begun = try await scene(simulator).begin()
            let answer = scene(simulator)
                .credential(try await simulator.visit(begun.address), answering: begun.flow)
            for stall in LocalServer.Reply.stalls {
                for address in [ProviderAddress.tokenInfo, .profile] {
                    simulator.reply(stall, at: address)
                    await #expect(throws: ProviderUnavailable.timedOut) { try await hurried.verify(token) }
                    simulator.reply(nil, at: address)
                }
                simulator.reply(stall, at: .token)
                await #expect(throws: ProviderUnavailable.timedOut) { try await hurried.verify(answer) }
            }
        }
    }
}
