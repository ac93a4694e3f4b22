import AccountLinking
import JSON
import Postgres

// What an export reads: the columns that it shows, table by table. The rows are read where they lie (`PackedColumns`), so each
// statement has the types of its columns beside it. All begin with the user's id, which is read before a row is.

/// A row of `users`.
enum StoredUserRow {
    static var types: [any PostgresValue.Type] {
        [
            String.self, String.self, String.self, String.self, String.self,
            String.self, String.self, String.self, String.self, String.self, String.self,
            Bool.self, Bool.self, String.self,
            PostgresTimestamp.self, PostgresTimestamp.self, PostgresTimestamp.self, PostgresTimestamp.self,
        ]
    }

    static func of(_ scope: TableScope, tenant: String) -> SQL {
        """
        SELECT user_id, email, email_proof, initial_email, phone_number,
            display_name, photo_url, screen_name, language, time_zone, date_of_birth,
            disabled, uses_custom_tokens, custom_attributes,
            valid_since, created_at, last_login_at, last_refresh_at
        FROM users WHERE \(scope.condition(tenant: tenant))
        """
    }
}

/// A row of `password_credentials`.
enum StoredPasswordRow {
    static var types: [any PostgresValue.Type] { [String.self, PostgresTimestamp.self, String.self] }

    /// - `withHashes`: without, no hash leaves the database.
    static func of(_ scope: TableScope, tenant: String, withHashes: Bool) -> SQL {
        """
        SELECT user_id, updated_at, CASE WHEN \(withHashes) THEN hash END
        FROM password_credentials WHERE \(scope.condition(tenant: tenant))
        """
    }
}

/// A row of `linked_providers`.
enum StoredProviderRow {
    static var types: [any PostgresValue.Type] { Array(repeating: String.self, count: 7) }

    static func of(_ scope: TableScope, tenant: String) -> SQL {
        """
        SELECT user_id, provider_id, subject, email, display_name, photo_url, screen_name
        FROM linked_providers WHERE \(scope.condition(tenant: tenant))
        """
    }
}

/// A row of `sign_in_methods` that says that links are sent to the account's address; of the other methods an export shows
/// what is behind them.
enum StoredEmailLinkRow {
    static var types: [any PostgresValue.Type] { [String.self] }

    static func of(_ scope: TableScope, tenant: String) -> SQL {
        """
        SELECT user_id FROM sign_in_methods
        WHERE \(scope.condition(tenant: tenant)) AND method = \(SignInMethod.emailLink.name)
        """
    }
}

/// A row of `second_factors`.
enum StoredFactorRow {
    static var types: [any PostgresValue.Type] {
        [
            String.self, Int32.self, String.self, String.self, String.self, PostgresTimestamp.self,
        ]
    }

    static func of(_ scope: TableScope, tenant: String) -> SQL {
        """
        SELECT user_id, slot, enrollment_id, number, display_name, enrolled_at
        FROM second_factors WHERE \(scope.condition(tenant: tenant))
        """
    }
}

/// Reads addresses, of which the next is most often the one before: providers know a person by the address of the account.
struct StoredAddresses {
    private var last: (text: PackedText, lowercased: String?)?

    /// As clients see it; `nil` for what is no address.
    mutating func lowercased(_ text: PackedText) -> String? {
        if let last, last.text == text { return last.lowercased }
        let lowercased = EmailAddress(text.string)?.lowercased
        last = (text, lowercased)
        return lowercased
    }
}

extension PackedColumns {
    /// The columns of a `StoredUserRow`.
    mutating func account(
        _ id: PackedText,
        of tenant: TenantID,
        _ addresses: inout StoredAddresses
    ) throws(PostgresError) -> ShownAccount<BorrowedText> {
        let id = try BorrowedText(naming: id.bytes, "users.user_id")
        let address = try optionalText()
        let proof = try optionalText()
        let initialEmail = try shown()
        let phoneNumber = try shown()
        let displayName = try shown()
        let photoURL = try shown()
        let screenName = try shown()
        let language = try shown()
        let timeZone = try shown()
        let dateOfBirth = try shown()
        let isDisabled = try bool()
        let usesCustomTokens = try bool()
        let customAttributes = try shown()
        var account = ShownAccount(
            tenant: tenant,
            id: id,
            validSince: Timestamp(try timestamp()),
            createdAt: Timestamp(try timestamp())
        )
        if let address {
            guard let lowercased = addresses.lowercased(address) else { throw .unreadable("users.email") }
            if let proof, EmailProof(name: proof.string) == nil { throw .unreadable("users.email_proof") }
            account.email = .init(address: lowercased, isVerified: proof != nil)
        }
        account.initialEmail = initialEmail
        account.phoneNumber = phoneNumber
        account.displayName = displayName
        account.photoURL = photoURL
        account.screenName = screenName
        account.language = language
        account.timeZone = timeZone
        account.dateOfBirth = dateOfBirth
        account.isDisabled = isDisabled
        account.usesCustomTokens = usesCustomTokens
        account.customAttributes = customAttributes
        account.lastLoginAt = try optionalTimestamp().map { Timestamp($0) }
        account.lastRefreshAt = try optionalTimestamp().map { Timestamp($0) }
        return account
    }

    /// The columns of a `StoredPasswordRow`: when it was set, and its hash if that was asked for.
    mutating func password() throws(PostgresError) -> (updatedAt: Timestamp, hash: BorrowedText?) {
        (Timestamp(try timestamp()), try shown())
    }

    /// The columns of a `StoredProviderRow`.
    mutating func provider(
        _ addresses: inout StoredAddresses
    ) throws(PostgresError) -> ShownAccount<BorrowedText>.Provider {
        ShownAccount<BorrowedText>.Provider(
            id: try BorrowedText(naming: required(), "linked_providers.provider_id"),
            subject: try BorrowedText(naming: required(), "linked_providers.subject"),
            // What a provider said may be anything.
            email: try optionalText().flatMap { addresses.lowercased($0) },
            displayName: try shown(),
            photoURL: try shown(),
            screenName: try shown()
        )
    }

    /// The columns of a `StoredFactorRow`.
    mutating func factor() throws(PostgresError) -> (slot: Int32, factor: SecondFactor) {
        let slot = try int32()
        guard let id = SecondFactorID(BorrowedText(try required()).string) else {
            throw .unreadable("second_factors.enrollment_id")
        }
        var method = SecondFactor.Method.totp
        if let text = try shown() {
            guard let number = PhoneNumber(text.string) else { throw .unreadable("second_factors.number") }
            method = .phone(number)
        }
        let factor = SecondFactor(
            id: id,
            method: method,
            displayName: try shown()?.string,
            enrolledAt: Timestamp(try timestamp())
        )
        return (slot, factor)
    }

    /// The next column, which may be NULL. The server sends UTF-8, whatever the database is in.
    fileprivate mutating func shown() throws(PostgresError) -> BorrowedText? {
        guard let bytes = try next() else { return nil }
        return BorrowedText(bytes)
    }
}

extension BorrowedText {
    /// What names something; how long it may be is a constraint of the table.
    fileprivate init(naming bytes: UnsafeRawBufferPointer, _ column: StaticString) throws(PostgresError) {
        guard !bytes.isEmpty, !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { throw .unreadable(column) }
        self.init(bytes)
    }
}
