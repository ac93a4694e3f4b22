import Crypto
import Foundation

/// Digests of secrets, for idempotency keys and for the session id that a page gets.
enum Digest {
    /// Returns the SHA-256 of `text` in hexadecimal digits.
    static func hex(of text: String) -> String {
        SHA256.hash(data: Data(text.utf8)).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }
        .joined()
    }

    /// Returns the idempotency key of a request: the same for the same secret, route and parameters. An app that was
    /// killed before the answer thus repeats the request, and gets the answer of the first one.
    static func idempotencyKey(_ secret: Secret, _ route: String, _ parameters: String...) -> String {
        hex(of: ([route, secret.text] + parameters).joined(separator: "\u{0}"))
    }

    /// Returns 32 random bytes in hexadecimal digits.
    static func random() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<4).map { _ in
            let digits = String(generator.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        .joined()
    }
}
