import AccountOperations
import AccountTestSupport
import JSON
import NIOHTTP1
import Postgres
import Testing

/// A number shown at one server and typed at the other, by 64 callers at once.
@Suite(.serialized) struct PhoneOverTwoServersTests {
    private static let number = "+16505553434"
    private static let code = "654321"

    private static let settings: JSONValue = {
        guard case .object(var members) = ProjectSettings.developmentDefaults,
            case .object(var signIn) = members["signIn"]
        else { return .null }
        signIn["phoneNumber"] = ["enabled": true, "testPhoneNumbers": [number: .string(code)]]
        members["signIn"] = .object(signIn)
        return .object(members)
    }()

    private func session(at server: ServeProcess) async throws -> String {
        try await server.send(
            .POST,
            "/v1/accounts:sendVerificationCode",
            ["phoneNumber": .string(Self.number)]
        ).string("sessionInfo")
    }

    private func signIn(
        _ session: String,
        at server: ServeProcess,
        idToken: JSONValue = .null
    ) async throws -> HTTPAnswer {
        try await server.send(
            .POST,
            "/v1/accounts:signInWithPhoneNumber",
            ["sessionInfo": .string(session), "code": .string(Self.code), "idToken": idToken]
        )
    }

    @Test func `one code creates one account, on any server`() async throws {
        try await TwoServers.with(settings: Self.settings) { servers in
            let session = try await session(at: servers.first)
            let answers = try await servers.race { server, _ in try await signIn(session, at: server) }
            #expect(answers.codes == ["200": 1, "INVALID_SESSION_INFO": TwoServers.callers - 1])
            try await servers.expectSound(answers)
            #expect(try await servers.database.count("SELECT count(*) FROM users") == 1)
            #expect(try await servers.database.count("SELECT count(*) FROM sessions") == 1)
            let again = try await signIn(try await self.session(at: servers.second), at: servers.first)
            #expect(again.json["isNewUser"] == false)
        }
    }

    @Test func `if many accounts link one number at once, one gets it and the others get proofs`() async throws {
        try await TwoServers.with(settings: Self.settings) { servers in
            var people: [(session: String, idToken: JSONValue)] = []
            for number in 0..<TwoServers.callers {
                let person = try await servers.first.send(.POST, "/v1/accounts:signUp", [:]).success()
                let server = number.isMultiple(of: 2) ? servers.first : servers.second
                people.append((try await session(at: server), person["idToken"] ?? .null))
            }
            let answers = try await servers.race { [people] server, number in
                try await signIn(people[number].session, at: server, idToken: people[number].idToken)
            }
            try await servers.expectSound(answers)
            #expect(answers.allSatisfy { $0.status == 200 })
            #expect(answers.count { $0.json["idToken"] != nil } == 1)
            #expect(answers.count { $0.json["temporaryProof"] != nil } == TwoServers.callers - 1)
            #expect(try await servers.database.count("SELECT count(*) FROM identifiers WHERE kind = 'phone'") == 1)
        }
    }
}
