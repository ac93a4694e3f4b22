import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import FoundationEssentials
import IdentityProviders
import JSON

/// `concord providers`: the registrations of identity providers.
struct ProvidersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "providers",
        abstract: "Register identity providers, or list them.",
        subcommands: [Apply.self, List.self]
    )
}

extension ProvidersCommand {
    /// `concord providers apply`
    struct Apply: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Register the identity providers that a file describes.",
            discussion: """
                Replaces the registration of each provider in the file; other providers stay as they are. Applies the \
                whole file or nothing. Running servers follow within \(ProjectCache.stalenessSeconds) seconds.

                EXAMPLES
                  concord providers apply --dry-run providers.yaml
                  concord providers apply providers.yaml
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Flag(help: "Check the file and print what would change, without changing anything.")
        var dryRun = false

        @Argument(help: ArgumentHelp("The file, in YAML.", valueName: "providers.yaml"))
        var file: String

        func perform() async throws {
            let serving = try ServeConfiguration(try configuration.sources())
            let configs = try ProvidersFile(path: file) { path in
                FileManager.default.contents(atPath: path).map(Array.init)
            }.configs
            let (result, policy) = try await withSealingStore(serving) { store, sealer in
                let result = try await ProviderRegistrations(store: store, sealer: sealer, effects: .system)
                    .apply(configs, isRehearsal: dryRun)
                return (result, try await ProjectCache.load(store: store, trust: .preset)?.settings.policy)
            }
            switch result {
            case .failure(let denials):
                for (provider, denial) in denials.byProvider.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                    complain("\(provider.rawValue): \(denial.explanation)")
                }
                complain("nothing was changed")
                throw ExitCode.answerIsNo
            case .success(let outcomes):
                for (config, outcome) in zip(configs, outcomes) {
                    try say("\(padded(config.provider.rawValue, to: 16))  \(outcome.rawValue)")
                }
                // Also for unchanged registrations, because the policy may have changed.
                for config in configs {
                    for warning in policy.map(config.warnings) ?? [] {
                        complain("warning: \(config.provider.rawValue): \(warning.text)")
                    }
                }
                if dryRun { try say("nothing was changed yet") }
            }
        }
    }

    /// `concord providers list`
    struct List: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print every registration, without its secrets.",
            discussion: """
                EXAMPLES
                  concord providers list
                  concord providers list --format ndjson | jq -r .provider
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Option(help: "Output format.")
        var format: ListFormat = .text

        func perform() async throws {
            let database = try DatabaseConfiguration(try configuration.sources())
            let records = try await withClient(database.postgres) { client in
                try await AccountStore(client: client).providerConfigs(tenant: .project)
            }
            switch format {
            case .text: for record in records { try say(Self.line(record)) }
            case .json, .ndjson: try Self.listing.write(records, as: format)
            }
        }

        private static func line(_ record: ProviderConfigRecord) -> String {
            let state = record.isEnabled ? "enabled" : "disabled"
            let domains = record.emailDomains.joined(separator: ",")
            return "\(padded(record.provider.rawValue, to: 16))  \(padded(state, to: 8))  \(record.clientID ?? "-")"
                + (domains.isEmpty ? "" : "  emailDomains: \(domains)")
        }

        private static var listing: Listing<ProviderConfigRecord> {
            Listing([
                .init("provider", nil) { .string($0.provider.rawValue) },
                .init("enabled", nil) { .bool($0.isEnabled) },
                .init("clientId", nil) { $0.clientID.map { .string($0) } },
                .init("issuer", nil) { $0.issuer.map { .string($0) } },
                .init("emailDomains", nil) { .array($0.emailDomains.map { .string($0) }) },
            ])
        }
    }
}

extension ProviderConfigDenial {
    /// The text of the mistake for the author of the registration.
    var explanation: String {
        switch self {
        case .alreadyRegistered: "registered already"
        case .notRegistered: "not registered"
        case .missingClientID: "clientId is missing"
        case .missingIssuer: "issuer is missing"
        case .invalidIssuer: "issuer has to be an https URL without query or fragment"
        case .issuerInUse: "accounts are linked under another issuer; register this one under another id"
        case .invalidAddress(let name): "addresses.\(name.rawValue) has to be an https URL without fragment"
        case .tooManyEmailDomains: "emailDomains may name \(ProviderConfig.emailDomainsMax) domains at most"
        case .emailDomainsOfKnownIssuer(let known):
            "the issuer belongs to \(known.rawValue), which has separate rules for addresses; remove emailDomains"
        case .tooLong: "a value is too long"
        }
    }
}
