import AccountStore
import Crypto
import JSON

/// A new code and the id of its mail, made once per request.
struct NewEmailCode: Sendable {
    /// 54 characters of base64url: 320 random bits.
    let text: String
    let messageID: OutboxMessage.ID

    init(effects: Effects) {
        text = Base64URL.encode(effects.randomBytes(40))
        messageID = effects.newEventID()
    }

    var hash: [UInt8] { Self.hash(of: text) }

    /// The hash that the database stores. Every text has one, so an invalid code and an unknown code get the same
    /// answer.
    static func hash(of text: String) -> [UInt8] {
        Array(SHA256.hash(data: Array(text.utf8)))
    }
}
