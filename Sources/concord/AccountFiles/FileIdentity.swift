import Glibc

/// The identity of a regular file, independent of its name.
struct FileIdentity: Hashable {
    private let device: dev_t
    private let inode: ino_t

    /// `path`: `-` is standard input. `nil` if there is no such file, or it is a pipe, a terminal or similar.
    init?(path: String) {
        var status = stat()
        guard (path == "-" ? fstat(STDIN_FILENO, &status) : stat(path, &status)) == 0 else { return nil }
        self.init(status)
    }

    init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    /// The permissions of an open regular file; `nil` for a pipe, a terminal or similar.
    static func permissions(ofRegularFile descriptor: Int32) -> mode_t? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return status.st_mode & 0o777
    }

    private init?(_ status: stat) {
        guard status.st_mode & S_IFMT == S_IFREG else { return nil }
        (device, inode) = (status.st_dev, status.st_ino)
    }
}
