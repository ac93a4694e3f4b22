import AccountAPI
import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import Delivery
import IdentityProviders
import Logging

/// Runs `body` with the operations that administrators use, on the database of the configuration. The process issues no
/// tokens and sends nothing: servers send the mails and webhooks that it writes.
/// - Throws: `ExitCode.answerIsNo`, after a report, for a refusal; other errors of `body`.
func withOperations<Output: Sendable>(
    _ configuration: ServeConfiguration,
    _ body: @escaping @Sendable (AccountOperations) async throws -> Output
) async throws -> Output {
    try await withSealingStore(configuration) { store, sealer in
        guard let project = try await ProjectCache.load(store: store, trust: .preset) else {
            throw StartupFailure.noProject
        }
        // Loads the webhooks that receive the changes.
        try await store.refreshWebhooks()
        let effects = Effects.system
        let (projectID, keys) = (project.settings.projectID, try SigningKeys.unpublished(effects))
        let passwords = try PasswordHasher(threadCount: 1, queueMax: 1, randomBytes: effects.randomBytes)
        let operations = AccountOperations(
            store: store,
            project: project,
            tokens: TokenAuthority(projectID: projectID, keys: keys),
            cookies: SessionCookieAuthority(projectID: projectID, keys: keys),
            customTokens: ServiceAccountTokens(store: store, projectID: projectID),
            passwords: passwords,
            providers: ProviderRegistry(
                configuration.providers,
                configuration.limits,
                logger: Logger(label: "concord") { _ in SwiftLogNoOpLogHandler() }
            ),
            sealer: sealer,
            mailLinks: MailLinks(base: configuration.listen.publicURL ?? "", page: .standard),
            effects: effects,
            webhooks: HTTPWebhookSender(
                // As `concord dev` sends.
                http: IssuerHTTPClient(
                    configuration.providers,
                    allowsLoopback: configuration.isBesideDevelopment,
                    resolver: .webhooks
                ),
                timeout: configuration.limits.providerCallTimeout
            ),
            apps: AppVerifiers(configuration, sealer: sealer),
            metrics: OperationMetrics()
        )
        do {
            let output = try await body(operations)
            await passwords.shutDown()
            return output
        } catch {
            await passwords.shutDown()
            guard let denial = error as? Denial else { throw error }
            complain("\(words(for: denial)); nothing was changed")
            throw ExitCode.answerIsNo
        }
    }
}

/// The text of a refusal of an administrator's change.
private func words(for denial: Denial) -> String {
    switch denial {
    case .refusal(.userNotFound): "there is no such account; to search by another identifier: concord account find"
    case .refusal(.accountMerged): "the account was merged into another; to find it: concord account merge show UID"
    case .webhook(.unknown): "there is no such endpoint; to list all: concord webhook list"
    case .webhook(.refusedURL):
        "the URL is refused: it must be https, without a fragment, and at an address that providers.allow_private_networks allows"
    case .webhook(.tooMany): "there are 10 endpoints already; delete one: concord webhook delete ID"
    default: "refused: \(denial)"
    }
}
