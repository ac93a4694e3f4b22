import AccountLinking
import JSON

/// The token of a device that an account knows. The client stores it; Concord stores the device (ADR 0117).
///
/// The seal binds it to account and device, so that the row is found by its key, and no stranger can make one.
struct DeviceToken: Sendable, Hashable {
    let tenant: TenantID
    let user: UserID
    let device: PresentedDevice

    private static let context = "device-token/1"
    /// A user id has at most 512 bytes.
    private static let bytesMax = 2048
    private static let idBytes = 32

    init(of device: Device, tenant: TenantID, user: UserID) {
        self.tenant = tenant
        self.user = user
        self.device = PresentedDevice(id: device.id, createdAt: device.createdAt)
    }

    func sealed(by sealer: Sealer) throws -> String {
        let content: JSONValue = .array([
            .string(tenant.rawValue), .string(user.rawValue), .string(Base64URL.encode(device.id)),
            .integer(device.createdAt.microsecondsSinceEpoch),
        ])
        return Base64URL.encode(try sealer.seal(Array(content.text.utf8), context: Self.context))
    }

    /// `nil` for text that this service did not seal.
    init?(_ text: String, sealer: Sealer) {
        guard text.utf8.count <= Self.bytesMax, let sealed = Base64URL.decode(text),
            let content = try? sealer.open(sealed, context: Self.context),
            let parts = (try? JSONValue(parsing: content))?.array, parts.count == 4,
            let tenant = parts[0].string, let user = parts[1].string.flatMap(UserID.init),
            let id = parts[2].string.flatMap({ Base64URL.decode($0) }), id.count == Self.idBytes,
            let createdAt = parts[3].integer
        else { return nil }
        self.tenant = TenantID(tenant)
        self.user = user
        device = PresentedDevice(id: id, createdAt: Timestamp(microsecondsSinceEpoch: createdAt))
    }
}
