import CoreMetrics
import Synchronization

/// A number that grows.
final class CounterSeries: CounterHandler, Sendable {
    private let count = Atomic<Int64>(0)

    var value: Int64 { count.load(ordering: .relaxed) }

    func increment(by amount: Int64) {
        count.wrappingAdd(amount, ordering: .relaxed)
    }

    /// A counter that went down would look like a process that began anew.
    func reset() {}
}

/// A number that is set.
final class GaugeSeries: MeterHandler, Sendable {
    /// Until the first `set`: a NaN that no calculation gives.
    private static let unset = UInt64.max
    private let bits = Atomic<UInt64>(unset)

    /// 0 until the first `set`.
    var value: Double { Self.value(bits.load(ordering: .relaxed)) }
    var isSet: Bool { bits.load(ordering: .relaxed) != Self.unset }

    private static func value(_ bits: UInt64) -> Double { bits == unset ? 0 : Double(bitPattern: bits) }

    func set(_ value: Int64) { set(Double(value)) }

    func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }

    func increment(by amount: Double) {
        var old = bits.load(ordering: .relaxed)
        while true {
            let new = (Self.value(old) + amount).bitPattern
            let (exchanged, original) = bits.weakCompareExchange(expected: old, desired: new, ordering: .relaxed)
            if exchanged { return }
            old = original
        }
    }

    func decrement(by amount: Double) { increment(by: -amount) }
}

/// Durations, counted by the bucket each falls into. Two additions for each; readers may see one before the other.
final class HistogramSeries: TimerHandler, Sendable {
    private let boundsNanoseconds: [Int64]
    private let buckets: [CounterSeries]
    private let sum = CounterSeries()

    init(boundsSeconds: [Double]) {
        boundsNanoseconds = boundsSeconds.map { Int64($0 * 1e9) }
        buckets = (0...boundsSeconds.count).map { _ in CounterSeries() }
    }

    /// Number of values in each bucket; the last bucket has no bound.
    var counts: [Int64] { buckets.map(\.value) }

    var sumSeconds: Double { Double(sum.value) / 1e9 }

    func recordNanoseconds(_ duration: Int64) {
        // A dozen comparisons: nothing cleverer is faster.
        var bucket = 0
        while bucket < boundsNanoseconds.count, duration > boundsNanoseconds[bucket] { bucket += 1 }
        buckets[bucket].increment(by: 1)
        sum.increment(by: duration)
    }
}
