import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `accounts:signUp`: with a password, anonymously, to link a password, or by an administrator, who gets no tokens.
    static let signUp = Route(
        .post,
        "/v1/accounts:signUp",
        legacyName: "signupNewUser",
        aliases: projectPaths("accounts"),
        access: .client,
        hidesAccounts: true
    ) { request in
        if request.actsOnAnyAccount(sessionFields: ["idToken"]) { return try await createByAdmin(request) }
        // Clients may set a name here, but no picture.
        let name = try request.body.string("displayName", lengthMax: Profile.displayNameLengthMax)
        let deviceRequest = try request.deviceRequest()
        let result = try await request.operations
            .signUp(
                signUpRequest(request),
                displayName: name == "" ? nil : name,
                continueURL: request.body.nonEmptyString("continueUrl"),
                from: request.passwordClient(),
                tenant: request.tenant,
                locale: request.locale
            )
        let deviceToken = try await request.deviceToken(deviceRequest, of: result)
        return .object(after: result.decision) { writer in
            writer.field("kind", "identitytoolkit#SignupNewUserResponse")
            writer.field("localId", result.user.id.rawValue)
            writer.field("email", result.user.email?.address.lowercased)
            writer.field("displayName", result.user.profile.displayName)
            writer.tokens(result.tokens)
            writer.field("deviceToken", deviceToken)
        }
    }

    private static func createByAdmin(_ request: APIRequest) async throws -> APIResponse {
        let body = request.body
        if try body.nonEmptyString("idToken") != nil { throw APIError.code(.unexpectedParameter, "User ID") }
        var account = CreateAccount()
        if let text = try body.nonEmptyString("localId") {
            guard let id = UserID(text) else {
                throw APIError.invalidValue(at: "localId", expected: "1 to 128 characters")
            }
            account.id = id
        }
        account.email = try body.nonEmptyString("email")
        account.isEmailVerified = try body.bool("emailVerified") ?? false
        account.password = try body.nonEmptyString("password")
        account.phoneNumber = try body.nonEmptyString("phoneNumber")
        account.displayName = try body.nonEmptyString("displayName", lengthMax: Profile.displayNameLengthMax)
        account.photoURL = try body.photoURL().flatMap { $0.isEmpty ? nil : $0 }
        account.isDisabled = try body.bool("disabled") ?? false
        account.secondFactors = try body.objects("mfaInfo").map(FactorDescription.init(reading:))
        let user = try await request.operations.createAccount(account, tenant: request.tenant)
        return .object { writer in
            writer.field("kind", "identitytoolkit#SignupNewUserResponse")
            writer.field("localId", user.id.rawValue)
            writer.field("email", user.email?.address.lowercased)
            writer.field("displayName", user.profile.displayName)
        }
    }

    private static func signUpRequest(
        _ request: APIRequest
    ) throws(APIError) -> SignUp {
        let body = request.body
        if try body.nonEmptyString("localId") != nil { throw .code(.unexpectedParameter, "User ID") }
        let idToken = try body.nonEmptyString("idToken")
        let email = try body.string("email")
        let password = try body.string("password")
        if idToken == nil, email == nil, password == nil { return .anonymous }
        guard let email, !email.isEmpty else { throw .code(.missingEmail) }
        guard let password else { throw .code(.missingPassword) }
        guard request.operations.project.settings.policy.allowsPasswordSignIn else { throw .code(.operationNotAllowed) }
        guard let address = EmailAddress(email) else { throw .code(.invalidEmail) }
        guard let idToken else { return .password(address, password) }
        return .link(address, password, idToken: idToken)
    }
}
