/// One statement of a file, identified by its first words.
///
/// The whole file is sent to the server. Splitting serves two checks: that a file has exactly one statement, and that
/// no statement begins or ends a transaction, because file and ledger row must share one.
struct SQLStatement: Equatable {
    /// The first 4 words outside quotes and comments, in upper case; at least one.
    var leadingWords: [String]

    /// Splits `sql` where the server would (PostgreSQL 15 manual, section 4.1, Lexical Structure): not inside strings,
    /// quoted names, dollar quotes, nested comments, parentheses, or the `BEGIN ATOMIC … END` body of a function.
    static func split(_ sql: String) -> [Self] {
        var scanner = SQLScanner(sql)
        return scanner.statements()
    }

    /// True if the statement changes the transaction in which a migration runs.
    var controlsTransaction: Bool {
        switch leadingWords.first {
        case "BEGIN", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE": true
        case "START", "PREPARE": leadingWords.dropFirst().first == "TRANSACTION"
        case "SET": leadingWords.dropFirst().first == "TRANSACTION"
        default: false
        }
    }
}

private struct SQLScanner {
    private let bytes: [UInt8]
    private var position = 0
    private var found: [SQLStatement] = []
    private var words: [String] = []
    private var isEmpty = true
    private var parentheses = 0
    private var blocks = 0

    init(_ sql: String) {
        bytes = Array(sql.utf8)
    }

    mutating func statements() -> [SQLStatement] {
        while position < bytes.count {
            scanOne()
        }
        endStatement()
        return found
    }

    private mutating func scanOne() {
        let byte = bytes[position]
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"), 0x0B, 0x0C:
            position += 1
        case UInt8(ascii: "-") where peek(1) == UInt8(ascii: "-"):
            skipLine()
        case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "*"):
            skipComment()
        case UInt8(ascii: ";") where parentheses == 0 && blocks == 0:
            position += 1
            endStatement()
        case UInt8(ascii: "'"):
            skipQuoted(by: byte, escapes: false)
        case UInt8(ascii: "\""):
            skipQuoted(by: byte, escapes: false)
        case UInt8(ascii: "$"):
            skipDollarQuoteOrSign()
        case _ where Self.startsWord(byte):
            scanWord()
        default:
            if byte == UInt8(ascii: "(") { parentheses += 1 }
            if byte == UInt8(ascii: ")") { parentheses = max(0, parentheses - 1) }
            isEmpty = false
            position += 1
        }
    }

    private mutating func endStatement() {
        if !isEmpty { found.append(SQLStatement(leadingWords: words.isEmpty ? ["?"] : words)) }
        words = []
        isEmpty = true
        parentheses = 0
        blocks = 0
    }

    private func peek(_ distance: Int) -> UInt8? {
        position + distance < bytes.count ? bytes[position + distance] : nil
    }

    private mutating func skipLine() {
        while position < bytes.count, bytes[position] != UInt8(ascii: "\n") { position += 1 }
    }

    private mutating func skipComment() {
        var depth = 0
        repeat {
            if bytes[position] == UInt8(ascii: "/"), peek(1) == UInt8(ascii: "*") {
                depth += 1
                position += 2
            } else if bytes[position] == UInt8(ascii: "*"), peek(1) == UInt8(ascii: "/") {
                depth -= 1
                position += 2
            } else {
                position += 1
            }
        } while depth > 0 && position < bytes.count
    }

    /// A doubled quote closes and reopens the string, which has the same effect.
    private mutating func skipQuoted(by quote: UInt8, escapes: Bool) {
        isEmpty = false
        position += 1
        while position < bytes.count, bytes[position] != quote {
            position += escapes && bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        position = min(position + 1, bytes.count)
    }

    private mutating func skipDollarQuoteOrSign() {
        isEmpty = false
        var end = position + 1
        if end < bytes.count, Self.startsWord(bytes[end]) {
            while end < bytes.count, Self.continuesTag(bytes[end]) { end += 1 }
        }
        guard end < bytes.count, bytes[end] == UInt8(ascii: "$") else {
            position += 1
            return
        }
        let tag = bytes[position...end]
        position = end + 1
        while position < bytes.count, !bytes[position...].starts(with: tag) { position += 1 }
        position = min(position + tag.count, bytes.count)
    }

    private mutating func scanWord() {
        isEmpty = false
        let start = position
        while position < bytes.count, Self.continuesTag(bytes[position]) || bytes[position] == UInt8(ascii: "$") {
            position += 1
        }
        let word = String(decoding: bytes[start..<position], as: UTF8.self).uppercased()
        if word == "E", peek(0) == UInt8(ascii: "'") {
            skipQuoted(by: UInt8(ascii: "'"), escapes: true)
            return
        }
        if words.count < 4 { words.append(word) }
        trackBlock(word)
    }

    /// Tracks `BEGIN ATOMIC … END` by the rule of psql: only in a `CREATE` statement, and `CASE` nests too.
    private mutating func trackBlock(_ word: String) {
        guard words.first == "CREATE" else { return }
        switch word {
        case "BEGIN": blocks += 1
        case "CASE" where blocks > 0: blocks += 1
        case "END" where blocks > 0: blocks -= 1
        default: break
        }
    }

    private static func startsWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"), 0x80...:
            true
        default: false
        }
    }

    private static func continuesTag(_ byte: UInt8) -> Bool {
        startsWord(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
