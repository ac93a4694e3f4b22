import Crypto
import FoundationEssentials

/// Seals secrets for storage with AES-256-GCM under a key-encryption key.
///
/// A sealed value names its key, so that keys can be rotated: the first seals, all open. The authenticated context
/// binds a value to its row.
package struct Sealer: Sendable {
    /// 32 bytes under a name of 1 to 255 bytes.
    package struct Key: Sendable {
        package let id: String
        package let bytes: [UInt8]

        package init?(id: String, bytes: [UInt8]) {
            guard (1...255).contains(id.utf8.count), bytes.count == 32 else { return nil }
            self.id = id
            self.bytes = bytes
        }
    }

    /// Without details, because the value may be an attacker's.
    package enum OpeningFailure: Error, Sendable, Hashable {
        case malformed
        /// The key is not configured.
        case unknownKey(String)
        /// Modified, or moved to another context.
        case notAuthentic
    }

    package let sealingKey: Key
    private let keys: [String: Key]
    private static let version: UInt8 = 1

    /// - Parameters:
    ///   - sealingKey: seals new values.
    ///   - olderKeys: open existing values.
    package init(sealingKey: Key, olderKeys: [Key] = []) {
        self.sealingKey = sealingKey
        self.keys = Dictionary((olderKeys + [sealingKey]).map { ($0.id, $0) }) { _, last in last }
    }

    /// - Throws: only if the system has no randomness.
    package func seal(_ plaintext: [UInt8], context: String) throws -> [UInt8] {
        let box = try AES.GCM.seal(
            plaintext,
            using: SymmetricKey(data: sealingKey.bytes),
            authenticating: Array(context.utf8)
        )
        return prefix + box.nonce + box.ciphertext + box.tag
    }

    /// The bytes with which every value begins that this sealer seals.
    var prefix: [UInt8] { [Self.version, UInt8(sealingKey.id.utf8.count)] + sealingKey.id.utf8 }

    /// The id of the key that the first bytes of a sealed value name; `nil` if they name none.
    static func keyID(inPrefix bytes: [UInt8]) -> String? {
        guard bytes.count > 2, bytes[0] == version, bytes.count == 2 + Int(bytes[1]) else { return nil }
        return String(validating: bytes[2...], as: UTF8.self)
    }

    /// 32 bytes that only a holder of the first key can make.
    package func digest(_ text: String, context: String) -> [UInt8] {
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: sealingKey.bytes),
            info: Array("digest \(context)".utf8),
            outputByteCount: 32
        )
        return Array(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key))
    }

    package func open(_ sealed: [UInt8], context: String) throws(OpeningFailure) -> [UInt8] {
        guard sealed.count >= 2, sealed[0] == Self.version else { throw .malformed }
        let bodyStart = 2 + Int(sealed[1])
        guard sealed.count >= bodyStart + 12 + 16 else { throw .malformed }
        let keyID = String(decoding: sealed[2..<bodyStart], as: UTF8.self)
        guard let key = keys[keyID] else { throw .unknownKey(keyID) }
        do {
            let box = try AES.GCM.SealedBox(combined: sealed[bodyStart...])
            return Array(
                try AES.GCM.open(box, using: SymmetricKey(data: key.bytes), authenticating: Array(context.utf8))
            )
        } catch {
            throw .notAuthentic
        }
    }
}

extension Sealer.Key: CustomStringConvertible, CustomReflectable {
    package var description: String { "key \(id)" }
    package var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}
