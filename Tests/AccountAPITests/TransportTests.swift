import AccountTestSupport
import HTTPTypes
import JSON
import Testing

@testable import AccountAPI

/// Rules for every route: its paths, and the headers of its answers.
@Suite(.api)
struct TransportTests {
    @Test func `the routes equal the golden list`() throws {
        var text = ""
        for route in API.routes {
            text += "\(route.method.rawValue) \(route.path) (\(route.access))\n"
            for path in route.paths.dropFirst() { text += "    \(path)\n" }
        }
        try Transcript.golden.expect(text, matches: "routes.txt")
    }

    /// With the list above, everything that is fuzzed (Tests/Fuzz).
    @Test func `the other answered paths equal the golden list`() throws {
        var text = ""
        for route in DevelopmentRoutes().routes {
            text += "\(route.method.rawValue) \(route.path) (development)\n"
            for path in route.paths.dropFirst() { text += "    \(path)\n" }
        }
        for file in PageFile.all + PageFile.development {
            text += "GET \(file.path) (page)\n"
            // Providers that answer by a form post it there.
            if file.path.hasSuffix("/auth/handler") { text += "POST \(file.path) (page)\n" }
        }
        for file in BrandFile.allCases { text += "GET \(file.path) (branding)\n" }
        for path in API.ownPaths { text += "GET \(path) (health)\n" }
        for missing in UnimplementedPath.all {
            text += "POST \(missing.path) (unimplemented)\n"
            for path in missing.paths.dropFirst() { text += "    \(path)\n" }
        }
        try Transcript.golden.expect(text, matches: "other-routes.txt")
    }

    @Test func `a route answers in the same way at each of its paths`() async throws {
        let api = try TestAPI.shared
        for route in API.routes where route.method == .post {
            let answers = try await route.concretePaths.asyncMap { try await api.wire.post($0, [:]) }
            // Where the path names the project, only administrators are let in.
            let isForClients = { (path: String) in
                (route.access == .client || route.service == .none) && !path.contains("{project}")
            }
            for (path, answer) in zip(route.paths, answers) where isForClients(path) {
                // An empty sign-up is an anonymous one: equal but for what is random.
                #expect(masked(answer.text) == masked(answers[0].text), "\(path)")
                #expect(answer.status != 404, "\(path)")
            }
        }
    }

    @Test(arguments: [
        "/v1", "/v1/accounts", "/v1/accounts:nothing", "/v2/x", "/v1/accounts:signUp/x", "/%FF",
    ])
    func `an unknown path gets 404 in Google's error format`(_ path: String) async throws {
        for method in [HTTPRequest.Method.get, .post, .put, .patch, .delete] {
            let answer = try await TestAPI.shared.wire.send(method, path)
            #expect(answer.status == 404, "\(method.rawValue) \(path): \(answer.status) \(answer.text)")
            expectEnvelope(answer)
            #expect(answer.json["error"]?["status"] == "NOT_FOUND")
        }
    }

    @Test func `Firebase routes that Concord does not have get 501, under every prefix`() async throws {
        let api = try TestAPI.shared
        for missing in UnimplementedPath.all {
            for path in missing.paths {
                let answer = try await api.wire.send(.post, path, Array("{}".utf8), key: nil)
                #expect(answer.status == 501, "\(path): \(answer.text)")
                #expect(answer.json["error"]?["status"] == "UNIMPLEMENTED")
                expectEnvelope(answer)
            }
        }
    }

    @Test(arguments: ["signInWithGameCenter", "setProjectConfig"])
    func `legacy names of missing routes get 501, with and without the legacy host name`(name: String) async throws {
        for host in ["", "/www.googleapis.com"] {
            let path = host + "/identitytoolkit/v3/relyingparty/" + name
            #expect(try await TestAPI.shared.post(path, [:]).status == 501, "\(path)")
        }
    }

    /// Java's HTTP client does not support PATCH, so its Admin SDK sends it in a field of a POST.
    @Test func `X-HTTP-Method-Override turns a POST into a PATCH, and into no other method`() async throws {
        let api = try TestAPI.shared
        let path = "/v2/projects/\(TestService.projectID)/oauthIdpConfigs/oidc.demo"
        let field = try #require(HTTPField.Name("X-HTTP-Method-Override"))
        #expect(try await api.wire.send(.post, path).status == 404)
        let asked = try await api.wire.send(.patch, path)
        #expect(asked.status != 404)
        let meant = try await api.wire.send(.post, path, headers: [field: "PATCH"])
        #expect(meant.status == asked.status && meant.text == asked.text, "\(meant.text)")
        for other in ["DELETE", "GET", "PUT", "patch", ""] {
            #expect(try await api.wire.send(.post, path, headers: [field: other]).status == 404, "\(other)")
        }
    }

