import Glibc
import SystemPackage

/// The result of `lstat` for a path. Symbolic links are not followed.
struct FileFacts {
    var isDirectory: Bool
    var owner: uid_t
    /// The permission bits, such as 0o700.
    var permissions: mode_t
    /// The length in bytes.
    var byteCount: Int

    /// Returns nil if `path` does not exist or cannot be reached.
    init?(_ path: String) {
        var info = stat()
        guard lstat(path, &info) == 0 else { return nil }
        isDirectory = info.st_mode & S_IFMT == S_IFDIR
        owner = info.st_uid
        permissions = info.st_mode & 0o7777
        byteCount = Int(info.st_size)
    }
}

/// The error of the last system call, which has failed.
func systemCallFailure(_ operation: String, _ path: String) -> PostgresClusterError {
    .systemCall(operation: operation, path: path, reason: Errno(rawValue: errno).description)
}

/// Returns the names in a directory in any order, without `.` and `..`.
/// - Throws: `systemCall` if it cannot be read.
func directoryEntries(_ path: String) throws(PostgresClusterError) -> [String] {
    guard let stream = opendir(path) else { throw systemCallFailure("read", path) }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        if name != ".", name != ".." { names.append(name) }
    }
    return names
}

/// Returns the last `byteCountMax` bytes of a regular file after `offset`; nil if it cannot be read.
///
/// Symbolic links are not followed, because the server's user can write in these directories, and root reads them.
func readFile(_ path: String, from offset: Int = 0, byteCountMax: Int = 1 << 20) -> String? {
    guard let file = try? FileDescriptor.open(FilePath(path), .readOnly, options: [.noFollow, .closeOnExec]) else {
        return nil
    }
    defer { try? file.close() }
    guard let end = try? file.seek(offset: 0, from: .end), end >= 0 else { return nil }
    let start = max(Int64(offset), end - Int64(byteCountMax))
    var bytes = [UInt8](repeating: 0, count: max(0, Int(end - start)))
    var filled = 0
    while filled < bytes.count {
        let count = bytes.withUnsafeMutableBytes { buffer in
            try? file.read(fromAbsoluteOffset: start + Int64(filled), into: .init(rebasing: buffer[filled...]))
        }
        guard let count else { return nil }
        guard count > 0 else { break }
        filled += count
    }
    return String(decoding: bytes.prefix(filled), as: UTF8.self)
}

/// Returns the content of a file under `/proc`, whose length is not known; nil if it cannot be read.
func readProcFile(_ path: String) -> [UInt8]? {
    guard let file = try? FileDescriptor.open(FilePath(path), .readOnly, options: [.closeOnExec]) else { return nil }
    defer { try? file.close() }
    var content: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
        guard let count = try? chunk.withUnsafeMutableBytes({ try file.read(into: $0) }) else { return nil }
        guard count > 0 else { return content }
        content += chunk[..<count]
    }
}

/// Replaces a file's content atomically.
///
/// The new file belongs to `owner` and has mode 0600. The temporary file is always new, so that it is no symbolic link
/// of an attacker.
/// - Throws: `systemCall`.
func replaceFile(_ path: String, with content: String, owner: ServerUser) throws(PostgresClusterError) {
    let temporary = "\(path).new"
    unlink(temporary)
    do {
        let file = try FileDescriptor.open(
            FilePath(temporary),
            .writeOnly,
            options: [.create, .exclusiveCreate, .noFollow, .closeOnExec],
            permissions: [.ownerReadWrite]
        )
        try file.closeAfter {
            _ = try file.writeAll(content.utf8)
            guard fchown(file.rawValue, owner.userID, owner.groupID) == 0, fsync(file.rawValue) == 0 else {
                throw Errno(rawValue: errno)
            }
        }
    } catch {
        throw .systemCall(operation: "write", path: temporary, reason: "\(error)")
    }
    guard rename(temporary, path) == 0 else { throw systemCallFailure("replace", path) }
}

/// Makes `owner` the owner of an existing directory, with mode 0700. Follows no link.
/// - Throws: `systemCall`, also if `path` is not a directory.
func makePrivate(_ path: String, owner: ServerUser) throws(PostgresClusterError) {
    let directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard directory >= 0 else { throw systemCallFailure("open", path) }
    defer { close(directory) }
    guard fchmod(directory, 0o700) == 0, fchown(directory, owner.userID, owner.groupID) == 0 else {
        throw systemCallFailure("change the owner of", path)
    }
}

/// Returns a short, stable name for `text` (FNV-1a, 64 bits, in hexadecimal). Not secret, and not for uses where a
/// collision matters.
func stableName(for text: String) -> String {
    let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
}
