/// One statement of a migration file.
///
/// The server gets the statements one by one, so that an error has a line, and because Citus refuses some statements in
/// a text of several.
package struct SQLStatement: Sendable, Equatable {
    /// The text from the first token to the last one, without the final semicolon.
    package var text: String
    /// The line of the file on which `text` begins, from 1.
    var line: Int
    /// Words in upper case, symbols, and `''` for each string or quoted name; comments are left out.
    var tokens: [String]

    /// The first 4 words outside quotes and comments, in upper case; at least one.
    var leadingWords: [String] {
        let words = tokens.filter { $0.utf8.first.map(SQLScanner.startsWord) == true }.prefix(4)
        return words.isEmpty ? ["?"] : Array(words)
    }

    /// Splits `sql` where the server would (PostgreSQL 15 manual, section 4.1, Lexical Structure): not inside strings,
    /// quoted names, dollar quotes, nested comments, parentheses, or the `BEGIN ATOMIC … END` body of a function.
    package static func split(_ sql: String) -> [Self] {
        var scanner = SQLScanner(sql)
        return scanner.statements()
    }

    /// True if requests continue while the statement waits: it asks for no lock that conflicts with reads and writes of
    /// rows.
    var waitsInNobodysWay: Bool { tokens.contains("CONCURRENTLY") || tokens.contains("VALIDATE") }

    /// The index that `CREATE INDEX CONCURRENTLY` creates, if its name is without schema and quotes.
    var indexCreatedConcurrently: String? {
        guard tokens.first == "CREATE" else { return nil }
        let name = tokens.drop { $0 != "CONCURRENTLY" }.dropFirst().first
        return name?.utf8.first.map(SQLScanner.startsWord) == true ? name?.lowercased() : nil
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
    private var tokens: [String] = []
    /// The first byte of the first token of the statement, and the end of its last token.
    private var start = 0
    private var end = 0
    /// The lines before `lineStart`, which is the position up to which lines are counted.
    private var linesBefore = 0
    private var lineStart = 0
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
            let start = position
            position += 1
            add(String(decoding: [byte], as: UTF8.self), from: start)
        }
    }

    /// Adds a token that begins at `start` and ends before `position`.
    private mutating func add(_ token: String, from start: Int) {
        if tokens.isEmpty { self.start = start }
        tokens.append(token)
        end = position
    }

    private mutating func endStatement() {
        if !tokens.isEmpty {
            linesBefore += bytes[lineStart..<start].count { $0 == UInt8(ascii: "\n") }
            lineStart = start
            let text = String(decoding: bytes[start..<end], as: UTF8.self)
            found.append(SQLStatement(text: text, line: linesBefore + 1, tokens: tokens))
        }
        tokens = []
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

    /// Without escapes, a doubled quote closes and reopens the string, which has the same effect.
    private mutating func skipQuoted(by quote: UInt8, escapes: Bool) {
        let start = position
        position += 1
        while position < bytes.count {
            let isEscape = bytes[position] == UInt8(ascii: "\\") || bytes[position] == quote && peek(1) == quote
            if bytes[position] == quote, !(escapes && isEscape) { break }
            position += escapes && isEscape ? 2 : 1
        }
        position = min(position + 1, bytes.count)
        add("''", from: start)
    }

    private mutating func skipDollarQuoteOrSign() {
        let start = position
        var end = position + 1
        if end < bytes.count, Self.startsWord(bytes[end]) {
            while end < bytes.count, Self.continuesTag(bytes[end]) { end += 1 }
        }
        guard end < bytes.count, bytes[end] == UInt8(ascii: "$") else {
            position += 1
            add("$", from: start)
            return
        }
        let tag = bytes[position...end]
        position = end + 1
        while position < bytes.count, !bytes[position...].starts(with: tag) { position += 1 }
        position = min(position + tag.count, bytes.count)
        add("''", from: start)
    }

    private mutating func scanWord() {
        let start = position
        while position < bytes.count, Self.continuesTag(bytes[position]) || bytes[position] == UInt8(ascii: "$") {
            position += 1
        }
        let word = String(decoding: bytes[start..<position], as: UTF8.self).uppercased()
        if word == "E", peek(0) == UInt8(ascii: "'") {
            skipQuoted(by: UInt8(ascii: "'"), escapes: true)
            return
        }
        add(word, from: start)
        trackBlock(word)
    }

    /// Tracks `BEGIN ATOMIC … END` of a function or procedure. `CASE … END` nests in it.
    private mutating func trackBlock(_ word: String) {
        guard createsRoutine else { return }
        switch word {
        case "ATOMIC" where tokens.dropLast().last == "BEGIN": blocks += 1
        case "CASE" where blocks > 0: blocks += 1
        case "END" where blocks > 0: blocks -= 1
        default: break
        }
    }

    private var createsRoutine: Bool {
        var words = tokens[...]
        guard words.popFirst() == "CREATE" else { return false }
        if words.starts(with: ["OR", "REPLACE"]) { words = words.dropFirst(2) }
        return words.first == "FUNCTION" || words.first == "PROCEDURE"
    }

    static func startsWord(_ byte: UInt8) -> Bool {
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
