public import Foundation

extension User {
    /// Returns everything that Concord stores about the person, without secrets, as JSON text.
    ///
    /// The members are those of `OwnData` in `docs/openapi.json`. `history` has the newest 1,000 events;
    /// ``events(pageSize:pageToken:)`` continues it with `nextPageToken`.
    public func exportData() async throws(AuthError) -> Data {
        let data: JSONValue = try await concord(.get("/concord/v1/account/export")).value
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do {
            return try encoder.encode(data)
        } catch {
            throw AuthError(.internalError, "The export cannot be encoded.", underlying: error)
        }
    }
}
