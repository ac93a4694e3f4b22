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
    init(_ sample: [String], countMax: Int) {
        let ids = sample.map { Array($0.utf8) }
        let first = ids.first ?? []
        let length = ids.dropFirst().reduce(first.count) { length, id in
            zip(first.prefix(length), id).prefix { $0 == $1 }.count
        }
        let prefix = Array(first.prefix(length))
        self.prefix = prefix
        let numbers = ids.map { id in id.withUnsafeBytes { Self.number($0, after: prefix.count) } }.sorted()
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
        let number = Self.number(id, after: prefix.count)
        // How many starts are not above it. Random ids: a branch would be guessed wrong every other time.
        var (low, count) = (0, starts.count)
        while count > 0 {
            let half = (count + 1) / 2
            low += starts[low + half - 1] <= number ? half : 0
            count -= half
        }
        return low
    }

    private static func number(_ id: UnsafeRawBufferPointer, after offset: Int) -> UInt64 {
        if id.count - offset >= 8 {
            return UInt64(bigEndian: id.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        var number: UInt64 = 0
        for place in 0..<8 {
            number = number << 8 | (offset + place < id.count ? UInt64(id[offset + place]) : 0)
        }
        return number
    }
}
