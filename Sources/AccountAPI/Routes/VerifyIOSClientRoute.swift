import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `accounts:verifyIosClient` (`spec/01` §3.6): asks for a silent push by which an app shows to be genuine.
    ///
    /// Answers at once; what is refused is refused so that the SDK goes on with a challenge (`spec/05` B3, S18).
    static let verifyIOSClient = Route(
        .post,
        "/v1/accounts:verifyIosClient",
        legacyName: "verifyClient",
        access: .client
    ) { request in
        guard let deviceToken = try request.body.nonEmptyString("appToken") else {
            throw APIError.code(.missingIOSAppToken)
        }
        let push = AppPushRequest(
            deviceToken: deviceToken,
            usesSandbox: try request.body.bool("isSandbox") ?? false,
            iOSBundleID: request.iOSBundleID,
            apiKey: request.apiKey,
            clientAddress: request.subscriber
        )
        let requested = try await request.operations.requestAppPush(push, tenant: request.tenant).value()
        return .object { writer in
            writer.field("receipt", requested.receipt)
            // SDKs take a text of digits for it, and crash at anything else (`spec/07`).
            writer.field("suggestedTimeout", decimalString: requested.waitSeconds)
        }
    }
}
