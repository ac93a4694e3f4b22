import AccountAPI
import AccountLinking
import AccountStore
import ArgumentParser
import JSON

/// The format of an export file.
enum ExportForm: String, CaseIterable, ExpressibleByArgument {
    case json
    case csv
    case ndjson
}

/// Some accounts of a file.
struct ExportedPart: Sendable {
    var bytes: [UInt8] = []
    var count = 0
    /// Number of linked identities that the format cannot represent.
    var leftOut = 0
}

extension ExportForm {
    /// The beginning of a file.
    var beginning: ArraySlice<UInt8> { self == .json ? Array("{\"users\":[".utf8)[...] : [] }

    /// Number of bytes of the separator before each account except the first of a file.
    var separatorBytes: Int { self == .json ? 1 : 0 }

    /// The end of a file.
    var end: ArraySlice<UInt8> { self == .json ? Array("\n]}\n".utf8)[...] : [] }

    /// Formats some accounts, each with a separator before it.
    func part(_ accounts: StoredAccounts, withHashes: Bool) throws -> ExportedPart {
        var part = ExportedPart()
        var writer = JSONWriter()
        try accounts.visit { account, hash in
            var shown = account.passwordUpdatedAt == nil ? nil : ExportedAccount.redacted
            if withHashes, let hash { shown = ExportedAccount.passwordHash(hash) }
            switch self {
            case .json:
                writer.between(",\n")
                ExportedAccount.json(account, passwordHash: shown, to: &writer)
            case .ndjson:
                ExportedAccount.everything(account, passwordHash: shown, to: &writer)
                writer.between("\n")
            case .csv:
                let line = FirebaseCSV.line(account, passwordHash: shown)
                part.bytes += line.text.utf8
                part.leftOut += line.leftOut
            }
            part.count += 1
        }
        if self != .csv { part.bytes = writer.bytes }
        return part
    }
}
