import AccountStore
import JSON
import Postgres

/// The authenticated contexts of the sealed values in the database, one for each column. A context binds a value to its
/// row. It must never change: without it, no stored value can be opened.
enum SealingContext {
    static func signingKey(_ id: String) -> String { "signing_keys/\(id)" }

    static func hashKey(_ id: String) -> String { "hash-key/\(id)" }

    static func clientSecret(provider: String) -> String { "provider_configs/\(provider)/client_secret" }

    static func appleKey(provider: String) -> String { "provider_configs/\(provider)/apple_key" }

    /// `endpoint`: as `PostgresUUID.text`.
    static func webhookSecret(endpoint: String) -> String { "webhook-secret:\(endpoint)" }

    static func totpSecret(tenant: String, user: String, factor: String) -> String {
        joined("totp-secret", tenant, user, factor)
    }

    static func pendingCredential(tenant: String, user: String, identityDigest: [UInt8]) -> String {
        joined("conflicts", tenant, user, Base64URL.encode(identityDigest))
    }

    static func proofCode(tenant: String, user: String, conflict: [UInt8], identityDigest: [UInt8]) -> String {
        joined(
            "conflict-proof-code",
            tenant,
            user,
            Base64URL.encode(conflict),
            Base64URL.encode(identityDigest)
        )
    }

    static func factorChallenge(tenant: String, user: String, id: [UInt8]) -> String {
        joined("factor-challenge", tenant, user, Base64URL.encode(id))
    }

    /// `user`: empty if the request concerns no account.
    static func storedAnswer(tenant: String, user: String, keyDigest: [UInt8]) -> String {
        joined("kept_answers", tenant, user, Hexadecimal.encode(keyDigest))
    }

    static func message(tenant: String, id: PostgresUUID) -> String { "outbox:\(tenant):\(id.high):\(id.low)" }

    static func phoneCode(tenant: String, verification: [UInt8]) -> String {
        joined("phone-code", tenant, Base64URL.encode(verification))
    }

    static func providerFlow(stateDigest: [UInt8]) -> String {
        "provider_flows/\(Hexadecimal.encode(stateDigest))"
    }

    static func pendingSignUp(tenant: String, digest: [UInt8]) -> String {
        joined("pending-sign-up", tenant, Hexadecimal.encode(digest))
    }

    static func signUpCode(tenant: String, digest: [UInt8]) -> String {
        joined("sign-up-code", tenant, Hexadecimal.encode(digest))
    }

    static func shortCode(tenant: String, kind: String, mailbox: String) -> String {
        joined("short-code", tenant, kind, mailbox)
    }

    private static func joined(_ parts: String...) -> String { parts.joined(separator: "\u{1F}") }
}

extension SealedRow {
    /// The context of the value; `nil` if the row's key is not of the form that Concord writes.
    func context(in column: SealedColumn) -> String? {
        func bytes(_ text: String?) -> [UInt8]? { text.flatMap { Hexadecimal.decode(Array($0.utf8)) } }
        let tenant = key.first ?? ""
        switch column {
        case .signingKey: return SealingContext.signingKey(key[0])
        case .hashKey: return SealingContext.hashKey(parts[0])
        case .clientSecret: return SealingContext.clientSecret(provider: key[1])
        case .appleKey: return SealingContext.appleKey(provider: key[1])
        case .webhookSecret, .olderWebhookSecret: return SealingContext.webhookSecret(endpoint: key[0])
        case .totpSecret: return SealingContext.totpSecret(tenant: tenant, user: key[1], factor: key[2])
        case .journaledSecretBefore, .journaledSecretAfter:
            return SealingContext.totpSecret(tenant: tenant, user: parts[0], factor: parts[1])
        case .pendingCredential:
            return bytes(parts[0]).map {
                SealingContext.pendingCredential(tenant: tenant, user: key[1], identityDigest: $0)
            }
        case .proofCode:
            guard let id = bytes(key[2]), let digest = bytes(parts[0]) else { return nil }
            return SealingContext.proofCode(tenant: tenant, user: key[1], conflict: id, identityDigest: digest)
        case .factorChallenge:
            return bytes(key[2]).map { SealingContext.factorChallenge(tenant: tenant, user: key[1], id: $0) }
        case .storedAnswer:
            return bytes(key[2]).map { SealingContext.storedAnswer(tenant: tenant, user: key[1], keyDigest: $0) }
        case .message: return PostgresUUID(text: key[1]).map { SealingContext.message(tenant: tenant, id: $0) }
        case .phoneCode:
            return bytes(key[1]).map { SealingContext.phoneCode(tenant: tenant, verification: $0) }
        case .providerFlow: return bytes(key[1]).map { SealingContext.providerFlow(stateDigest: $0) }
        case .pendingSignUp:
            return bytes(key[1]).map { SealingContext.pendingSignUp(tenant: tenant, digest: $0) }
        case .signUpCode: return bytes(key[1]).map { SealingContext.signUpCode(tenant: tenant, digest: $0) }
        case .shortCode: return SealingContext.shortCode(tenant: tenant, kind: key[1], mailbox: key[2])
        }
    }
}
