import AccountAPI
import AccountLinking
import AccountOperations
import JSON

/// The CSV of the Firebase CLI (firebase.google.com/docs/cli/auth): no heading, a comma at the end of each line, four
/// columns for each provider it knows.
enum FirebaseCSV {
    private static let columns: [Int: String] = [
        0: "localId", 1: "email", 2: "emailVerified", 3: "passwordHash", 4: "salt", 5: "displayName", 6: "photoUrl",
        23: "createdAt", 24: "lastLoginAt", 25: "phoneNumber", 26: "disabled", 27: "customAttributes",
    ]

    /// Providers in the order of their columns. Each has 4: the subject, the address, the name, the picture.
    private static let providers = KnownProvider.all
        .compactMap { known in known.firebaseColumn.map { (column: $0, id: known.id.rawValue) } }
        .sorted { $0.column < $1.column }

    private static let columnCount = 52

    /// Older CLIs wrote fewer columns at the end.
    static func account(_ fields: [String]) -> Result<ImportedAccount, RowDefect> {
        guard (26...columnCount + 1).contains(fields.count), fields.dropFirst(columnCount).allSatisfy(\.isEmpty) else {
            return .failure(.columns(found: fields.count))
        }
        func field(_ column: Int) -> JSONValue? {
            column < fields.count && !fields[column].isEmpty ? .string(fields[column]) : nil
        }
        var json: [String: JSONValue] = [:]
        for (column, name) in columns { json[name] = field(column) }
        let identities = providers.compactMap { provider -> JSONValue? in
            guard let subject = field(provider.column) else { return nil }
            var identity: [String: JSONValue] = ["providerId": .string(provider.id), "rawId": subject]
            identity["email"] = field(provider.column + 1)
            identity["displayName"] = field(provider.column + 2)
            identity["photoUrl"] = field(provider.column + 3)
            return .object(identity)
        }
        if !identities.isEmpty { json["providerUserInfo"] = .array(identities) }
        return .success(ImportedAccount(json: json))
    }

    /// Returns the line of an account, and the number of its identities that the line cannot represent.
    static func line(
        _ account: ShownAccount,
        passwordHash: String?
    ) -> (text: String, leftOut: Int) {
        var fields = [String](repeating: "", count: columnCount)
        fields[0] = account.id
        fields[1] = account.email?.address ?? ""
        fields[2] = account.email?.isVerified == true ? "true" : "false"
        fields[3] = passwordHash ?? ""
        fields[5] = account.profile.displayName ?? ""
        fields[6] = account.profile.photoURL ?? ""
        fields[23] = String(account.createdAt.millisecondsSinceEpoch)
        fields[24] = account.lastLoginAt.map { String($0.millisecondsSinceEpoch) } ?? ""
        fields[25] = account.phoneNumber ?? ""
        fields[26] = account.isDisabled ? "true" : "false"
        fields[27] = account.customAttributes ?? ""
        var leftOut = 0
        for linked in account.providers {
            let id = linked.id
            guard let provider = providers.first(where: { $0.id == id }) else {
                leftOut += 1
                continue
            }
            fields[provider.column] = linked.subject
            fields[provider.column + 1] = linked.email ?? ""
            fields[provider.column + 2] = linked.displayName ?? ""
            fields[provider.column + 3] = linked.photoURL ?? ""
        }
        return (fields.map { quoted($0) + "," }.joined() + "\n", leftOut)
    }

    private static func quoted(_ field: String) -> String {
        guard field.utf8.contains(where: { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }) else { return field }
        return "\"" + field.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}
