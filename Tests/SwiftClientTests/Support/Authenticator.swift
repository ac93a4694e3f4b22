import AccountTestSupport
import Crypto
import Foundation
import JSON

/// An authenticator app (RFC 6238): SHA-1, 6 digits, 30 seconds.
struct Authenticator: Sendable {
    /// The secret in Base32.
    let secret: String

    /// The code of the step `steps` after the current one.
    func code(steps: Int = 0) -> String {
        let step = UInt64(Date().timeIntervalSince1970 / 30) + UInt64(steps)
        let counter = withUnsafeBytes(of: step.bigEndian) { Array($0) }
        let key = SymmetricKey(data: Base32.decoded(secret))
        let digest = Array(HMAC<Insecure.SHA1>.authenticationCode(for: counter, using: key))
        let offset = Int(digest[19] & 15)
        let number = digest[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        let digits = String(number % 1_000_000)
        return String(repeating: "0", count: 6 - digits.count) + digits
    }
}
