import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `accounts:query`: a sorted page of all accounts, or the accounts that match one condition.
    static let query = Route(
        .post,
        "/v1/projects/{project}/accounts:query",
        aliases: [
            "/v1/projects/{project}/tenants/{tenant}/accounts:query", "/v1/projects/{project}:queryAccounts",
            "/v1/projects/{project}/tenants/{tenant}:queryAccounts",
        ],
        access: .administrator
    ) { request in
        let body = request.body
        let returnsUsers = try body.bool("returnUserInfo") ?? true
        let limit = try body.integer("limit") ?? 0
        let offset = try body.integer("offset") ?? 0
        guard limit >= 0, offset >= 0 else { throw APIError.code(.invalidPageSelection) }
        guard offset <= AccountQueryLimits.offsetMax else {
            throw APIError.code(
                .invalidPageSelection,
                "offset is at most \(AccountQueryLimits.offsetMax). Read all accounts with accounts:batchGet."
            )
        }
        let key = try body.enumeration(
            "sortBy",
            ["SORT_BY_FIELD_UNSPECIFIED", "USER_ID", "NAME", "CREATED_AT", "LAST_LOGIN_AT", "USER_EMAIL"]
        )
        let order = try body.enumeration("order", ["ORDER_UNSPECIFIED", "ASC", "DESC"])
        let users: [UserRecord]
        if let condition = try body.objects("expression").first {
            users = try await request.operations.lookUp(try search(condition), tenant: request.tenant)
        } else if returnsUsers {
            let page = try await request.operations.queryAccounts(
                by: UserOrder(key: orderKey(key), isDescending: order == "DESC"),
                limit: limit == 0 ? limitMax : min(limit, limitMax),
                offset: offset,
                tenant: request.tenant
            )
            guard let page else { throw tooManyAccounts }
            users = page
        } else {
            let count = try await request.operations.countAccounts(tenant: request.tenant)
            return .object { writer in writer.field("recordsCount", decimalString: count) }
        }
        return .object { writer in
            writer.field("recordsCount", decimalString: Int64(users.count))
            guard returnsUsers, !users.isEmpty else { return }
            writer.field("userInfo", array: users) { writer, user in writer.user(user, showsNumbers: true) }
        }
    }

    private static let limitMax: Int64 = 500

    private static let tooManyAccounts = APIError.invalidArgument(
        "More than \(AccountQueryLimits.sortedMax) accounts are sorted by USER_ID or CREATED_AT only. "
            + "Read all accounts with accounts:batchGet."
    )

    private static func orderKey(_ name: String?) -> UserOrder.Key {
        switch name {
        case "NAME": .displayName
        case "CREATED_AT": .createdAt
        case "LAST_LOGIN_AT": .lastLoginAt
        case "USER_EMAIL": .email
        default: .id
        }
    }

    /// If there are several fields or conditions, the first one counts.
    private static func search(_ condition: RequestBody) throws(APIError) -> UserSearch {
        var search = UserSearch()
        if let email = try condition.nonEmptyString("email") {
            search.emails = [EmailAddress(email)].compactMap(\.self)
        } else if let phoneNumber = try condition.nonEmptyString("phoneNumber") {
            search.phoneNumbers = [PhoneNumber(phoneNumber)].compactMap(\.self)
        } else if let id = try condition.nonEmptyString("userId") {
            search.ids = [UserID(id)].compactMap(\.self)
        }
        return search
    }
}