    @Test func `a wrong method gets 404 or 405 in the error format of its route`() async throws {
        let api = try TestAPI.shared
        for route in API.routes {
            for method in [HTTPRequest.Method.get, .post, .put, .patch, .delete] where method != route.method {
                let path = try #require(route.concretePaths.first)
                let isOther = API.routes.contains { $0.path == route.path && $0.method == method }
                if isOther { continue }
                let answer = try await api.wire.send(method, path)
                #expect([404, 405].contains(answer.status), "\(method.rawValue) \(path): \(answer.status)")
                expectFailureForm(answer, of: route)
            }
        }
    }

    @Test func `a preflight request is allowed from every origin`() async throws {
        let api = try TestAPI.shared
        var headers: HTTPFields = [
            .origin: "https://app.example.com", .accessControlRequestMethod: "POST",
            .accessControlRequestHeaders: "content-type,x-client-version,x-firebase-gmpid",
        ]
        let field = try #require(HTTPField.Name("Access-Control-Request-Private-Network"))
        for path in ["/v1/accounts:signUp", "/v1/token", "/nowhere"] {
            headers[field] = nil
            let answer = try await api.wire.send(.options, path, key: nil, headers: headers)
            #expect(answer.status == 204 && answer.text.isEmpty)
            #expect(answer.headers[.accessControlAllowOrigin] == "https://app.example.com")
            #expect(answer.headers[.accessControlAllowMethods] == "GET,HEAD,PUT,PATCH,POST,DELETE")
            #expect(
                answer.headers[.accessControlAllowHeaders] == "content-type,x-client-version,x-firebase-gmpid"
            )
            #expect(answer.headers[.vary]?.contains("Origin") == true)
            let allowed = try #require(HTTPField.Name("Access-Control-Allow-Private-Network"))
            #expect(answer.headers[allowed] == nil)
            headers[field] = "true"
            let local = try await api.wire.send(.options, path, key: nil, headers: headers)
            #expect(local.headers[allowed] == "true")
        }
    }

    @Test func `every answer, also an error, allows the origin of its request`() async throws {
        let api = try TestAPI.shared
        let origin: HTTPFields = [.origin: "https://app.example.com"]
        let answers = [
            try await api.wire.send(.post, "/v1/accounts:signUp", Array("{}".utf8), headers: origin),
            try await api.wire.send(.post, "/v1/accounts:signUp", Array("[]".utf8), headers: origin),
            try await api.wire.send(.post, "/v1/accounts:signUp", key: nil, headers: origin),
            try await api.wire.send(.post, "/v1/accounts:signUp", bytes(2 << 20), headers: origin),
            try await api.wire.send(.get, "/nowhere", headers: origin),
            try await api.wire.send(.get, "/healthz", headers: origin),
        ]
        for answer in answers {
            #expect(answer.headers[.accessControlAllowOrigin] == "https://app.example.com")
            #expect(answer.headers[.vary]?.contains("Origin") == true)
            #expect(answer.headers[.cacheControl] == nil || answer.headers[.cacheControl] == "no-store")
        }
        let noOrigin = try await api.wire.send(.get, "/nowhere")
        #expect(noOrigin.headers[.accessControlAllowOrigin] == "*")
    }

    @Test func `every answer forbids browsers to guess its media type`() async throws {
        let api = try TestAPI.shared
        for answer in [
            try await api.wire.send(.post, "/v1/accounts:signUp", Array("{}".utf8)),
            try await api.wire.send(.post, "/v1/accounts:signUp", Array("[]".utf8)),
            try await api.wire.send(.get, "/concord/v1/nothing"), try await api.wire.send(.get, "/healthz"),
            try await api.wire.send(.options, "/v1/accounts:signUp", key: nil),
            try await api.wire.send(.get, "/__/auth/action", key: nil),
        ] {
            #expect(answer.headers[values: .xContentTypeOptions] == ["nosniff"])
            #expect(answer.headers[.strictTransportSecurity] == nil, "it is reached in the clear")
        }
    }

    @Test(
        arguments: [
            ("https", nil), ("http", "https://id.example.com"), ("http", "http://id.example.com"), ("http", nil),
        ] as [(String, String?)]
    )
    func `answers over TLS require TLS for later requests`(scheme: String, publicURL: String?) async throws {
        let service = try TestAPI.shared.service
        let handle = ServiceHandle()
        handle.state = .ready(service.operations, checkDatabase: { nil })
        for audience in [API.Audience.everyone, .operators] {
            let settings = (audience, scheme, publicURL)
            try await Wire.with(service: handle, transport: settings) { wire in
                let isSecure =
                    settings.0 == .everyone && (settings.1 == "https" || settings.2?.hasPrefix("https:") == true)
                for path in ["/healthz", "/v1/projects", "/__/auth/action", "/nowhere"] {
                    let answer = try await wire.send(.get, path)
                    #expect(
                        answer.headers[.strictTransportSecurity] == (isSecure ? "max-age=31536000" : nil),
                        "\(path)"
                    )
                }
            }
        }
    }

    @Test func `health and readiness need no key`() async throws {
        let api = try TestAPI.shared
        #expect(try await api.wire.send(.get, "/healthz", key: nil).status == 200)
        #expect(try await api.wire.send(.get, "/readyz", key: nil).status == 200)
    }

    @Test func `an empty body is read as an empty object`() async throws {
        let answer = try await TestAPI.shared.wire.send(.post, "/v1/accounts:lookup")
        #expect(answer.errorMessage == "MISSING_ID_TOKEN")
    }

    @Test func `the content type of a body does not matter`() async throws {
        for type in ["text/plain", "application/x-www-form-urlencoded", "application/json+protobuf", "nonsense"] {
            let answer = try await TestAPI.shared.wire.send(
                .post,
                "/v1/accounts:lookup",
                Array(#"{"idToken":"nonsense"}"#.utf8),
                headers: [.contentType: type]
            )
            #expect(answer.errorMessage == "INVALID_ID_TOKEN", "\(type)")
        }
    }

    @Test func `a tenant or another project is refused`() async throws {
        let api = try TestAPI.shared
        let tenant = try await api.post("/v1/accounts:signUp", ["tenantId": "tenant-1"])
        #expect(tenant.status == 404 && tenant.errorMessage == "TENANT_NOT_FOUND")
        let project = try await api.post("/v1/accounts:signUp", ["targetProjectId": "demo-test"])
        #expect(project.status == 400)
        #expect(
            project.errorMessage
                == "INSUFFICIENT_PERMISSION : Only authenticated requests can specify target_project_id."
        )
    }
}

