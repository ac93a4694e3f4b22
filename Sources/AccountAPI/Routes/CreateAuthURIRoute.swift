import AccountLinking
import AccountOperations
import FoundationEssentials
import HTTPTypes
import JSON

extension Route {
    /// `accounts:createAuthUri` with an identifier (`spec/01` §2.5): how an address signs in.
    static let createAuthURI = Route(
        .post,
        "/v1/accounts:createAuthUri",
        legacyName: "createAuthUri",
        access: .client
    ) { request in
        let body = request.body
        if try body.nonEmptyString("providerId") != nil { throw APIError.unimplemented("Starting a provider's flow") }
        guard let identifier = try body.nonEmptyString("identifier") else { throw APIError.code(.missingIdentifier) }
        guard let continueURI = try body.nonEmptyString("continueUri") else {
            throw APIError.code(.missingContinueURI)
        }
        guard let address = EmailAddress(identifier) else { throw APIError.code(.invalidIdentifier) }
        guard let url = URL(string: continueURI), ["http", "https"].contains(url.scheme?.lowercased() ?? ""),
            url.host()?.isEmpty == false
        else { throw APIError.code(.invalidContinueURI) }

        let found = try await request.operations.findSignInMethods(email: address, tenant: request.tenant)
        let sessionID = try body.nonEmptyString("sessionId") ?? request.operations.newFlowID()
        return .object { writer in
            writer.field("kind", "identitytoolkit#CreateAuthUriResponse")
            if let found {
                writer.field("registered", found.isRegistered)
                writer.field("allProviders", found.providers.map(\.rawValue))
                writer.field("signinMethods", found.methods)
            }
            writer.field("sessionId", sessionID)
        }
    }
}
