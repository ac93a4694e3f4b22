import AccountOperations
import ArgumentParser
import FoundationEssentials
import Glibc

/// The key-encryption key of a development data directory. It is created once and readable only by its owner.
struct DevelopmentKey {
    let sealer: Sealer
    private let text: String
    private let directory: String

    private static let id = "1"
    /// The former id of the key, in directories of versions without an environment file.
    private static let formerID = "dev"

    /// Reads the key of `directory`. Creates directory and key if they do not exist.
    ///
    /// - Throws: `StartupFailure` if the file cannot be created or is not a key.
    init(ofDirectory directory: String) throws {
        let path = "\(directory)/key-encryption-key"
        try Self.makeDirectory(directory)
        text = try Self.existing(path) ?? Self.create(path)
        guard let data = Data(base64Encoded: text), let key = Sealer.Key(id: Self.id, bytes: Array(data)),
            let former = Sealer.Key(id: Self.formerID, bytes: Array(data))
        else {
            throw StartupFailure(
                "\(path) does not hold a key; restore it, or remove \(directory) with its data",
                .badConfiguration
            )
        }
        sealer = Sealer(sealingKey: key, olderKeys: [former])
        self.directory = directory
    }

    /// Writes a file for shells. A shell that reads it finds this program, and the commands of operators use the
    /// database of this directory.
    ///
    /// - Throws: `StartupFailure` if the file cannot be written.
    func writeEnvironment(databaseURL: String) throws {
        let path = Self.environmentPath(inDirectory: directory)
        func quoted(_ text: String) -> String {
            "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
        }
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let programDirectory = String(program[..<(program.lastIndex(of: "/") ?? program.startIndex)])
        let draft = try Self.draft(
            of: path,
            """
            export PATH=\(quoted(programDirectory))":$PATH"
            export CONCORD_DATABASE_URL=\(quoted(databaseURL))
            export CONCORD_KEYS_ENCRYPTION=\(quoted("\(Self.id):\(text)"))
            export \(ConfigurationSources.developmentVariable)=1

            """
        )
        guard rename(draft, path) == 0 else { throw StartupFailure("cannot write \(path)", .badConfiguration) }
    }

    static func environmentPath(inDirectory directory: String) -> String { "\(directory)/environment" }

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

    /// Writes under another name first, so that two concurrent starts use one key, and a crash leaves no partial file.
    private static func create(_ path: String) throws -> String {
        let draft = try draft(of: path, Data(Effects.system.randomBytes(32)).base64EncodedString() + "\n")
        defer { unlink(draft) }
        guard link(draft, path) == 0 || errno == EEXIST, let stored = try existing(path) else {
            throw StartupFailure("cannot write \(path)", .badConfiguration)
        }
        return stored
    }

    /// Writes a file for the name `path`, and returns its temporary name.
    private static func draft(of path: String, _ text: String) throws -> String {
        let draft = "\(path).\(getpid())"
        unlink(draft)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StartupFailure("cannot write \(draft)", .badConfiguration) }
        let bytes = Array(text.utf8)
        let isSafe = write(descriptor, bytes, bytes.count) == bytes.count && fsync(descriptor) == 0
        close(descriptor)
        guard isSafe else {
            unlink(draft)
            throw StartupFailure("cannot write \(draft)", .badConfiguration)
        }
        return draft
    }
}
