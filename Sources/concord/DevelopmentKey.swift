import AccountOperations
import ArgumentParser
import FoundationEssentials
import Glibc

/// The key-encryption key of a development data directory: made once, readable by its owner only.
enum DevelopmentKey {
    /// - Throws: `StartupFailure` when the file cannot be made or is not such a key.
    static func sealer(inDirectory directory: String) throws -> Sealer {
        let path = "\(directory)/key-encryption-key"
        try makeDirectory(directory)
        let text = try existing(path) ?? create(path)
        guard let data = Data(base64Encoded: text), let key = Sealer.Key(id: "dev", bytes: Array(data)) else {
            throw StartupFailure(
                "\(path) does not hold a key; restore it, or remove \(directory) with its data",
                .badConfiguration
            )
        }
        return Sealer(sealingKey: key)
    }

    private static func makeDirectory(_ directory: String) throws {
        do {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        } catch {
            throw StartupFailure("cannot make the directory \(directory)", .badConfiguration)
        }
    }

    private static func existing(_ path: String) throws -> String? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        guard let bytes = FileManager.default.contents(atPath: path),
            let text = String(validating: bytes, as: UTF8.self)
        else { throw StartupFailure("\(path) cannot be read", .badConfiguration) }
        return String(text.filter { !$0.isWhitespace })
    }

    /// Under another name first: two starts at once end with one key, and a crash leaves none half-written.
    private static func create(_ path: String) throws -> String {
        let text = Data(Effects.system.randomBytes(32)).base64EncodedString()
        let draft = "\(path).\(getpid())"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StartupFailure("cannot write \(draft)", .badConfiguration) }
        let line = Array((text + "\n").utf8)
        let written = line.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        let isSafe = written == line.count && fsync(descriptor) == 0
        close(descriptor)
        defer { unlink(draft) }
        guard isSafe, link(draft, path) == 0 || errno == EEXIST, let stored = try existing(path) else {
            throw StartupFailure("cannot write \(path)", .badConfiguration)
        }
        return stored
    }
}
