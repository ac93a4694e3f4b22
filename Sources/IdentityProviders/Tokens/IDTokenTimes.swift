import AccountLinking
import JSON

/// The times in an ID token (OpenID Connect Core 1.0 §2), in seconds since 1970.
struct IDTokenTimes: Sendable {
    let issued: Double?
    /// `auth_time`; absent if it is 0, which some providers write for an unknown time.
    let signedIn: Double?
    let expiry: Double?

    init(of claims: JSONValue) {
        issued = Self.numericDate(claims["iat"])
        signedIn = Self.numericDate(claims["auth_time"]).flatMap { $0 > 0 ? $0 : nil }
        expiry = Self.numericDate(claims["exp"])
    }

    /// The latest possible time of the sign-in: not after the issue of the token.
    var signedInAt: Timestamp? {
        [issued, signedIn].compactMap(\.self).min().flatMap(Self.instant)
    }

    /// The time from which every server refuses the token: its expiry by the slowest clock.
    var expiresAt: Timestamp? {
        expiry.flatMap { Self.instant($0 + IDTokenRequirements.clockSkewSeconds) }
    }

    /// Seconds since 1970, possibly with a fraction (RFC 7519 §2).
    static func numericDate(_ value: JSONValue?) -> Double? {
        switch value {
        case .integer(let seconds): Double(seconds)
        case .double(let seconds): seconds
        default: nil
        }
    }

    /// Returns the whole second, at most `secondsMax`; `nil` for a time that is not after 1970.
    private static func instant(_ seconds: Double) -> Timestamp? {
        guard seconds >= 1 else { return nil }
        return Timestamp(secondsSinceEpoch: Int64(min(seconds, secondsMax)))
    }

    /// The year 5138, which microseconds in 64 bits can represent.
    private static let secondsMax = 1e11
}
