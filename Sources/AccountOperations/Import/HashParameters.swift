package import AccountStore
import JSON

/// Parameters of the hashes in an import, as an administrator names them (docs/guides/import-export.md).
package struct HashParameters: Sendable {
    package struct Argon2: Sendable {
        package var variant: Argon2Hash.Variant
        package var version: Int
        package var memoryKiB: Int
        package var passes: Int
        package var lanes: Int
        /// Bytes; `nil` accepts any length.
        package var hashLength: Int?
        package var associatedData: [UInt8]

        package init(
            variant: Argon2Hash.Variant,
            version: Int,
            memoryKiB: Int,
            passes: Int,
            lanes: Int,
            hashLength: Int?,
            associatedData: [UInt8]
        ) {
            self.variant = variant
            self.version = version
            self.memoryKiB = memoryKiB
            self.passes = passes
            self.lanes = lanes
            self.hashLength = hashLength
            self.associatedData = associatedData
        }
    }

    /// Mistake in the parameters.
    package enum Defect: Error, Sendable, Hashable {
        case unknownAlgorithm
        case missing(String)
        case outOfRange(String, String)
        case tooManyKeys

        package var explanation: String {
            switch self {
            case .unknownAlgorithm: "hashAlgorithm is none of " + HashParameters.algorithms.joined(separator: ", ")
            case .missing(let name): "\(name) is missing"
            case .outOfRange(let name, let range): "\(name) has to be \(range)"
            case .tooManyKeys: "no more than \(HashKeyRecord.countMax) signer keys are kept"
            }
        }
    }

    /// Names on the wire. `PHC` is Concord's own, for self-describing hashes.
    package static let algorithms = [
        "HMAC_SHA512", "HMAC_SHA256", "HMAC_SHA1", "HMAC_MD5", "MD5", "SHA1", "SHA256", "SHA512", "PBKDF_SHA1",
        "PBKDF2_SHA256", "BCRYPT", "SCRYPT", "STANDARD_SCRYPT", "ARGON2", "PHC",
    ]

    package var algorithm: String
    package var signerKey: [UInt8]?
    package var saltSeparator: [UInt8]?
    package var rounds: Int64?
    package var memoryCost: Int64?
    /// The parameter N of scrypt.
    package var cpuMemCost: Int64?
    package var blockSize: Int64?
    package var parallelization: Int64?
    package var derivedKeyLength: Int64?
    /// `nil` for the algorithm's usual order.
    package var order: HashInputOrder?
    package var argon2: Argon2?

    package init(algorithm: String) {
        self.algorithm = algorithm
    }
}

