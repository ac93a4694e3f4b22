import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `accounts:resetPassword`: reads the purpose of a code, sets a password with one, or replaces the old password by
    /// a new one.
    static let resetPassword = Route(
        .post,
        "/v1/accounts:resetPassword",
        legacyName: "resetPassword",
        access: .client,
        hidesAccounts: true
    ) { request in
        let body = request.body
        let operations = request.operations
        let newPassword = try body.nonEmptyString("newPassword")
        let allowsPasswords = operations.project.settings.policy.allowsPasswordSignIn
        // A project without passwords has the other codes too: only their page asks with the code alone.
        guard allowsPasswords || newPassword == nil else { throw APIError.code(.passwordLoginDisabled) }
        guard let oobCode = try body.nonEmptyString("oobCode") else {
            guard allowsPasswords else { throw APIError.code(.passwordLoginDisabled) }
            return try await replacePassword(newPassword, request)
        }
        let code: EmailCodeRecord
        var factor: SecondFactor?
        var suspended: [MethodSuspension] = []
        var unproven: UnprovenAccount?
        var reversal: MethodReversal?
        if let newPassword {
            code = try await operations.resetPassword(
                oobCode,
                newPassword: newPassword,
                from: request.passwordClient(),
                tenant: request.tenant
            )
        } else {
            let inspected: InspectedEmailCode
            do {
                inspected = try await operations.inspectEmailCode(oobCode, tenant: request.tenant)
            } catch is Denial where !allowsPasswords {
                throw APIError.code(.passwordLoginDisabled)
            }
            guard allowsPasswords || inspected.code.kind.takesBack else { throw APIError.code(.passwordLoginDisabled) }
            code = inspected.code
            reversal = inspected.reversal
            factor = inspected.secondFactor
            suspended = inspected.suspended
            unproven = inspected.unproven
        }
        return .object { writer in
            writer.field("kind", "identitytoolkit#ResetPasswordResponse")
            // A sign-in link does not reveal the address that it was sent to.
            if code.kind != .emailSignIn { writer.field("email", code.email.lowercased) }
            writer.field("newEmail", code.newEmail?.lowercased)
            writer.field("requestType", code.kind.rawValue)
            if let factor {
                writer.name("mfaInfo")
                writer.secondFactor(factor, number: .masked)
            }
            // Concord's own, for its page: the methods that this code suspends, and the address that it would prove.
            if !suspended.isEmpty {
                writer.field("concord") { writer in writer.suspensions(suspended) }
            } else if let unproven {
                writer.field("concord") { writer in writer.fields(of: unproven) }
            }
            // Concord's own, for its page: the sign-in methods that the code removes and restores.
            if let reversal { writer.field("concord") { writer in writer.reversal(reversal) } }
        }
    }

    private static func replacePassword(_ newPassword: String?, _ request: APIRequest) async throws -> APIResponse {
        guard let newPassword, let oldPassword = try request.body.nonEmptyString("oldPassword"),
            let email = try request.body.nonEmptyString("email")
        else { throw APIError.code(.missingOobCode) }
        guard let address = EmailAddress(email) else { throw APIError.code(.invalidEmail) }
        let user = try await request.operations
            .replacePassword(
                of: address,
                oldPassword: oldPassword,
                newPassword: newPassword,
                from: request.passwordClient(),
                tenant: request.tenant
            )
        return .object { writer in
            writer.field("kind", "identitytoolkit#ResetPasswordResponse")
            writer.field("email", user.email?.address.lowercased)
        }
    }
}

extension JSONWriter {
    /// The account whose address a code would prove, for the owner of the mailbox.
    fileprivate mutating func fields(of unproven: UnprovenAccount) {
        field("account") { writer in
            writer.field("createTime", RFC3339.text(unproven.createdAt))
            writer.field("signInMethods", unproven.methods.map(\.name))
            writer.field("phoneInfo", unproven.phoneNumber?.masked)
        }
        field("endsSessions", unproven.endsSessions)
        field("disown") { writer in
            writer.suspensions(unproven.suspended)
            writer.field("givesAddressUp", unproven.givesAddressUp)
        }
    }

    /// Writes the effect of a mailed code on the sign-in methods of its account.
    mutating func reversal(_ reversal: MethodReversal) {
        field("reversal") { writer in
            writer.field("removed", reversal.removed.map(\.name))
            writer.field("restored", reversal.restored.map(\.name))
            writer.field("taken", reversal.taken.map(\.name))
        }
    }
}
