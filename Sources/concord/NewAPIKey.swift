import AccountOperations
import JSON

/// API keys in the form that client libraries expect: 39 characters that begin with `AIza`.
enum NewAPIKey {
    static func make(_ effects: Effects) -> String {
        "AIza" + Base64URL.encode(effects.randomBytes(26))
    }
}
