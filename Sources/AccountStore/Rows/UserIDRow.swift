import AccountLinking
import Postgres

/// The ids of accounts, found by properties that are not in `identifiers`.
enum UserIDRow {
    /// The accounts whose first address is one of `emails`.
    static func withInitialEmails(_ emails: [String], tenant: TenantID) -> Query<SingleValueRow<UserID>> {
        """
        SELECT user_id FROM \(table: "users")
        WHERE tenant_id = \(tenant) AND initial_email IS NOT NULL
            AND lower(initial_email COLLATE "C") = ANY(\(emails.map(asciiLowercased)))
        """
    }

    /// The accounts with a provider row that shows `email`.
    static func linkedWithEmail(_ email: EmailAddress, tenant: TenantID) -> Query<SingleValueRow<UserID>> {
        """
        SELECT DISTINCT user_id FROM \(table: "linked_providers")
        WHERE tenant_id = \(tenant) AND email_key = \(email.canonical)
        ORDER BY user_id LIMIT 100
        """
    }

    /// The version of an account.
    static func version(of id: UserID, tenant: TenantID) -> Query<Int64> {
        "SELECT version FROM \(table: "users") WHERE tenant_id = \(tenant) AND user_id = \(id)"
    }

    /// About every 16,384th account of `scope`, in the order of ids: places to cut the order of all accounts.
    static func cuts(_ scope: AccountScope) -> SQL {
        "SELECT user_id FROM \(table: "users") WHERE \(scope.condition) AND hashtext(user_id) & 16383 = 0\nORDER BY user_id"
    }

    /// The text as `lower` returns it under the collation "C".
    private static func asciiLowercased(_ text: String) -> String {
        String(
            decoding: text.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 },
            as: UTF8.self
        )
    }
}
