import AccountTestSupport
import JSON
import Testing

/// Profiles of providers, at the limits of the columns that store them.
struct ProviderProfileTests {
    /// A claim, the field that shows it, and how much of it is kept.
    struct Field: Sendable, CustomTestStringConvertible {
        let claim: String
        let shown: String
        let lengthMax: Int
        var testDescription: String { claim }
    }

    @Test(arguments: [
        Field(claim: "locale", shown: "language", lengthMax: 64),
        Field(claim: "zoneinfo", shown: "timeZone", lengthMax: 64),
        Field(claim: "birthdate", shown: "dateOfBirth", lengthMax: 64),
        Field(claim: "name", shown: "displayName", lengthMax: 256),
        Field(claim: "screen_name", shown: "screenName", lengthMax: 256),
    ])
    func `a claim is stored up to the limit of its column, and a longer one fails no sign-in`(
        field: Field
    ) async throws {
        try await TestAPI.with { api in
            for length in [field.lengthMax, field.lengthMax + 1] {
                // Two scalars to a character: counted as the database counts.
                let value = String(repeating: "e\u{301}", count: length / 2) + (length.isMultiple(of: 2) ? "" : "x")
                let claims: JSONValue = .object(["sub": .string("\(length)"), field.claim: .string(value)])
                let body: JSONValue = [
                    "requestUri": "http://localhost",
                    "postBody": .string("providerId=google.com&id_token=\(claims.text)"),
                ]
                let answer = try await api.post("/v1/accounts:signInWithIdp", body)
                #expect(answer.status == 200, "\(length): \(answer.text)")
                let shown = answer.json[field.shown]?.string
                #expect((shown?.unicodeScalars.count ?? 0) <= field.lengthMax)
                if length == field.lengthMax { #expect(shown == value) }
            }
        }
    }
}
