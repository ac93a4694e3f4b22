import Glibc
import Synchronization

/// A progress line on a terminal. Prints no text if standard error is not a terminal.
final class ProgressMeter: Sendable {
    private struct State {
        var shownAt: ContinuousClock.Instant?
    }

    private static let interval = Duration.milliseconds(200)

    private let total: Int64?
    private let noun: String
    private let isShown: Bool
    private let start = ContinuousClock.now
    private let state = Mutex(State())

    /// - `total`: the estimated total; `nil` if unknown.
    init(total: Int64?, noun: String, isTerminal: Bool = isatty(STDERR_FILENO) == 1) {
        self.total = total
        self.noun = noun
        isShown = isTerminal
    }

    /// Shows that `count` are done, a few times a second at most.
    func show(_ count: Int64) {
        guard isShown else { return }
        let now = ContinuousClock.now
        let isDue = state.withLock { state in
            if let last = state.shownAt, now - last < Self.interval { return false }
            state.shownAt = now
            return true
        }
        if isDue { write("\r\(Self.line(count, of: total, noun, after: now - start))\u{1B}[K") }
    }

    /// Clears the line.
    func clear() {
        if isShown { write("\r\u{1B}[K") }
    }

    /// `123,000 of about 1,000,000 accounts, 85,000 a second, 10 s left`
    static func line(_ count: Int64, of total: Int64?, _ noun: String, after elapsed: Duration) -> String {
        let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
        let rate = seconds > 0 ? Double(count) / seconds : 0
        var line = grouped(count)
        if let total, total >= count { line += " of about \(grouped(total))" }
        line += " \(noun)"
        if rate >= 1 {
            line += ", \(grouped(Int64(rate))) a second"
            if let total, total > count { line += ", \(span(Int64(Double(total - count) / rate))) left" }
        }
        return line
    }

    private static func span(_ seconds: Int64) -> String {
        if seconds >= 3600 { return "\(seconds / 3600) h \(seconds % 3600 / 60) min" }
        return seconds >= 60 ? "\(seconds / 60) min \(seconds % 60) s" : "\(seconds) s"
    }

    private func write(_ text: String) {
        emit(text)
    }
}

/// Groups digits by three.
func grouped(_ number: Int64) -> String {
    let digits = String(number.magnitude)
    var text = ""
    for (place, digit) in digits.enumerated() {
        if place > 0, (digits.count - place) % 3 == 0 { text.append(",") }
        text.append(digit)
    }
    return number < 0 ? "-\(text)" : text
}
