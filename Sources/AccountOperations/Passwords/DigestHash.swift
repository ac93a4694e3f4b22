package import AccountStore
import Crypto
import FoundationEssentials

/// A digest once used for passwords. All are too fast for that, so a sign-in replaces such a hash.
package enum DigestFunction: String, Sendable, Hashable, CaseIterable {
    case md5
    case sha1
    case sha256
    case sha512

    func digest(_ bytes: [UInt8]) -> [UInt8] {
        switch self {
        case .md5: Array(Insecure.MD5.hash(data: bytes))
        case .sha1: Array(Insecure.SHA1.hash(data: bytes))
        case .sha256: Array(SHA256.hash(data: bytes))
        case .sha512: Array(SHA512.hash(data: bytes))
        }
    }

    func authenticationCode(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        let key = SymmetricKey(data: key)
        return switch self {
        case .md5: Array(HMAC<Insecure.MD5>.authenticationCode(for: bytes, using: key))
        case .sha1: Array(HMAC<Insecure.SHA1>.authenticationCode(for: bytes, using: key))
        case .sha256: Array(HMAC<SHA256>.authenticationCode(for: bytes, using: key))
        case .sha512: Array(HMAC<SHA512>.authenticationCode(for: bytes, using: key))
        }
    }

    var byteCount: Int {
        switch self {
        case .md5: 16
        case .sha1: 20
        case .sha256: 32
        case .sha512: 64
        }
    }
}

/// Order of password and salt (`passwordHashOrder`).
package enum HashInputOrder: String, Sendable, Hashable, CaseIterable {
    case saltFirst = "sp"
    case passwordFirst = "ps"

    func joined(_ password: [UInt8], _ salt: [UInt8]) -> [UInt8] {
        self == .saltFirst ? salt + password : password + salt
    }
}

/// A digest of salt and password, applied repeatedly: `$sha256$i=…,o=sp$salt$hash`.
package struct DigestHash: Sendable, Hashable {
    let function: DigestFunction
    let rounds: Int
    let order: HashInputOrder
    let salt: [UInt8]
    let hash: [UInt8]

    static let roundsMax = 8192

    package init?(function: DigestFunction, rounds: Int, order: HashInputOrder, salt: [UInt8], hash: [UInt8]) {
        guard (1...Self.roundsMax).contains(rounds), hash.count == function.byteCount, salt.count <= 1024 else {
            return nil
        }
        self.function = function
        self.rounds = rounds
        self.order = order
        self.salt = salt
        self.hash = hash
    }

    init?(_ phc: PHCString) {
        guard let function = DigestFunction(rawValue: phc.id), phc.version == nil, let values = phc.values("i", "o"),
            let rounds = PHCString.number(values[0]), let order = HashInputOrder(rawValue: values[1])
        else { return nil }
        self.init(function: function, rounds: rounds, order: order, salt: phc.salt, hash: phc.hash)
    }

    var phc: PHCString {
        PHCString(
            id: function.rawValue,
            parameters: [("i", String(rounds)), ("o", order.rawValue)],
            salt: salt,
            hash: hash
        )
    }

    func matches(_ password: [UInt8]) -> Bool {
        var digest = function.digest(order.joined(password, salt))
        for _ in 1..<rounds { digest = function.digest(digest) }
        return digest.equalsInConstantTime(hash)
    }
}

/// An HMAC (RFC 2104) of password and salt, under a key that all users share: `$hmac-sha256$k=…,o=ps$salt$hash`.
package struct HMACHash: Sendable, Hashable {
    let function: DigestFunction
    let keyID: HashKeyID
    let order: HashInputOrder
    let salt: [UInt8]
    let hash: [UInt8]

    package init?(function: DigestFunction, keyID: HashKeyID, order: HashInputOrder, salt: [UInt8], hash: [UInt8]) {
        guard hash.count == function.byteCount, salt.count <= 1024 else { return nil }
        self.function = function
        self.keyID = keyID
        self.order = order
        self.salt = salt
        self.hash = hash
    }

    init?(_ phc: PHCString) {
        guard phc.id.hasPrefix("hmac-"), let function = DigestFunction(rawValue: String(phc.id.dropFirst(5))),
            phc.version == nil, let values = phc.values("k", "o"), let keyID = HashKeyID(values[0]),
            let order = HashInputOrder(rawValue: values[1])
        else { return nil }
        self.init(function: function, keyID: keyID, order: order, salt: phc.salt, hash: phc.hash)
    }

    var phc: PHCString {
        PHCString(
            id: "hmac-" + function.rawValue,
            parameters: [("k", keyID.rawValue), ("o", order.rawValue)],
            salt: salt,
            hash: hash
        )
    }

    func matches(_ password: [UInt8], key: HashKey) -> Bool {
        function.authenticationCode(order.joined(password, salt), key: key.key).equalsInConstantTime(hash)
    }
}
