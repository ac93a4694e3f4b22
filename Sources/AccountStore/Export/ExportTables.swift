import AccountLinking
import Postgres

/// An account of an export, made from the rows of its tables.
struct StoredAccount {
    let id: String
    /// `nil` if rows name an account that does not exist.
    fileprivate(set) var shown: ShownAccount?
    /// `nil` without a password, and if hashes are not exported.
    fileprivate(set) var passwordHash: String?
    private var factors: [(slot: Int32, factor: SecondFactor)] = []

    init(id: String) {
        self.id = id
    }

    fileprivate mutating func add(_ factor: SecondFactor, slot: Int32) {
        factors.append((slot, factor))
    }

    /// Completes the account after its last row.
    mutating func finishReading() {
        shown?.providers.sort { $0.id.utf8.lexicographicallyPrecedes($1.id.utf8) }
        shown?.secondFactors = factors.sorted { $0.slot < $1.slot }.map(\.factor)
    }
}

/// The tables that exports read.
enum ExportTables {
    typealias Table = AccountTable<StoredAccount>

    /// - `withHashes`: if false, PostgreSQL sends no password hash.
    static func all(tenant: TenantID, withHashes: Bool) -> [Table] {
        [users(tenant), passwords(withHashes), providers, emailLinks, factors]
    }

    private static func users(_ tenant: TenantID) -> Table {
        Table(
            "users",
            """
            valid_since, created_at, last_login_at, last_refresh_at, email, email_proof, initial_email, phone_number,
                display_name, photo_url, screen_name, language, time_zone, date_of_birth, disabled, uses_custom_tokens,
                custom_attributes
            """
        ) { row, account throws(PostgresError) in
            var shown = ShownAccount(
                tenant: tenant,
                id: try readName(account.id, "users.user_id"),
                validSince: try row.next(),
                createdAt: try row.next()
            )
            shown.lastLoginAt = try row.next()
            shown.lastRefreshAt = try row.next()
            let email: String? = try row.next()
            let proof: String? = try row.next()
            if let email {
                guard let address = EmailAddress(email) else { throw .unreadable("users.email") }
                if let proof, EmailProof(name: proof) == nil { throw .unreadable("users.email_proof") }
                shown.email = .init(address: address.lowercased, isVerified: proof != nil)
            }
            shown.initialEmail = try row.next()
            shown.phoneNumber = try row.next()
            shown.profile.displayName = try row.next()
            shown.profile.photoURL = try row.next()
            shown.profile.screenName = try row.next()
            shown.profile.language = try row.next()
            shown.profile.timeZone = try row.next()
            shown.profile.dateOfBirth = try row.next()
            shown.isDisabled = try row.next()
            shown.usesCustomTokens = try row.next()
            shown.customAttributes = try row.next()
            account.shown = shown
        }
    }

    private static func passwords(_ withHashes: Bool) -> Table {
        Table(
            "password_credentials",
            "updated_at, CASE WHEN \(withHashes) THEN hash END"
        ) { row, account throws(PostgresError) in
            account.shown?.passwordUpdatedAt = try row.next()
            account.passwordHash = try row.next()
        }
    }

    private static let providers = Table(
        "linked_providers",
        "provider_id, subject, email, display_name, photo_url, screen_name"
    ) { row, account throws(PostgresError) in
        guard account.shown != nil else { return }
        account.shown?.providers.append(
            ShownAccount.Provider(
                id: try readName(row.next(), "linked_providers.provider_id"),
                subject: try readName(row.next(), "linked_providers.subject"),
                // Not an error: a provider may report any text.
                email: try (row.next() as String?).flatMap { EmailAddress($0)?.lowercased },
                displayName: try row.next(),
                photoURL: try row.next(),
                screenName: try row.next()
            )
        )
    }

    /// Sign-in links. Other methods have rows in the tables of their credentials.
    private static let emailLinks = Table(
        "sign_in_methods",
        "method",
        where: "method = \(SignInMethod.emailLink.name)"
    ) { _, account in account.shown?.hasEmailLink = true }

    private static let factors = Table(
        "second_factors",
        "slot, enrollment_id, number, display_name, enrolled_at"
    ) { row, account throws(PostgresError) in
        guard account.shown != nil else { return }
        let slot: Int32 = try row.next()
        guard let id = SecondFactorID(try row.next()) else { throw .unreadable("second_factors.enrollment_id") }
        var method = SecondFactor.Method.totp
        if let text: String = try row.next() {
            guard let number = PhoneNumber(text) else { throw .unreadable("second_factors.number") }
            method = .phone(number)
        }
        account.add(
            SecondFactor(id: id, method: method, displayName: try row.next(), enrolledAt: try row.next()),
            slot: slot
        )
    }
}

/// Checks an id: not empty, and without control characters. A constraint of the table limits its length.
private func readName(_ text: String, _ column: StaticString) throws(PostgresError) -> String {
    guard !text.isEmpty, !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { throw .unreadable(column) }
    return text
}
