import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `accounts:verifyIosClient`: sends the silent push by which an app proves that it is genuine.
    ///
    /// Answers at once. A refusal has the code after which the SDK continues with a challenge.
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
        let requested = try await request.operations.requestAppPush(push, tenant: request.tenant)
        return .object { writer in
            writer.field("receipt", requested.receipt)
            // SDKs take a text of digits for it, and crash at anything else.
            writer.field("suggestedTimeout", decimalString: requested.waitSeconds)
        }
    }
}
