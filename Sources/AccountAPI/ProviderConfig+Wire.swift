import AccountLinking
package import AccountOperations
import IdentityProviders
package import JSON

/// The two collections of provider registrations. They differ in the ids that they hold and in the fields of an item.
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

    func holds(_ provider: ProviderID) -> Bool {
        switch self {
        case .oauth: provider.isOpenIDConnect && provider.rawValue.utf8.count > "oidc.".utf8.count
        case .defaultSupported: KnownProvider.byID[provider] != nil
        }
    }
}

extension ProviderConfig {
    /// Reads a registration whose fields are those of an item of the admin API (docs/guides/providers.md). Fields that are left
    /// out have their defaults.
    /// - Throws: `ProviderConfigMistake`, also for a field that does not exist or is not allowed for the provider,
    ///   because a person wrote the registration.
    package init(of id: String, reading item: JSONValue) throws(ProviderConfigMistake) {
        guard let provider = ProviderID(id),
            let collection = ProviderConfigCollection.allCases.first(where: { $0.holds(provider) })
        else { throw ProviderConfigMistake(description: "unknown provider: use a supported provider or oidc.NAME") }
        guard let members = item.object else {
            throw ProviderConfigMistake(description: "must be an object with the fields of the provider")
        }
        self.init(provider: provider)
        do {
            let body = RequestBody(members: members)
            for field in ProviderConfigField.all(of: collection) { try field.read(body, &self) }
        } catch {
            throw ProviderConfigMistake(description: error.message)
        }
        let taken = try? JSONValue(parsing: JSONWriter.object { $0.fields(of: self, showsFalse: true) })
        if let field = item.firstField(missingFrom: taken ?? .null) {
            throw ProviderConfigMistake(description: "\(field) is unknown, empty or not allowed here")
        }
    }
}

/// A mistake in a registration, for the person who wrote it. Quotes no value.
package struct ProviderConfigMistake: Error, Sendable, CustomStringConvertible {
    package let description: String
}

extension JSONValue {
    /// The path of a field of this value that `other` does not have.
    fileprivate func firstField(missingFrom other: JSONValue) -> String? {
        guard let members = object else { return nil }
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            guard let counterpart = other[name] else { return name }
            if let rest = value.firstField(missingFrom: counterpart) { return "\(name).\(rest)" }
        }
        return nil
    }
}

/// One field of an item that an update mask can name.
struct ProviderConfigField: Sendable {
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
        // Concord's own (docs/guides/providers.md): production has no other addresses than the providers'.
        ProviderConfigField(name: "addresses") { body, config throws(APIError) in
            config.addresses = try addresses(body.object("addresses"))
        },
    ]

    private static func addresses(_ object: RequestBody?) throws(APIError) -> [ProviderAddress: String] {
        guard let object else { return [:] }
        var addresses: [ProviderAddress: String] = [:]
        for name in object.names {
            guard let known = ProviderAddress(rawValue: name) else {
                throw .code(.invalidConfig, "addresses names an unknown endpoint.")
            }
            addresses[known] = try object.nonEmptyString(name)
        }
        return addresses
    }

    private static let oauth: [ProviderConfigField] = [
        ProviderConfigField(name: "displayName") { body, config throws(APIError) in
            config.displayName = try body.nonEmptyString("displayName")
        },
        ProviderConfigField(name: "issuer") { body, config throws(APIError) in
            config.issuer = try body.nonEmptyString("issuer")
        },
        // Concord's own (docs/guides/providers.md): production believes every issuer about every domain.
        ProviderConfigField(name: "emailDomains") { body, config throws(APIError) in
            config.emailDomains = try emailDomains(body.strings("emailDomains"))
        },
        ProviderConfigField(name: "responseType") { body, config throws(APIError) in
            guard let type = try body.object("responseType") else { return }
            config.acceptsAuthorizationCodes = try type.bool("code") ?? false
            config.acceptsIDTokens = try type.bool("idToken") ?? !config.acceptsAuthorizationCodes
        },
    ]

    /// Each domain once, in one order, so that a list in another order is no change.
    private static func emailDomains(_ texts: [String]) throws(APIError) -> [EmailDomain] {
        var domains: Set<EmailDomain> = []
        for text in texts {
            guard let domain = EmailDomain(text) else {
                throw .code(
                    .invalidConfig,
                    "Each of emailDomains must be the domain of an email address, such as example.com."
                )
            }
            domains.insert(domain)
        }
        return domains.sorted()
    }

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
    /// The fields of an item without its name.
    ///
    /// `showsFalse`: includes the members of `responseType` that are false. Answers leave them out, as production does.
    mutating func fields(of config: ProviderConfig, showsFalse: Bool = false) {
        field("enabled", config.isEnabled)
        field("displayName", config.displayName)
        field("clientId", config.clientID)
        field("clientSecret", config.clientSecret?.text)
        if config.provider.isOpenIDConnect {
            field("issuer", config.issuer)
            field("responseType") { writer in
                let types = [("idToken", config.acceptsIDTokens), ("code", config.acceptsAuthorizationCodes)]
                for (name, isAccepted) in types where isAccepted || showsFalse { writer.field(name, isAccepted) }
            }
            if !config.emailDomains.isEmpty { field("emailDomains", config.emailDomains.map(\.rawValue)) }
        } else if config.provider == .apple {
            field("appleSignInConfig") { writer in
                writer.field("bundleIds", config.appleBundleIDs)
                guard config.appleKeyID != nil else { return }
                writer.field("codeFlowConfig") { writer in
                    writer.field("teamId", config.appleTeamID)
                    writer.field("keyId", config.appleKeyID)
                    writer.field("privateKey", config.applePrivateKey?.text)
                }
            }
        }
        guard !config.addresses.isEmpty else { return }
        field("addresses") { writer in
            for name in ProviderAddress.allCases { writer.field(name.rawValue, config.addresses[name]) }
        }
    }
}
