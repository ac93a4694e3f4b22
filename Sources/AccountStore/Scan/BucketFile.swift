import Glibc
import Synchronization

/// The file that holds what does not fit into memory could not be written or read.
package struct SpillFailure: Error, CustomStringConvertible {
    package let description: String

    fileprivate init(_ action: String) {
        description = "a temporary file could not be \(action): \(String(cString: strerror(errno)))"
    }
}

/// Records in buckets, in files without names: whatever ends the process, nothing of them stays behind.
///
/// Any number of threads may write at once, each into a file of its own, for the system lets one at a time write into a file; a
/// bucket is read once all have. What memory holds of it does not grow with what is
/// written: each chunk of a bucket says where the one before it lies.
package final class BucketFile: Sendable {
    /// Some records of one bucket, one after the other, behind a head in the file that is the `Chunk` before it.
    fileprivate struct Chunk {
        var offset: Int64 = 0
        /// Bytes of records; 0 is none.
        var count: Int64 = 0
    }

    /// What one writer put into a bucket.
    fileprivate struct Chain {
        var last = Chunk()
        var byteCount = 0
    }

    /// What one writer wrote.
    private struct Written {
        let descriptor: Int32
        /// Of each bucket; empty until it has finished.
        var chains: [Chain] = []
    }

    /// What the system keeps of a file at once: what is written in whole ones is neither read nor zeroed before.
    fileprivate static let pageBytes = 4096
    fileprivate static let headBytes = MemoryLayout<Chunk>.size

    /// The bytes of as many pages as `count` bytes need.
    fileprivate static func wholePages(_ count: Int) -> Int { (count + pageBytes - 1) / pageBytes * pageBytes }

    package let bucketCount: Int
    private let folder: String
    /// In the order in which the writers began.
    private let written = Mutex<[Written]>([])

    /// - `folder`: where the files go.
    package init(in folder: String, buckets: Int) {
        self.folder = folder
        bucketCount = buckets
    }

    deinit {
        for writer in written.withLock({ $0 }) { close(writer.descriptor) }
    }

    /// The number of a new writer, and the file it writes to.
    fileprivate func addWriter() throws(SpillFailure) -> (number: Int, descriptor: Int32) {
        var path = Array("\(folder)/concord-XXXXXX".utf8CString)
        let descriptor = mkstemp(&path)
        guard descriptor >= 0 else { throw SpillFailure("made in \(folder)") }
        unlink(path)
        let number = written.withLock { written in
            written.append(Written(descriptor: descriptor))
            return written.count - 1
        }
        return (number, descriptor)
    }

    fileprivate func finish(_ writer: Int, _ chains: [Chain]) {
        written.withLock { $0[writer].chains = chains }
    }

    /// The bytes of all records in a bucket.
    package func byteCount(of bucket: Int) -> Int {
        chains(of: bucket).reduce(0) { $0 + $1.chain.byteCount }
    }

    private func chains(of bucket: Int) -> [(descriptor: Int32, chain: Chain)] {
        written.withLock { written in
            written.compactMap { $0.chains.isEmpty ? nil : ($0.descriptor, $0.chains[bucket]) }
        }
    }

    /// Everything in a bucket, writer by writer, and what one of them appended in its order.
    package func contents(of bucket: Int) throws(SpillFailure) -> [UInt8] {
        let chains = chains(of: bucket)
        let total = chains.reduce(0) { $0 + $1.chain.byteCount }
        var failure: SpillFailure?
        let bytes = [UInt8](unsafeUninitializedCapacity: total) { buffer, count in
            let buffer = UnsafeMutableRawBufferPointer(buffer)
            var start = 0
            for (descriptor, chain) in chains {
                // From the last chunk to the first, which is the one that lies where the chain begins.
                var (chunk, end) = (chain.last, start + chain.byteCount)
                while chunk.count > 0, failure == nil {
                    end -= Int(chunk.count)
                    let target = UnsafeMutableRawBufferPointer(rebasing: buffer[end..<end + Int(chunk.count)])
                    do throws(SpillFailure) {
                        chunk = try Self.read(chunk, of: descriptor, into: target)
                    } catch {
                        failure = error
                    }
                }
                start += chain.byteCount
            }
            count = total
        }
        if let failure { throw failure }
        return bytes
    }

    /// Calls `body` with some records of a bucket after the other, in no order.
    package func forEachChunk(of bucket: Int, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        var bytes: [UInt8] = []
        for (descriptor, chain) in chains(of: bucket) {
            var chunk = chain.last
            while chunk.count > 0 {
                let count = Int(chunk.count)
                if bytes.count < count { bytes = [UInt8](repeating: 0, count: count) }
                chunk = try bytes.withUnsafeMutableBytes { bytes in
                    try Self.read(chunk, of: descriptor, into: UnsafeMutableRawBufferPointer(rebasing: bytes[..<count]))
                }
                try bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            }
        }
    }

    /// Reads the records of a chunk, which `target` is as long as. Returns the chunk before it.
    private static func read(
        _ chunk: Chunk,
        of descriptor: Int32,
        into target: UnsafeMutableRawBufferPointer
    ) throws(SpillFailure) -> Chunk {
        var before = Chunk()
        let total = headBytes + target.count
        while true {
            let count = withUnsafeMutablePointer(to: &before) { head in
                let parts = [
                    iovec(iov_base: head, iov_len: headBytes),
                    iovec(iov_base: target.baseAddress, iov_len: target.count),
                ]
                return preadv(descriptor, parts, Int32(parts.count), Int(chunk.offset))
            }
            if count == total { return before }
            // A signal; else the file is shorter than it was written, or cannot be read.
            guard count < 0, errno == EINTR else { throw SpillFailure("read") }
        }
    }
}

