import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

// The devices that an account knows: revocation, and the tokens in other routes' requests.

extension Route {
    static let devices = [revokeDevice]

    /// `DELETE /concord/v1/account/devices/{device}`: the account no longer knows the device. Its sessions stay. A
    /// device that is not known is no error.
    private static let revokeDevice = Route(
        .delete,
        "/concord/v1/account/devices/{device}",
        access: .anyone
    ) { request in
        let idToken = try request.sessionToken()
        guard let device = request.captures["device"].flatMap(DeviceID.init) else {
            throw Problem(.malformedRequest, "The path does not name a device.")
        }
        return try await request.answer(boundTo: "", as: APIResponse.revoked) { idempotent in
            try await request.operations.revokeDevice(device, idToken: idToken, request.change(idempotent))
        }
    }
}

extension APIRequest {
    /// The request for the token of the device, in a sign-in or a refresh.
    func deviceRequest() throws(APIError) -> DeviceRequest {
        guard try body.bool("returnDeviceToken") ?? false else { return .none }
        return .token(presenting: try body.nonEmptyString("deviceToken"))
    }

    /// The token of the device that signed in, as `request` asks; `nil` before a second factor is proven.
    func deviceToken(_ request: DeviceRequest, of signedIn: SignedIn?) async throws -> String? {
        guard let signedIn else { return nil }
        return try await operations.newDeviceToken(request, of: signedIn)
    }

    /// The account that a request with `deviceToken` asks about; `nil` to answer as if there were no token.
    func knownDevice(asking address: EmailAddress) async throws -> KnownAccount? {
        try await operations.knownDevice(body.nonEmptyString("deviceToken"), asking: address, tenant: tenant)
    }
}

extension APIResponse {
    @Sendable fileprivate static func revoked(_ wasKnown: Bool) -> APIResponse {
        .object { writer in writer.field("revoked", wasKnown) }
    }
}

extension JSONWriter {
    mutating func devices(_ devices: [ListedDevice]) {
        field("devices", objects: devices) { writer, device in
            writer.field("deviceId", device.id.text)
            writer.field("device", device.name)
            writer.field("startTime", RFC3339.text(device.startedAt))
            writer.field("lastUseTime", RFC3339.text(device.lastUsedAt))
            writer.field("expireTime", RFC3339.text(device.expiresAt))
        }
    }
}
