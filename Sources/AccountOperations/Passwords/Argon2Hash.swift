import CArgon2
import JSON

/// Argon2 (RFC 9106), in any variant.
package struct Argon2Hash: Sendable, Hashable {
    package enum Variant: String, Sendable, Hashable, CaseIterable {
        case d = "argon2d"
        case i = "argon2i"
        case id = "argon2id"
    }

    let variant: Variant
    /// 0x10 or 0x13.
    let version: Int
    let memoryKiB: Int
    let passes: Int
    let lanes: Int
    let associatedData: [UInt8]
    let salt: [UInt8]
    let hash: [UInt8]

    /// `nil` beyond the limits: 64 MiB, 16 passes and 16 lanes.
    package init?(
        variant: Variant,
        version: Int,
        memoryKiB: Int,
        passes: Int,
        lanes: Int,
        associatedData: [UInt8] = [],
        salt: [UInt8],
        hash: [UInt8]
    ) {
        guard [0x10, 0x13].contains(version), (1...16).contains(lanes), (1...16).contains(passes),
            memoryKiB >= 8 * lanes, memoryKiB <= 64 * 1024, (4...1024).contains(hash.count),
            (8...1024).contains(salt.count), associatedData.count <= 1024
        else { return nil }
        self.variant = variant
        self.version = version
        self.memoryKiB = memoryKiB
        self.passes = passes
        self.lanes = lanes
        self.associatedData = associatedData
        self.salt = salt
        self.hash = hash
    }

    init?(_ phc: PHCString) {
        guard let variant = Variant(rawValue: phc.id) else { return nil }
        var phc = phc
        var associatedData: [UInt8] = []
        if phc.parameters.last?.name == "data" {
            guard let data = Base64URL.decodeEitherAlphabet(phc.parameters.removeLast().value) else { return nil }
            associatedData = data
        }
        guard let numbers = phc.numbers("m", "t", "p") else { return nil }
        self.init(
            variant: variant,
            // A hash without a version is older than the field.
            version: phc.version ?? 0x10,
            memoryKiB: numbers[0],
            passes: numbers[1],
            lanes: numbers[2],
            associatedData: associatedData,
            salt: phc.salt,
            hash: phc.hash
        )
    }

    var phc: PHCString {
        var parameters = [("m", String(memoryKiB)), ("t", String(passes)), ("p", String(lanes))]
        if !associatedData.isEmpty {
            parameters.append(("data", Base64URL.encodeStandardAlphabet(associatedData)))
        }
        return PHCString(id: variant.rawValue, version: version, parameters: parameters, salt: salt, hash: hash)
    }

    func matches(_ password: [UInt8]) throws(PasswordHasher.HashingFailed) -> Bool {
        var (output, password, salt, data) = ([UInt8](repeating: 0, count: hash.count), password, salt, associatedData)
        let outcome = output.withUnsafeMutableBufferPointer { output in
            password.withUnsafeMutableBufferPointer { password in
                salt.withUnsafeMutableBufferPointer { salt in
                    data.withUnsafeMutableBufferPointer { data in
                        var context = argon2_context()
                        context.out = output.baseAddress
                        context.outlen = UInt32(output.count)
                        context.pwd = password.baseAddress
                        context.pwdlen = UInt32(password.count)
                        context.salt = salt.baseAddress
                        context.saltlen = UInt32(salt.count)
                        context.ad = data.isEmpty ? nil : data.baseAddress
                        context.adlen = UInt32(data.count)
                        context.t_cost = UInt32(passes)
                        context.m_cost = UInt32(memoryKiB)
                        context.lanes = UInt32(lanes)
                        // `PasswordHasher` bounds the number of threads.
                        context.threads = 1
                        context.version = UInt32(version)
                        return argon2_ctx(&context, variant.type)
                    }
                }
            }
        }
        guard outcome == ARGON2_OK.rawValue else { throw PasswordHasher.HashingFailed(code: outcome) }
        return output.equalsInConstantTime(hash)
    }
}

extension Argon2Hash.Variant {
    fileprivate var type: argon2_type {
        switch self {
        case .d: Argon2_d
        case .i: Argon2_i
        case .id: Argon2_id
        }
    }
}
