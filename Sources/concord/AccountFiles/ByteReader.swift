import Glibc

/// Reads bytes of a file or of standard input in little memory, and counts lines.
final class ByteReader {
    private let descriptor: Int32
    private let name: String
    private var buffer: [UInt8] = []
    private var position = 0
    private var isAtEnd = false
    /// The line of the next byte, from 1.
    private(set) var line = 1

    private static let bufferBytes = 256 << 10

    /// `path`: `-` is standard input.
    init(path: String) throws(AccountFileError) {
        if path == "-" {
            (descriptor, name) = (STDIN_FILENO, "standard input")
        } else {
            let opened = open(path, O_RDONLY | O_CLOEXEC)
            guard opened >= 0 else { throw .unreadable("\(path): \(String(cString: strerror(errno)))") }
            (descriptor, name) = (opened, path)
        }
    }

    deinit {
        if descriptor != STDIN_FILENO { close(descriptor) }
    }

    /// Returns the next byte without consuming it; `nil` at the end.
    func peek() throws(AccountFileError) -> UInt8? {
        if position == buffer.count { try fill() }
        return position < buffer.count ? buffer[position] : nil
    }

    func next() throws(AccountFileError) -> UInt8? {
        guard let byte = try peek() else { return nil }
        position += 1
        if byte == UInt8(ascii: "\n") { line += 1 }
        return byte
    }

    /// Skips the byte order mark of UTF-8. Files in UTF-16 begin with another one.
    func skipByteOrderMark() throws(AccountFileError) {
        switch try peek() {
        case 0xFE, 0xFF: throw .broken("is not in UTF-8", line: 1)
        case 0xEF:
            for expected in [0xEF, 0xBB, 0xBF] as [UInt8] {
                guard try next() == expected else { throw .broken("is not in UTF-8", line: 1) }
            }
        default: break
        }
    }

    private func fill() throws(AccountFileError) {
        guard !isAtEnd else { return }
        if buffer.count != Self.bufferBytes { buffer = [UInt8](repeating: 0, count: Self.bufferBytes) }
        var count = 0
        repeat {
            count = read(descriptor, &buffer, Self.bufferBytes)
        } while count < 0 && errno == EINTR
        guard count >= 0 else { throw .unreadable("\(name): \(String(cString: strerror(errno)))") }
        if count == 0 { isAtEnd = true }
        if count < buffer.count { buffer.removeLast(buffer.count - count) }
        position = 0
    }
}

/// The reason why the rest of a file cannot be read. The rows before it are valid.
enum AccountFileError: Error, CustomStringConvertible {
    case unreadable(String)
    case broken(String, line: Int)
    /// A row with a password hash, although no option names its algorithm.
    case unnamedHash(RowPlace)

    var description: String {
        switch self {
        case .unreadable(let text): text
        case .broken(let text, let line): "line \(line): the file \(text)"
        case .unnamedHash(let place): "\(place): the algorithm of a password hash is not known: give --hash-algo"
        }
    }
}

/// An account of a file, or the mistake in its row, and its place.
struct FileRow<Content: Sendable>: Sendable {
    let line: Int
    /// The index of the row, from 0, if the line is not sufficient.
    var index: Int?
    let content: Result<Content, RowDefect>

    var place: RowPlace { RowPlace(line: line, index: index) }
}

/// The place where a row begins.
struct RowPlace: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// From 1.
    var line: Int
    /// The index from 0, if all rows may be on one line.
    var index: Int?

    var description: String { index.map { "line \(line), index \($0)" } ?? "line \(line)" }

    /// The number of rows before it.
    var before: String {
        switch index {
        case nil: "all rows before line \(line) are done"
        case 0: "no row is done"
        case 1: "the first row is done"
        case let count?: "the first \(count) rows are done"
        }
    }

    static func < (left: Self, right: Self) -> Bool {
        (left.index ?? left.line) < (right.index ?? right.line)
    }
}

/// The mistake in one row, after which the next row can be read.
enum RowDefect: Error, Sendable, Hashable, CustomStringConvertible {
    case notUTF8
    case notJSON
    case notAnObject
    case tooLong
    case columns(found: Int)
    case unusable(String)

    /// Maximum number of bytes of one row.
    static let rowBytesMax = 1 << 20

    var description: String {
        switch self {
        case .notUTF8: "the row is not in UTF-8"
        case .notJSON: "the row is not valid JSON"
        case .notAnObject: "the row is not a JSON object"
        case .tooLong: "the row is longer than \(Self.rowBytesMax) bytes"
        case .columns(let found): "the row has \(found) columns"
        case .unusable(let name): "\(name) cannot be read"
        }
    }
}
