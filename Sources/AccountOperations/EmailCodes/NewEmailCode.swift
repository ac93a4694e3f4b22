import AccountStore
import Crypto
import JSON

/// Made once per request.
struct NewEmailCode: Sendable {
    /// 54 characters of base64url: 320 random bits.
    let text: String
    let messageID: OutboxMessage.ID

    init(effects: Effects) {
        text = Base64URL.encode(effects.randomBytes(40))
        messageID = effects.newEventID()
    }

    var hash: [UInt8] { Self.hash(of: text) }

    /// The stored hash. Every text has one, so invalid and unknown codes get the same answer.
    static func hash(of text: String) -> [UInt8] {
        Array(SHA256.hash(data: Array(text.utf8)))
    }
}
