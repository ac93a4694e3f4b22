import AccountLinking
package import AccountOperations
import HTTPServer
import HTTPTypes
package import Logging
import Metrics
package import Spans

/// The HTTP API: its routes, and the edge around them.
package struct API: Sendable {
    /// The clients that can reach the listener of the API.
    package enum Audience: Sendable {
        /// Any client, web pages included.
        case everyone
        /// Programs of this host. A browser runs on this host but does what foreign pages say, so requests that look
        /// like a browser's are refused: an `Origin`, or a `Host` that is not a name of this host (DNS rebinding).
        case operators
    }

    let service: ServiceHandle
    let audience: Audience
    let callers: any CallerAuthentication
    let development: DevelopmentRoutes?
    /// Maximum nesting of arrays and objects in a body.
    let jsonDepthMax: Int
    /// The configured public URL of the service, without a slash at the end.
    let publicURL: String?
    /// The scheme of the service if `publicURL` is missing: `http` or `https`.
    let scheme: String
    let trustedProxies: [IPNetwork]
    let logger: Logger
    let requests: RequestLog
    let spans: Spans
    let metrics: HTTPMetrics
    let exposition: MetricsExposition?
    /// The challenge that people solve to prove that a person uses the app.
    let challenge: AppChallenge?
    /// The ticks on which answers leave that must not reveal an account.
    let tick: AnswerTick
    /// The version of Concord, which `GET /concord/v1/about` shows.
    let version: String

    ///
    /// - `development`: the routes of development; `nil` in production, which does not serve them.
    /// - `trustedProxies`: the peers whose `X-Forwarded-For` is trusted.
    /// - `exposition`: the content of `/metrics`, for every client of the listener; `nil` if there is no such path.
    package init(
        service: ServiceHandle,
        audience: Audience = .everyone,
        callers: any CallerAuthentication,
        development: DevelopmentRoutes?,
        jsonDepthMax: Int,
        publicURL: String? = nil,
        scheme: String = "http",
        trustedProxies: [IPNetwork],
        logger: Logger,
        requests: RequestLog = .off,
        spans: Spans = .off,
        metrics: HTTPMetrics? = nil,
        exposition: MetricsExposition? = nil,
        challenge: AppChallenge? = nil,
        tick: AnswerTick = .standard,
        version: String = "unknown"
    ) {
        self.tick = tick
        self.version = version
        self.challenge = challenge
        self.metrics = metrics ?? HTTPMetrics(NOOPMetricsHandler.instance, development)
        self.exposition = exposition
        self.service = service
        self.audience = audience
        self.callers = callers
        self.development = development
        self.jsonDepthMax = jsonDepthMax
        self.publicURL = publicURL
        self.scheme = scheme
        self.trustedProxies = trustedProxies
        self.logger = logger
        self.requests = requests
        self.spans = spans
    }

    /// Every endpoint. A file under `Routes/` describes each.
    static let routes: [Route] =
        [
            .signUp,
            .signInWithPassword,
            .signInWithIdp,
            .signInWithCustomToken,
            .createAuthURI,
            .revokeToken,
            .lookUp,
            .update,
            .delete,
            .batchGet,
            .downloadAccount,
            .batchCreate,
            .uploadAccount,
            .batchDelete,
            .query,
            .createSessionCookie,
            .token,
            .sendOobCode,
            .sendOobCodeAsAdministrator,
            .sendOobCodeOfTenant,
            .resetPassword,
            .signInWithEmailLink,
            .verifyIOSClient,
            .sendVerificationCode,
            .signInWithPhoneNumber,
            .startFactorEnrollment,
            .finishFactorEnrollment,
            .withdrawFactor,
            .startFactorSignIn,
            .finishFactorSignIn,
            .certificates,
            .jsonWebKeySet,
            .sessionCookieCertificates,
            .sessionCookieKeySet,
            .appleAppSiteAssociation,
            .assetLinks,
            .openIDConfiguration,
            .projectOpenIDConfiguration,
            .serviceAccountToken,
            .clientConfig,
            .recaptchaParams,
            .recaptchaConfig,
            .passwordPolicy,
            .conflict,
            .startConflictProof,
            .completeConflictProof,
            .resolveConflict,
            .declineConflict,
            .setConflictReturn,
            .issueSessionCode,
            .signInPage,
            .issueSignInCode,
            .exchangeSessionCode,
            .exchangeShortCode,
            .disownAccount,
            .decision,
            .decisions,
            .policy,
            .replacePolicy,
            .reauthenticationPolicy,
            .about,
            .accountMethods,
            .removeAccountMethod,
            .quarantine,
            .restorePassword,
            .discardQuarantined,
            .disableProvider,
            .openAPI,
            // The next one goes here.
        ] + Route.providerConfigs + Route.projectConfig + Route.webhooks + Route.merges + Route.conflictAdministration
        + Route.accountSessions + Route.accountHistory + Route.branding + Route.devices + Route.lookUps
        + Route.pendingSignUps

    /// The responder of the server: edge, then the endpoint of the route.
    package func responder() -> Edge {
        var table = RouteTable<Edge.Target>()
        func add(_ route: Route, isPrivileged: Bool) {
            let target = Edge.Target(
                handler: Endpoint(route: route, api: self).respond,
                series: metrics.series(of: route.name),
                path: route.path,
                isPrivileged: isPrivileged,
                isQuiet: route.name == Route.inboxMessages.name
            )
            for path in route.paths { table.add(route.method, path, target) }
        }
        for route in Self.routes { add(route, isPrivileged: route.access == .administrator) }
        for route in development?.routes ?? [] { add(route, isPrivileged: true) }
        for missing in UnimplementedPath.all {
            let target = Edge.Target(
                handler: { _ in throw APIError.unimplemented(missing.what) },
                series: metrics.series(of: HTTPMetrics.unimplementedName),
                path: missing.path
            )
            for path in missing.paths {
                for method in UnimplementedPath.methods { table.add(method, path, target) }
            }
        }
        func addOwn(_ path: String, _ handler: @escaping Edge.Handler) {
            let target = Edge.Target(
                handler: handler,
                series: metrics.series(of: "GET " + path),
                path: path,
                isQuiet: Self.ownPaths.contains(path)
            )
            table.add(.get, path, target)
        }
        for file in PageFile.all + PageFile.challenge(challenge) + (development == nil ? [] : PageFile.development) {
            addOwn(file.path) { request in
                guard service.offers(file) else { throw APIError.notFound }
                return file.response(to: request.http, service.branding)
            }
            guard file.path.hasSuffix("/auth/handler") else { continue }
            let target = Edge.Target(
                handler: { request in try file.response(toPost: request.http) },
                series: metrics.series(of: "POST " + file.path),
                path: file.path
            )
            table.add(.post, file.path, target)
        }
        for file in BrandFile.allCases {
            addOwn(file.path) { request in try await file.response(to: request.http, service) }
        }
        addOwn(Self.healthPath) { _ in .text("ok\n", status: .ok) }
        addOwn(Self.readinessPath) { _ in
            if let reason = await service.reasonNotReady() {
                return .text("not ready: \(reason)\n", status: APIError.unavailable.status)
            }
            return .text("ready\n", status: .ok)
        }
        if let exposition { addOwn(Self.metricsPath) { _ in exposition.response } }
        return Edge(
            table: table,
            audience: audience,
            trustedProxies: trustedProxies,
            logger: logger,
            requests: requests,
            tracing: RequestTracing(spans: spans, scheme: scheme, publicURL: publicURL),
            metrics: metrics,
            isDevelopment: development != nil,
            isSecure: audience == .everyone && (scheme == "https" || publicURL?.hasPrefix("https://") == true)
        )
    }

    private static let healthPath = "/healthz"
    private static let readinessPath = "/readyz"
    static let metricsPath = "/metrics"
    /// Paths for the operators of the service.
    static let ownPaths = [healthPath, readinessPath, metricsPath]
}
