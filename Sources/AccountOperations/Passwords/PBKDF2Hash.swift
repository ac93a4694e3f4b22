import Crypto
import CryptoExtras
import FoundationEssentials

/// A hash by PBKDF2 (RFC 8018): `$pbkdf2-sha256$i=…$salt$hash`.
package struct PBKDF2Hash: Sendable, Hashable {
    package enum Function: String, Sendable, Hashable, CaseIterable {
        case sha1 = "pbkdf2-sha1"
        case sha256 = "pbkdf2-sha256"
    }

    let function: Function
    let rounds: Int
    let salt: [UInt8]
    let hash: [UInt8]

    static let roundsMax = 120_000

    package init?(function: Function, rounds: Int, salt: [UInt8], hash: [UInt8]) {
        guard (1...Self.roundsMax).contains(rounds), (16...128).contains(hash.count), salt.count <= 1024 else {
            return nil
        }
        self.function = function
        self.rounds = rounds
        self.salt = salt
        self.hash = hash
    }

    init?(_ phc: PHCString) {
        guard let function = Function(rawValue: phc.id), phc.version == nil, let numbers = phc.numbers("i") else {
            return nil
        }
        self.init(function: function, rounds: numbers[0], salt: phc.salt, hash: phc.hash)
    }

    var phc: PHCString {
        PHCString(id: function.rawValue, parameters: [("i", String(rounds))], salt: salt, hash: hash)
    }

    func matches(_ password: [UInt8]) throws -> Bool {
        let derived = try KDF.Insecure.PBKDF2.deriveKey(
            from: password,
            salt: salt,
            using: function == .sha1 ? .insecureSHA1 : .sha256,
            outputByteCount: hash.count,
            unsafeUncheckedRounds: rounds
        )
        return derived == SymmetricKey(data: hash)
    }
}
