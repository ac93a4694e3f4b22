/// A token that a provider issued and can revoke.
package enum RevocableToken: Sendable, Hashable {
    case access(String)
    case refresh(String)
    /// A code that was not exchanged yet. `redirectURI`: the redirect URI of its request, if any.
    case code(String, redirectURI: String?)
}
