import AccountLinking
import Crypto
import FoundationEssentials
import JSON

/// RFC 6238 with SHA-1, 30 seconds and six digits, which every app supports.
struct TOTP: Sendable {
    static let periodSeconds: Int64 = 30
    static let codeDigits = 6
    /// The length of the hash (RFC 4226 §4 R6).
    static let secretBytes = 20
    /// Accepted steps before and after the current one by default (RFC 6238 §5.2).
    static let adjacentSteps: Int64 = 1

    let secret: [UInt8]

    /// Base32 without padding (RFC 4648 §6).
    var sharedKey: String { Base32.encode(secret) }

    static func step(at instant: Timestamp) -> Int64 { max(0, instant.secondsSinceEpoch) / periodSeconds }

    /// RFC 4226 §5.3, with leading zeros.
    func code(ofStep step: Int64, digits: Int = codeDigits) -> String {
        let counter = (0..<8).map { UInt8(truncatingIfNeeded: step >> (56 - 8 * $0)) }
        let mac = Array(HMAC<Insecure.SHA1>.authenticationCode(for: counter, using: SymmetricKey(data: secret)))
        let offset = Int(mac[mac.count - 1] & 0x0F)
        let number = mac[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        let power = (0..<digits).reduce(UInt32(1)) { power, _ in power * 10 }
        let text = String(number % power)
        return String(repeating: "0", count: digits - text.utf8.count) + text
    }

    /// The latest step with this code, at most `adjacent` steps from that of `now`, and after `last`. Constant time.
    func step(ofCode code: String, at now: Timestamp, adjacent: Int64, after last: Int64?) -> Int64? {
        let presented = SHA256.hash(data: Array(code.utf8))
        let current = Self.step(at: now)
        var found: Int64?
        for step in max(0, current - adjacent)...(current + adjacent) {
            let right = SHA256.hash(data: Array(self.code(ofStep: step).utf8))
            if presented.equals(Array(right)), step > last ?? -1 { found = step }
        }
        return found
    }
}
