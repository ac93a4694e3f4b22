import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `accounts:batchGet` (`spec/01` §5): every account, page by page, in the order of their ids.
    static let batchGet = Route(
        .get,
        "/v1/projects/{project}/accounts:batchGet",
        aliases: ["/v1/projects/{project}/tenants/{tenant}/accounts:batchGet"],
        access: .administrator
    ) { request in
        let maxResults = try request.query["maxResults"].map { text throws(APIError) in
            guard let number = Int64(text) else { throw .invalidValue(at: "maxResults", expected: "TYPE_INT32") }
            return number
        }
        return try await page(request, maxResults: maxResults, token: request.query["nextPageToken"])
    }

    /// The older name of the same, which takes its parameters in the body.
    static let downloadAccount = Route(
        .post,
        "/identitytoolkit/v3/relyingparty/downloadAccount",
        aliases: ["/www.googleapis.com/identitytoolkit/v3/relyingparty/downloadAccount"],
        service: .none,
        access: .administrator
    ) { request in
        guard try request.body.nonEmptyString("targetProjectId") != nil else {
            throw APIError.code(.insufficientPermission)
        }
        return try await page(
            request,
            maxResults: try request.body.integer("maxResults"),
            token: try request.body.nonEmptyString("nextPageToken")
        )
    }

    private static let pageSize = 20
    private static let pageSizeMax = 1000

    private static func page(_ request: APIRequest, maxResults: Int64?, token: String?) async throws -> APIResponse {
        let size = maxResults ?? Int64(pageSize)
        guard size >= 0 else { throw APIError.code(.invalidPageSelection) }
        var after: UserID?
        if let token, !token.isEmpty {
            guard let id = lastID(of: token) else { throw APIError.code(.invalidPageSelection) }
            after = id
        }
        let page = try await request.operations.listAccounts(
            after: after,
            limit: size == 0 ? pageSize : Int(min(size, Int64(pageSizeMax))),
            tenant: request.tenant
        )
        return .object { writer in
            writer.field("kind", "identitytoolkit#DownloadAccountResponse")
            if !page.users.isEmpty {
                writer.field("users", array: page.users) { writer, user in
                    // The text describes itself, salt and parameters included, so it stands alone.
                    let hash = page.passwordHashes[user.id].map(ExportedAccount.passwordHash)
                    writer.user(user, passwordHash: hash ?? redactedPasswordHash)
                }
            }
            writer.field("nextPageToken", page.lastID.map(pageToken))
        }
    }

    private static let tokenVersion: UInt8 = 1

    private static func pageToken(_ id: UserID) -> String { Base64URL.encode([tokenVersion] + id.rawValue.utf8) }

    private static func lastID(of token: String) -> UserID? {
        guard let bytes = Base64URL.decode(token), bytes.first == tokenVersion,
            let text = String(validating: bytes.dropFirst(), as: UTF8.self)
        else { return nil }
        return UserID(text)
    }
}
