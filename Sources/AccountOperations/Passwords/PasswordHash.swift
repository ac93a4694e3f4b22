package import AccountStore
import Crypto
import JSON

/// A stored password hash that describes itself: algorithm, parameters, salt and hash.
///
/// Its text is a PHC string or, for bcrypt, that of crypt(3). Algorithms without a PHC name have one of Concord's
/// (docs/guides/import-export.md). `k` names a secret that many users share.
package enum PasswordHash: Sendable, Hashable {
    case argon2(Argon2Hash)
    case bcrypt(BcryptHash)
    case scrypt(ScryptHash)
    case firebaseScrypt(FirebaseScryptHash)
    case pbkdf2(PBKDF2Hash)
    case digest(DigestHash)
    case hmac(HMACHash)
    // Add the next algorithm here.

    /// `nil` if no algorithm can check the text, or its cost is beyond the limits.
    package init?(_ text: String) {
        if let bcrypt = BcryptHash(text) {
            self = .bcrypt(bcrypt)
            return
        }
        guard let phc = PHCString(text) else { return nil }
        if let hash = Argon2Hash(phc) {
            self = .argon2(hash)
        } else if let hash = ScryptHash(phc) {
            self = .scrypt(hash)
        } else if let hash = FirebaseScryptHash(phc) {
            self = .firebaseScrypt(hash)
        } else if let hash = PBKDF2Hash(phc) {
            self = .pbkdf2(hash)
        } else if let hash = DigestHash(phc) {
            self = .digest(hash)
        } else if let hash = HMACHash(phc) {
            self = .hmac(hash)
        } else {
            return nil
        }
    }

    package var text: String {
        switch self {
        case .argon2(let hash): hash.phc.text
        case .bcrypt(let hash): hash.text
        case .scrypt(let hash): hash.phc.text
        case .firebaseScrypt(let hash): hash.phc.text
        case .pbkdf2(let hash): hash.phc.text
        case .digest(let hash): hash.phc.text
        case .hmac(let hash): hash.phc.text
        }
    }

    /// The shared secret that the check needs.
    package var keyID: HashKeyID? {
        switch self {
        case .firebaseScrypt(let hash): hash.keyID
        case .hmac(let hash): hash.keyID
        case .argon2, .bcrypt, .scrypt, .pbkdf2, .digest: nil
        }
    }

    /// Constant time.
    /// - Throws: an error of the library, or `PasswordHasher.MissingKey` if `key` is not the named one.
    func matches(_ password: [UInt8], key: HashKey?) throws -> Bool {
        switch self {
        case .argon2(let hash): try hash.matches(password)
        case .bcrypt(let hash): try hash.matches(password)
        case .scrypt(let hash): try hash.matches(password)
        case .firebaseScrypt(let hash): try hash.matches(password, key: try named(hash.keyID, key))
        case .pbkdf2(let hash): try hash.matches(password)
        case .digest(let hash): hash.matches(password)
        case .hmac(let hash): hash.matches(password, key: try named(hash.keyID, key))
        }
    }

    private func named(_ id: HashKeyID, _ key: HashKey?) throws(PasswordHasher.MissingKey) -> HashKey {
        guard let key, key.id == id else { throw PasswordHasher.MissingKey() }
        return key
    }
}

/// A secret that many hashes share. Never stored or logged in the clear.
package struct HashKey: Sendable {
    let id: HashKeyID
    let key: [UInt8]
    /// Only for Firebase's scrypt.
    let saltSeparator: [UInt8]
}

/// `$id$v=…$name=value,…$salt$hash`, with unpadded standard base64. The salt may be empty.
struct PHCString: Sendable, Hashable {
    var id: String
    var version: Int?
    var parameters: [(name: String, value: String)]
    var salt: [UInt8]
    var hash: [UInt8]
}

extension PHCString {
    /// Bytes. No useful hash is longer.
    static let textMax = 8192

    init?(_ text: String) {
        guard text.utf8.count <= Self.textMax else { return nil }
        let parts = text.split(separator: "$", omittingEmptySubsequences: false)
        guard (5...6).contains(parts.count), parts[0].isEmpty,
            let salt = Base64URL.decodeEitherAlphabet(parts[parts.count - 2]),
            let hash = Base64URL.decodeEitherAlphabet(parts[parts.count - 1]), !hash.isEmpty
        else { return nil }
        id = String(parts[1])
        version = nil
        if parts.count == 6 {
            guard parts[2].hasPrefix("v="), let number = Self.number(parts[2].dropFirst(2)) else { return nil }
            version = number
        }
        parameters = []
        for pair in parts[parts.count - 3].split(separator: ",", omittingEmptySubsequences: false) {
            guard let sign = pair.firstIndex(of: "=") else { return nil }
            parameters.append((String(pair[..<sign]), String(pair[pair.index(after: sign)...])))
        }
        self.salt = salt
        self.hash = hash
    }

    var text: String {
        let version = version.map { "$v=\($0)" } ?? ""
        let list = parameters.map { "\($0.name)=\($0.value)" }.joined(separator: ",")
        let (salt, hash) = (Base64URL.encodeStandardAlphabet(salt), Base64URL.encodeStandardAlphabet(hash))
        return "$\(id)\(version)$\(list)$\(salt)$\(hash)"
    }

    /// `nil` unless the parameters are exactly these, in this order.
    func values(_ names: String...) -> [String]? {
        parameters.map(\.name) == names ? parameters.map(\.value) : nil
    }

    /// Like `values`, each a decimal number.
    func numbers(_ names: String...) -> [Int]? {
        guard parameters.map(\.name) == names else { return nil }
        let numbers = parameters.compactMap { Self.number($0.value) }
        return numbers.count == parameters.count ? numbers : nil
    }

    static func number(_ text: some StringProtocol) -> Int? {
        guard (1...9).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(text)
    }

    static func == (lhs: Self, rhs: Self) -> Bool { lhs.text == rhs.text }

    func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension [UInt8] {
    /// Compares in constant time. Lengths are not secret.
    func equalsInConstantTime(_ other: [UInt8]) -> Bool {
        SymmetricKey(data: self) == SymmetricKey(data: other)
    }
}
