/// Divides all ids into ranges with about as many in each, in the order of their bytes, so that whatever hangs off an id
/// goes to one range, and the ranges one after the other are in order.
struct IDRanges: Sendable {
    /// What all of a sample begin with; what does not begin so lies before or behind all that does.
    private let prefix: [UInt8]
    /// The eight bytes behind the prefix, as a number, with which each range but the first begins.
    private let starts: [UInt64]

    var count: Int { starts.count + 1 }

    /// - `sample`: some of the ids, in any order; the more, the more even the ranges.
    /// - `countMax`: ranges at most; there are fewer where the sample does not tell so many apart.
    init(_ sample: IDSample, countMax: Int) {
        let ids = 0..<sample.count
        let first = sample.count > 0 ? sample.withID(0) { Array($0) } : []
        let length = ids.reduce(first.count) { length, place in
            sample.withID(place) { id in first.withUnsafeBytes { min(length, $0.commonPrefixCount(with: id)) } }
        }
        let prefix = Array(first.prefix(length))
        self.prefix = prefix
        let numbers = ids.map { place in sample.withID(place) { $0.number(after: length) } }.sorted()
        var starts: [UInt64] = []
        for range in 1..<max(1, countMax) where !numbers.isEmpty {
            let start = numbers[range * numbers.count / countMax]
            if start > starts.last ?? numbers[0] { starts.append(start) }
        }
        self.starts = starts
    }

    /// The range that an id lies in.
    func index(of id: UnsafeRawBufferPointer) -> Int {
        for (place, byte) in prefix.enumerated() {
            guard place < id.count, id[place] >= byte else { return 0 }
            if id[place] > byte { return starts.count }
        }
        let number = id.number(after: prefix.count)
        // How many starts are not above it. Random ids: a branch would be guessed wrong every other time.
        var (low, count) = (0, starts.count)
        while count > 0 {
            let half = (count + 1) / 2
            low += starts[low + half - 1] <= number ? half : 0
            count -= half
        }
        return low
    }
}

/// Some ids, of many.
struct IDSample: Sendable {
    private var bytes: [UInt8] = []
    private var ends: [Int] = []

    var count: Int { ends.count }

    mutating func append(_ id: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: id)
        ends.append(bytes.count)
    }

    /// Calls `body` with one of them.
    func withID<Output>(_ place: Int, _ body: (UnsafeRawBufferPointer) -> Output) -> Output {
        bytes.withUnsafeBytes { bytes in
            body(UnsafeRawBufferPointer(rebasing: bytes[(place == 0 ? 0 : ends[place - 1])..<ends[place]]))
        }
    }
}
