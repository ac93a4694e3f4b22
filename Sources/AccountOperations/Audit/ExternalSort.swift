import Glibc
import HeapModule

/// A failure to make, write or read a temporary file.
package struct TemporaryFileFailure: Error, CustomStringConvertible {
    package let description: String

    fileprivate init(_ action: String) {
        description = "a temporary file could not be \(action): \(String(cString: strerror(errno)))"
    }
}

/// Sorts more records than memory holds, by a numeric key.
///
/// When the records fill the memory, they are sorted and appended to a file as a run. At the end all runs are merged.
/// The file has no name, so it disappears with the process.
struct ExternalSort: ~Copyable {
    private let file: TemporaryFile
    /// Maximum bytes of records in a run.
    private let runBytes: Int
    private var runs: [Range<Int>] = []
    /// The concatenated records of the next run.
    private var records: [UInt8] = []
    private var entries: [(key: UInt64, record: Range<Int>)] = []

    init(in folder: String, runBytes: Int = 4 * 1_048_576) throws(TemporaryFileFailure) {
        self.init(file: try TemporaryFile(in: folder), runBytes: runBytes)
    }

    init(file: TemporaryFile, runBytes: Int) {
        self.file = file
        self.runBytes = runBytes
    }

    mutating func append(_ record: [UInt8], key: UInt64) throws(TemporaryFileFailure) {
        if records.count + record.count > runBytes, !records.isEmpty { try writeRun() }
        entries.append((key, records.count..<records.count + record.count))
        records += record
    }

    /// Writes each record after its key in 8 bytes and its length in 4.
    private mutating func writeRun() throws(TemporaryFileFailure) {
        entries.sort { $0.key < $1.key }
        var run: [UInt8] = []
        run.reserveCapacity(records.count + entries.count * 12)
        for (key, record) in entries {
            run.append(littleEndian: key)
            run.append(littleEndian: UInt32(record.count))
            run += records[record]
        }
        runs.append(try file.append(run))
        records.removeAll(keepingCapacity: true)
        entries.removeAll(keepingCapacity: true)
    }

    /// Calls `body` with the records of each key that several records have, in the order of keys.
    consuming func forEachRepeatedKey(_ body: ([[UInt8]]) throws -> Void) throws {
        try writeRun()
        var readers = runs.map { RunReader($0, file) }
        var next = Heap<Head>()
        for place in readers.indices {
            if let key = try readers[place].nextKey() { next.insert(Head(key: key, run: place)) }
        }
        var (key, same): (UInt64?, [[UInt8]]) = (nil, [])
        while let head = next.popMin() {
            if head.key != key {
                if same.count > 1 { try body(same) }
                key = head.key
                same.removeAll(keepingCapacity: true)
            }
            same.append(try readers[head.run].record())
            if let key = try readers[head.run].nextKey() { next.insert(Head(key: key, run: head.run)) }
        }
        if same.count > 1 { try body(same) }
    }

    /// The key of the next record of a run. Equal keys are in the order of runs, so the result is the same every time.
    private struct Head: Comparable {
        let key: UInt64
        let run: Int

        static func < (lhs: Self, rhs: Self) -> Bool { (lhs.key, lhs.run) < (rhs.key, rhs.run) }
    }
}

/// Reads the records of a run through a buffer.
private struct RunReader {
    private static let bufferBytes = 16_384

    private var rest: Range<Int>
    private let file: TemporaryFile
    private var buffer: [UInt8] = []
    private var place = 0

    init(_ range: Range<Int>, _ file: TemporaryFile) {
        rest = range
        self.file = file
    }

    /// Moves to the next record and returns its key; `nil` after the last one.
    mutating func nextKey() throws(TemporaryFileFailure) -> UInt64? {
        if place == buffer.count, rest.isEmpty { return nil }
        return try integer(UInt64.self)
    }

    mutating func record() throws(TemporaryFileFailure) -> [UInt8] {
        let count = Int(try integer(UInt32.self))
        try fill(count)
        defer { place += count }
        return Array(buffer[place..<place + count])
    }

    private mutating func integer<Integer: FixedWidthInteger>(_: Integer.Type) throws(TemporaryFileFailure) -> Integer {
        let count = MemoryLayout<Integer>.size
        try fill(count)
        var integer: Integer = 0
        for byte in (place..<place + count).reversed() { integer = integer << 8 | Integer(buffer[byte]) }
        place += count
        return integer
    }

    /// Reads on if fewer than `count` bytes are in the buffer.
    private mutating func fill(_ count: Int) throws(TemporaryFileFailure) {
        guard buffer.count - place < count else { return }
        let more = rest.prefix(max(Self.bufferBytes, count))
        buffer = Array(buffer[place...]) + (try file.read(more))
        place = 0
        rest = rest.dropFirst(more.count)
    }
}

/// A temporary file, normally without a name.
final class TemporaryFile {
    private let descriptor: Int32
    private var length = 0

    init(in folder: String) throws(TemporaryFileFailure) {
        var path = Array("\(folder)/concord-XXXXXX".utf8CString)
        descriptor = mkstemp(&path)
        guard descriptor >= 0 else { throw TemporaryFileFailure("made in \(folder)") }
        unlink(path)
    }

    /// Opens a named file.
    init(path: String) throws(TemporaryFileFailure) {
        descriptor = open(path, O_RDWR)
        guard descriptor >= 0 else { throw TemporaryFileFailure("opened at \(path)") }
    }

    deinit {
        close(descriptor)
    }

    /// Appends `bytes` and returns their place in the file.
    func append(_ bytes: [UInt8]) throws(TemporaryFileFailure) -> Range<Int> {
        let start = length
        var rest = bytes
        while !rest.isEmpty {
            let count = write(descriptor, rest, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw TemporaryFileFailure("written") }
            length += count
            rest = count == rest.count ? [] : Array(rest.dropFirst(count))
        }
        return start..<length
    }

    func read(_ range: Range<Int>) throws(TemporaryFileFailure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        while true {
            let count = pread(descriptor, &bytes, range.count, range.lowerBound)
            if count == range.count { return bytes }
            guard count < 0, errno == EINTR else { throw TemporaryFileFailure("read") }
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append<Integer: FixedWidthInteger>(littleEndian integer: Integer) {
        for byte in 0..<MemoryLayout<Integer>.size { append(UInt8(truncatingIfNeeded: integer >> (8 * Integer(byte)))) }
    }
}
