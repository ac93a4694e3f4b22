import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `accounts:signUp` for clients (`spec/01` §2.1): with a password, anonymously, or to link a password.
    static let signUp = Route(.post, "/v1/accounts:signUp", legacyName: "signupNewUser", access: .client) { request in
        let result = try await request.operations
            .signUp(signUpRequest(request), displayName: displayName(request), tenant: request.tenant)
            .value()
        return .object { writer in
            writer.field("kind", "identitytoolkit#SignupNewUserResponse")
            writer.field("localId", result.user.id.rawValue)
            writer.field("email", result.user.email?.address.lowercased)
            writer.field("displayName", result.user.profile.displayName)
            writer.tokens(result.tokens)
        }
    }

    /// Clients give a name; a picture is not theirs to give here.
    private static func displayName(_ request: APIRequest) throws(APIError) -> String? {
        guard let name = try request.body.nonEmptyString("displayName") else { return nil }
        guard name.unicodeScalars.count <= Profile.displayNameLengthMax else {
            throw .invalidArgument("displayName: at most \(Profile.displayNameLengthMax) characters")
        }
        return name
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
