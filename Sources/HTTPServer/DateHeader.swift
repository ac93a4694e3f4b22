import Glibc
import Synchronization

/// The `Date` of answers (RFC 9110 §6.6.1), formatted once a second.
enum DateHeader {
    private struct Written {
        var second: time_t = -1
        var text = ""
    }

    private static let written = Mutex(Written())

    static func now() -> String {
        let second = time(nil)
        return written.withLock { written in
            if written.second != second { written = Written(second: second, text: text(of: second)) }
            return written.text
        }
    }

    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Returns `Sun, 06 Nov 1994 08:49:37 GMT`, the only form that may be sent (RFC 9110 §5.6.7), in every locale.
    static func text(of second: time_t) -> String {
        var second = second
        var parts = tm()
        gmtime_r(&second, &parts)
        func twoDigits(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let date = "\(twoDigits(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900)"
        let time = "\(twoDigits(parts.tm_hour)):\(twoDigits(parts.tm_min)):\(twoDigits(parts.tm_sec))"
        return "\(days[Int(parts.tm_wday)]), \(date) \(time) GMT"
    }
}
