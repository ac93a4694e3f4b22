import Postgres

extension BucketFile {
    /// Parts that a bucket is divided into at once.
    private static let partsMax = 64
    /// Ids in the sample that tells where to divide one.
    private static let sampleMax = 4096

    /// Hands on the rows of a bucket (`PackedRowWalk`), in the order of ids: those of some accounts after the other.
    ///
    /// A bucket that is too large is divided, in a file of its own, and its parts again, until memory holds each.
    /// - Parameters:
    ///   - bucket: which one.
    ///   - bytesMax: how many bytes of rows `body` is given, unless they are one account's.
    ///   - folder: where the files go.
    ///   - body: is given the rows.
    /// - Throws: what `body` throws; `SpillFailure`; `.decoding` for what are no rows.
    func forEachPart(of bucket: Int, bytesMax: Int, folder: String, _ body: ([UInt8]) throws -> Void) throws {
        guard byteCount(of: bucket) > bytesMax, let parts = try parts(of: bucket, bytesMax: bytesMax, folder: folder)
        else {
            return try body(try contents(of: bucket))
        }
        for part in 0..<parts.bucketCount {
            try parts.forEachPart(of: part, bytesMax: bytesMax, folder: folder, body)
        }
    }

    /// A bucket's rows in several, each with those of a range of ids; `nil` where their ids cannot be told apart.
    private func parts(of bucket: Int, bytesMax: Int, folder: String) throws -> BucketFile? {
        var sample = IDSample()
        let step = 1 + byteCount(of: bucket) / Self.sampleMax
        var (passed, next) = (0, 0)
        try forEachChunk(of: bucket) { chunk in
            var walk = PackedRowWalk(chunk)
            while let row = try walk.next() {
                if passed >= next {
                    sample.append(row.id.bytes)
                    next = passed + step
                }
                passed += row.range.count
            }
        }
        // Half as large as they may be: they are not all as large as each other.
        let wanted = min(Self.partsMax, 2 * byteCount(of: bucket) / max(1, bytesMax) + 1)
        let ranges = IDRanges(sample, countMax: wanted)
        guard ranges.count > 1 else { return nil }
        let parts = BucketFile(in: folder, buckets: ranges.count)
        var writer = try BucketWriter(parts)
        try forEachChunk(of: bucket) { chunk in
            var walk = PackedRowWalk(chunk)
            while let row = try walk.next() {
                try writer.append(
                    UnsafeRawBufferPointer(rebasing: chunk[row.range]),
                    to: ranges.index(of: row.id.bytes)
                )
            }
        }
        try writer.finish()
        return parts
    }
}