/// Converts imported hashes to stored ones.
package enum ImportedHashing: Sendable {
    /// Self-describing hashes. `keys`: the keys that they may name.
    case selfDescribing(keys: Set<HashKeyID>)
    case bcrypt
    /// `length`: of the signer key, and therefore of each hash.
    case firebaseScrypt(logN: Int, blockSize: Int, key: HashKeyID, length: Int)
    case scrypt(logN: Int, blockSize: Int, parallelism: Int, length: Int)
    case pbkdf2(PBKDF2Hash.Function, rounds: Int)
    case digest(DigestFunction, rounds: Int, order: HashInputOrder)
    case hmac(DigestFunction, key: HashKeyID, order: HashInputOrder)
    case argon2(HashParameters.Argon2)

    /// Returns `nil` for bytes that are no hash of the algorithm, for example of a wrong length.
    func stored(_ hash: [UInt8], salt: [UInt8]) -> PasswordHash? {
        switch self {
        case .selfDescribing(let keys):
            guard let text = String(validating: hash, as: UTF8.self), let hash = PasswordHash(text) else { return nil }
            if let key = hash.keyID, !keys.contains(key) { return nil }
            return hash
        case .bcrypt:
            return String(validating: hash, as: UTF8.self).flatMap(BcryptHash.init).map(PasswordHash.bcrypt)
        case .firebaseScrypt(let logN, let blockSize, let key, let length):
            guard hash.count == length else { return nil }
            return FirebaseScryptHash(logN: logN, blockSize: blockSize, keyID: key, salt: salt, hash: hash)
                .map(PasswordHash.firebaseScrypt)
        case .scrypt(let logN, let blockSize, let parallelism, let length):
            guard hash.count == length else { return nil }
            return ScryptHash(logN: logN, blockSize: blockSize, parallelism: parallelism, salt: salt, hash: hash)
                .map(PasswordHash.scrypt)
        case .pbkdf2(let function, let rounds):
            return PBKDF2Hash(function: function, rounds: rounds, salt: salt, hash: hash).map(PasswordHash.pbkdf2)
        case .digest(let function, let rounds, let order):
            // An MD5 hash may be sent as 32 hexadecimal digits.
            let hash = function == .md5 && hash.count == 32 ? Hexadecimal.decode(hash) ?? [] : hash
            return DigestHash(function: function, rounds: rounds, order: order, salt: salt, hash: hash)
                .map(PasswordHash.digest)
        case .hmac(let function, let key, let order):
            return HMACHash(function: function, keyID: key, order: order, salt: salt, hash: hash)
                .map(PasswordHash.hmac)
        case .argon2(let parameters):
            if let length = parameters.hashLength, hash.count != length { return nil }
            return Argon2Hash(
                variant: parameters.variant,
                version: parameters.version,
                memoryKiB: parameters.memoryKiB,
                passes: parameters.passes,
                lanes: parameters.lanes,
                associatedData: parameters.associatedData,
                salt: salt,
                hash: hash
            ).map(PasswordHash.argon2)
        }
    }
}

extension HashKeys {
    /// The conversion for `parameters`. Stores the signer key, so that hashes can name it.
    package func hashing(
        by parameters: HashParameters
    ) async throws -> Result<ImportedHashing, HashParameters.Defect> {
        do {
            return .success(try await judged(parameters))
        } catch let defect as HashParameters.Defect {
            return .failure(defect)
        } catch is TooMany {
            return .failure(.tooManyKeys)
        }
    }

    private func judged(_ parameters: HashParameters) async throws -> ImportedHashing {
        switch parameters.algorithm {
        case "HMAC_SHA512": return try await hmac(.sha512, parameters)
        case "HMAC_SHA256": return try await hmac(.sha256, parameters)
        case "HMAC_SHA1": return try await hmac(.sha1, parameters)
        case "HMAC_MD5": return try await hmac(.md5, parameters)
        case "MD5": return try digest(.md5, parameters, roundsMin: 0)
        case "SHA1": return try digest(.sha1, parameters, roundsMin: 1)
        case "SHA256": return try digest(.sha256, parameters, roundsMin: 1)
        case "SHA512": return try digest(.sha512, parameters, roundsMin: 1)
        case "PBKDF_SHA1": return try pbkdf2(.sha1, parameters)
        case "PBKDF2_SHA256": return try pbkdf2(.sha256, parameters)
        case "BCRYPT": return .bcrypt
        case "SCRYPT":
            let rounds = try number(parameters.rounds, "rounds", 1...8)
            let memoryCost = try number(parameters.memoryCost, "memoryCost", 1...14)
            let key = try await signerKey(parameters, saltSeparator: parameters.saltSeparator ?? [])
            return .firebaseScrypt(
                logN: memoryCost,
                blockSize: rounds,
                key: key,
                length: parameters.signerKey?.count ?? 0
            )
        case "STANDARD_SCRYPT": return try standardScrypt(parameters)
        case "ARGON2":
            guard let argon2 = parameters.argon2 else { throw HashParameters.Defect.missing("argon2Parameters") }
            return .argon2(try checked(argon2))
        case "PHC": return .selfDescribing(keys: try await ids())
        default: throw HashParameters.Defect.unknownAlgorithm
        }
    }

