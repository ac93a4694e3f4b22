import AccountTestSupport
import HTTPTypes
import IdentityProviders
import JSON
import Postgres
import Testing

/// The steps of a sign-in on the page of a simulated provider.
extension TestAPI {
    static let signInWithIdp = "/v1/accounts:signInWithIdp"
    static let registrations = "/v2/projects/\(TestService.projectID)/defaultSupportedIdpConfigs"

    /// Registers `provider`, which is reached where `simulator` is, as an administrator would.
    func register<Provider>(
        _ provider: String,
        at simulator: ProviderSimulator<Provider>,
        clientID: String,
        secret: String,
        _ changes: [String: JSONValue] = [:]
    ) async throws {
        let addresses = simulator.addresses.map { ($0.key.rawValue, JSONValue.string($0.value)) }
        let registration: [String: JSONValue] = [
            "enabled": true, "clientId": .string(clientID), "clientSecret": .string(secret),
            "addresses": .object(Dictionary(addresses) { $1 }),
        ]
        let body = JSONValue.object(registration.merging(changes) { $1 })
        let path = Self.registrations + "?idpId=" + provider
        let registered = try await send(.post, path, Array(body.text.utf8), key: nil, bearer: "owner")
        #expect(registered.status == 200, "\(registered.text)")
    }

    func begin(_ provider: String, _ changes: [String: JSONValue] = [:]) async throws -> Answer {
        let body: [String: JSONValue] = [
            "providerId": .string(provider), "continueUri": "http://localhost/__/auth/handler",
        ]
        return try await post("/v1/accounts:createAuthUri", .object(body.merging(changes) { $1 }))
    }

    /// The request of a client after its user has been on the provider's page.
    func visit<Provider>(
        _ provider: String,
        at simulator: ProviderSimulator<Provider>
    ) async throws -> [String: JSONValue] {
        let begun = try await begin(provider)
        #expect(begun.status == 200, "\(begun.text)")
        let callback = try await simulator.visit(try #require(begun.json["authUri"]?.string))
        return [
            "requestUri": .string(callback), "sessionId": begun.json["sessionId"] ?? .null, "returnSecureToken": true,
            "returnIdpCredential": true,
        ]
    }

    /// The numbers of users, sessions, open flows and conflicts.
    func rows() async throws -> [Int64] {
        let database = service.database
        return [
            try await database.count("SELECT count(*) FROM users"),
            try await database.count("SELECT count(*) FROM sessions"),
            try await database.count("SELECT count(*) FROM provider_flows"),
            try await database.count("SELECT count(*) FROM conflicts"),
        ]
    }
}
