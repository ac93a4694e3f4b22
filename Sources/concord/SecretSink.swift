import ArgumentParser
import Glibc

/// The destination of a private key: a new file, or standard output. Others cannot read it there.
struct SecretSink {
    private let path: String?

    /// - Parameters:
    ///   - path: a file that does not exist; `nil` is standard output.
    ///   - allowsTerminal: true if the key may be shown on a terminal.
    /// - Throws: `ValidationError` if standard output is a terminal, or a file that other users can read.
    init(path: String?, allowsTerminal: Bool) throws {
        self.path = path
        if path == nil { try Self.checkStandardOutput(allowsTerminal: allowsTerminal) }
    }

    private static func checkStandardOutput(allowsTerminal: Bool) throws {
        if isatty(STDOUT_FILENO) == 1, !allowsTerminal {
            throw ValidationError(
                "a private key is not printed on a terminal; give --output FILE, or --force-terminal to see it here"
            )
        }
        guard let permissions = FileIdentity.permissions(ofRegularFile: STDOUT_FILENO) else { return }
        guard permissions & 0o077 == 0 else {
            let mode = String(permissions, radix: 8)
            throw ValidationError(
                "other users can read the file of standard output (mode \(mode)); give --output FILE, which only you can read"
            )
        }
    }

    /// Writes the text and a line break to the disk, or to standard output.
    /// - Throws: `StartupFailure` if the file exists or cannot be created; `OutputFailure`.
    func write(_ text: String) throws {
        guard let path else {
            try say(text)
            return try flushOutput()
        }
        // The umask can only take permissions away.
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let failure = errno
            let reason = String(cString: strerror(failure))
            let advice = failure == EEXIST ? ". Give another name, or remove the file first" : ""
            throw StartupFailure("\(path): \(reason)\(advice)", .badConfiguration)
        }
        do throws(OutputFailure) {
            try writeAll(Array("\(text)\n".utf8)[...], to: descriptor, named: path)
            guard fsync(descriptor) == 0, close(descriptor) == 0 else { throw OutputFailure(path) }
        } catch {
            unlink(path)
            throw error
        }
    }
}
