import Glibc
import Synchronization

/// The file that holds what does not fit into memory could not be written or read.
package struct SpillFailure: Error, CustomStringConvertible {
    package let description: String

    fileprivate init(_ action: String) {
        description = "a temporary file could not be \(action): \(String(cString: strerror(errno)))"
    }
}

/// Bytes in buckets, in a file without a name: whatever ends the process, nothing of it stays behind.
///
/// Any number of threads may write at once; a bucket is read once all have.
package final class BucketFile: Sendable {
    private struct Chunk {
        var writer: Int
        var offset: Int
        var count: Int
    }

    private struct State {
        var buckets: [[Chunk]]
        var length = 0
        var writers = 0
    }

    /// What the system keeps of a file at once: what is written in whole ones is neither read nor zeroed before.
    fileprivate static let pageBytes = 4096

    package let bucketCount: Int
    private let descriptor: Int32
    private let state: Mutex<State>

    /// - `folder`: where the file goes.
    package init(in folder: String, buckets: Int) throws(SpillFailure) {
        var path = Array("\(folder)/concord-XXXXXX".utf8CString)
        descriptor = mkstemp(&path)
        guard descriptor >= 0 else { throw SpillFailure("made in \(folder)") }
        unlink(path)
        bucketCount = buckets
        state = Mutex(State(buckets: Array(repeating: [], count: buckets)))
    }

    deinit {
        close(descriptor)
    }

    /// The number of a new writer.
    fileprivate func addWriter() -> Int {
        state.withLock { state in
            state.writers += 1
            return state.writers
        }
    }

    /// Appends `bytes` to a bucket.
    fileprivate func append(_ bytes: ArraySlice<UInt8>, to bucket: Int, from writer: Int) throws(SpillFailure) {
        guard !bytes.isEmpty else { return }
        let start = state.withLock { state in
            let start = state.length
            state.buckets[bucket].append(Chunk(writer: writer, offset: start, count: bytes.count))
            state.length += (bytes.count + Self.pageBytes - 1) / Self.pageBytes * Self.pageBytes
            return start
        }
        var written = 0
        while written < bytes.count {
            let more = bytes.withUnsafeBytes { source in
                pwrite(descriptor, source.baseAddress?.advanced(by: written), bytes.count - written, start + written)
            }
            if more < 0, errno == EINTR { continue }
            guard more > 0 else { throw SpillFailure("written") }
            written += more
        }
    }

    /// Everything in a bucket, writer by writer, and what one of them appended in its order.
    package func contents(of bucket: Int) throws(SpillFailure) -> [UInt8] {
        let chunks = state.withLock { $0.buckets[bucket] }.sorted { ($0.writer, $0.offset) < ($1.writer, $1.offset) }
        let total = chunks.reduce(0) { $0 + $1.count }
        var hasFailed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: total) { buffer, count in
            let target = UnsafeMutableRawBufferPointer(buffer)
            for chunk in chunks where !hasFailed {
                var left = chunk.count
                while left > 0 {
                    let offset = chunk.offset + chunk.count - left
                    let more = pread(descriptor, target.baseAddress?.advanced(by: count), left, offset)
                    if more < 0, errno == EINTR { continue }
                    guard more > 0 else {
                        hasFailed = true
                        break
                    }
                    left -= more
                    count += more
                }
            }
        }
        guard !hasFailed else { throw SpillFailure("read") }
        return bytes
    }
}

/// What one thread puts into a `BucketFile`, gathered into chunks.
package struct BucketWriter: ~Copyable {
    /// Of all buckets together, unless there are very many: what a processor keeps at hand.
    private static let pendingBytesMax = 2 * 1_048_576

    private let file: BucketFile
    private let number: Int
    /// Whole pages.
    private let chunkBytes: Int
    private var pending: [[UInt8]]

    package init(_ file: BucketFile) {
        self.file = file
        number = file.addWriter()
        let page = BucketFile.pageBytes
        chunkBytes = max(page, min(16_384, Self.pendingBytesMax / file.bucketCount) / page * page)
        pending = Array(repeating: [], count: file.bucketCount)
    }

    /// Appends what `write` writes to a bucket.
    package mutating func append(to bucket: Int, _ write: (inout [UInt8]) -> Void) throws(SpillFailure) {
        write(&pending[bucket])
        guard pending[bucket].count >= chunkBytes else { return }
        let whole = pending[bucket].count / chunkBytes * chunkBytes
        try file.append(pending[bucket][..<whole], to: bucket, from: number)
        pending[bucket].removeSubrange(..<whole)
    }

    /// Hands over what has not been. After this nothing can be appended.
    package consuming func finish() throws(SpillFailure) {
        for (bucket, bytes) in pending.enumerated() { try file.append(bytes[...], to: bucket, from: number) }
    }
}
