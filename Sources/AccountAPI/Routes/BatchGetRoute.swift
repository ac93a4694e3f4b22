import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `accounts:batchGet`: every account, page by page, in the order of their ids.
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

    /// The older name of the same route, which has its parameters in the body.
    static let downloadAccount = Route(
        .post,
        "/identitytoolkit/v3/relyingparty/downloadAccount",
        aliases: ["/www.googleapis.com/identitytoolkit/v3/relyingparty/downloadAccount"],
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
        let page = try await request.operations.listAccounts(
            after: try await lastID(token, request),
            limit: size == 0 ? pageSize : Int(min(size, Int64(pageSizeMax))),
            tenant: request.tenant
        )
        return .object { writer in
            writer.field("kind", "identitytoolkit#DownloadAccountResponse")
            if !page.users.isEmpty {
                writer.field("users", array: page.users) { writer, user in
                    // The text contains salt and parameters, so no other fields are needed.
                    let hash = page.passwordHashes[user.id].map(ExportedAccount.passwordHash)
                    writer.user(user, passwordHash: hash ?? redactedPasswordHash, showsNumbers: true)
                }
            }
            writer.field("nextPageToken", page.lastID.map { PageToken($0).text })
        }
    }

    /// The account after which the page begins; `nil` at the first page.
    private static func lastID(_ token: String?, _ request: APIRequest) async throws -> UserID? {
        guard let token, !token.isEmpty else { return nil }
        if let token = PageToken(token) { return token.lastID }
        // The Admin SDKs' tests continue after a uid. A uid without an account is a mistake.
        guard let id = UserID(token), try await request.operations.hasAccount(id, tenant: request.tenant) else {
            throw APIError.code(.invalidPageSelection)
        }
        return id
    }
}

/// A `nextPageToken` that Concord makes: the id of the last account of a page.
///
/// It is longer than any uid. A client may also send a uid instead, and a backend may let users choose their uids: a
/// uid that reads like a token would redirect the list.
private struct PageToken {
    let lastID: UserID

    private static let version: UInt8 = 2
    /// One more than base64url needs for the 128 characters of the longest ASCII uid.
    private static let bytesMin = 97

    init(_ lastID: UserID) { self.lastID = lastID }

    /// - Returns: `nil` for a text that is no page token.
    init?(_ text: String) {
        guard text.utf8.count > 128, let bytes = Base64URL.decode(text), bytes.first == Self.version,
            let last = bytes.lastIndex(where: { $0 != 0 }),
            let lastID = String(validating: bytes[1..<last + 1], as: UTF8.self).flatMap(UserID.init)
        else { return nil }
        self.lastID = lastID
    }

    var text: String {
        let bytes = [Self.version] + lastID.rawValue.utf8
        // A uid has no control characters, so the padding is no part of it.
        return Base64URL.encode(bytes + [UInt8](repeating: 0, count: max(0, Self.bytesMin - bytes.count)))
    }
}