/// What one thread puts into a `BucketFile`, gathered into chunks of whole pages.
package struct BucketWriter: ~Copyable {
    /// Of all buckets together. The larger a chunk, the less the system does for its bytes.
    private static let pendingBytesMax = 16 * 1_048_576

    private let file: BucketFile
    private let number: Int
    private let descriptor: Int32
    /// How long its file is.
    private var length = 0
    private let chunkBytes: Int
    /// The chunk of each bucket that is being filled: room for its head, then records.
    private let pending: UnsafeMutableRawBufferPointer
    /// How much of it is filled.
    private var filled: [Int]
    private var chains: [BucketFile.Chain]

    package init(_ file: BucketFile) throws(SpillFailure) {
        self.file = file
        (number, descriptor) = try file.addWriter()
        let page = BucketFile.pageBytes
        chunkBytes = max(page, min(16_384, Self.pendingBytesMax / file.bucketCount) / page * page)
        pending = .allocate(byteCount: chunkBytes * file.bucketCount, alignment: page)
        filled = Array(repeating: BucketFile.headBytes, count: file.bucketCount)
        chains = Array(repeating: BucketFile.Chain(), count: file.bucketCount)
    }

    deinit {
        pending.deallocate()
    }

    /// Appends a record to a bucket: `head`, then `bytes`.
    ///
    /// - Throws: `SpillFailure`.
    package mutating func append(
        _ bytes: UnsafeRawBufferPointer,
        after head: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0),
        to bucket: Int
    ) throws {
        try append(to: bucket, bytesMax: head.count + bytes.count) { target in
            target.copyMemory(from: head)
            UnsafeMutableRawBufferPointer(rebasing: target[head.count...]).copyMemory(from: bytes)
            return head.count + bytes.count
        }
    }

    /// Appends a record to a bucket.
    ///
    /// - Parameters:
    ///   - bucket: which one.
    ///   - bytesMax: so many bytes the record has at most.
    ///   - fill: writes it where it belongs, and returns how many bytes it has.
    /// - Throws: `SpillFailure`; what `fill` throws.
    mutating func append(
        to bucket: Int,
        bytesMax: Int,
        _ fill: (UnsafeMutableRawBufferPointer) throws -> Int
    ) throws {
        if filled[bucket] + bytesMax > chunkBytes {
            try write(bucket)
            guard BucketFile.headBytes + bytesMax <= chunkBytes else {
                return try writeAlone(bytesMax, fill, to: bucket)
            }
        }
        let place = bucket * chunkBytes + filled[bucket]
        filled[bucket] += try fill(UnsafeMutableRawBufferPointer(rebasing: pending[place..<place + bytesMax]))
    }

    /// Writes the chunk of a bucket that is being filled, and begins another.
    private mutating func write(_ bucket: Int) throws(SpillFailure) {
        let count = filled[bucket] - BucketFile.headBytes
        guard count > 0 else { return }
        let start = bucket * chunkBytes
        try write(UnsafeMutableRawBufferPointer(rebasing: pending[start..<start + chunkBytes]), count, to: bucket)
        filled[bucket] = BucketFile.headBytes
    }

    /// A chunk of its own for what is longer than others.
    private mutating func writeAlone(
        _ bytesMax: Int,
        _ fill: (UnsafeMutableRawBufferPointer) throws -> Int,
        to bucket: Int
    ) throws {
        let chunk = UnsafeMutableRawBufferPointer.allocate(
            byteCount: BucketFile.wholePages(BucketFile.headBytes + bytesMax),
            alignment: BucketFile.pageBytes
        )
        defer { chunk.deallocate() }
        let count = try fill(UnsafeMutableRawBufferPointer(rebasing: chunk[BucketFile.headBytes...]))
        try write(chunk, count, to: bucket)
    }

    /// - `count`: how many bytes of records there are in `chunk`, behind its head. It has whole pages.
    private mutating func write(
        _ chunk: UnsafeMutableRawBufferPointer,
        _ count: Int,
        to bucket: Int
    ) throws(SpillFailure) {
        let end = BucketFile.headBytes + count
        let pages = UnsafeMutableRawBufferPointer(rebasing: chunk[..<BucketFile.wholePages(end)])
        pages.storeBytes(of: chains[bucket].last, as: BucketFile.Chunk.self)
        // Whatever memory held before does not go to the disk.
        UnsafeMutableRawBufferPointer(rebasing: pages[end...]).initializeMemory(as: UInt8.self, repeating: 0)
        chains[bucket].last = BucketFile.Chunk(offset: Int64(length), count: Int64(count))
        chains[bucket].byteCount += count
        try append(UnsafeRawBufferPointer(pages))
    }

    /// Writes whole pages behind all others.
    private mutating func append(_ pages: UnsafeRawBufferPointer) throws(SpillFailure) {
        var rest = pages
        while !rest.isEmpty {
            let written = pwrite(descriptor, rest.baseAddress, rest.count, length)
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw SpillFailure("written") }
            length += written
            rest = UnsafeRawBufferPointer(rebasing: rest[written...])
        }
    }

    /// Hands over what has not been. After this nothing can be appended.
    package consuming func finish() throws(SpillFailure) {
        for bucket in chains.indices { try write(bucket) }
        file.finish(number, chains)
    }
}
