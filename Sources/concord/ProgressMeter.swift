import ArgumentParser
import Glibc
import Synchronization

/// The options of commands that show their progress.
struct ProgressOptions: ParsableArguments {
    @Flag(name: .shortAndLong, help: "Print no progress, and on standard error only warnings and errors.")
    var quiet = false

    @Flag(help: "Print no progress.")
    var noProgress = false

    /// True if standard error is a terminal whose user wants progress.
    var showsProgress: Bool { !quiet && !noProgress && isatty(STDERR_FILENO) == 1 }
}

/// The progress line of this process. At most one is on the terminal, and it is wiped before any other text is written
/// there, on either stream.
enum ProgressLine {
    private static let isShown = Mutex(false)
    private static let wiping = "\r\u{1B}[K"

    /// Wipes the line, and then runs `write`. No line is shown meanwhile.
    static func wipe<Failure: Error>(_ write: () throws(Failure) -> Void) throws(Failure) {
        try isShown.withLock { isShown throws(Failure) in
            if isShown { emitUnwiped(wiping) }
            isShown = false
            try write()
        }
    }

    static func show(_ text: String) {
        isShown.withLock { isShown in
            emitUnwiped("\r\(text)\u{1B}[K")
            isShown = true
        }
    }

    private static func emitUnwiped(_ text: String) {
        try? writeAll(Array(text.utf8)[...], to: STDERR_FILENO, named: "standard error")
    }
}

/// The progress of a command, for the progress line.
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

    /// - Parameters:
    ///   - total: the estimated total; `nil` if unknown.
    ///   - noun: the noun of the counted things, in the plural.
    ///   - isShown: false prints no text.
    init(total: Int64?, noun: String, isShown: Bool) {
        self.total = total
        self.noun = noun
        self.isShown = isShown
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
        if isDue { ProgressLine.show(Self.line(count, of: total, noun, after: now - start)) }
    }

    /// Clears the line.
    func clear() {
        if isShown { ProgressLine.wipe {} }
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
