import Glibc
import Synchronization

/// A failed write: the disk is full, or the reader is gone.
struct OutputFailure: Error, Equatable, CustomStringConvertible {
    let description: String

    /// - Parameters:
    ///   - name: the destination.
    ///   - error: the reason, by default the last error of the system.
    init(_ name: String, error: Int32 = errno) {
        description = "\(name): \(String(cString: strerror(error)))"
    }
}

/// Standard output for all commands. Output is buffered until the buffer is full or is flushed. After a failed write,
/// all later output is dropped.
private struct StandardOutput {
    private static let bytesMax = 32 << 10

    private var bytes: [UInt8] = []
    private var failure: OutputFailure?
    /// True for a terminal, where output appears at once.
    private let isTerminal = isatty(STDOUT_FILENO) == 1

    mutating func append(_ text: String) throws(OutputFailure) {
        if let failure { throw failure }
        bytes += text.utf8
        if isTerminal || bytes.count >= Self.bytesMax { try flush() }
    }

    mutating func flush() throws(OutputFailure) {
        if let failure { throw failure }
        let rest = bytes
        bytes.removeAll(keepingCapacity: true)
        do throws(OutputFailure) {
            if isTerminal {
                try ProgressLine.wipe { () throws(OutputFailure) in
                    try writeAll(rest[...], to: STDOUT_FILENO, named: "standard output")
                }
            } else {
                try writeAll(rest[...], to: STDOUT_FILENO, named: "standard output")
            }
        } catch {
            failure = error
            throw error
        }
    }
}

private let standardOutput = Mutex(StandardOutput())

/// Prints `text` on standard output, at the latest when the command ends (`reportingErrors`).
/// - Throws: `OutputFailure` if this or an earlier write failed. Callers may ignore it, because the end of the command
///   throws it again.
func say(_ text: String, terminator: String = "\n") throws(OutputFailure) {
    try standardOutput.withLock { output throws(OutputFailure) in try output.append(text + terminator) }
}

/// Writes the buffered output: before a question, before a change that it reports, and at the end.
func flushOutput() throws(OutputFailure) {
    try standardOutput.withLock { output throws(OutputFailure) in try output.flush() }
}

/// Prints `text` for a server, which must not end because the reader is gone.
func announce(_ text: String) {
    do {
        try writeAll(Array("\(text)\n".utf8)[...], to: STDOUT_FILENO, named: "standard output")
    } catch {
        complain("\(error)")
    }
}

/// Writes lines to standard error, each with the prefix of the program.
func complain(_ text: String) {
    emit(text.split(separator: "\n").map { "concord: \($0)\n" }.joined())
}

/// Writes `text` unchanged to standard error, in the place of a progress line. A failure cannot be reported.
func emit(_ text: String) {
    ProgressLine.wipe { try? writeAll(Array(text.utf8)[...], to: STDERR_FILENO, named: "standard error") }
}

/// Writes all of `bytes`, with several system calls if needed.
///
/// `name`: the name of `descriptor` in an error.
func writeAll(_ bytes: ArraySlice<UInt8>, to descriptor: Int32, named name: String) throws(OutputFailure) {
    if let error = writePrefix(of: bytes, to: descriptor).error { throw OutputFailure(name, error: error) }
}

/// Writes `bytes` until all are written or a write fails, and waits for a reader that is not ready.
/// - Returns: the number of bytes written, and the error of the failed write; `nil` if all are written.
func writePrefix(of bytes: ArraySlice<UInt8>, to descriptor: Int32) -> (count: Int, error: Int32?) {
    var rest = bytes
    while !rest.isEmpty {
        let written = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        let error = errno
        if written < 0, error == EINTR { continue }
        if written < 0, error == EAGAIN {
            var output = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            _ = poll(&output, 1, -1)
            continue
        }
        guard written > 0 else { return (bytes.count - rest.count, written == 0 ? EIO : error) }
        rest = rest.dropFirst(written)
    }
    return (bytes.count, nil)
}
