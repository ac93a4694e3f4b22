package import AccountStore
import Crypto
import CryptoExtras
import FoundationEssentials

/// A hash by scrypt (RFC 7914): `$scrypt$ln=…,r=…,p=…$salt$hash`.
package struct ScryptHash: Sendable, Hashable {
    /// The logarithm of N.
    let logN: Int
    /// r
    let blockSize: Int
    /// p
    let parallelism: Int
    let salt: [UInt8]
    let hash: [UInt8]

    /// `nil` beyond the limits: 128 MiB at once, and four times OWASP's greatest work.
    package init?(logN: Int, blockSize: Int, parallelism: Int, salt: [UInt8], hash: [UInt8]) {
        guard (1...20).contains(logN), (1...16).contains(blockSize), (1...64).contains(parallelism),
            logN < 16 * blockSize, blockSize << logN <= 1 << 20, (blockSize * parallelism) << logN <= 1 << 22,
            (16...1024).contains(hash.count), salt.count <= 1024
        else { return nil }
        self.logN = logN
        self.blockSize = blockSize
        self.parallelism = parallelism
        self.salt = salt
        self.hash = hash
    }

    init?(_ phc: PHCString) {
        guard phc.id == "scrypt", phc.version == nil, let numbers = phc.numbers("ln", "r", "p") else { return nil }
        self.init(logN: numbers[0], blockSize: numbers[1], parallelism: numbers[2], salt: phc.salt, hash: phc.hash)
    }

    var phc: PHCString {
        PHCString(
            id: "scrypt",
            parameters: [("ln", String(logN)), ("r", String(blockSize)), ("p", String(parallelism))],
            salt: salt,
            hash: hash
        )
    }

    func matches(_ password: [UInt8]) throws -> Bool {
        try scrypt(password, salt, logN, blockSize, parallelism, length: hash.count) == SymmetricKey(data: hash)
    }
}

/// Firebase's modification of scrypt (github.com/firebase/scrypt): the project's signer key, encrypted under the key
/// that scrypt derives from the password. `$firebase-scrypt$ln=…,r=…,k=…$salt$hash`.
package struct FirebaseScryptHash: Sendable, Hashable {
    /// `memoryCost`: the logarithm of N.
    let logN: Int
    /// `rounds`: scrypt's block size.
    let blockSize: Int
    let keyID: HashKeyID
    let salt: [UInt8]
    let hash: [UInt8]

    package init?(logN: Int, blockSize: Int, keyID: HashKeyID, salt: [UInt8], hash: [UInt8]) {
        guard (1...14).contains(logN), (1...8).contains(blockSize), (4...1024).contains(hash.count), salt.count <= 1024
        else { return nil }
        self.logN = logN
        self.blockSize = blockSize
        self.keyID = keyID
        self.salt = salt
        self.hash = hash
    }

    init?(_ phc: PHCString) {
        guard phc.id == "firebase-scrypt", phc.version == nil, let values = phc.values("ln", "r", "k"),
            let logN = PHCString.number(values[0]), let blockSize = PHCString.number(values[1]),
            let keyID = HashKeyID(values[2])
        else { return nil }
        self.init(logN: logN, blockSize: blockSize, keyID: keyID, salt: phc.salt, hash: phc.hash)
    }

    var phc: PHCString {
        PHCString(
            id: "firebase-scrypt",
            parameters: [("ln", String(logN)), ("r", String(blockSize)), ("k", keyID.rawValue)],
            salt: salt,
            hash: hash
        )
    }

    func matches(_ password: [UInt8], key: HashKey) throws -> Bool {
        let derived = try scrypt(password, salt + key.saltSeparator, logN, blockSize, 1, length: 32)
        let nonce = try AES._CTR.Nonce(nonceBytes: [UInt8](repeating: 0, count: 16))
        return Array(try AES._CTR.encrypt(key.key, using: derived, nonce: nonce)).equalsInConstantTime(hash)
    }
}

private func scrypt(
    _ password: [UInt8],
    _ salt: [UInt8],
    _ logN: Int,
    _ blockSize: Int,
    _ parallelism: Int,
    length: Int
) throws -> SymmetricKey {
    try KDF.Scrypt.deriveKey(
        from: password,
        salt: salt,
        outputByteCount: length,
        rounds: 1 << logN,
        blockSize: blockSize,
        parallelism: parallelism
    )
}
