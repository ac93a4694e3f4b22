public import Foundation

/// A sign-in method of an account, as a lookup names it: `password`, `emailLink`, `phone`, or a provider id such as
/// `google.com`.
///
/// Source: `WayIn` of `docs/openapi.json`.
public struct SignInMethod: Sendable, Hashable, Codable {
    /// The method's name.
    public let name: String
    /// True if the method signs in now.
    public let works: Bool
    /// The reason why it does not: `account-disabled`, `no-address`, `not-available` or `not-enabled`.
    public let obstacle: String?
    /// The end of the method's suspension. Until then, its owner can restore it in a session of the account.
    public let restorableUntil: Date?

    private enum CodingKeys: String, CodingKey {
        case name = "method"
        case works, obstacle, restorableUntil
    }
}

/// A method that an operation suspends: it stops working, and its owner can restore it.
///
/// Source: `Suspension` of `docs/openapi.json`.
public struct Suspension: Sendable, Hashable, Codable {
    /// The way to restore the method, in a session of the account.
    public enum Restoration: String, Sendable, Hashable, Codable {
        /// With the old password: ``User/restorePassword(_:version:)``.
        case password
        /// By linking the provider or the number again.
        case link
        /// With a new password.
        case reset
        /// A way that this version of the client does not know.
        case unknown
    }

    /// The method's name: `password`, `phone`, or a provider id.
    public let method: String
    /// The reason: `address-proven`, `password-reset`, `address-recovered` or `audit`.
    public let reason: String
    /// The end of the suspension; `nil` if the method is deleted at once.
    public let expireTime: Date?
    /// The way to restore the method.
    public let restoration: Restoration

    private enum CodingKeys: String, CodingKey {
        case method, reason, expireTime, restore
    }

    private struct Restore: Codable {
        let by: String
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        method = try container.decode(String.self, forKey: .method)
        reason = try container.decode(String.self, forKey: .reason)
        expireTime = try container.decodeIfPresent(Date.self, forKey: .expireTime)
        let restore = try container.decodeIfPresent(Restore.self, forKey: .restore)
        restoration = restore.flatMap { Restoration(rawValue: $0.by) } ?? .unknown
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(method, forKey: .method)
        try container.encode(reason, forKey: .reason)
        try container.encodeIfPresent(expireTime, forKey: .expireTime)
        try container.encode(Restore(by: restoration.rawValue), forKey: .restore)
    }
}

/// The version of an account, merge or conflict, as an answer named it.
///
/// A change that carries the version is refused with `changedMeanwhile` if something changed since: the person then
/// sees the new state first.
public struct ResourceVersion: Sendable, Hashable, Codable {
    /// The entity tag (RFC 9110 §8.8.3), with its quotes.
    let entityTag: String

    init(_ entityTag: String) {
        self.entityTag = entityTag
    }
}
