#if canImport(Security)
public import Foundation
import Security

/// A generic password in the Keychain, for this device alone. The default on Apple's systems.
///
/// The Keychain has no compare-and-set. Within a process the store locks; an app and its extension that share
/// `accessGroup` find each other's version before they write, but two writes of the same instant can replace each
/// other. The value that stays is one of the two states as a whole.
///
/// On macOS the app must be signed: the data protection Keychain refuses other programs.
///
/// Never run on Apple hardware so far: see `TESTPLAN.md`.
public final class KeychainSessionStore: SessionStore {
    private let account: String
    private let service: String
    private let accessGroup: String?
    private static let queue = Locked(())

    /// - Parameters:
    ///   - account: The name of the item, the project's id by default.
    ///   - service: The service of the item.
    ///   - accessGroup: The Keychain group that an app shares with its extensions.
    public init(account: String, service: String = "concord-auth", accessGroup: String? = nil) {
        self.account = account
        self.service = service
        self.accessGroup = accessGroup
    }

    public func read() throws -> StoredState? {
        var query = item
        query[kSecReturnData] = true
        query[kSecMatchLimit] = kSecMatchLimitOne
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        if status == errSecItemNotFound { return nil }
        guard status == errSecSuccess, let bytes = result as? Data else { throw failure(status) }
        return try StoredState(encoded: bytes)
    }

    public func replace(_ expected: StoredState.Version?, with state: StoredState) throws -> Bool {
        let bytes = try state.encoded()
        return try Self.queue.with { (_) throws -> Bool in
            guard try read()?.version == expected else { return false }
            let value: [CFString: Any] = [
                kSecValueData: bytes, kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            ]
            let status =
                expected == nil
                ? SecItemAdd(item.merging(value) { $1 } as CFDictionary, nil)
                : SecItemUpdate(item as CFDictionary, value as CFDictionary)
            if status == errSecDuplicateItem || status == errSecItemNotFound { return false }
            guard status == errSecSuccess else { throw failure(status) }
            return true
        }
    }

    public func discard() throws {
        let status = SecItemDelete(item as CFDictionary)
        guard status == errSecSuccess || status == errSecItemNotFound else { throw failure(status) }
    }

    private var item: [CFString: Any] {
        var item: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: account,
            kSecUseDataProtectionKeychain: true,
        ]
        item[kSecAttrAccessGroup] = accessGroup
        return item
    }

    private func failure(_ status: OSStatus) -> AuthError {
        AuthError(
            .keychainError,
            "the Keychain answered \(status)",
            underlying: NSError(domain: NSOSStatusErrorDomain, code: Int(status))
        )
    }
}
#endif
