package import AccountLinking
package import AccountStore
package import JSON

/// The project's settings for rules and operations, parsed from their wire form.
package struct ProjectSettings: Sendable, Hashable {
    package let projectID: String
    package let projectNumber: Int64
    package let policy: LinkPolicy
    package let conflictLifetimeSeconds: Int64
    /// Time in which a suspended method can be restored; 0: methods are not suspended.
    package let quarantineSeconds: Int64
    package let sessionLifetimes: SessionLifetimes
    /// Time in which the mail about a change of sign-in methods can undo it; 0: owners are not mailed.
    let revertSeconds: Int64
    let mergeAnswerSeconds: Int64
    let mergeUndoSeconds: Int64
    /// Retention of events; `nil`: forever.
    package let eventRetentionSeconds: Int64?
    package let passwordPolicy: PasswordPolicy
    /// Hosts to which codes and sessions may be sent.
    package let authorizedDomains: [AuthorizedDomain]
    /// Domains whose links open the app, in lower case. The first is the default of a request.
    package let linkDomains: [String]
    /// Native apps to which browsers may be sent back.
    package let apps: [RegisteredApp]
    /// Test numbers, each with its code.
    package let testPhoneNumbers: [PhoneNumber: String]
    let messageRegions: MessageRegions
    /// Lifetime of a code sent to a number.
    let phoneCodeSeconds: Int64
    /// Time in which a number gets no second message.
    let messageWindowSeconds: Int64
    let messageLimits: [MessageLimit]
    let mailLimits: [MessageLimit]
    let guessLimits: [MessageLimit]
    let rowLimits: [LimitedResource: [MessageLimit]]
    /// Number of time steps before and after the current one in which an app's code is accepted.
    let totpAdjacentSteps: Int64
    /// Text that replaces the message in the requested language.
    let messageTemplate: String?
    private let codeSeconds: [EmailCodeRecord.Kind: Int64]
    /// Name of the app; `nil` if it is not set.
    package let displayName: String?
    /// Language of mails if a request has none: a BCP 47 tag.
    package let defaultLocale: String
    /// The stored settings, for answers that show them.
    package let stored: JSONValue

    /// - `version`: version of the stored settings.
    /// - `trust`: built-in table of trust; a setting of the process.
    /// - `registrations`: the project's providers. Their domains are rules of trust, with their issuers.
    package init(
        projectID: String,
        projectNumber: Int64,
        stored: JSONValue,
        version: Int64,
        trust: EmailTrustBase,
        registrations: [ProviderConfigRecord]
    ) {
        self.projectID = projectID
        self.projectNumber = projectNumber
        self.stored = stored

        // Absent fields have the defaults of `ProjectConfigField`.
        func value(_ path: [String]) -> JSONValue? {
            ProjectConfigField.all.first { $0.path == path }?.value(in: stored)
        }
        func isOn(_ path: String...) -> Bool { value(path)?.bool ?? false }
        var policy = LinkPolicy()
        policy.version = version
        let tables = StoredPolicy(version: version, settings: stored)
        policy.preset = LinkPolicyPreset(of: stored)
        func choice<Choice: RawRepresentable<String>>(_ path: String..., otherwise: Choice) -> Choice {
            value(path)?.string.flatMap(Choice.init(rawValue:)) ?? otherwise
        }
        policy.emailTrust = trust.table(of: choice("linkPolicy", "emailTrust", otherwise: policy.preset))
            // The last rule for a scope wins: the operator's rules come last.
            .adding(registrations.flatMap(\.emailTrust)).adding(tables.emailTrust)
        policy.registeredIssuers = registrations.reduce(into: [:]) { $0[$1.provider] = $1.issuer }
        policy.subjectChange = choice("linkPolicy", "subjectChange", otherwise: policy.subjectChange)
        policy.linkingNeedsRecentSignIn = isOn("linkPolicy", "linkingNeedsRecentSignIn")
        policy.secondFactorsNeedProvenAddress = isOn("linkPolicy", "secondFactorsNeedProvenAddress")
        policy.firstProofEndsSessions = isOn("linkPolicy", "firstProofEndsSessions")
        policy.countsProviderAuthTime = isOn("linkPolicy", "countsProviderAuthTime")
        policy.requiresHTTPSContinueURLs = !isOn("linkPolicy", "httpContinueURLs")
        policy.authorizesSubdomains = isOn("linkPolicy", "authorizesSubdomains")
        policy.conflictProofRules = tables.conflictProofs
        policy.isOneAccountPerEmail = !isOn("signIn", "allowDuplicateEmails")
        policy.protectsEmailEnumeration = isOn("emailPrivacyConfig", "enableImprovedEmailPrivacy")
        policy.allowsPasswordSignIn = isOn("signIn", "email", "enabled")
        policy.allowsEmailLinkSignIn = policy.allowsPasswordSignIn && !isOn("signIn", "email", "passwordRequired")
        policy.allowsPhoneSignIn = isOn("signIn", "phoneNumber", "enabled")
        policy.allowsAnonymousSignUp = isOn("signIn", "anonymous", "enabled")
        policy.allowsClientSignUp = !isOn("client", "permissions", "disabledUserSignup")
        policy.allowsClientDeletion = !isOn("client", "permissions", "disabledUserDeletion")
        policy.passwordResetUnlinksProviders = isOn("concord", "passwordReset", "unlinksProviders")
        policy.keepsLastSignInMethod = isOn("concord", "keepsLastSignInMethod")
        // Either state means that an administrator turned it on.
        func isEnabled(_ state: JSONValue?) -> Bool { ["ENABLED", "MANDATORY"].contains(state?.string) }
        policy.requiresEnrolledSecondFactors = isEnabled(value(["mfa", "state"]))
        let factorConfigs = value(["mfa", "providerConfigs"])?.array ?? []
        let totp = factorConfigs.first { $0["totpProviderConfig"] != nil }
        if policy.requiresEnrolledSecondFactors {
            let kinds = value(["mfa", "enabledProviders"])?.array ?? []
            if kinds.contains(.string("PHONE_SMS")) { policy.enrollableSecondFactors.insert(.phone) }
            if isEnabled(totp?["state"]) { policy.enrollableSecondFactors.insert(.totp) }
        }
        self.totpAdjacentSteps = totp?["totpProviderConfig"]?["adjacentIntervals"]?.integer ?? TOTP.adjacentSteps
        if let seconds = value(["concord", "recentSignInSeconds"])?.integer { policy.recentSignInSeconds = seconds }
        self.policy = policy
        self.conflictLifetimeSeconds =
            value(["concord", "conflictLifetimeSeconds"])?.integer ?? Lifetimes.conflictSeconds
        self.quarantineSeconds = value(["concord", "quarantineSeconds"])?.integer ?? Lifetimes.quarantineSeconds
        func limit(_ path: String...) -> Int64? { value(path)?.integer.flatMap { $0 > 0 ? $0 : nil } }
        self.sessionLifetimes = SessionLifetimes(
            inactivitySeconds: limit("concord", "sessions", "inactivitySeconds"),
            absoluteSeconds: limit("concord", "sessions", "absoluteSeconds")
        )
        self.revertSeconds = value(["concord", "revertSeconds"])?.integer ?? Lifetimes.revertSeconds
        self.mergeAnswerSeconds =
            value(["concord", "merges", "answerSeconds"])?.integer ?? Lifetimes.mergeAnswerSeconds
        self.mergeUndoSeconds = value(["concord", "merges", "undoSeconds"])?.integer ?? Lifetimes.mergeUndoSeconds
        let days = value(["concord", "decisionRetentionDays"])?.integer ?? Lifetimes.decisionDays
        self.eventRetentionSeconds = days == 0 ? nil : days * 86_400
        self.authorizedDomains =
            value(["authorizedDomains"])?.array?.compactMap { $0.string.flatMap(AuthorizedDomain.init) } ?? []
        self.linkDomains =
            value(["concord", "linkDomains"])?.array?.compactMap { $0.string?.lowercased() } ?? []
        self.apps = value(["concord", "apps"])?.array?.map(RegisteredApp.init) ?? []
        let fictional = value(["signIn", "phoneNumber", "testPhoneNumbers"])?.object ?? [:]
        self.testPhoneNumbers = Dictionary(
            fictional.compactMap { number, code in
                PhoneNumber(number).flatMap { number in code.string.map { (number, $0) } }
            },
            uniquingKeysWith: { first, _ in first }
        )
        self.messageRegions = MessageRegions(stored: stored["smsRegionConfig"])
        self.phoneCodeSeconds = value(["concord", "sms", "codeSeconds"])?.integer ?? Lifetimes.phoneCodeSeconds
        self.messageWindowSeconds =
            value(["concord", "sms", "windowSeconds"])?.integer ?? Lifetimes.messageWindowSeconds
        func limits(_ all: [(name: String, limit: MessageLimit)], _ group: String) -> [MessageLimit] {
            all.compactMap { name, limit in
                var limit = limit
                limit.countMax = value(["concord", group, name])?.integer ?? limit.countMax
                return limit.countMax > 0 ? limit : nil
            }
        }
        self.messageLimits = limits(MessageLimits.all, "sms")
        self.mailLimits = limits(MessageLimits.ofMails, "mail")
        self.guessLimits = limits(MessageLimits.ofGuesses, "shortCodes")
        self.rowLimits = Dictionary(
            uniqueKeysWithValues: LimitedResource.allCases.map { ($0, limits($0.limits, $0.rawValue)) }
        )
        self.messageTemplate = stored["notification"]?["sendSms"]?["smsTemplate"]?["content"]?.string
        self.codeSeconds = Dictionary(
            uniqueKeysWithValues: EmailCodeRecord.Kind.allCases.map { kind in
                (kind, value(["concord", "codeLifetimes", kind.rawValue])?.integer ?? Lifetimes.codeSeconds(kind))
            }
        ).merging([.revertSignInMethodChange: revertSeconds]) { $1 }
        self.displayName = value(["concord", "displayName"])?.string.flatMap { $0.isEmpty ? nil : $0 }
        self.defaultLocale = value(["notification", "defaultLocale"])?.string ?? "en"
        self.passwordPolicy = PasswordPolicy(
            stored: stored["passwordPolicyConfig"],
            lengthMin: value(["concord", "passwords", "lengthMin"])?.integer,
            refusesCommon: isOn("concord", "passwords", "refusesCommon")
        )
    }

    /// Lifetime of a mailed code.
    package func codeSeconds(_ kind: EmailCodeRecord.Kind) -> Int64 {
        codeSeconds[kind] ?? Lifetimes.codeSeconds(kind)
    }

    /// Settings of a new production project: every method is off, addresses are protected, and no web page may receive
    /// codes or sessions. The preset is stored, because a project without one is older than presets.
    package static let productionDefaults: JSONValue = .object([
        "linkPolicy": .object(["preset": .string(LinkPolicyPreset.strict.rawValue)])
    ])

    /// Settings of `concord dev`: every method is on, addresses are not protected, and apps on this machine are
    /// authorized (docs/reference/differences.md).
    package static let developmentDefaults: JSONValue = .object([
        "linkPolicy": .object(["preset": .string(LinkPolicyPreset.strict.rawValue)]),
        "authorizedDomains": .array([.string("localhost"), .string("127.0.0.1")]),
        "signIn": .object([
            "email": .object(["enabled": .bool(true), "passwordRequired": .bool(false)]),
            "phoneNumber": .object(["enabled": .bool(true)]),
            "anonymous": .object(["enabled": .bool(true)]),
            "allowDuplicateEmails": .bool(false),
        ]),
        "emailPrivacyConfig": .object(["enableImprovedEmailPrivacy": .bool(false)]),
        "mfa": .object([
            "state": .string("ENABLED"),
            "enabledProviders": .array([.string("PHONE_SMS")]),
            "providerConfigs": .array([
                .object(["state": .string("ENABLED"), "totpProviderConfig": .object([:])])
            ]),
        ]),
        // No limits: each request of a test suite sends its message or mail.
        "concord": .object([
            "sms": .object(unlimited(MessageLimits.all).merging(["windowSeconds": .integer(0)]) { first, _ in first }),
            "mail": .object(unlimited(MessageLimits.ofMails)),
            "shortCodes": .object(unlimited(MessageLimits.ofGuesses)),
            "signUps": .object(unlimited(MessageLimits.ofSignUps)),
            "providerFlows": .object(unlimited(MessageLimits.ofProviderFlows)),
            "conflicts": .object(unlimited(MessageLimits.ofConflicts)),
            // Accept the passwords of examples and test suites, as the emulator does.
            "passwords": .object(["lengthMin": .integer(6), "refusesCommon": .bool(false)]),
        ]),
    ])

    private static func unlimited(_ limits: [(name: String, limit: MessageLimit)]) -> [String: JSONValue] {
        Dictionary(uniqueKeysWithValues: limits.map { ($0.name, JSONValue.integer(0)) })
    }
}

extension ProviderConfigRecord {
    /// The trust that the registration gives its provider, enabled or not: proof at the domains that it names. It says
    /// nothing about other domains, including sub-domains.
    fileprivate var emailTrust: [EmailTrustRule] {
        emailDomains.map { EmailTrustRule(.init(.only(provider), .any, .only($0)), .authoritative) }
    }
}
