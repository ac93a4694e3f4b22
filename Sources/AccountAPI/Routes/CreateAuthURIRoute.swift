import AccountLinking
import AccountOperations
import FoundationEssentials
import HTTPTypes
import JSON

extension Route {
    /// `accounts:createAuthUri`: with a provider, the start of its flow; with an identifier, the sign-in methods of an
    /// address.
    static let createAuthURI = Route(
        .post,
        "/v1/accounts:createAuthUri",
        legacyName: "createAuthUri",
        access: .client
    ) { request in
        let body = request.body
        if let provider = try body.nonEmptyString("providerId") { return try await begin(provider, request) }
        guard let identifier = try body.nonEmptyString("identifier") else { throw APIError.code(.missingIdentifier) }
        guard let continueURI = try body.nonEmptyString("continueUri") else {
            throw APIError.code(.missingContinueURI)
        }
        guard let address = EmailAddress(identifier) else { throw APIError.code(.invalidIdentifier) }
        guard let url = URL(string: continueURI), ["http", "https"].contains(url.scheme?.lowercased() ?? ""),
            url.host()?.isEmpty == false
        else { throw APIError.code(.invalidContinueURI) }

        var found = try await request.operations.findSignInMethods(email: address, tenant: request.tenant)
        // Concord's own: with protected addresses only a device that the account knows learns its methods.
        if found == nil { found = try await request.knownDevice(asking: address)?.found }
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

    private static func begin(_ providerID: String, _ request: APIRequest) async throws -> APIResponse {
        let body = request.body
        guard let continueURI = try body.nonEmptyString("continueUri") else {
            throw APIError.code(.missingContinueURI)
        }
        guard let provider = ProviderID(providerID) else { throw APIError.code(.invalidProviderID) }
        var parameters: [String: String] = [:]
        if let custom = try body.object("customParameter") {
            for name in custom.names { parameters[name] = try custom.nonEmptyString(name) }
        }
        if let domain = try body.nonEmptyString("hostedDomain") { parameters["hd"] = domain }
        let begun = try await request.operations
            .beginProviderFlow(
                BeginProviderFlow(
                    provider: provider,
                    redirectURI: continueURI,
                    session: try session(body),
                    scopes: scopes(try body.nonEmptyString("oauthScope"), of: providerID),
                    customParameters: parameters,
                    loginHint: try body.nonEmptyString("identifier"),
                    // Concord's own, sent by its page (docs/guides/providers.md).
                    reauthenticates: try body.bool("reauthenticate") ?? false,
                    clientAddress: request.subscriber
                ),
                tenant: request.tenant
            )
        return .object { writer in
            writer.field("kind", "identitytoolkit#CreateAuthUriResponse")
            writer.field("authUri", begun.authURI)
            writer.field("sessionId", begun.sessionID)
            writer.field("providerId", provider.rawValue)
        }
    }

    /// The session of the sign-in that presents the answer. Concord's own page sends `sessionIdDigest`: the hexadecimal
    /// digest of the id that a native app keeps.
    private static func session(_ body: RequestBody) throws(APIError) -> BeginProviderFlow.Session {
        if let text = try body.nonEmptyString("sessionIdDigest") {
            guard let digest = Hexadecimal.decode(Array(text.utf8)), digest.count == 32 else {
                throw .invalidValue(at: "sessionIdDigest", expected: "TYPE_STRING")
            }
            return .digest(digest)
        }
        return try body.nonEmptyString("sessionId").map(BeginProviderFlow.Session.id) ?? .new
    }

    /// The scopes in `text`: separated by spaces, or, from the hosted page of web clients, a JSON object with the
    /// scopes of each provider separated by commas.
    private static func scopes(_ text: String?, of provider: String) -> [String] {
        guard let text else { return [] }
        guard let object = try? JSONValue(parsing: Array(text.utf8), depthMax: 4), object.object != nil else {
            return text.split(separator: " ").map(String.init)
        }
        return object[provider]?.string?.split(whereSeparator: { $0 == "," || $0 == " " }).map(String.init) ?? []
    }
}
