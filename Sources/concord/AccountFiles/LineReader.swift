import JSON

/// Reads JSON objects, one on each line.
final class JSONLineReader {
    private let bytes: ByteReader

    init(_ bytes: ByteReader) throws(AccountFileError) {
        self.bytes = bytes
        try bytes.skipByteOrderMark()
    }

    /// `nil` at the end. Skips empty lines.
    func next() throws(AccountFileError) -> FileRow<[String: JSONValue]>? {
        while try bytes.peek() != nil {
            let line = bytes.line
            var row: [UInt8]? = []
            while let byte = try bytes.next(), byte != UInt8(ascii: "\n") {
                row?.append(byte)
                if let count = row?.count, count > RowDefect.rowBytesMax { row = nil }
            }
            guard let row else { return FileRow(line: line, content: .failure(.tooLong)) }
            if row.allSatisfy({ [0x20, 0x09, 0x0D].contains($0) }) { continue }
            return FileRow(line: line, content: JSONUserReader.object(row))
        }
        return nil
    }
}

/// Reads records of comma-separated values (RFC 4180). A quoted field may contain commas, line ends and doubled quotes.
final class CSVReader {
    private let bytes: ByteReader

    init(_ bytes: ByteReader) throws(AccountFileError) {
        self.bytes = bytes
        try bytes.skipByteOrderMark()
    }

    /// `nil` at the end. Skips empty lines.
    func next() throws(AccountFileError) -> FileRow<[String]>? {
        while try bytes.peek() != nil {
            let line = bytes.line
            var fields: [[UInt8]] = [[]]
            var (count, isQuoted, isTooLong) = (0, false, false)
            while true {
                guard let byte = try bytes.next() else {
                    if isQuoted { throw .broken("ends in the middle of a user", line: line) }
                    break
                }
                count += 1
                // Otherwise a missing quote would turn the rest of the file into one field.
                if count > RowDefect.rowBytesMax {
                    if isQuoted { throw .broken("has a quote that is never closed", line: line) }
                    isTooLong = true
                }
                if byte == UInt8(ascii: "\"") {
                    if isQuoted, try bytes.peek() == UInt8(ascii: "\"") {
                        _ = try bytes.next()
                        if !isTooLong { fields[fields.count - 1].append(byte) }
                    } else {
                        isQuoted.toggle()
                    }
                } else if !isQuoted, byte == UInt8(ascii: "\n") {
                    break
                } else if !isQuoted, byte == UInt8(ascii: ",") {
                    if !isTooLong { fields.append([]) }
                } else if !isTooLong {
                    fields[fields.count - 1].append(byte)
                }
            }
            if isTooLong { return FileRow(line: line, content: .failure(.tooLong)) }
            if fields[fields.count - 1].last == UInt8(ascii: "\r") { fields[fields.count - 1].removeLast() }
            if fields == [[]] { continue }
            let texts = fields.compactMap { String(validating: $0, as: UTF8.self) }
            // PostgreSQL cannot store U+0000.
            guard texts.count == fields.count, !fields.contains(where: { $0.contains(0) }) else {
                return FileRow(line: line, content: .failure(.notUTF8))
            }
            return FileRow(line: line, content: .success(texts))
        }
        return nil
    }
}
