import Foundation

/// The result of a sign-in, a link or a reauthentication.
public struct AuthDataResult: Sendable {
    /// The signed-in user.
    public let user: User
    /// The provider's facts about the user; `nil` for methods without a provider.
    public let additionalUserInfo: AdditionalUserInfo?
    /// The provider's tokens, for calls to the provider.
    public let credential: OAuthCredential?
}

/// A provider's facts about a user.
public struct AdditionalUserInfo: Sendable {
    public let providerID: String
    /// The provider's profile, as it sent it.
    public let profile: [String: JSONValue]?
    /// The user's name at the provider, for example on Twitter.
    public let username: String?
    /// True if the sign-in created the account.
    public let isNewUser: Bool
}

extension AdditionalUserInfo {
    init(_ answer: SignInAnswer, provider: String) {
        providerID = answer.providerId ?? provider
        profile = answer.rawUserInfo.flatMap { JSONValue.parse(Data($0.utf8))?.objectValue }
        username = answer.screenName
        isNewUser = answer.saysNewUser
    }
}
