import AccountAPI
import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import JSON
import Postgres

/// A sign-in method that `concord setup` can turn on.
enum SetupMethod: String, CaseIterable, Sendable, ExpressibleByArgument {
    case email
    case emailLink = "email-link"
    case phone
    case anonymous

    /// The fields of the project's configuration, with their values. E-mail links are an addition to passwords.
    var fields: [(path: [String], value: Bool)] {
        switch self {
        case .email: [(["signIn", "email", "enabled"], true)]
        case .emailLink: [(["signIn", "email", "enabled"], true), (["signIn", "email", "passwordRequired"], false)]
        case .phone: [(["signIn", "phoneNumber", "enabled"], true)]
        case .anonymous: [(["signIn", "anonymous", "enabled"], true)]
        }
    }

    var question: String {
        switch self {
        case .email: "Sign-in with e-mail address and password?"
        case .emailLink: "Sign-in with a link in a mail?"
        case .phone: "Sign-in with a code sent to a phone?"
        case .anonymous: "Anonymous accounts?"
        }
    }
}

/// A provider to register or to change.
struct SetupProvider: Sendable, Hashable {
    let id: String
    let clientID: String
    /// `nil` keeps the present secret.
    var secret: String?
    /// `nil` keeps the present issuer. Only for `oidc.*`.
    var issuer: String?

    private var item: JSONValue {
        var members: [String: JSONValue] = ["enabled": .bool(true), "clientId": .string(clientID)]
        if let secret { members["clientSecret"] = .string(secret) }
        if let issuer { members["issuer"] = .string(issuer) }
        return .object(members)
    }

    /// The registration after the setup. Fields that the setup does not name stay as they are.
    /// - Throws: `ProviderConfigMistake`.
    func config(_ present: [ProviderConfig]) throws -> ProviderConfig {
        let named = try ProviderConfig(of: id, reading: item)
        guard var config = present.first(where: { $0.provider == named.provider }) else { return named }
        config.isEnabled = true
        config.clientID = named.clientID
        config.clientSecret = named.clientSecret ?? config.clientSecret
        config.issuer = named.issuer ?? config.issuer
        return config
    }
}

/// The state that `concord setup` establishes. It only adds: what is not named stays as it is.
struct SetupPlan: Sendable {
    /// `nil`: the existing project.
    var projectID: String?
    var methods: [SetupMethod] = []
    var domains: [AuthorizedDomain] = []
    var providers: [SetupProvider] = []
}

/// The result for one object.
struct SetupStep: Sendable, Hashable {
    let subject: String
    let outcome: String
    /// `false` if it was already there.
    let isChange: Bool

    static let unchanged = "already there"

    init(_ subject: String, _ change: String?) {
        self.subject = subject
        outcome = change ?? Self.unchanged
        isChange = change != nil
    }
}

/// Brings a migrated database to the state of a plan. Two setups at once end in the same state.
struct Setup: Sendable {
    let store: AccountStore
    let sealer: Sealer?
    let plan: SetupPlan

    private static let reason = "concord setup"
    private static let attemptsMax = 8

    static let missingKeys = StartupFailure(
        "keys.encryption: required to register providers; set CONCORD_KEYS_ENCRYPTION=\"1:$(openssl rand -base64 32)\"",
        .badConfiguration
    )

    struct Result: Sendable {
        let projectID: String
        let apiKey: String
        let steps: [SetupStep]
    }

    /// - Throws: `StartupFailure`; `ExitCode.answerIsNo` after a report; `PostgresError`.
    func run() async throws -> Result {
        let isNew = try await createProject()
        guard let (project, apiKeys) = try await store.project() else { throw StartupFailure.noProject }
        if let wanted = plan.projectID, wanted != project.projectID {
            throw StartupFailure("this database belongs to project \(project.projectID), not \(wanted)", .answerIsNo)
        }
        let steps =
            [SetupStep("project \(project.projectID)", isNew ? "created" : nil)] + (try await changeSettings())
            + (try await registerProviders())
        return Result(projectID: project.projectID, apiKey: apiKeys.min() ?? "", steps: steps)
    }

