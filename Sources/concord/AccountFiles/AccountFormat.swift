import AccountAPI
import AccountOperations
import ArgumentParser
import JSON

/// The form of a file of accounts.
enum AccountFormat: String, CaseIterable, ExpressibleByArgument {
    /// `{"users": [ … ]}`, as the Firebase CLI and the emulator write it.
    case json
    /// The CSV of the Firebase CLI, without a heading.
    case csv
    /// An object on each line.
    case ndjson
    /// `auth.users` of Supabase Auth as CSV with a heading, or as objects on lines.
    case supabase
}

/// Reads the accounts of a file one by one.
struct AccountFileReader {
    /// `nil` at the end.
    let next: () throws(AccountFileError) -> FileRow<ImportedAccount>?

    /// True if rows are also named by their index.
    let hasIndexes: Bool

    ///
    /// `identities`: the path of Supabase's `auth.identities`.
    init(path: String, _ format: AccountFormat, identities: String?) throws(AccountFileError) {
        let bytes = try ByteReader(path: path)
        hasIndexes = format == .json
        switch format {
        case .json:
            let reader = try JSONUserReader(bytes)
            next = { () throws(AccountFileError) in try reader.next().map(Self.account) }
        case .ndjson:
            let reader = try JSONLineReader(bytes)
            next = { () throws(AccountFileError) in try reader.next().map(Self.account) }
        case .csv:
            let reader = try CSVReader(bytes)
            next = { () throws(AccountFileError) in
                try reader.next().map { FileRow(line: $0.line, content: $0.content.flatMap(FirebaseCSV.account)) }
            }
        case .supabase:
            let reader = try SupabaseReader(bytes, identities: identities)
            next = { () throws(AccountFileError) in try reader.next() }
        }
    }

    private static func account(_ row: FileRow<[String: JSONValue]>) -> FileRow<ImportedAccount> {
        FileRow(line: row.line, index: row.index, content: row.content.map(ImportedAccount.init(json:)))
    }
}
