import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

@testable import AccountAPI

/// `GET /concord/v1/about`, by which a client learns what the server supports.
@Suite struct AboutRouteTests {
    private static let path = "/concord/v1/about"

    private func read(_ api: TestAPI) async throws -> Wire.Answer {
        let answer = try await api.send(.get, Self.path, key: nil)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(try OpenAPIDocument().defects(of: answer, to: .get, at: Self.path) == [])
        return answer
    }

    @Test func `anyone reads the version, the number of the API and the features, and may cache them`() async throws {
        try await TestAPI.with { api async throws in
            let answer = try await read(api)
            #expect(answer.json["version"]?.string?.isEmpty == false && answer.json["api"] == 1)
            let names = answer.json["features"]?.array?.compactMap(\.string) ?? []
            #expect(names == ServerFeature.allCases.map(\.rawValue))
            #expect(answer.headers[.cacheControl] == "public, max-age=300")
        }
    }

    @Test func `a project without the account page does not offer it`() async throws {
        let settings = ProjectSettings.developmentDefaults.setting(false, at: ["concord", "accountPage", "enabled"])
        try await TestAPI.with(settings: settings) { api async throws in
            let names = try await read(api).json["features"]?.array?.compactMap(\.string) ?? []
            #expect(names.count == ServerFeature.allCases.count - 1 && !names.contains("accountPage"))
        }
    }
}
