import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `createSessionCookie`.
    static let createSessionCookie = Route(
        .post,
        "/v1/projects/{project}:createSessionCookie",
        aliases: ["/v1/projects/{project}/tenants/{tenant}:createSessionCookie"],
        access: .administrator
    ) { request in
        let idToken = try request.requiredIDToken()
        let lifetime = Lifetimes.sessionCookieSeconds
        let seconds = try request.body.integer("validDuration") ?? lifetime.upperBound
        guard lifetime.contains(seconds) else { throw APIError.code(.invalidDuration) }
        let cookie = try await request.operations
            .createSessionCookie(idToken: idToken, lifetimeSeconds: seconds, tenant: request.tenant)
        return .object { writer in writer.field("sessionCookie", cookie) }
    }
}
