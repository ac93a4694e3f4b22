import AccountLinking
import AccountOperations
import HTTPTypes
package import Hummingbird
package import Logging

/// The HTTP API: which routes there are, and what stands around them.
package struct API: Sendable {
    /// Bounds on what a request may cost.
    package struct Limits: Sendable {
        /// Bytes of an ordinary request's body.
        package var bodyBytesMax: Int
        /// Bytes of a bulk request's body.
        package var batchBodyBytesMax: Int
        /// Arrays and objects inside each other in a body.
        package var jsonDepthMax: Int
        /// From the head of a request to its answer.
        package var requestTimeout: Duration

        package init(bodyBytesMax: Int, batchBodyBytesMax: Int, jsonDepthMax: Int, requestTimeout: Duration) {
            self.bodyBytesMax = bodyBytesMax
            self.batchBodyBytesMax = batchBodyBytesMax
            self.jsonDepthMax = jsonDepthMax
            self.requestTimeout = requestTimeout
        }
    }

    /// Who can reach the listener the API stands behind.
    package enum Audience: Sendable {
        /// Whoever finds the way, web pages included.
        case everyone
        /// Programs of this host. A browser is a program of this host that does what strangers say, so whatever looks
        /// like one is refused: an `Origin`, or a `Host` that is no name of this host (DNS rebinding).
        case operators
    }

    let service: ServiceHandle
    let audience: Audience
    let callers: any CallerAuthentication
    let development: DevelopmentRoutes?
    let limits: Limits
    /// Where the service is reached, as configured; no slash at the end.
    let publicURL: String?
    /// What to call the service by where `publicURL` says nothing: `http` or `https`.
    let scheme: String
    let trustedProxies: [IPNetwork]
    let logger: Logger

    ///
    /// - `development`: routes that only development has; `nil` in production, where nothing answers to them.
    /// - `trustedProxies`: peers that are believed when they say whom they speak for.
    package init(
        service: ServiceHandle,
        audience: Audience = .everyone,
        callers: any CallerAuthentication,
        development: DevelopmentRoutes?,
        limits: Limits,
        publicURL: String? = nil,
        scheme: String = "http",
        trustedProxies: [IPNetwork],
        logger: Logger
    ) {
        self.service = service
        self.audience = audience
        self.callers = callers
        self.development = development
        self.limits = limits
        self.publicURL = publicURL
        self.scheme = scheme
        self.trustedProxies = trustedProxies
        self.logger = logger
    }

    /// Every endpoint. A route file under `Routes/` describes each.
    static let routes: [Route] =
        [
            .signUp,
            .signInWithPassword,
            .signInWithIdp,
            .signInWithCustomToken,
            .createAuthURI,
            .lookUp,
            .update,
            .delete,
            .batchGet,
            .downloadAccount,
            .batchDelete,
            .query,
            .createSessionCookie,
            .token,
            .sendOobCode,
            .sendOobCodeAsAdministrator,
            .sendOobCodeOfTenant,
            .resetPassword,
            .signInWithEmailLink,
            .certificates,
            .jsonWebKeySet,
            .sessionCookieCertificates,
            .sessionCookieKeySet,
            .openIDConfiguration,
            .projectOpenIDConfiguration,
            .serviceAccountToken,
            .clientConfig,
            .recaptchaParams,
            .recaptchaConfig,
            .passwordPolicy,
            // The next one goes here.
        ] + Route.providerConfigs + Route.projectConfig

    /// The server's responder: edge, then router, then one endpoint.
    package func responder() -> some HTTPResponder<APIContext> {
        let router = Router(context: APIContext.self, options: .autoGenerateHeadEndpoints)
        for route in Self.routes + (development?.routes ?? []) {
            let endpoint = Endpoint(route: route, api: self)
            for path in route.paths {
                router.on(RouterPath(path), method: route.method) { request, context in
                    try await endpoint.respond(to: request, context: context)
                }
            }
        }
        router.get("/healthz") { _, _ in Response.text("ok\n", status: .ok) }
        router.get("/readyz") { _, _ in
            if let reason = await service.reasonNotReady() {
                return Response.text("not ready: \(reason)\n", status: APIError.unavailable.status)
            }
            return Response.text("ready\n", status: .ok)
        }
        // Added last, so that it stands in front of nothing but the router's own answer to an unknown path or method.
        router.add(middleware: NothingThere())
        return Edge(
            next: router.buildResponder(),
            service: service,
            audience: audience,
            deadlines: Deadlines(timeout: limits.requestTimeout),
            trustedProxies: trustedProxies
        )
    }
}

/// The envelope for a path or a method that no route serves. A wildcard route would not do: the router does not go back
/// to it once the beginning of another path matched.
private struct NothingThere: RouterMiddleware {
    func handle(
        _ request: Request,
        context: APIContext,
        next: @concurrent (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        throw APIError.notFound
    }
}
