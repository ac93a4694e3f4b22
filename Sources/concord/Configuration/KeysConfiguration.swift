import FoundationEssentials

/// A key-encryption key, which seals signing keys, pending credentials and other secrets in the database.
struct KeyEncryptionKey: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    /// 1 to 65535. Stored with every sealed value, so it must never name another key.
    let id: Int
    /// 32 bytes, for AES-256.
    let bytes: [UInt8]

    /// Parses `id:base64`, where the base64 (RFC 4648, section 4, padded) is of 32 bytes; `nil` otherwise.
    init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let id = decimal(parts[0]), (1...65535).contains(id),
            let data = Data(base64Encoded: String(parts[1])), data.count == 32
        else { return nil }
        self.id = id
        self.bytes = Array(data)
    }

    /// The id only; the key itself never reaches a log.
    var description: String { "key-encryption key \(id)" }
    var debugDescription: String { description }
}

/// The key-encryption keys of the process.
struct KeysConfiguration: Sendable, Hashable {
    /// The key that seals new values.
    let sealing: KeyEncryptionKey
    /// The keys for older values, and for values of servers that already use the next key. Ids are distinct.
    let opening: [KeyEncryptionKey]

    /// All keys, the sealing key first.
    var all: [KeyEncryptionKey] { [sealing] + opening }
}

extension KeysConfiguration {
    static let entries: [ConfigurationEntry] = [encryptionKey.entry]

    private static let encryptionKey = ConfigurationKey(
        list: "keys.encryption",
        .keyEncryptionKey,
        secrecy: .hidden,
        "Key-encryption keys: the first one encrypts, all of them decrypt. `serve` needs one"
    )

    /// Reads the `keys` keys; `nil` if there is no key, which is a mistake if `isRequired`.
    static func read(_ reader: inout ConfigurationReader, isRequired: Bool) -> Self? {
        let keys = reader.value(encryptionKey)
        if keys.isEmpty, isRequired { reader.requires(encryptionKey) }
        if Set(keys.map(\.id)).count < keys.count {
            reader.refuse(encryptionKey, "two keys have the same id; give each key another id")
        }
        return keys.first.map { Self(sealing: $0, opening: Array(keys.dropFirst())) }
    }
}

extension ConfigurationForm where Value == KeyEncryptionKey {
    fileprivate static let keyEncryptionKey = Self(
        allowed: "id:base64 of 32 random bytes, such as the output of echo \"1:$(openssl rand -base64 32)\"",
        parse: { KeyEncryptionKey($0) },
        format: \.description
    )
}
