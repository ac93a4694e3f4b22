import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `POST /concord/v1/providers/{provider}:disable`: disables a provider, unless that locks users out and `force` is
    /// not set.
    static let disableProvider = Route(
        .post,
        "/concord/v1/providers/{provider}:disable",
        access: .administrator
    ) { request in
        let force = try request.body.bool("force") ?? false
        guard let provider = request.captures["provider"].flatMap(ProviderID.init) else {
            throw Problem(.noSuchRoute, "The provider is not registered.")
        }
        return try await request.answer(
            boundTo: request.bearerToken ?? "",
            as: { lockedOut in
                .object { writer in
                    writer.field("providerId", provider.rawValue)
                    writer.field("enabled", false)
                    writer.fields(of: lockedOut)
                }
            },
            { idempotent in try await request.operations.disableProvider(provider, force: force, idempotent: idempotent)
            }
        )
    }
}

extension JSONWriter {
    /// The number of users who can no longer sign in, and whether that number is exact.
    mutating func fields(of lockedOut: LockedOutUsers) {
        field("lockedOutUsers", Int64(lockedOut.count))
        field("isExact", lockedOut.isExact)
    }
}
