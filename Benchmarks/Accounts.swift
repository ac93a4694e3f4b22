import AccountLinking
import AccountOperations
import AccountStore
import Crypto
import JSON

/// The accounts that `load.sql` makes, computed from their numbers.
enum Accounts {
    static let provider = "oidc.bench"
    static let clientID = "concord-bench"
    static let password = "correct horse battery staple"

    static func email(_ number: Int) -> String { "user-\(number)@example.com" }
    static func subject(_ number: Int) -> String { "subject-\(number)" }

    /// - Throws: `BenchmarkFailure`, which the id's form rules out.
    static func id(_ number: Int) throws -> UserID {
        let text = Hexadecimal.encode(Array(SHA256.hash(data: Array("user-\(number)".utf8)).prefix(14)))
        guard let id = UserID(text) else { throw BenchmarkFailure("\(text) is no user id") }
        return id
    }

    /// Returns the part of the record that an ID token shows.
    static func record(_ number: Int, now: Timestamp) throws -> UserRecord {
        var record = UserRecord(
            tenant: .project,
            id: try id(number),
            sessionEpoch: Int64(number),
            createdAt: now
        )
        record.email = EmailAddress(email(number)).map { AccountEmail(address: $0, proof: nil) }
        record.profile.displayName = "User \(number)"
        return record
    }

    static func refreshToken(_ number: Int) throws -> String {
        RefreshToken(
            tenant: .project,
            user: try id(number),
            session: Array(SHA256.hash(data: Array("session-\(number)".utf8)).prefix(16)),
            secret: Array(SHA256.hash(data: Array("secret-\(number)".utf8)))
        ).encoded
    }

    /// Returns different numbers from 1 to `limit`, at most `limit`, in scattered order.
    static func numbers(_ count: Int, upTo limit: Int) -> [Int] {
        // Steps of a fixed width without a common factor with the limit visit every number once.
        var step = Int(Double(limit) * 0.618) | 1
        while !isCoprime(step, limit) { step += 2 }
        let start = Int.random(in: 0..<limit)
        return (0..<min(count, limit)).map { (start + $0 * step) % limit + 1 }
    }

    private static func isCoprime(_ first: Int, _ second: Int) -> Bool {
        var (a, b) = (first, second)
        while b != 0 { (a, b) = (b, a % b) }
        return a == 1
    }
}
