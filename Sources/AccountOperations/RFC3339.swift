package import AccountLinking

/// Instants in the form of RFC 3339, in UTC with exactly three fractional digits, which iOS insists on (`spec/02` §7).
package enum RFC3339 {
    package static func text(_ instant: Timestamp) -> String {
        let milliseconds = instant.microsecondsSinceEpoch.floored(by: 1000)
        let days = milliseconds.floored(by: 86_400_000)
        let inDay = milliseconds - days * 86_400_000
        let date = civilDate(daysSinceEpoch: days)
        let seconds = inDay / 1000
        return "\(digits(date.year, 4))-\(digits(date.month, 2))-\(digits(date.day, 2))"
            + "T\(digits(seconds / 3600, 2)):\(digits(seconds / 60 % 60, 2)):\(digits(seconds % 60, 2))"
            + ".\(digits(inDay % 1000, 3))Z"
    }

    /// The date of a day number in the proleptic Gregorian calendar, counted in years that begin in March, so that the
    /// leap day is the last one.
    private static func civilDate(daysSinceEpoch: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = daysSinceEpoch + 719_468
        let era = shifted.floored(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    private static func digits(_ number: Int64, _ width: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}

extension Int64 {
    fileprivate func floored(by divisor: Int64) -> Int64 {
        self >= 0 ? self / divisor : (self - divisor + 1) / divisor
    }
}
