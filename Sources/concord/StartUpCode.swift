import Glibc

/// The machine code that only starting has run: reading the configuration, parsing templates, joining libraries.
enum StartUpCode {
    /// Makes the system forget which pages of machine code this process has touched, so that only the code of serving
    /// counts, not that of starting (ADR 0067).
    ///
    /// Changes nothing but the count: the pages stay in the system's cache of files, and what is needed again is found there.
    /// - Returns: how many bytes of code are mapped.
    @discardableResult
    static func forget() -> Int {
        mappings.reduce(0) { sum, range in
            let start = UnsafeMutableRawPointer(bitPattern: range.lowerBound)
            return madvise(start, range.count, MADV_DONTNEED) == 0 ? sum + range.count : sum
        }
    }

    /// The ranges of executable, read-only file mappings, which hold exactly the files' content. Read from
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
