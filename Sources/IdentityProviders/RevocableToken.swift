/// A token that a provider issued and can revoke.
package enum RevocableToken: Sendable, Hashable {
    case access(String)
    case refresh(String)
    /// Not exchanged yet. `redirectURI`: where it was sent to, if it was.
    case code(String, redirectURI: String?)
}
