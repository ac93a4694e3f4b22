import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// The page that links in mails open, in the form that existing test suites fetch: it applies the code on GET.
    /// Development only.
    static let emulatorAction = Route(.get, "/emulator/action", access: .anyone) { request in
        try await EmulatorAction(request: request).respond()
    }
}

private struct EmulatorAction {
    let request: APIRequest

    func respond() async throws -> APIResponse {
        guard parameter("apiKey") != nil else {
            throw failure(
                "missing apiKey query parameter",
                "Please modify the URL to specify an apiKey, such as ...&apiKey=YOUR_API_KEY"
            )
        }
        guard let code = parameter("oobCode") else {
            throw failure(
                "missing oobCode query parameter",
                "Please modify the URL to specify an oobCode, such as ...&oobCode=YOUR_OOB_CODE"
            )
        }
        switch parameter("mode") {
        case "recoverEmail": return try await apply(code, .recoverEmail, "The email has been successfully reset.")
        case "verifyEmail": return try await apply(code, .verifyEmail, "The email has been successfully verified.")
        case "verifyAndChangeEmail":
            return try await apply(code, .verifyAndChangeEmail, "The email has been successfully changed.")
        case "revertSecondFactorAddition":
            return try await apply(
                code,
                .revertSecondFactorAddition,
                "The second factor has been successfully removed."
            )
        case "revertSignInMethodChange":
            return try await apply(
                code,
                .revertSignInMethodChange,
                "The change of sign-in methods has been successfully undone."
            )
        case "resetPassword": return try await resetPassword(code)
        case "signIn": return try signIn()
        default: throw failure("Invalid mode", "Please use the link as it was sent.")
        }
    }

    private func apply(
        _ code: String,
        _ kind: EmailCodeRecord.Kind,
        _ success: String
    ) async throws -> APIResponse {
        try await inspect(code, expecting: kind)
        let applied = try await result {
            try await request.operations.applyEmailCode(code, tenant: request.tenant, locale: parameter("lang"))
        }
        // A link that undoes a change does not continue to `continueUrl`, because the change was requested there.
        if !kind.takesBack, let onward = try onward() { return onward }
        return .object { writer in
            writer.field("authEmulator") { writer in
                writer.field("success", success)
                if let newEmail = applied.newEmail {
                    writer.field("newEmail", newEmail)
                } else {
                    writer.field("email", applied.user.email?.address.lowercased)
                }
            }
        }
    }

    private func resetPassword(_ code: String) async throws -> APIResponse {
        try await inspect(code, expecting: .passwordReset)
        guard let newPassword = parameter("newPassword"), newPassword != Self.passwordPlaceholder else {
            throw failure(
                "missing newPassword query parameter",
                "To reset the password, send an HTTP GET request to the following URL.",
                template: template(code)
            )
        }
        let reset = try await result {
            try await request.operations.resetPassword(code, newPassword: newPassword, tenant: request.tenant)
        }
        if let onward = try onward() { return onward }
        return .object { writer in
            writer.field("authEmulator") { writer in
                writer.field("success", "The password has been successfully updated.")
                writer.field("email", reset.email.lowercased)
            }
        }
    }

    /// Passes everything to the app, which uses the code itself.
    private func signIn() throws -> APIResponse {
        guard let onward = parameter("continueUrl") else {
            throw failure(
                "Missing continueUrl query parameter",
                "To sign in, append &continueUrl=YOUR_APP_URL to the link."
            )
        }
        let parameters = request.query.filter { $0.key != "continueUrl" }.map { ($0.key, $0.value) }
        guard let location = redirection(to: onward, adding: parameters.sorted { $0.0 < $1.0 }) else {
            throw failure("Invalid continueUrl query parameter", "Please use an absolute http or https URL.")
        }
        return Self.seeOther(location)
    }

    private func inspect(_ code: String, expecting kind: EmailCodeRecord.Kind) async throws {
        let found = try await result {
            try await request.operations.inspectEmailCode(code, tenant: request.tenant)
        }
        guard found.code.kind == kind else {
            throw failure("Requested mode does not match the OOB code provided.", "Please use the link as it was sent.")
        }
    }

    private func result<Value>(_ operation: () async throws -> Value) async throws -> Value {
        do {
            return try await operation()
        } catch let denial as Denial {
            throw failure(
                denial.apiError.message,
                "Your request has expired or the link has already been used. Ask for a new one."
            )
        }
    }

    /// The redirect to `continueUrl`, if the link has one.
    private func onward() throws(APIError) -> APIResponse? {
        guard let onward = parameter("continueUrl") else { return nil }
        guard let location = redirection(to: onward, adding: []) else { return nil }
        return Self.seeOther(location)
    }

    private static func seeOther(_ location: String) -> APIResponse {
        var response = APIResponse(json: [])
        response.location = location
        return response
    }

    private static let passwordPlaceholder = "NEW_PASSWORD_HERE"

    /// The link with a placeholder for the password.
    private func template(_ code: String) -> String {
        let link = request.operations.mailLinks.page(
            for: .passwordReset,
            code: code,
            apiKey: parameter("apiKey") ?? "",
            locale: parameter("lang") ?? "en",
            continueURL: parameter("continueUrl")
        )
        return "\(link)&newPassword=\(Self.passwordPlaceholder)"
    }

    private func parameter(_ name: String) -> String? {
        request.query[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    private func failure(_ error: String, _ instructions: String, template: String? = nil) -> APIError {
        APIError.actionPage(
            JSONWriter.object { writer in
                writer.field("authEmulator") { writer in
                    writer.field("error", error)
                    writer.field("instructions", instructions)
                    writer.field("urlTemplate", template)
                }
            }
        )
    }
}
