package import AccountLinking
package import AccountStore
package import Delivery
package import IdentityProviders

/// The use cases, one file each; this is what they share.
///
/// Every operation verifies credentials first, loads facts, lets a pure function decide and applies the decision. Safe
/// to call from any task, from any number of processes on one database.
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
    /// `User-Agent` of the client that calls, as sent; kept with the session that it opens.
    package var userAgent: String?
    let metrics: OperationMetrics
    /// `nil` in production, where nobody may list codes.
    let answeredLinks: AnsweredLinks?

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
        metrics: OperationMetrics
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
        self.answeredLinks = providers.isForDevelopment ? AnsweredLinks() : nil
    }

    var policy: LinkPolicy { project.settings.policy }

    package var hashKeys: HashKeys { HashKeys(store: store, sealer: sealer, effects: effects) }

    package var accountImport: AccountImport {
        AccountImport(store: store, passwords: passwords, effects: effects)
    }
}

/// What an operation says when it does not fail: a result, or a "no".
package enum Outcome<Value: Sendable>: Sendable {
    case success(Value)
    case denied(Denial)
}

/// Every "no" of the operations: what policy refuses, and what is wrong with what was presented.
package enum Denial: Error, Sendable, Hashable {
    case refusal(Refusal)
    case invalidIDToken
    case invalidRefreshToken
    /// Unknown, used, expired, or of another tenant: one answer, from which a stranger learns nothing.
    case invalidPendingToken
    /// Nothing can be done with the conflict now.
    case conflict(ConflictRefusal)
    /// The caller has seen another version of what is to be changed.
    case versionMismatch
    /// The sign-in of the session is too old for what is asked, on Concord's own routes.
    case reauthenticationRequired(ReauthenticationChallenge)
    /// Not again: the request was applied, and this was its answer.
    case answeredBefore([UInt8])
    /// Something else was asked under the same key.
    case idempotencyKeyReused
    case providerNotRegistered
    /// No other method that works would be left to these.
    case usersLockedOut(LockedOutUsers)
    case webhook(WebhookDenial)
    case merge(MergeDenial)
    case emailCode(EmailCodeDenial)
    case phone(PhoneDenial)
    /// The provider's credential proves nothing.
    case invalidCredential(InvalidCredential)
    /// Not an address that a browser can be sent back to.
    case invalidContinueURI
    /// Browsers are not sent to that host.
    case unauthorizedDomain
    /// More is to be told to a provider's page than fits into an address.
    case parametersTooLong
    /// A parameter of the consent page that belongs to the flow; one of ours by name.
    case reservedParameter(String)
    case tenantMismatch
    case invalidEmail
    case invalidPhoneNumber
    case secondFactor(SecondFactorDenial)
    case claimsTooLarge
    case invalidClaims
    /// A claim has a name that only the service itself may set.
    case forbiddenClaim(String)
    /// `reason` is for developers and quotes nothing that was sent.
    case invalidCustomToken(reason: String)
    /// The custom token is of another project.
    case credentialMismatch
    /// The custom token names no user.
    case missingIdentifier
    /// The password does not meet the project's policy.
    case passwordPolicy(missing: [PasswordPolicy.Requirement])
    /// The password is shorter than the project wants it.
    case weakPassword(lengthMin: Int)
    /// The password is one of the first that a guesser tries.
    case commonPassword
    /// The password is longer than `WeakPassword.lengthMax`.
    case passwordTooLong
    /// The project's limits allow no more of these for now.
    case limitReached(LimitedRow)
}

/// Facts kept moving while a decision was taken, again and again: somebody else is changing the same account as fast.
package struct Contention: Error, Sendable {}

/// How often a decision is taken again because its facts moved before the caller is told to come back. In each round
/// of writers that meet one is applied, so this many can stand in line; the waits add up to four seconds.
private let attemptsMax = 64

/// Runs `attempt` until it has an answer. An attempt that returns `nil` found its facts moved.
///
/// Everything that must not differ between attempts, such as ids, secrets and the time, is made before.
func retrying<Output: Sendable>(
    _ effects: Effects,
    _ attempt: () async throws -> Output?
) async throws -> Output {
    for number in 1...attemptsMax {
        if let output = try await attempt() { return output }
        // Two writers that collided once should not collide again in step.
        let millisecondsMax = UInt64(1 << min(number, 7))
        let bytes = effects.randomBytes(2)
        let jitter = (UInt64(bytes[0]) << 8 | UInt64(bytes[1])) % (millisecondsMax * 1000)
        try await Task.sleep(for: .microseconds(jitter))
    }
    throw Contention()
}

extension AccountOperations {
    /// As `retrying`, for what ends in an outcome.
    func decideAndApply<Value: Sendable>(
        _ attempt: () async throws -> Outcome<Value>?
    ) async throws -> Outcome<Value> {
        try await retrying(effects, attempt)
    }

    /// Says no because a rule does, and counts that: each such "no" leaves the operations through here, once.
    func refused<Value>(_ denial: Denial, by rule: Rule) -> Outcome<Value> {
        metrics.decided(rule)
        return .denied(denial)
    }
}
