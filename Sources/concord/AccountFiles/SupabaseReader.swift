import AccountLinking
import AccountOperations
import JSON

/// Users of Supabase Auth: rows of `auth.users`, as CSV with a heading (`COPY … TO … CSV HEADER`) or as objects on
/// lines.
///
/// Their identities are in the column `identities`, a JSON array of rows of `auth.identities`, or in a separate file,
/// which is loaded into memory.
final class SupabaseReader {
    private let rows: () throws(AccountFileError) -> FileRow<[String: JSONValue]>?
    private var identities: [String: [[String: JSONValue]]] = [:]

    init(_ bytes: ByteReader, identities path: String?) throws(AccountFileError) {
        rows = try Self.rows(bytes, key: "id")
        guard let path else { return }
        let identityRows = try Self.rows(try ByteReader(path: path), key: "user_id")
        while let row = try identityRows() {
            guard case .success(let identity) = row.content, let user = identity["user_id"]?.string else {
                throw .broken("of identities has an invalid row", line: row.line)
            }
            identities[user, default: []].append(identity)
        }
    }

    /// `nil` at the end.
    func next() throws(AccountFileError) -> FileRow<ImportedAccount>? {
        guard let row = try rows() else { return nil }
        return FileRow(line: row.line, content: row.content.flatMap(account))
    }

    /// An object begins with a brace, a heading with a name. `key`: a required column.
    private static func rows(
        _ bytes: ByteReader,
        key: String
    ) throws(AccountFileError) -> () throws(AccountFileError) -> FileRow<[String: JSONValue]>? {
        try bytes.skipByteOrderMark()
        guard try bytes.peek() != UInt8(ascii: "{") else {
            let reader = try JSONLineReader(bytes)
            return { () throws(AccountFileError) in try reader.next() }
        }
        let reader = try CSVReader(bytes)
        guard let heading = try reader.next() else { throw .broken("has no heading", line: 1) }
        guard case .success(let names) = heading.content, names.contains(key) else {
            throw .broken("has a heading without \(key)", line: heading.line)
        }
        return { () throws(AccountFileError) in
            guard let row = try reader.next() else { return nil }
            let content = row.content.flatMap { fields -> Result<[String: JSONValue], RowDefect> in
                guard fields.count == names.count else { return .failure(.columns(found: fields.count)) }
                let values = zip(names, fields).filter { !$1.isEmpty && $1 != "\\N" }
                    .map { ($0, JSONValue.string($1)) }
                return .success(Dictionary(values, uniquingKeysWith: { first, _ in first }))
            }
            return FileRow(line: row.line, content: content)
        }
    }

    private func account(_ row: [String: JSONValue]) -> Result<ImportedAccount, RowDefect> {
        do throws(RowDefect) {
            return .success(try read(row))
        } catch {
            return .failure(error)
        }
    }

    private func read(_ row: [String: JSONValue]) throws(RowDefect) -> ImportedAccount {
        if text(row, "deleted_at") != nil { throw .unusable("an account with deleted_at") }
        var account = ImportedAccount()
        account.id = text(row, "id")
        account.email = text(row, "email")
        account.isEmailVerified =
            try [instant(row, "email_confirmed_at"), instant(row, "confirmed_at")].contains { $0 != nil }
        // Supabase stores the number without its plus sign. It is proven only after its confirmation.
        if let phone = text(row, "phone"), try instant(row, "phone_confirmed_at") != nil {
            account.phoneNumber = phone.hasPrefix("+") ? phone : "+" + phone
        }
        if let hash = text(row, "encrypted_password") { account.password = .hash(Array(hash.utf8), salt: []) }
        account.createdAt = try instant(row, "created_at")
        account.lastLoginAt = try instant(row, "last_sign_in_at")
        // Concord has no ban that ends. A banned user is disabled until a person decides.
        account.isDisabled = try instant(row, "banned_until") != nil
        let profile = try object(row, "raw_user_meta_data")
        account.profile.displayName =
            text(profile, "full_name") ?? text(profile, "name") ?? text(profile, "display_name")
        account.profile.photoURL = text(profile, "avatar_url") ?? text(profile, "picture")
        let own = try list(row, "identities") + (account.id.flatMap { identities[$0] } ?? [])
        for identity in own { if let linked = try self.identity(identity) { account.identities.append(linked) } }
        return account
    }

    private static let providers = Dictionary(
        uniqueKeysWithValues: KnownProvider.all.compactMap { known in
            known.supabaseName.map { ($0, known.id.rawValue) }
        }
    )

    /// `nil` for the identities that represent the address or the number.
    private func identity(_ row: [String: JSONValue]) throws(RowDefect) -> ImportedAccount.Identity? {
        guard let name = text(row, "provider") else { throw .unusable("identities.provider") }
        if name == "email" || name == "phone" { return nil }
        let data = try object(row, "identity_data")
        var provider = Self.providers[name] ?? "oidc." + name
        // Older versions have the subject in `id`.
        var subject = text(row, "provider_id") ?? text(data, "sub") ?? text(row, "id")
        let claims = try object(data, "custom_claims")
        if name == "azure", let objectID = text(data, "oid") ?? text(claims, "oid") {
            (provider, subject) = ("microsoft.com", objectID)
        }
        var identity = ImportedAccount.Identity(provider: provider, subject: subject)
        identity.email = text(data, "email")
        identity.displayName = text(data, "full_name") ?? text(data, "name")
        identity.photoURL = text(data, "avatar_url") ?? text(data, "picture")
        identity.screenName = text(data, "user_name") ?? text(data, "preferred_username")
        return identity
    }

    private func text(_ row: [String: JSONValue], _ name: String) -> String? {
        guard let text = row[name]?.string, !text.isEmpty else { return nil }
        return text
    }

    private func instant(_ row: [String: JSONValue], _ name: String) throws(RowDefect) -> Timestamp? {
        guard let text = text(row, name) else { return nil }
        guard let instant = RFC3339.instant(text) else { throw .unusable(name) }
        return instant
    }

    /// A JSON column is its text in CSV, and the value itself on a line of JSON.
    private func json(_ row: [String: JSONValue], _ name: String) throws(RowDefect) -> JSONValue? {
        guard let value = row[name], value != .null else { return nil }
        guard let text = value.string else { return value }
        guard !text.isEmpty else { return nil }
        guard let parsed = try? JSONValue(parsing: Array(text.utf8)) else { throw .unusable(name) }
        return parsed == .null ? nil : parsed
    }

    private func object(_ row: [String: JSONValue], _ name: String) throws(RowDefect) -> [String: JSONValue] {
        guard let value = try json(row, name) else { return [:] }
        guard let object = value.object else { throw .unusable(name) }
        return object
    }

    private func list(_ row: [String: JSONValue], _ name: String) throws(RowDefect) -> [[String: JSONValue]] {
        guard let value = try json(row, name) else { return [] }
        guard let objects = value.array?.compactMap(\.object), objects.count == value.array?.count else {
            throw .unusable(name)
        }
        return objects
    }
}
