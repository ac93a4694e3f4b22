public import Foundation

/// Stores what the client must not lose when the app ends: the session, conflicts, pending links and codes.
///
/// Several processes may use one store, for example an app and its extension. A writer therefore names the version that
/// it read: if another one was written meanwhile, ``replace(_:with:)`` changes nothing, and the client reads again.
///
/// Implementations: ``FileSessionStore``, ``KeychainSessionStore`` on Apple's systems, ``InMemorySessionStore``.
/// Calls are short and synchronous, and come from any thread, several at once.
public protocol SessionStore: Sendable {
    /// The stored state; `nil` if nothing is stored.
    ///
    /// - Throws: ``SessionStoreError`` if something is stored that cannot be read. The store keeps it until
    ///   ``discard()``.
    func read() throws -> StoredState?

    /// Stores `state` if the stored version still is `expected`. The new state is on disk when the call returns.
    ///
    /// - Parameters:
    ///   - expected: The ``StoredState/version`` that was read; `nil` if nothing was stored.
    ///   - state: The new state.
    /// - Returns: False if another version is stored now. Nothing was changed then.
    /// - Throws: ``SessionStoreError``, also if what is stored cannot be read.
    func replace(_ expected: StoredState.Version?, with state: StoredState) throws -> Bool

    /// Removes what is stored, readable or not.
    func discard() throws
}

/// Why a store cannot be used.
public enum SessionStoreError: Error, Sendable, Equatable {
    /// A newer version of this package wrote the store. Update the app, or discard the store.
    case futureFormat(Int)
    /// The stored bytes are no state. Discard the store.
    case damaged(String)
    /// The system refused to read or write.
    case unavailable(String)
}

extension StoredState {
    /// The form of a store that this version writes.
    public static let format = 1

    private struct Header: Decodable {
        let format: Int
    }

    /// The bytes to store.
    public func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return try encoder.encode(self)
    }

    /// Reads stored bytes.
    ///
    /// - Throws: ``SessionStoreError``.
    public init(encoded bytes: Data) throws {
        guard let header = try? JSONDecoder().decode(Header.self, from: bytes) else {
            throw SessionStoreError.damaged("\(bytes.count) bytes that are no stored state")
        }
        guard header.format <= Self.format else { throw SessionStoreError.futureFormat(header.format) }
        do {
            self = try JSONDecoder().decode(StoredState.self, from: bytes)
        } catch let error as DecodingError {
            throw SessionStoreError.damaged(error.place)
        }
    }
}
