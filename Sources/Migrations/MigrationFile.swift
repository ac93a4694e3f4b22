import Crypto

/// The parts of a migration's file name: `NNNN_snake_case.up.sql` or `NNNN_snake_case.down.sql`.
package struct MigrationFileName: Sendable, Hashable, CustomStringConvertible {
    /// The direction of a migration file.
    package enum Direction: String, Sendable, Hashable, CaseIterable {
        case up
        case down
    }

    /// 1 to 9999, written with 4 digits.
    package let version: Int
    /// Lower-case letters, digits and single underscores. Begins with a letter.
    package let name: String
    package let direction: Direction

    /// Parses a file name; `nil` for any other form.
    package init?(_ fileName: String) {
        let parts = fileName.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[2] == "sql", let direction = Direction(rawValue: String(parts[1])) else {
            return nil
        }
        let digits = parts[0].prefix(4)
        let rest = parts[0].dropFirst(4)
        guard digits.utf8.count == 4, digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let version = Int(digits), rest.first == "_"
        else { return nil }
        self.init(version: version, name: String(rest.dropFirst()), direction: direction)
    }

    /// `nil` if `version` is not in 1...9999 or `name` is not in snake case.
    package init?(version: Int, name: String, direction: Direction) {
        guard (1...9999).contains(version), Self.isSnakeCase(name) else { return nil }
        self.version = version
        self.name = name
        self.direction = direction
    }

    package var description: String { "\(stem).\(direction.rawValue).sql" }

    /// The common part of the names of a migration's two files: `0007_sessions`.
    package var stem: String { "\(Self.fourDigits(version))_\(name)" }

    /// Returns true if `name` is allowed in a file name: 1 to 64 of `a–z 0–9 _`, a letter first, no final or double
    /// underscore.
    package static func isSnakeCase(_ name: String) -> Bool {
        var previous = UInt8(ascii: "_")
        for byte in name.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): break
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                // An underscore and a letter follow the number, so that number and name are always separable.
                if previous == UInt8(ascii: "_"), name.utf8.first == byte { return false }
            case UInt8(ascii: "_"):
                if previous == UInt8(ascii: "_") { return false }
            default: return false
            }
            previous = byte
        }
        return (1...64).contains(name.utf8.count) && previous != UInt8(ascii: "_")
    }

    static func fourDigits(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
    }
}

/// A migration file: its SQL, and whether it runs in a transaction.
package struct MigrationFile: Sendable, Equatable {
    package let fileName: MigrationFileName
    /// The text of the file.
    package let sql: String
    /// The statements of `sql`, which run one by one.
    let statements: [SQLStatement]
    /// SHA-256 of the file's bytes in lower-case hexadecimal. The ledger stores that of the up file.
    package let checksum: String
    /// False if the first line is `-- migrate: no-transaction`. The file then has exactly one statement.
    package let runsInTransaction: Bool

    /// The first line of a file that runs outside a transaction.
    package static let noTransactionDirective = "-- migrate: no-transaction"
}

extension MigrationFile {
    /// Parses the bytes of a file. Returns the defect instead if they are invalid.
    static func parse(_ fileName: MigrationFileName, bytes: [UInt8]) -> Result<Self, MigrationRefusal> {
        guard let sql = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
            return .failure(.notText(file: fileName.description))
        }
        let firstLine = sql.prefix { !$0.isNewline }
        let runsInTransaction: Bool
        if firstLine.hasPrefix("-- migrate:") {
            guard firstLine == noTransactionDirective else {
                return .failure(.unknownDirective(file: fileName.description, line: String(firstLine)))
            }
            runsInTransaction = false
        } else {
            runsInTransaction = true
        }
        let statements = SQLStatement.split(sql)
        guard !statements.isEmpty else { return .failure(.noStatement(file: fileName.description)) }
        if !runsInTransaction, statements.count != 1 {
            return .failure(.notOneStatement(file: fileName.description, count: statements.count))
        }
        if let control = statements.first(where: \.controlsTransaction) {
            return .failure(.controlsTransaction(file: fileName.description, statement: control.leadingWords[0]))
        }
        return .success(
            Self(
                fileName: fileName,
                sql: sql,
                statements: statements,
                checksum: checksum(of: bytes),
                runsInTransaction: runsInTransaction
            )
        )
    }

    static func checksum(of bytes: [UInt8]) -> String {
        SHA256.hash(data: bytes)
            .map { byte in
                let digits = String(byte, radix: 16)
                return digits.utf8.count == 1 ? "0" + digits : digits
            }
            .joined()
    }
}