    private func createProject() async throws -> Bool {
        guard let id = plan.projectID else { return false }
        let project = ProjectRecord(
            projectID: id,
            projectNumber: Int64.random(in: 100_000_000_000...999_999_999_999),
            settings: ProjectSettings.productionDefaults
        )
        return try await store.createProject(project, apiKey: NewAPIKey.make(.system), by: .operator())
    }

    /// Turns methods on and adds domains, in one new version of the policy. Tries again if another command was faster.
    private func changeSettings() async throws -> [SetupStep] {
        guard !plan.methods.isEmpty || !plan.domains.isEmpty else { return [] }
        for _ in 0..<Self.attemptsMax {
            guard let (project, _) = try await store.project() else { throw StartupFailure.noProject }
            let (change, steps) = try Self.change(plan, of: project.settings)
            let outcome = try await store.apply(
                PolicyProposal(settings: change, providers: [:]),
                at: Effects.system.now(),
                by: .operator(reason: Self.reason),
                expectedVersion: project.version
            )
            switch outcome {
            case .applied, .inForce: return steps
            case .otherVersion: continue
            case .missingProject, .providerNotRegistered, .testPhoneNumberInUse, .imageMissing:
                throw StartupFailure.noProject
            }
        }
        throw StartupFailure("the policy changes all the time; run the command again", .answerIsNo)
    }

    /// The change of `settings`, and what it does for each method and domain.
    static func change(
        _ plan: SetupPlan,
        of settings: JSONValue
    ) throws -> (change: ProjectConfigChange, steps: [SetupStep]) {
        var (body, mask, steps) = (JSONValue.object([:]), Set<String>(), [SetupStep]())
        for method in plan.methods {
            var alone = JSONValue.object([:])
            for field in method.fields { alone = alone.setting(.bool(field.value), at: field.path[...]) }
            for field in method.fields { body = body.setting(.bool(field.value), at: field.path[...]) }
            let names = method.fields.map { $0.path.joined(separator: ".") }
            mask.formUnion(names)
            let isOn = try ProjectConfigChange(body: alone, mask: names.joined(separator: ",")).isInForce(in: settings)
            steps.append(SetupStep("sign-in \(method.rawValue)", isOn ? nil : "turned on"))
        }
        if !plan.domains.isEmpty {
            var texts = settings["authorizedDomains"]?.array?.compactMap(\.string) ?? []
            for domain in plan.domains {
                let isListed = texts.contains(domain.text)
                if !isListed { texts.append(domain.text) }
                steps.append(SetupStep("authorized domain \(domain.text)", isListed ? nil : "added"))
            }
            body = body.setting(.array(texts.map { .string($0) }), at: ["authorizedDomains"])
            mask.insert("authorizedDomains")
        }
        return (try ProjectConfigChange(body: body, mask: mask.sorted().joined(separator: ",")), steps)
    }

    private func registerProviders() async throws -> [SetupStep] {
        guard !plan.providers.isEmpty else { return [] }
        guard let sealer else { throw Self.missingKeys }
        // A wrong key must seal nothing.
        try await SigningKeys.check(store, sealer)
        let registrations = ProviderRegistrations(store: store, sealer: sealer, effects: .system)
        let present = try await registrations.all()
        let configs = try plan.providers.map { provider in
            do {
                return try provider.config(present)
            } catch let mistake as ProviderConfigMistake {
                throw StartupFailure("--provider \(provider.id): \(mistake.description)", .validationFailure)
            }
        }
        switch try await registrations.apply(configs) {
        case .success(let outcomes):
            return zip(configs, outcomes).map { config, outcome in
                SetupStep("provider \(config.provider.rawValue)", outcome == .unchanged ? nil : outcome.rawValue)
            }
        case .failure(let denials):
            for (provider, denial) in denials.byProvider.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                complain("\(provider.rawValue): \(denial.explanation)")
            }
            complain("no provider was registered")
            throw ExitCode.answerIsNo
        }
    }
}
