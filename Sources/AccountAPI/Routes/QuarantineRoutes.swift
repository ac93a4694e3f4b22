import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

// Concord's own API for the sign-in methods that a takeover or a reset suspended. A provider is restored by linking it
// again. A password is restored here, by entering it.

extension Route {
    private static let quarantinePath = "/concord/v1/account/quarantine"

    /// `GET /concord/v1/account/quarantine`: the suspended methods, the reasons, and the times until which they can be
    /// restored.
    static let quarantine = Route(.get, quarantinePath, access: .anyone) { request in
        let quarantine = try await request.operations
            .quarantine(idToken: request.sessionToken(), tenant: request.tenant)
        return .quarantine(quarantine)
    }

    /// `POST /concord/v1/account/quarantine/password:restore`: restores the suspended password.
    static let restorePassword = Route(.post, quarantinePath + "/password:restore", access: .anyone) { request in
        let idToken = try request.sessionToken()
        guard let password = try request.body.nonEmptyString("password") else {
            throw Problem(.malformedRequest, "`password` is required.")
        }
        let client = try request.passwordClient()
        return try await request.answer(boundTo: "", as: APIResponse.methods) { idempotent in
            try await request.operations.restorePassword(
                password,
                idToken: idToken,
                from: client,
                request.change(idempotent)
            )
        }
    }

    /// `DELETE /concord/v1/account/quarantine/{method}`: deletes a suspended method.
    static let discardQuarantined = Route(.delete, quarantinePath + "/{method}", access: .anyone) { request in
        let idToken = try request.sessionToken()
        let method = try request.signInMethod()
        return try await request.answer(boundTo: "", as: APIResponse.quarantine) { idempotent in
            try await request.operations.discardQuarantined(
                method,
                idToken: idToken,
                request.change(idempotent)
            )
        }
    }
}

extension JSONWriter {
    mutating func suspendedMethods(_ methods: [SuspendedMethod], as name: String) {
        field(name, objects: methods) { writer, suspended in
            writer.field("method", suspended.method.name)
            writer.field("reason", suspended.reason.rawValue)
            writer.field("decision", suspended.decision.text)
            writer.field("quarantineTime", RFC3339.text(suspended.quarantinedAt))
            writer.field("expireTime", RFC3339.text(suspended.expiresAt))
        }
    }

    /// The methods that a decision suspends, before or after it, each with the way to restore it.
    mutating func suspensions(_ suspended: [MethodSuspension]) {
        field("suspended", objects: suspended) { writer, suspension in
            writer.field("method", suspension.method.name)
            writer.field("reason", suspension.reason.rawValue)
            writer.field("expireTime", suspension.expiresAt.map(RFC3339.text))
            writer.field("restore") { writer in
                writer.field("by", suspension.restoration.rawValue)
                writer.field("route", suspension.route)
            }
        }
    }
}

extension MethodSuspension {
    /// The route that restores the method.
    fileprivate var route: String {
        switch restoration {
        case .password: "POST \(Route.restorePassword.path)"
        case .link where method == .phone: "POST \(Route.signInWithPhoneNumber.path)"
        case .link: "POST \(Route.signInWithIdp.path)"
        case .reset: "POST \(Route.sendOobCode.path)"
        }
    }
}

extension APIResponse {
    @Sendable fileprivate static func quarantine(_ quarantine: Quarantine) -> APIResponse {
        .object(version: quarantine.version) { writer in
            writer.suspendedMethods(quarantine.methods, as: "methods")
        }
    }
}
