import AccountAPI
import AccountLinking
import ArgumentParser
import JSON

/// The format of an export file.
enum ExportForm: String, CaseIterable, ExpressibleByArgument {
    case json
    case csv
    case ndjson
}

/// The text of an export file, some accounts at a time.
struct ExportedFile: Sendable {
    private static let bytesMax = 65_536

    private let form: ExportForm
    private var writer = JSONWriter()
    private(set) var count: Int64 = 0
    /// Linked identities that have no place in the form.
    private(set) var leftOut = 0

    init(_ form: ExportForm) {
        self.form = form
        if form == .json { writer.between("{\"users\":[") }
    }

    /// - `passwordHash`: `nil` if it is not shown.
    mutating func append(_ account: ShownAccount, passwordHash: String?) {
        var hash = account.passwordUpdatedAt == nil ? nil : ExportedAccount.redacted
        if let passwordHash { hash = ExportedAccount.passwordHash(passwordHash) }
        switch form {
        case .json:
            writer.between(count == 0 ? "\n" : ",\n")
            ExportedAccount.json(account, passwordHash: hash, to: &writer)
        case .ndjson:
            ExportedAccount.everything(account, passwordHash: hash, to: &writer)
            writer.between("\n")
        case .csv:
            let line = FirebaseCSV.line(account, passwordHash: hash)
            writer.between(line.text)
            leftOut += line.leftOut
        }
        count += 1
    }

    mutating func finish() {
        if form == .json { writer.between("\n]}\n") }
    }

    /// True if there is enough text to be written.
    var isFull: Bool { writer.bytes.count >= Self.bytesMax }

    /// Removes the text.
    mutating func take() -> ArraySlice<UInt8> {
        defer { writer = JSONWriter() }
        return writer.bytes[...]
    }
}