func bytes(_ count: Int) -> [UInt8] { Array(repeating: UInt8(ascii: " "), count: count) }

/// The envelope as iOS decodes it: every member of the items is a string.
/// The form of failures at the paths of `route`: Google's envelope, or a problem document on Concord's own.
func expectFailureForm(
    _ answer: Wire.Answer,
    of route: Route,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    if route.service == .concord {
        expectProblem(answer, sourceLocation: sourceLocation)
    } else {
        expectEnvelope(answer, sourceLocation: sourceLocation)
    }
}

/// RFC 9457 §3.1: what each member is, and that the status is the answer's own.
func expectProblem(_ answer: Wire.Answer, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(answer.headers[.contentType] == "application/problem+json", sourceLocation: sourceLocation)
    #expect(answer.json["status"]?.integer == Int64(answer.status), "\(answer.text)", sourceLocation: sourceLocation)
    #expect(answer.problem != nil, "\(answer.text)", sourceLocation: sourceLocation)
    #expect(answer.json["title"]?.string == answer.problem?.title, sourceLocation: sourceLocation)
    #expect((answer.status == 401) == (answer.headers[.wwwAuthenticate] != nil), sourceLocation: sourceLocation)
}

extension Wire.Answer {
    /// The problem that the answer is about; `nil` for one this version does not have.
    var problem: ProblemType? {
        guard let type = json["type"]?.string, type.hasPrefix("urn:concord:problem:") else { return nil }
        return ProblemType(rawValue: String(type.dropFirst("urn:concord:problem:".count)))
    }
}

func expectEnvelope(_ answer: Wire.Answer, sourceLocation: SourceLocation = #_sourceLocation) {
    let error = answer.json["error"]
    #expect(error?["code"]?.integer == Int64(answer.status), "\(answer.text)", sourceLocation: sourceLocation)
    #expect(error?["message"]?.string?.isEmpty == false, "\(answer.text)", sourceLocation: sourceLocation)
    let items = error?["errors"]?.array ?? []
    #expect(items.count == 1, "\(answer.text)", sourceLocation: sourceLocation)
    for member in items.compactMap(\.object).flatMap(\.values) {
        #expect(member.string != nil, "\(answer.text)", sourceLocation: sourceLocation)
    }
    #expect(
        answer.headers[.contentType] == "application/json; charset=UTF-8",
        sourceLocation: sourceLocation
    )
}

extension Route {
    /// The paths with something in the place of each capture.
    var concretePaths: [String] {
        paths.map { path in
            path.replacing("{project}", with: TestService.projectID).replacing(#/\{[a-zA-Z]+\}/#, with: "x")
        }
    }
}

extension Sequence {
    func asyncMap<Output>(_ transform: (Element) async throws -> Output) async rethrows -> [Output] {
        var outputs: [Output] = []
        for element in self { outputs.append(try await transform(element)) }
        return outputs
    }
}
