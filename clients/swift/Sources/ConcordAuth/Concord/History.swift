public import Foundation

/// Something that happened to the user's account.
///
/// Source: `HistoryEntry` of `docs/openapi.json`.
public struct AccountEvent: Sendable, Hashable, Decodable, Identifiable {
    /// The name of the decision, for operators.
    public let id: String
    /// The time of the event.
    public let time: Date
    /// The event, such as `signed-in`, `method-added` or `conflict-resolved`. Later servers may send other names.
    public let kind: String
    /// `password`, `emailLink`, `phone`, or a provider id.
    public let method: String?
    /// The kind of the second factor of a sign-in.
    public let secondFactor: String?
    /// The merge that the event is about.
    public let merge: String?
}

/// A page of an account's history, the newest event first.
public struct AccountHistory: Sendable, Hashable, Decodable {
    /// The events. A page can have fewer than requested.
    public let events: [AccountEvent]
    /// The argument for the next page; `nil` on the last one.
    public let nextPageToken: String?
}

extension User {
    /// Returns a page of what happened to the account.
    ///
    /// - Parameters:
    ///   - pageSize: 1 to 100.
    ///   - pageToken: ``AccountHistory/nextPageToken`` of the page before; `nil` for the first page.
    /// - Returns: The page.
    /// - Throws: `invalidArgument` for a token of another list; `userTokenExpired` if the session ended.
    public func events(pageSize: Int = 50, pageToken: String? = nil) async throws(AuthError) -> AccountHistory {
        try await concord(.get("/concord/v1/account/events", query: .page(pageSize, pageToken))).value
    }
}
