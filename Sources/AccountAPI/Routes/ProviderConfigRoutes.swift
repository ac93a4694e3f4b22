import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

/// The two collections of provider registrations (`spec/01` §7): they differ in which ids they hold and which fields an
/// item has.
enum ProviderConfigCollection: String, Sendable, CaseIterable {
    case oauth = "oauthIdpConfigs"
    case defaultSupported = "defaultSupportedIdpConfigs"

    /// The query parameter that names a new item.
    var idParameter: String {
        switch self {
        case .oauth: "oauthIdpConfigId"
        case .defaultSupported: "idpId"
        }
    }

    /// The providers that have an API of their own; everything else is `oidc.*`.
    static let supportedProviders: Set<ProviderID> = [
        .google, .apple, .facebook, .twitter, .gitHub, .microsoft, .yahoo, .linkedIn, .playGames, .gameCenter,
    ]

    func holds(_ provider: ProviderID) -> Bool {
        switch self {
        case .oauth: provider.isOpenIDConnect && provider.rawValue.utf8.count > "oidc.".utf8.count
        case .defaultSupported: Self.supportedProviders.contains(provider)
        }
    }
}

extension Route {
    /// Create, list, read, change and remove, for both collections.
    static let providerConfigs: [Route] = ProviderConfigCollection.allCases.flatMap { collection in
        let path = "/v2/projects/{project}/\(collection.rawValue)"
        return [
            Route(.post, path, access: .administrator) { try await create($0, in: collection) },
            Route(.get, path, access: .administrator) { try await list($0, of: collection) },
            Route(.get, path + "/{id}", access: .administrator) { request in
                let config = try await existing(request, in: collection)
                return .object { writer in writer.providerConfig(config, collection, request) }
            },
            Route(.patch, path + "/{id}", access: .administrator) { try await change($0, in: collection) },
            Route(.delete, path + "/{id}", access: .administrator) { request in
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
        return .object { writer in writer.providerConfig(config, collection, request) }
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
        case .success(let config): return .object { writer in writer.providerConfig(config, collection, request) }
        }
    }

    /// The fields an update names; all of them when it names none.
    private static func fields(
        of request: APIRequest,
        in collection: ProviderConfigCollection
    ) throws(APIError) -> [ProviderConfigField] {
        let all = ProviderConfigField.all(of: collection)
        guard let mask = request.query["updateMask"], !mask.isEmpty else { return all }
        var named: [ProviderConfigField] = []
        for path in mask.split(separator: ",", omittingEmptySubsequences: false) {
            // `responseType.code` and `response_type.code` mean a part of what `responseType` means.
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

/// One field of an item that an update mask can name.
private struct ProviderConfigField: Sendable {
    let name: String
    let read: @Sendable (RequestBody, inout ProviderConfig) throws(APIError) -> Void

    static func all(of collection: ProviderConfigCollection) -> [ProviderConfigField] {
        switch collection {
        case .oauth: shared + oauth
        case .defaultSupported: shared + defaultSupported
        }
    }

    private static let shared: [ProviderConfigField] = [
        ProviderConfigField(name: "enabled") { body, config throws(APIError) in
            config.isEnabled = try body.bool("enabled") ?? false
        },
        ProviderConfigField(name: "clientId") { body, config throws(APIError) in
            config.clientID = try body.nonEmptyString("clientId")
        },
        ProviderConfigField(name: "clientSecret") { body, config throws(APIError) in
            config.clientSecret = try body.nonEmptyString("clientSecret").map(ProviderSecret.text)
        },
    ]

    private static let oauth: [ProviderConfigField] = [
        ProviderConfigField(name: "displayName") { body, config throws(APIError) in
            config.displayName = try body.nonEmptyString("displayName")
        },
        ProviderConfigField(name: "issuer") { body, config throws(APIError) in
            config.issuer = try body.nonEmptyString("issuer")
        },
        ProviderConfigField(name: "responseType") { body, config throws(APIError) in
            guard let type = try body.object("responseType") else { return }
            config.acceptsAuthorizationCodes = try type.bool("code") ?? false
            config.acceptsIDTokens = try type.bool("idToken") ?? !config.acceptsAuthorizationCodes
        },
    ]

    private static let defaultSupported: [ProviderConfigField] = [
        ProviderConfigField(name: "appleSignInConfig") { body, config throws(APIError) in
            guard let apple = try body.object("appleSignInConfig") else { return }
            config.appleBundleIDs = try apple.strings("bundleIds")
            let codeFlow = try apple.object("codeFlowConfig")
            config.appleTeamID = try codeFlow?.nonEmptyString("teamId")
            config.appleKeyID = try codeFlow?.nonEmptyString("keyId")
            config.applePrivateKey = try codeFlow?.nonEmptyString("privateKey").map(ProviderSecret.text)
        }
    ]
}

extension JSONWriter {
    fileprivate mutating func providerConfig(
        _ config: ProviderConfig,
        _ collection: ProviderConfigCollection,
        _ request: APIRequest
    ) {
        let project = request.operations.project.settings.projectID
        field("name", "projects/\(project)/\(collection.rawValue)/\(config.provider.rawValue)")
        field("enabled", config.isEnabled)
        field("displayName", config.displayName)
        field("clientId", config.clientID)
        field("clientSecret", config.clientSecret?.text)
        switch collection {
        case .oauth:
            field("issuer", config.issuer)
            field(
                "responseType",
                object: { writer in
                    writer.field("idToken", config.acceptsIDTokens)
                    writer.field("code", config.acceptsAuthorizationCodes)
                }
            )
        case .defaultSupported:
            guard config.provider == .apple else { return }
            field(
                "appleSignInConfig",
                object: { writer in
                    writer.field("bundleIds", config.appleBundleIDs)
                    guard config.appleKeyID != nil else { return }
                    writer.field(
                        "codeFlowConfig",
                        object: { writer in
                            writer.field("teamId", config.appleTeamID)
                            writer.field("keyId", config.appleKeyID)
                            writer.field("privateKey", config.applePrivateKey?.text)
                        }
                    )
                }
            )
        }
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
                "Accounts are linked under the present issuer; register the new one under another id."
            )
        case .tooLong: .code(.invalidConfig, "A value is too long.")
        }
    }
}
