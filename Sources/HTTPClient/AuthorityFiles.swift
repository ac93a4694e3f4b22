import CCurl
import FoundationEssentials
import Glibc

/// Files in memory that hold the system's authorities and additional ones, for libcurl.
///
/// libcurl caches the authorities that it parses from a file, but not those that it gets as bytes, and parsing takes
/// 20 ms. It knows a cached file by its path, so a path must always mean the same additional authorities: a file stays
/// open, and keeps its descriptor, as long as the driver's thread runs. That thread alone writes it and, in libcurl,
/// reads it.
struct AuthorityFiles: ~Copyable {
    /// Time after which the system's authorities are read again, here and in libcurl's cache.
    static let lifetimeSeconds = 60
    private static let filesMax = 16

    private struct File {
        let descriptor: Int32
        var expires: ContinuousClock.Instant
    }

    private var files: [[UInt8]: File] = [:]

    deinit {
        for file in files.values { close(file.descriptor) }
    }

    /// Returns the path of the file with the system's authorities and those of `additional`, in PEM. `nil` if it cannot
    /// be written: use `authorities(adding:)`.
    mutating func path(adding additional: [UInt8]) -> String? {
        let now = ContinuousClock.now
        var known = files[additional]
        if known == nil, files.count < Self.filesMax {
            let descriptor = ccurl_memory_file("authorities")
            if descriptor >= 0 { known = File(descriptor: descriptor, expires: now) }
        }
        guard var file = known else { return nil }
        if file.expires <= now, let content = Self.authorities(adding: additional) {
            let isWritten =
                ftruncate(file.descriptor, 0) == 0
                && pwrite(file.descriptor, content, content.count, 0) == content.count
            if isWritten { file.expires = now + .seconds(Self.lifetimeSeconds) }
        }
        files[additional] = file
        return file.expires > now ? "/proc/self/fd/\(file.descriptor)" : nil
    }

    /// The system's authorities as they are now, and those of `additional`. `nil` if the system's file cannot be read,
    /// so that no file lacks them for its lifetime.
    static func authorities(adding additional: [UInt8]) -> [UInt8]? {
        guard let path = CurlLibrary.authoritiesPath else { return additional }
        guard let system = try? Data(contentsOf: URL(filePath: path)) else { return nil }
        return Array(system) + [UInt8(ascii: "\n")] + additional
    }
}
