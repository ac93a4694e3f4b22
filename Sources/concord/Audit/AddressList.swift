import AccountLinking
import Glibc

/// Addresses that somebody wrote down, one a line; empty lines are skipped.
struct AddressList {
    struct Line: Sendable {
        /// From 1.
        var number: Int
        var address: EmailAddress
    }

    private static let bytesMax = 64 << 20

    let addresses: [Line]

    /// - `path`: the file; `-` is standard input.
    /// - Throws: `StartupFailure` that names the first line which is no address.
    init(path: String) throws(StartupFailure) {
        let bytes: [UInt8]
        do {
            let handle = path == "-" ? 0 : open(path, O_RDONLY | O_CLOEXEC)
            guard handle >= 0 else { throw StartupFailure("\(path) cannot be read", .badData) }
            defer { if handle != 0 { close(handle) } }
            bytes = try Self.contents(of: handle, path)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw StartupFailure("\(path) is not UTF-8 text", .badData)
        }
        var lines: [Line] = []
        // By bytes: as characters, a carriage return and a line feed are one.
        let newline = UInt8(ascii: "\n")
        for (index, line) in text.utf8.split(separator: newline, omittingEmptySubsequences: false).enumerated() {
            let written = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            guard !written.isEmpty else { continue }
            guard let address = EmailAddress(String(decoding: written, as: UTF8.self)) else {
                throw StartupFailure("\(path), line \(index + 1): not an e-mail address", .badData)
            }
            lines.append(Line(number: index + 1, address: address))
        }
        addresses = lines
    }

    private static func contents(of descriptor: Int32, _ path: String) throws(StartupFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count == 0 { return bytes }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw StartupFailure("\(path) cannot be read", .badData) }
            bytes += buffer.prefix(count)
            guard bytes.count <= bytesMax else {
                throw StartupFailure("\(path) is larger than \(bytesMax >> 20) MiB; split it", .badData)
            }
        }
    }
}
