import AccountLinking
import ArgumentParser

/// A list of addresses, one per line; empty lines are skipped.
struct AddressList {
    struct Line: Sendable {
        /// From 1.
        var number: Int
        var address: EmailAddress
    }

    private static let linesMax = 1_000_000
    private static let lineBytesMax = 1024

    let addresses: [Line]

    /// - `path`: the file; `-` is standard input.
    /// - Throws: `StartupFailure` with the first invalid line, or with the reason why the file cannot be read.
    init(path: String) throws(StartupFailure) {
        do {
            addresses = try Self.read(try ByteReader(path: path), path)
        } catch let failure as StartupFailure {
            throw failure
        } catch {
            throw StartupFailure("\(error)", ExitCode(for: error))
        }
    }

    private static func read(_ bytes: ByteReader, _ path: String) throws -> [Line] {
        try bytes.skipByteOrderMark()
        var lines: [Line] = []
        while try bytes.peek() != nil {
            let number = bytes.line
            guard number <= linesMax else {
                throw StartupFailure("\(path) has more than a million lines; split it", .badData)
            }
            var line: [UInt8] = []
            while let byte = try bytes.next(), byte != UInt8(ascii: "\n") {
                // A longer line is not an address.
                if line.count <= lineBytesMax { line.append(byte) }
            }
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            guard !line.isEmpty else { continue }
            guard let text = String(validating: line, as: UTF8.self), let address = EmailAddress(text) else {
                throw StartupFailure("\(path), line \(number): not an e-mail address", .badData)
            }
            lines.append(Line(number: number, address: address))
        }
        return lines
    }
}
