import AccountAPI
import AccountLinking
import AccountStore
import ArgumentParser
import JSON

/// The form of a file that is written.
enum ExportForm: String, CaseIterable, ExpressibleByArgument {
    case json
    case csv
    case ndjson
}

/// Some accounts of a file.
struct ExportedPart: Sendable {
    var bytes: [UInt8] = []
    var count = 0
    /// Linked identities that have no place in the form.
    var leftOut = 0
}

extension ExportForm {
    /// The beginning of a file.
    var beginning: ArraySlice<UInt8> { self == .json ? Array("{\"users\":[".utf8)[...] : [] }

    /// Bytes of the separator in front of each account but the first of a file.
    var separatorBytes: Int { self == .json ? 1 : 0 }

    /// The end of a file.
    var end: ArraySlice<UInt8> { self == .json ? Array("\n]}\n".utf8)[...] : [] }

    /// Some accounts, each as if another were in front of it.
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
