public import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A file of mode 0600 in a directory of mode 0700. The default of systems without a Keychain.
///
/// A write goes to a new file, reaches the disk, and replaces the old file in one step: a process that is killed at any
/// point leaves the old state or the new one. Processes take turns by a lock on `<name>.lock`. A writer waits 5 seconds
/// for another one, on its own thread, and then throws ``SessionStoreError/unavailable(_:)``. Readers do not wait.
public final class FileSessionStore: SessionStore {
    /// The longest file that is read: 1 MB.
    private static let maximumBytes = 1 << 20
    private let file: URL
    private let lockSeconds: TimeInterval

    /// - Parameter file: The file. Its directory is created on the first write.
    public convenience init(file: URL) { self.init(file: file, lockSeconds: 5) }

    /// - Parameters:
    ///   - file: The file.
    ///   - lockSeconds: Seconds to wait for another writer.
    init(file: URL, lockSeconds: TimeInterval) {
        self.file = file
        self.lockSeconds = lockSeconds
    }

    /// `$XDG_STATE_HOME/concord-auth/<project>-<digest>.json`, by default below `~/.local/state`. The digest is that of
    /// the server and the project, so two of them never share a file.
    public static func defaultFile(server: URL, projectID: String) -> URL {
        let environment = ProcessInfo.processInfo.environment
        let state =
            environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? URL(fileURLWithPath: $0) : nil }
            ?? URL(fileURLWithPath: NSHomeDirectory()).appendingPathComponent(".local/state")
        let readable = projectID.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }.prefix(64)
        let name = "\(readable)-" + Digest.hex(of: AuthConfiguration.scope(server: server, projectID: projectID))
        return state.appendingPathComponent("concord-auth").appendingPathComponent("\(name).json")
    }

    public func read() throws -> StoredState? {
        guard let bytes = try readBytes() else { return nil }
        return try StoredState(encoded: bytes)
    }

    public func replace(_ expected: StoredState.Version?, with state: StoredState) throws -> Bool {
        let bytes = try state.encoded()
        try createDirectory()
        return try whileLocked {
            guard try read()?.version == expected else { return false }
            try write(bytes)
            return true
        }
    }

    /// Deletes the file, readable or not: its tokens may still sign in.
    public func discard() throws {
        guard FileManager.default.fileExists(atPath: file.path) else { return }
        try whileLocked {
            for path in [file.path, file.path + ".new"] where unlink(path) != 0 && errno != ENOENT {
                throw Self.failure("delete", path)
            }
            syncDirectory()
        }
    }

    private func readBytes() throws -> Data? {
        let descriptor = open(file.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw Self.failure("open", file.path)
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        guard let bytes = try handle.read(upToCount: Self.maximumBytes + 1) else {
            throw SessionStoreError.damaged("an empty file")
        }
        guard bytes.count <= Self.maximumBytes else { throw SessionStoreError.damaged("more than 1 MB") }
        return bytes
    }

    private func write(_ bytes: Data) throws {
        let new = file.path + ".new"
        unlink(new)
        let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Self.failure("create", new) }
        do {
            defer { close(descriptor) }
            try bytes.withUnsafeBytes { buffer in
                var rest = buffer[...]
                while !rest.isEmpty {
                    let written = Self.writeOnce(descriptor, UnsafeRawBufferPointer(rebasing: rest))
                    if written < 0, errno == EINTR { continue }
                    guard written > 0 else { throw Self.failure("write", new) }
                    rest = rest.dropFirst(written)
                }
            }
            guard fsync(descriptor) == 0 else { throw Self.failure("sync", new) }
        }
        guard rename(new, file.path) == 0 else { throw Self.failure("replace", file.path) }
        syncDirectory()
    }

    private static func writeOnce(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        #if canImport(Glibc)
        Glibc.write(descriptor, bytes.baseAddress, bytes.count)
        #elseif canImport(Musl)
        Musl.write(descriptor, bytes.baseAddress, bytes.count)
        #else
        Foundation.write(descriptor, bytes.baseAddress, bytes.count)
        #endif
    }

    /// Makes the new name of the file durable. File systems that cannot sync a directory order it themselves.
    private func syncDirectory() {
        let descriptor = open(file.deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        _ = fsync(descriptor)
        close(descriptor)
    }

    private func createDirectory() throws {
        do {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw SessionStoreError.unavailable("cannot create \(file.deletingLastPathComponent().path)")
        }
    }

    private func whileLocked<Result>(_ body: () throws -> Result) throws -> Result {
        let descriptor = open(file.path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Self.failure("open", file.path + ".lock") }
        defer { close(descriptor) }
        let end = Uptime.now() + lockSeconds
        var pause: UInt32 = 500
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EINTR || errno == EWOULDBLOCK else { throw Self.failure("lock", file.path + ".lock") }
            guard Uptime.now() < end else {
                throw SessionStoreError.unavailable(
                    "another process holds \(file.path).lock for \(lockSeconds) seconds"
                )
            }
            usleep(pause)
            pause = min(pause * 2, 16_000)
        }
        return try body()
    }

    private static func failure(_ verb: String, _ path: String) -> SessionStoreError {
        .unavailable("cannot \(verb) \(path): \(String(cString: strerror(errno)))")
    }
}
