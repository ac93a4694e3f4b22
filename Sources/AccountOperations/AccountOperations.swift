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
    /// Everything but the caller's properties. One reference, because every request copies this value.
    private var services: Services
    /// `User-Agent` of the calling client, as sent. Stored with the session that it opens.
    package var userAgent: String?

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
        services = Services(
            Services.Parts(
                store: store,
                project: project,
                tokens: tokens,
                cookies: cookies,
                customTokens: customTokens,
                passwords: passwords,
                providers: providers,
                sealer: sealer,
                mailLinks: mailLinks,
                effects: effects,
                webhooks: webhooks,
                apps: apps,
                developmentNumbers: developmentNumbers,
                metrics: metrics,
                spans: spans,
                answeredLinks: providers.isForDevelopment ? ReturnedLinks() : nil
            )
        )
    }

    package var store: AccountStore { services.parts.store }
    package var project: ProjectCache { services.parts.project }
    package var tokens: TokenAuthority { services.parts.tokens }
    package var cookies: SessionCookieAuthority { services.parts.cookies }
    package var customTokens: any CustomTokenVerifier { services.parts.customTokens }
    package var passwords: PasswordHasher { services.parts.passwords }
    package var providers: ProviderRegistry { services.parts.providers }
    package var sealer: Sealer { services.parts.sealer }
    package var mailLinks: MailLinks { services.parts.mailLinks }
    package var effects: Effects { services.parts.effects }
    package var webhooks: any WebhookSending { services.parts.webhooks }
    var metrics: OperationMetrics { services.parts.metrics }
    var logos: LogoCache { services.parts.logos }
    /// `nil` in production, where codes cannot be listed.
    var answeredLinks: ReturnedLinks? { services.parts.answeredLinks }

    package var apps: AppVerifiers {
        get { services.parts.apps }
        set { services = services.replacing(\.apps, with: newValue) }
    }
    /// `nil` in production.
    package var developmentNumbers: DevelopmentNumbers? {
        get { services.parts.developmentNumbers }
        set { services = services.replacing(\.developmentNumbers, with: newValue) }
    }
    package var spans: Spans {
        get { services.parts.spans }
        set { services = services.replacing(\.spans, with: newValue) }
    }

    var policy: LinkPolicy { project.settings.policy }

    package var hashKeys: HashKeys { HashKeys(store: store, sealer: sealer, effects: effects) }

    package var accountImport: AccountImport {
        AccountImport(store: store, passwords: passwords, effects: effects)
    }
}

/// The parts that all operations of a server share.
private final class Services: Sendable {
    struct Parts: Sendable {
        let store: AccountStore
        let project: ProjectCache
        let tokens: TokenAuthority
        let cookies: SessionCookieAuthority
        let customTokens: any CustomTokenVerifier
        let passwords: PasswordHasher
        let providers: ProviderRegistry
        let sealer: Sealer
        let mailLinks: MailLinks
        let effects: Effects
        let webhooks: any WebhookSending
        var apps: AppVerifiers
        var developmentNumbers: DevelopmentNumbers?
        let metrics: OperationMetrics
        var spans: Spans
        let logos = LogoCache()
        let answeredLinks: ReturnedLinks?
    }

    let parts: Parts

    init(_ parts: Parts) {
        self.parts = parts
    }

    func replacing<Value>(_ path: WritableKeyPath<Parts, Value>, with value: Value) -> Services {
        var parts = parts
        parts[keyPath: path] = value
        return Services(parts)
    }
}
