import Glibc
import SystemPackage

/// The result of `lstat` for a path; a symbolic link is described itself, never followed.
struct FileFacts {
    var isDirectory: Bool
    var owner: uid_t
    /// The permission bits, such as 0o700.
    var permissions: mode_t
    /// The length in bytes.
    var byteCount: Int

    /// The facts about `path`, or nil when nothing is there or it cannot be reached.
    init?(_ path: String) {
        var info = stat()
        guard lstat(path, &info) == 0 else { return nil }
        isDirectory = info.st_mode & S_IFMT == S_IFDIR
        owner = info.st_uid
        permissions = info.st_mode & 0o7777
        byteCount = Int(info.st_size)
    }
}

/// The error of the system call that has just failed.
func systemCallFailure(_ operation: String, _ path: String) -> PostgresClusterError {
    .systemCall(operation: operation, path: path, reason: Errno(rawValue: errno).description)
}

/// The names in a directory, `.` and `..` left out, in no order.
/// - Throws: `systemCall` when it cannot be read.
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

/// The last `byteCountMax` bytes of a regular file, from `offset` at the earliest; nil when it cannot be read.
///
/// A symbolic link is not followed: the server's user may write in these directories, and root reads them.
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

/// The whole of a file under `/proc`, whose length is not known before it is read; nil when it cannot be read.
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

/// Replaces a file's content in one step: no reader ever sees half of it.
///
/// The new file belongs to `owner`, with mode 0600. The temporary file is made afresh, so that a link planted in its
/// place is not written through.
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

/// Gives an existing directory to `owner` with mode 0700, following no link.
/// - Throws: `systemCall`, also when `path` is no directory.
func makePrivate(_ path: String, owner: ServerUser) throws(PostgresClusterError) {
    let directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard directory >= 0 else { throw systemCallFailure("open", path) }
    defer { close(directory) }
    guard fchmod(directory, 0o700) == 0, fchown(directory, owner.userID, owner.groupID) == 0 else {
        throw systemCallFailure("change the owner of", path)
    }
}

/// A short name for `text` that is the same in every run (FNV-1a, 64 bits, in hexadecimal). Not a secret, and not
/// used where a collision would do harm.
func stableName(for text: String) -> String {
    let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
}
