import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `accounts:batchDelete`. Unknown ids are skipped.
    static let batchDelete = Route(
        .post,
        "/v1/projects/{project}/accounts:batchDelete",
        aliases: ["/v1/projects/{project}/tenants/{tenant}/accounts:batchDelete"],
        access: .administrator
    ) { request in
        let texts = try request.body.strings("localIds")
        guard (1...localIDsMax).contains(texts.count) else { throw APIError.code(.localIDListExceedsLimit) }
        let named = texts.enumerated().compactMap { index, text in UserID(text).map { (index: index, id: $0) } }
        let kept = try await request.operations.deleteAccounts(
            named.map(\.id),
            force: try request.body.bool("force") ?? false,
            tenant: request.tenant
        )
        return .object { writer in
            guard !kept.isEmpty else { return }
            writer.field("errors", objects: kept.map { named[$0] }) { writer, row in
                writer.field("index", Int64(row.index))
                writer.field("localId", row.id.rawValue)
                writer.field("message", "NOT_DISABLED : Disable the account before batch deletion.")
            }
        }
    }

    private static let localIDsMax = 1000
}
