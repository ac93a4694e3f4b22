/// Separates the code of a Swift source from comments and literals.
///
/// This is not a parser. It recognizes nested comments, string literals (plain, raw, multi-line, with interpolations)
/// and names in back-ticks. It does not recognize a bare `/regex/`.
struct SwiftScanner {
    /// The source, with blanks for the content of comments, string literals and names in back-ticks. Offsets and lines
    /// are those of the source.
    private(set) var code: [UInt8]
    /// The string literals in order, without interpolations, with the offset of the opening quote.
    private(set) var literals: [(offset: Int, text: String)] = []

    private let source: [UInt8]
    private var position = 0

    init(_ text: String) {
        source = Array(text.utf8)
        code = source
        scanCode(untilClosingParenthesis: false)
    }

    private func starts(with text: StaticString, at offset: Int) -> Bool {
        let count = text.utf8CodeUnitCount
        guard offset + count <= source.count else { return false }
        for index in 0..<count where source[offset + index] != text.utf8Start[index] { return false }
        return true
    }

    private mutating func blank(_ range: Range<Int>) {
        for index in range where source[index] != UInt8(ascii: "\n") { code[index] = UInt8(ascii: " ") }
    }

    /// Scans code to the end of the source, or to the parenthesis that ends an interpolation.
    private mutating func scanCode(untilClosingParenthesis: Bool) {
        var depth = 0
        while position < source.count {
            switch source[position] {
            case UInt8(ascii: "/") where starts(with: "//", at: position): skipLineComment()
            case UInt8(ascii: "/") where starts(with: "/*", at: position): skipBlockComment()
            case UInt8(ascii: "\""): scanLiteral(hashes: 0)
            case UInt8(ascii: "#"): scanHashes()
            case UInt8(ascii: "`"): skipName()
            case UInt8(ascii: "("):
                depth += 1
                position += 1
            case UInt8(ascii: ")"):
                if untilClosingParenthesis, depth == 0 { return }
                depth -= 1
                position += 1
            default: position += 1
            }
        }
    }

    private mutating func skipLineComment() {
        let start = position
        while position < source.count, source[position] != UInt8(ascii: "\n") { position += 1 }
        blank(start..<position)
    }

    private mutating func skipBlockComment() {
        let start = position
        var depth = 0
        repeat {
            if starts(with: "/*", at: position) {
                depth += 1
                position += 2
            } else if starts(with: "*/", at: position) {
                depth -= 1
                position += 2
            } else {
                position += 1
            }
        } while depth > 0 && position < source.count
        position = min(position, source.count)
        blank(start..<position)
    }

    private mutating func skipName() {
        let start = position + 1
        position = start
        while position < source.count, source[position] != UInt8(ascii: "`"), source[position] != UInt8(ascii: "\n") {
            position += 1
        }
        blank(start..<position)
        position = min(position + 1, source.count)
    }

    /// After `#`: a raw string, a regular expression between `#/` and `/#`, or an ordinary directive.
    private mutating func scanHashes() {
        let start = position
        while position < source.count, source[position] == UInt8(ascii: "#") { position += 1 }
        guard position < source.count else { return }
        if source[position] == UInt8(ascii: "\"") {
            scanLiteral(hashes: position - start)
        } else if source[position] == UInt8(ascii: "/") {
            let content = position + 1
            while position < source.count, !starts(with: "/#", at: position) { position += 1 }
            blank(min(content, position)..<position)
            position = min(position + 2, source.count)
        }
    }

    private mutating func scanLiteral(hashes: Int) {
        let opening = position
        let isMultiline = starts(with: "\"\"\"", at: position)
        position += isMultiline ? 3 : 1
        var text: [UInt8] = []
        while position < source.count {
            if endsLiteral(isMultiline: isMultiline, hashes: hashes) {
                position += (isMultiline ? 3 : 1) + hashes
                break
            }
            if source[position] == UInt8(ascii: "\\"), hasHashes(hashes, at: position + 1) {
                let escaped = position + 1 + hashes
                if escaped < source.count, source[escaped] == UInt8(ascii: "(") {
                    blank(position..<escaped)
                    position = escaped + 1
                    scanCode(untilClosingParenthesis: true)
                    position = min(position + 1, source.count)
                    continue
                }
                let end = min(escaped + 1, source.count)
                text += source[position..<end]
                blank(position..<end)
                position = end
                continue
            }
            // A literal of one line ends with the line, even without a closing quote.
            if !isMultiline, source[position] == UInt8(ascii: "\n") { break }
            text.append(source[position])
            blank(position..<(position + 1))
            position += 1
        }
        literals.append((opening, String(decoding: text, as: UTF8.self)))
    }

    private func endsLiteral(isMultiline: Bool, hashes: Int) -> Bool {
        if isMultiline { return starts(with: "\"\"\"", at: position) && hasHashes(hashes, at: position + 3) }
        return source[position] == UInt8(ascii: "\"") && hasHashes(hashes, at: position + 1)
    }

    private func hasHashes(_ count: Int, at offset: Int) -> Bool {
        guard offset + count <= source.count else { return false }
        return source[offset..<(offset + count)].allSatisfy { $0 == UInt8(ascii: "#") }
    }
}
