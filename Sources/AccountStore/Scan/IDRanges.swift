/// Divides all ids into ranges with about as many in each, in the order of their bytes, so that whatever hangs off an id
/// goes to one range, and the ranges one after the other are in order.
struct IDRanges: Sendable {
    /// What all of a sample begin with; what does not begin so lies before or behind all that does.
    private let prefix: [UInt8]
    /// The place with which each range but the first begins.
    private let starts: [Int64]

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
        let places = ids.map { place in sample.withID(place) { Self.place(of: $0, after: length) } }.sorted()
        var starts: [Int64] = []
        for range in 1..<max(1, countMax) where !places.isEmpty {
            let start = places[range * places.count / countMax]
            if start > starts.last ?? places[0] { starts.append(start) }
        }
        self.starts = starts
    }

    /// The range that an id lies in.
    func index(of id: UnsafeRawBufferPointer) -> Int {
        for (place, byte) in prefix.enumerated() {
            guard place < id.count, id[place] >= byte else { return 0 }
            if id[place] > byte { return starts.count }
        }
        let place = Self.place(of: id, after: prefix.count)
        // How many starts are not above it. Ids are random, and a branch would be guessed wrong every other time: what is added is
        // masked by the sign of a difference, which a compiler does not make a branch of.
        var (low, count) = (0, starts.count)
        while count > 0 {
            let half = (count + 1) / 2
            low &+= half & ~Int((place &- starts[low &+ half &- 1]) >> 63)
            count -= half
        }
        return low
    }

    /// Where an id stands among all that begin with the prefix: its next eight bytes but for the last bit, so that two of them can
    /// be subtracted.
    private static func place(of id: UnsafeRawBufferPointer, after count: Int) -> Int64 {
        Int64(id.number(after: count) >> 1)
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