    private func number(
        _ value: Int64?,
        _ name: String,
        _ range: ClosedRange<Int64>
    ) throws(HashParameters.Defect) -> Int {
        guard let value else { throw .missing(name) }
        guard range.contains(value) else {
            throw .outOfRange(name, "from \(range.lowerBound) to \(range.upperBound)")
        }
        return Int(value)
    }

    private func signerKey(_ parameters: HashParameters, saltSeparator: [UInt8]) async throws -> HashKeyID {
        guard let key = parameters.signerKey, !key.isEmpty else { throw HashParameters.Defect.missing("signerKey") }
        guard key.count <= Self.lengthMax else {
            throw HashParameters.Defect.outOfRange("signerKey", "at most \(Self.lengthMax) bytes")
        }
        guard saltSeparator.count <= Self.lengthMax else {
            throw HashParameters.Defect.outOfRange("saltSeparator", "at most \(Self.lengthMax) bytes")
        }
        return try await id(of: key, saltSeparator: saltSeparator)
    }

    private func hmac(_ function: DigestFunction, _ parameters: HashParameters) async throws -> ImportedHashing {
        .hmac(
            function,
            key: try await signerKey(parameters, saltSeparator: []),
            order: parameters.order ?? .passwordFirst
        )
    }

    private func digest(
        _ function: DigestFunction,
        _ parameters: HashParameters,
        roundsMin: Int64
    ) throws(HashParameters.Defect) -> ImportedHashing {
        let rounds = try number(parameters.rounds, "rounds", roundsMin...Int64(DigestHash.roundsMax))
        // 0 and 1 both mean a single digest.
        return .digest(function, rounds: max(1, rounds), order: parameters.order ?? .saltFirst)
    }

    private func pbkdf2(
        _ function: PBKDF2Hash.Function,
        _ parameters: HashParameters
    ) throws(HashParameters.Defect) -> ImportedHashing {
        .pbkdf2(function, rounds: max(1, try number(parameters.rounds, "rounds", 0...Int64(PBKDF2Hash.roundsMax))))
    }

    private func standardScrypt(_ parameters: HashParameters) throws(HashParameters.Defect) -> ImportedHashing {
        // The command line has one option for both.
        let cost = try number(parameters.cpuMemCost ?? parameters.memoryCost, "cpuMemCost", 2...1 << 20)
        guard cost.nonzeroBitCount == 1 else { throw .outOfRange("cpuMemCost", "a power of two") }
        let blockSize = try number(parameters.blockSize, "blockSize", 1...16)
        let parallelism = try number(parameters.parallelization, "parallelization", 1...64)
        let length = try number(parameters.derivedKeyLength, "dkLen", 16...1024)
        let logN = cost.trailingZeroBitCount
        let blank = [UInt8](repeating: 0, count: length)
        guard ScryptHash(logN: logN, blockSize: blockSize, parallelism: parallelism, salt: [], hash: blank) != nil
        else {
            throw .outOfRange("cpuMemCost", "such that one check takes at most 128 MiB")
        }
        return .scrypt(logN: logN, blockSize: blockSize, parallelism: parallelism, length: length)
    }

    private func checked(_ argon2: HashParameters.Argon2) throws(HashParameters.Defect) -> HashParameters.Argon2 {
        _ = try number(Int64(argon2.lanes), "argon2Parameters.parallelism", 1...16)
        _ = try number(Int64(argon2.passes), "argon2Parameters.iterations", 1...16)
        _ = try number(Int64(argon2.memoryKiB), "argon2Parameters.memoryCostKib", Int64(8 * argon2.lanes)...32_768)
        if let length = argon2.hashLength {
            _ = try number(Int64(length), "argon2Parameters.hashLengthBytes", 4...1024)
        }
        guard argon2.associatedData.count <= 1024 else {
            throw .outOfRange("argon2Parameters.associatedData", "at most 1024 bytes")
        }
        return argon2
    }
}
