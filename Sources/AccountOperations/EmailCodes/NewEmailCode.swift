import AccountStore
import Crypto
import JSON

/// A code about to be mailed, with what else is random about it: made once per request.
struct NewEmailCode: Sendable {
    /// 54 characters of base64url: 320 random bits.
    let text: String
    let messageID: OutboxMessage.ID

    init(effects: Effects) {
        text = Base64URL.encode(effects.randomBytes(40))
        messageID = effects.newEventID()
    }

    var hash: [UInt8] { Self.hash(of: text) }

    /// What the database knows of a code. Any text has one: whoever presents nonsense is told what a stranger is told.
    static func hash(of text: String) -> [UInt8] {
        Array(SHA256.hash(data: Array(text.utf8)))
    }
}
