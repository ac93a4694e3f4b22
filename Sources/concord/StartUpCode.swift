import Glibc

/// The machine code that only the start runs: reading the configuration, parsing templates, linking libraries.
enum StartUpCode {
    /// Releases the pages of machine code that this process has used, so that its resident memory contains only the
    /// code of serving (ADR 0067).
    ///
    /// The pages stay in the page cache of the system, where later uses find them.
    /// - Returns: number of bytes of mapped code.
    @discardableResult
    static func forget() -> Int {
        mappings.reduce(0) { sum, range in
            let start = UnsafeMutableRawPointer(bitPattern: range.lowerBound)
            return madvise(start, range.count, MADV_DONTNEED) == 0 ? sum + range.count : sum
        }
    }

    /// The ranges of executable, read-only file mappings, which equal the content of the files. Read from
    /// `/proc/self/maps` (proc(5)): `start-end r-xp offset device inode path`.
    private static var mappings: [Range<UInt>] {
        guard let file = fopen("/proc/self/maps", "r") else { return [] }
        defer { fclose(file) }
        var ranges: [Range<UInt>] = []
        var line = [CChar](repeating: 0, count: 4096 + 128)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let fields = text.split(separator: " ", omittingEmptySubsequences: true)
            guard fields.count >= 6, fields[1] == "r-xp", fields[5].hasPrefix("/") else { continue }
            let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            if ends.count == 2, ends[0] < ends[1] { ranges.append(ends[0]..<ends[1]) }
        }
        return ranges
    }
}
