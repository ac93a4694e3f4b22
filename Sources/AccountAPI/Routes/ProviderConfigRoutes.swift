import AccountLinking
import AccountOperations
import HTTPTypes
import IdentityProviders
import JSON

extension Route {
    /// Create, list, read, change and remove, for both collections.
    static let providerConfigs: [Route] = ProviderConfigCollection.allCases.flatMap { collection in
        let path = "/v2/projects/{project}/\(collection.rawValue)"
        let ofTenant = "/v2/projects/{project}/tenants/{tenant}/\(collection.rawValue)"
        func route(
            _ method: HTTPRequest.Method,
            _ end: String = "",
            handle: @escaping @Sendable (APIRequest) async throws -> APIResponse
        ) -> Route {
            Route(method, path + end, aliases: [ofTenant + end], access: .administrator, handle: handle)
        }
        return [
            route(.post) { try await create($0, in: collection) },
            route(.get) { try await list($0, of: collection) },
            route(.get, "/{id}") { request in
                let config = try await existing(request, in: collection)
                return .object { writer in writer.providerConfig(config, collection, request) }
            },
            route(.patch, "/{id}") { try await change($0, in: collection) },
            route(.delete, "/{id}") { request in
                let provider = try provider(request.captures["id"], in: collection)
                if let denial = try await request.operations.removeProviderConfig(provider) { throw denial.apiError }
                return .object { _ in }
            },
        ]
    }

    private static func create(
        _ request: APIRequest,
        in collection: ProviderConfigCollection
    ) async throws -> APIResponse {
        guard let id = request.query[collection.idParameter], !id.isEmpty else {
            throw APIError.code(.missingConfigID)
        }
        guard let provider = ProviderID(id), collection.holds(provider) else { throw APIError.code(.invalidConfigID) }
        var config = ProviderConfig(provider: provider)
        for field in ProviderConfigField.all(of: collection) { try field.read(request.body, &config) }
        if let denial = try await request.operations.addProviderConfig(config) { throw denial.apiError }
        return written(config, in: collection, request)
    }

    private static func change(
        _ request: APIRequest,
        in collection: ProviderConfigCollection
    ) async throws -> APIResponse {
        let provider = try provider(request.captures["id"], in: collection)
        let fields = try fields(of: request, in: collection)
        let body = request.body
        let changed = try await request.operations.updateProviderConfig(provider) { config in
            for field in fields { try field.read(body, &config) }
        }
        switch changed {
        case .failure(let denial): throw denial.apiError
        case .success(let config): return written(config, in: collection, request)
        }
    }

    /// The stored item. `warnings` is Concord's own: SDKs ignore unknown members.
    private static func written(
        _ config: ProviderConfig,
        in collection: ProviderConfigCollection,
        _ request: APIRequest
    ) -> APIResponse {
        let warnings = request.operations.warnings(about: config)
        return .object { writer in
            writer.providerConfig(config, collection, request)
            if !warnings.isEmpty { writer.field("warnings", warnings.map(\.text)) }
        }
    }

    /// The fields that an update names, or all fields if it names none.
    private static func fields(
        of request: APIRequest,
        in collection: ProviderConfigCollection
    ) throws(APIError) -> [ProviderConfigField] {
        let all = ProviderConfigField.all(of: collection)
        guard let mask = request.query["updateMask"], !mask.isEmpty else { return all }
        var named: [ProviderConfigField] = []
        for path in mask.split(separator: ",", omittingEmptySubsequences: false) {
            // `responseType.code` and `response_type.code` name a part of `responseType`.
            let parts = path.split(separator: ".", omittingEmptySubsequences: false)
            guard let root = parts.first, !parts.contains("") else {
                throw .invalidValue(at: "updateMask", expected: "TYPE_FIELD_MASK")
            }
            let name = root.split(separator: "_").enumerated()
                .map { $0 == 0 ? String($1) : $1.prefix(1).uppercased() + $1.dropFirst() }.joined()
            if name == "name" { continue }
            guard let field = all.first(where: { $0.name == name }) else {
                throw .invalidValue(at: "updateMask", expected: "TYPE_FIELD_MASK")
            }
            named.append(field)
        }
        return named
    }

    private static func list(
        _ request: APIRequest,
        of collection: ProviderConfigCollection
    ) async throws -> APIResponse {
        let pageSize = request.query["pageSize"].map { Int($0) ?? 0 } ?? 20
        guard (1...100).contains(pageSize) else { throw APIError.invalidValue(at: "pageSize", expected: "TYPE_INT32") }
        let after = request.query["pageToken"] ?? ""
        let configs = try await request.operations.providerConfigs()
            .filter { collection.holds($0.provider) && $0.provider.rawValue > after }
        let page = configs.prefix(pageSize)
        return .object { writer in
            if !page.isEmpty {
                writer.field(collection.rawValue, array: page) { writer, config in
                    writer.object { writer in writer.providerConfig(config, collection, request) }
                }
            }
            if configs.count > page.count { writer.field("nextPageToken", page.last?.provider.rawValue) }
        }
    }

    private static func existing(
        _ request: APIRequest,
        in collection: ProviderConfigCollection
    ) async throws -> ProviderConfig {
        let provider = try provider(request.captures["id"], in: collection)
        guard let config = try await request.operations.providerConfig(provider) else {
            throw APIError.code(.configurationNotFound)
        }
        return config
    }

    private static func provider(
        _ id: String?,
        in collection: ProviderConfigCollection
    ) throws(APIError) -> ProviderID {
        guard let id, let provider = ProviderID(id), collection.holds(provider) else {
            throw .code(.configurationNotFound)
        }
        return provider
    }
}

extension JSONWriter {
    fileprivate mutating func providerConfig(
        _ config: ProviderConfig,
        _ collection: ProviderConfigCollection,
        _ request: APIRequest
    ) {
        let project = request.operations.project.settings.projectID
        field("name", "projects/\(project)/\(collection.rawValue)/\(config.provider.rawValue)")
        fields(of: config)
    }
}

extension ProviderConfigDenial {
    fileprivate var apiError: APIError {
        switch self {
        case .alreadyRegistered: .code(.configurationExists)
        case .notRegistered: .code(.configurationNotFound)
        case .missingClientID: .code(.missingOAuthClientID)
        case .missingIssuer: .code(.missingIssuer)
        case .invalidIssuer: .code(.invalidConfig, "The issuer must be an https URL without query or fragment.")
        case .issuerInUse:
            .code(
                .invalidConfig,
                "Accounts are linked under another issuer: register this issuer under another id."
            )
        case .invalidAddress(let name):
            .code(.invalidConfig, "\(name.rawValue) must be an https URL without fragment.")
        case .tooManyEmailDomains:
            .code(.invalidConfig, "emailDomains may have at most \(ProviderConfig.emailDomainsMax) domains.")
        case .emailDomainsOfKnownIssuer(let known):
            .code(
                .invalidConfig,
                "The issuer belongs to \(known.rawValue), which has its own rule for email addresses: leave emailDomains out."
            )
        case .tooLong: .code(.invalidConfig, "A value is too long.")
        }
    }
}
