import FoundationEssentials
import Glibc

/// Pages of code and constants that a server uses only while it starts: to link libraries, and to read its
/// configuration and its templates.
///
/// ADR 0092 has the measurements. Without this file and its one call, Concord does the same with 22 MiB more of
/// resident memory.
enum StartUpPages {
    /// Unmaps the program's pages of code and constants. The kernel maps a page again when the process uses it.
    ///
    /// No data is lost: these pages are read-only and equal the file of the program. The page cache still holds the
    /// file, so mapping a page again takes microseconds and reads no disk.
    static func release() {
        for range in unchangedMappings {
            // If the kernel refuses, the pages stay.
            madvise(UnsafeMutableRawPointer(bitPattern: range.lowerBound), range.count, MADV_DONTNEED)
        }
    }

    /// The read-only mappings of the program's file in which no page was changed (proc(5)). The loader changes some
    /// before it makes them read-only.
    ///
    /// Not those of libraries: another thread can load one meanwhile, and then a range has another use.
    private static var unchangedMappings: [Range<UInt>] {
        guard
            let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"),
            let mappings = try? String(contentsOfFile: "/proc/self/smaps", encoding: .utf8)
        else { return [] }
        var ranges: [Range<UInt>] = []
        var current: Range<UInt>?
        for line in mappings.split(separator: "\n") {
            let fields = line.split(separator: " ")
            let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            if ends.count == 2 {
                let isReadOnly = fields[1] == "r-xp" || fields[1] == "r--p"
                current = isReadOnly && line.hasSuffix(program) ? ends[0]..<ends[1] : nil
            } else if fields[0] == "Anonymous:", fields[1] == "0", let current {
                ranges.append(current)
            }
        }
        return ranges
    }
}
