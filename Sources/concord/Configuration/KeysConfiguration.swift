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
    static let entries: [ConfigurationEntry] = [encryptionKey.entry, encryptionFileKey.entry]

    private static let encryptionKey = ConfigurationKey(
        list: "keys.encryption",
        .keyEncryptionKey,
        secrecy: .hidden,
        "Key-encryption keys: the first one encrypts, all of them decrypt. `serve` needs one"
    )
    private static let encryptionFileKey = ConfigurationKey(
        optional: "keys.encryption_file",
        .path,
        "File with the keys instead, one per line; `#` begins a comment"
    )

    /// Reads the `keys` keys; `nil` if there is no key, which is a mistake if `isRequired`.
    static func read(_ reader: inout ConfigurationReader, isRequired: Bool) -> Self? {
        var keys = reader.value(encryptionKey)
        let path = reader.value(encryptionFileKey)
        var mistakenKey: any ConfigurationNaming = encryptionKey
        if let path {
            guard keys.isEmpty else {
                reader.refuse(encryptionFileKey, "excludes keys.encryption; keep one of them")
                return nil
            }
            guard let bytes = reader.contents(of: path, named: encryptionFileKey) else { return nil }
            mistakenKey = encryptionFileKey
            guard let parsed = parseFile(bytes) else {
                reader.refuse(encryptionFileKey, "in each line of the file, give \(encryptionForm.allowed)")
                return nil
            }
            keys = parsed
            if keys.isEmpty { reader.refuse(encryptionFileKey, "the file holds no key") }
        } else if keys.isEmpty, isRequired {
            reader.requires(encryptionKey)
        }
        if Set(keys.map(\.id)).count < keys.count {
            reader.refuse(mistakenKey, "two keys have the same id; give each key another id")
        }
        return keys.first.map { Self(sealing: $0, opening: Array(keys.dropFirst())) }
    }

    private static let encryptionForm = ConfigurationForm.keyEncryptionKey

    private static func parseFile(_ bytes: [UInt8]) -> [KeyEncryptionKey]? {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        var keys: [KeyEncryptionKey] = []
        for line in text.split(whereSeparator: \.isNewline) {
            let written = line.prefix { $0 != "#" }.filter { !$0.isWhitespace }
            if written.isEmpty { continue }
            guard let key = KeyEncryptionKey(written) else { return nil }
            keys.append(key)
        }
        return keys
    }
}

extension ConfigurationForm where Value == KeyEncryptionKey {
    fileprivate static let keyEncryptionKey = Self(
        allowed: "id:base64 of 32 random bytes, such as the output of echo \"1:$(openssl rand -base64 32)\"",
        parse: { KeyEncryptionKey($0) },
        format: \.description
    )
}
