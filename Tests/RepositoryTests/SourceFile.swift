import Glibc

/// A file of the repository, or a sample.
struct SourceFile: Sendable {
    /// The path relative to the root of the repository.
    var path: String
    var text: String

    /// The folder of the target under `Sources`, `bench` for the benchmarks, or nil.
    var target: String? {
        let parts = path.split(separator: "/")
        if parts.first == "Benchmarks" { return "bench" }
        return parts.count > 2 && parts[0] == "Sources" ? String(parts[1]) : nil
    }

    /// Returns the line of the byte at `offset`, counted from 1.
    func line(at offset: Int) -> Int {
        1 + text.utf8.prefix(offset).count { $0 == UInt8(ascii: "\n") }
    }

    /// Returns a violation at the byte at `offset`.
    func violation(at offset: Int, _ reason: String) -> Violation {
        Violation(path: path, line: line(at: offset), reason: reason)
    }
}

/// A place in a file that breaks a rule.
struct Violation: Equatable, CustomStringConvertible, Sendable {
    var path: String
    var line: Int
    var reason: String

    var description: String { "\(path):\(line): \(reason)" }
}

/// The files of the repository.
enum Repository {
    /// The root of the checkout, from the path of this source file.
    static let root: String = {
        guard let resolved = realpath(#filePath, nil) else { return "." }
        defer { free(resolved) }
        let parts = String(cString: resolved).split(separator: "/").dropLast(3)
        return "/" + parts.joined(separator: "/")
    }()

    /// The names that version control ignores, and its folder.
    private static let ignoredNames: Set<String> = [
        ".git", ".build", ".swiftpm", ".concord", "__pycache__", "Package.resolved", ".env",
    ]

    /// Returns the files under `folder` whose names end in one of `suffixes`, sorted by path. No suffixes: all files.
    static func files(under folder: String = "", suffixes: [String] = []) throws -> [SourceFile] {
        var found: [SourceFile] = []
        for name in try names(in: folder) where !ignoredNames.contains(name) {
            let path = folder.isEmpty ? name : "\(folder)/\(name)"
            var info = stat()
            guard lstat("\(root)/\(path)", &info) == 0 else { continue }
            if info.st_mode & S_IFMT == S_IFDIR {
                found += try files(under: path, suffixes: suffixes)
            } else if info.st_mode & S_IFMT == S_IFREG,
                suffixes.isEmpty || suffixes.contains(where: { name.hasSuffix($0) })
            {
                found.append(try file(path))
            }
        }
        return found.sorted { $0.path < $1.path }
    }

    /// Returns the file at a path relative to the root.
    static func file(_ path: String) throws -> SourceFile {
        guard let stream = fopen("\(root)/\(path)", "r") else { throw Unreadable(path: path) }
        defer { fclose(stream) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = fread(&chunk, 1, chunk.count, stream), count > 0 { bytes += chunk[..<count] }
        return SourceFile(path: path, text: String(decoding: bytes, as: UTF8.self))
    }

    /// Returns the names in a folder, none if it does not exist.
    static func names(in folder: String) throws -> [String] {
        guard let stream = opendir("\(root)/\(folder)") else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    struct Unreadable: Error {
        var path: String
    }
}

/// Returns the offsets of `needle` in `bytes`. An end of `needle` that is a word character must be the end of a word.
func offsets(of needle: String, in bytes: [UInt8]) -> [Int] {
    let wanted = Array(needle.utf8)
    guard let first = wanted.first, let last = wanted.last, wanted.count <= bytes.count else { return [] }
    var found: [Int] = []
    bytes.withUnsafeBytes { haystack in
        guard let base = haystack.baseAddress else { return }
        var start = 0
        while start + wanted.count <= haystack.count,
            let hit = memchr(base + start, Int32(first), haystack.count - start - wanted.count + 1)
        {
            let offset = UnsafeRawPointer(hit) - base
            start = offset + 1
            guard memcmp(base + offset, wanted, wanted.count) == 0 else { continue }
            let end = offset + wanted.count
            let cutsBefore = isWordByte(first) && offset > 0 && isWordByte(haystack[offset - 1])
            let cutsAfter = isWordByte(last) && end < haystack.count && isWordByte(haystack[end])
            if !cutsBefore, !cutsAfter { found.append(offset) }
        }
    }
    return found
}

private func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...: true
    default: false
    }
}
