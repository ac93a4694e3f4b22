import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `accounts:verifyIosClient`: sends the silent push by which an app proves that it is genuine.
    ///
    /// Answers at once. The code of a refusal makes the SDK continue with a challenge.
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
            // SDKs parse a text of digits, and crash at anything else.
            writer.field("suggestedTimeout", decimalString: requested.waitSeconds)
        }
    }
}
