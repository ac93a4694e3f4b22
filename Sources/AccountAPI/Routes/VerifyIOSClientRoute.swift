import AccountOperations
import HTTPTypes

extension Route {
    /// `accounts:verifyIosClient` (`spec/01` §3.6): asks for a silent push by which an app shows to be genuine.
    ///
    /// No push is sent here, and the answer is the one after which the SDK goes on by itself with a challenge (`spec/05` B3,
    /// S18); after any other it would give up.
    static let verifyIOSClient = Route(
        .post,
        "/v1/accounts:verifyIosClient",
        legacyName: "verifyClient",
        access: .client
    ) { request in
        guard try request.body.nonEmptyString("appToken") != nil else { throw APIError.code(.missingIOSAppToken) }
        throw APIError.code(.invalidAppCredential)
    }
}
