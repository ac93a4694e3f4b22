import AccountLinking
package import AccountStore
package import Delivery
package import IdentityProviders
package import Spans

/// The use cases, one file each. This type holds what they share.
///
/// Every operation verifies credentials, loads facts, lets a pure function decide and applies the decision. Safe to
/// call from any task, and from any number of processes on one database.
package struct AccountOperations: Sendable {
    package let store: AccountStore
    package let project: ProjectCache
    package let tokens: TokenAuthority
    package let cookies: SessionCookieAuthority
    package let customTokens: any CustomTokenVerifier
    package let passwords: PasswordHasher
    package let providers: ProviderRegistry
    package let sealer: Sealer
    package let mailLinks: MailLinks
    package let effects: Effects
    package let webhooks: any WebhookSending
    package var apps: AppVerifiers
    /// `nil` in production.
    package var developmentNumbers: DevelopmentNumbers?
    /// `User-Agent` of the calling client, as sent. Stored with the session that it opens.
    package var userAgent: String?
    let metrics: OperationMetrics
    package var spans: Spans
    let logos = LogoCache()
    /// `nil` in production, where codes cannot be listed.
    let answeredLinks: ReturnedLinks?

    package init(
        store: AccountStore,
        project: ProjectCache,
        tokens: TokenAuthority,
        cookies: SessionCookieAuthority,
        customTokens: any CustomTokenVerifier,
        passwords: PasswordHasher,
        providers: ProviderRegistry,
        sealer: Sealer,
        mailLinks: MailLinks,
        effects: Effects,
        webhooks: any WebhookSending,
        apps: AppVerifiers,
        developmentNumbers: DevelopmentNumbers? = nil,
        metrics: OperationMetrics,
        spans: Spans = .off
    ) {
        self.store = store
        self.project = project
        self.tokens = tokens
        self.cookies = cookies
        self.customTokens = customTokens
        self.passwords = passwords
        self.providers = providers
        self.sealer = sealer
        self.mailLinks = mailLinks
        self.effects = effects
        self.webhooks = webhooks
        self.apps = apps
        self.developmentNumbers = developmentNumbers
        self.metrics = metrics
        self.spans = spans
        self.answeredLinks = providers.isForDevelopment ? ReturnedLinks() : nil
    }

    var policy: LinkPolicy { project.settings.policy }

    package var hashKeys: HashKeys { HashKeys(store: store, sealer: sealer, effects: effects) }

    package var accountImport: AccountImport {
        AccountImport(store: store, passwords: passwords, effects: effects)
    }
}
