import Crypto
import FoundationEssentials

/// The secret that signs requests to an endpoint (Standard Webhooks 1.0, "Symmetric keys"): 24 to 64 bytes, written as
/// `whsec_` and base64.
package struct WebhookSecret: Sendable {
    package let bytes: [UInt8]

    private static let prefix = "whsec_"

    /// `nil` unless there are 24 to 64 bytes.
    package init?(bytes: [UInt8]) {
        guard (24...64).contains(bytes.count) else { return nil }
        self.bytes = bytes
    }

    /// Parses `text`; `nil` if it is not a secret.
    package init?(text: String) {
        guard text.hasPrefix(Self.prefix),
            let data = Data(base64Encoded: String(text.dropFirst(Self.prefix.count)))
        else { return nil }
        self.init(bytes: Array(data))
    }

    package var text: String { Self.prefix + Data(bytes).base64EncodedString() }
}

/// The bytes of one event: the same with every attempt.
package struct Webhook: Sendable {
    /// The id of the event, so that a receiver recognizes duplicates.
    package let id: String
    package let body: [UInt8]

    package init(id: String, body: [UInt8]) {
        self.id = id
        self.body = body
    }

    /// The header fields of a request at `seconds` since 1970, with one signature for each secret (Standard Webhooks
    /// 1.0, "Webhook headers").
    package func fields(at seconds: Int64, secrets: [WebhookSecret]) -> [(name: String, value: String)] {
        let signed = Array("\(id).\(seconds).".utf8) + body
        let signatures = secrets.map { secret in
            let code = HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: secret.bytes))
            return "v1," + Data(code).base64EncodedString()
        }
        return [
            ("content-type", "application/json"), ("webhook-id", id), ("webhook-timestamp", String(seconds)),
            ("webhook-signature", signatures.joined(separator: " ")),
        ]
    }
}
