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
    /// Time for which an account knows a device after its last use; 0 if accounts know no devices.
    package let deviceSeconds: Int64
    /// Time in which the mail about a change of sign-in methods can undo it; 0: owners are not mailed.
    let revertSeconds: Int64
    let mergeAnswerSeconds: Int64
    let mergeUndoSeconds: Int64
    /// Retention of events; `nil`: forever.
    package let eventRetentionSeconds: Int64?
    /// The sign-ins whose facts are stored.
    package let factSampling: FactSampling
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
    /// True if a lookup of an address without an account mails that.
    let lookUpMailsUnknownAddresses: Bool
    /// False if people have no page at `/account`.
    package let offersAccountPage: Bool
    /// True if owners are mailed how to sign in after a wrong door.
    let mailsRightDoors: Bool
    /// Time in which an address gets one such mail.
    let rightDoorSeconds: Int64
    let guessLimits: [MessageLimit]
    let rowLimits: [LimitedResource: [MessageLimit]]
    /// Number of time steps before and after the current one in which an app's code is accepted.
    let totpAdjacentSteps: Int64
    /// Text that replaces the message in the requested language.
    let messageTemplate: String?
    private let codeSeconds: [EmailCodeRecord.Kind: Int64]
    /// Name of the app; `nil` if it is not set.
    package let displayName: String?
    /// Name, logo, colours, links and texts of pages and mails.
    package let branding: Branding
    /// Language of mails if a request has none: a BCP 47 tag.
    package let defaultLocale: String
    /// The stored settings, for answers that show them.
    package let stored: JSONValue

    /// - `version`: version of the policy (`AccountStore.rulesVersion`).
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

        let settings = StoredSettings(stored)
        self.policy = LinkPolicy(stored: settings, version: version, trust: trust, registrations: registrations)
        self.totpAdjacentSteps =
            settings.totpConfig?["totpProviderConfig"]?["adjacentIntervals"]?.integer ?? TOTP.adjacentSteps
        self.passwordPolicy = PasswordPolicy(
            stored: stored["passwordPolicyConfig"],
            lengthMin: settings.integer("concord", "passwords", "lengthMin"),
            refusesCommon: settings.isOn("concord", "passwords", "refusesCommon")
        )
        // Times.
        self.conflictLifetimeSeconds =
            settings.integer("concord", "conflictLifetimeSeconds") ?? Lifetimes.conflictSeconds
        self.quarantineSeconds = settings.integer("concord", "quarantineSeconds") ?? Lifetimes.quarantineSeconds
        self.sessionLifetimes = SessionLifetimes(
            inactivitySeconds: settings.positive("concord", "sessions", "inactivitySeconds"),
            absoluteSeconds: settings.positive("concord", "sessions", "absoluteSeconds")
        )
        self.deviceSeconds = settings.integer("concord", "devices", "seconds") ?? Lifetimes.deviceSeconds
        self.revertSeconds = settings.integer("concord", "revertSeconds") ?? Lifetimes.revertSeconds
        self.mergeAnswerSeconds =
            settings.integer("concord", "merges", "answerSeconds") ?? Lifetimes.mergeAnswerSeconds
        self.mergeUndoSeconds = settings.integer("concord", "merges", "undoSeconds") ?? Lifetimes.mergeUndoSeconds
        let days = settings.integer("concord", "decisionRetentionDays") ?? Lifetimes.decisionDays
        self.eventRetentionSeconds = days == 0 ? nil : days * 86_400
        self.factSampling = FactSampling(ordinaryOneIn: settings.integer("concord", "ordinaryFactsOneIn") ?? 0)
        self.codeSeconds = settings.codeSeconds.merging([.revertSignInMethodChange: revertSeconds]) { $1 }
        // Sites and apps.
        self.authorizedDomains = settings.strings("authorizedDomains").compactMap(AuthorizedDomain.init)
        self.linkDomains = settings.strings("concord", "linkDomains").map { $0.lowercased() }
        self.apps = settings.value(["concord", "apps"])?.array?.map(RegisteredApp.init) ?? []
        // Messages and mails.
        self.testPhoneNumbers = settings.testPhoneNumbers
        self.messageRegions = MessageRegions(stored: stored["smsRegionConfig"])
        self.phoneCodeSeconds = settings.integer("concord", "sms", "codeSeconds") ?? Lifetimes.phoneCodeSeconds
        self.messageWindowSeconds =
            settings.integer("concord", "sms", "windowSeconds") ?? Lifetimes.messageWindowSeconds
        self.messageTemplate = stored["notification"]?["sendSms"]?["smsTemplate"]?["content"]?.string
        self.displayName = settings.value(["concord", "displayName"])?.string.flatMap { $0.isEmpty ? nil : $0 }
        self.branding = Branding(stored: stored)
        self.defaultLocale = settings.value(["notification", "defaultLocale"])?.string ?? "en"
        // Limits.
        self.offersAccountPage = settings.isOn("concord", "accountPage", "enabled")
        self.lookUpMailsUnknownAddresses = settings.isOn("concord", "lookup", "mailsUnknownAddresses")
        self.mailsRightDoors = settings.isOn("concord", "wrongDoor", "enabled")
        self.rightDoorSeconds =
            settings.integer("concord", "wrongDoor", "windowSeconds") ?? Lifetimes.rightDoorSeconds
        self.messageLimits = settings.limits(MessageLimits.all, "sms")
        self.mailLimits = settings.limits(MessageLimits.ofMails, "mail")
        self.guessLimits = settings.limits(MessageLimits.ofGuesses, "shortCodes")
        self.rowLimits = Dictionary(
            uniqueKeysWithValues: LimitedResource.allCases.map { ($0, settings.limits($0.limits, $0.rawValue)) }
        )
    }

    /// Lifetime of a mailed code.
    package func codeSeconds(_ kind: EmailCodeRecord.Kind) -> Int64 {
        codeSeconds[kind] ?? Lifetimes.codeSeconds(kind)
    }

    /// Settings of a new production project: every method is off, addresses are protected, unproven ones are confirmed by
    /// mail, no web page may receive codes or sessions, and unused sessions end. These values are stored, because a project
    /// without them is older than they are, and keeps what it had.
    package static let productionDefaults: JSONValue = .object([
        "linkPolicy": .object([
            "preset": .string(LinkPolicyPreset.strict.rawValue),
            "unprovenAddress": .string(UnprovenAddress.confirm.rawValue),
        ]),
        "concord": .object([
            "sessions": .object(["inactivitySeconds": .integer(Lifetimes.newProjectInactivitySeconds)])
        ]),
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

extension LinkPolicy {
    fileprivate init(
        stored settings: StoredSettings,
        version: Int64,
        trust: EmailTrustBase,
        registrations: [ProviderConfigRecord]
    ) {
        self.init()
        self.version = version
        let tables = StoredPolicy(version: version, settings: settings.stored)
        preset = LinkPolicyPreset(of: settings.stored)
        emailTrust = trust.table(of: settings.choice("linkPolicy", "emailTrust", otherwise: preset))
            // Of two rules for the same scope the later one holds: the operator's own goes last.
            .adding(registrations.flatMap(\.emailTrust)).adding(tables.emailTrust)
        registeredIssuers = registrations.reduce(into: [:]) { $0[$1.provider] = $1.issuer }
        subjectChange = settings.choice("linkPolicy", "subjectChange", otherwise: subjectChange)
        linkingNeedsRecentSignIn = settings.isOn("linkPolicy", "linkingNeedsRecentSignIn")
        secondFactorsNeedProvenAddress = settings.isOn("linkPolicy", "secondFactorsNeedProvenAddress")
        firstProofEndsSessions = settings.isOn("linkPolicy", "firstProofEndsSessions")
        signUpRequiresMailbox =
            settings.choice("concord", "signUp", "requires", otherwise: SignUpRequirement.none) == .mailbox
        showsDisabledAccounts = preset == .firebase
        unprovenAddress = settings.choice("linkPolicy", "unprovenAddress", otherwise: unprovenAddress)
        countsProviderAuthTime = settings.isOn("linkPolicy", "countsProviderAuthTime")
        requiresHTTPSContinueURLs = !settings.isOn("linkPolicy", "httpContinueURLs")
        authorizesSubdomains = settings.isOn("linkPolicy", "authorizesSubdomains")
        conflictProofRules = tables.conflictProofs
        isOneAccountPerEmail = !settings.isOn("signIn", "allowDuplicateEmails")
        protectsEmailEnumeration = settings.isOn("emailPrivacyConfig", "enableImprovedEmailPrivacy")
        allowsPasswordSignIn = settings.isOn("signIn", "email", "enabled")
        allowsEmailLinkSignIn = allowsPasswordSignIn && !settings.isOn("signIn", "email", "passwordRequired")
        allowsPhoneSignIn = settings.isOn("signIn", "phoneNumber", "enabled")
        allowsAnonymousSignUp = settings.isOn("signIn", "anonymous", "enabled")
        allowsClientSignUp = !settings.isOn("client", "permissions", "disabledUserSignup")
        allowsClientDeletion = !settings.isOn("client", "permissions", "disabledUserDeletion")
        passwordResetUnlinksProviders = settings.isOn("concord", "passwordReset", "unlinksProviders")
        keepsLastSignInMethod = settings.isOn("concord", "keepsLastSignInMethod")
        requiresEnrolledSecondFactors = settings.asksSecondFactor
        enrollableSecondFactors.formUnion(settings.enrollableSecondFactors)
        if let seconds = settings.integer("concord", "recentSignInSeconds") { recentSignInSeconds = seconds }
    }
}

/// The proof that a client must give before it gets an account with a password (`concord.signUp.requires`).
enum SignUpRequirement: String, CaseIterable {
    case none
    case mailbox
}

/// Stored settings. Absent fields have the defaults of the table of fields.
private struct StoredSettings {
    let stored: JSONValue

    init(_ stored: JSONValue) {
        self.stored = stored
    }

    func value(_ path: [String]) -> JSONValue? {
        ProjectConfigField.all.first { $0.path == path }?.value(in: stored)
    }

    func isOn(_ path: String...) -> Bool { value(path)?.bool ?? false }

    func integer(_ path: String...) -> Int64? { value(path)?.integer }

    /// `nil` for 0, which switches a limit off.
    func positive(_ path: String...) -> Int64? { value(path)?.integer.flatMap { $0 > 0 ? $0 : nil } }

    func strings(_ path: String...) -> [String] { value(path)?.array?.compactMap(\.string) ?? [] }

    func choice<Choice: RawRepresentable<String>>(_ path: String..., otherwise: Choice) -> Choice {
        value(path)?.string.flatMap(Choice.init(rawValue:)) ?? otherwise
    }

    /// The limits of a group, without those that are switched off.
    func limits(_ all: [(name: String, limit: MessageLimit)], _ group: String) -> [MessageLimit] {
        all.compactMap { name, limit in
            var limit = limit
            limit.countMax = integer("concord", group, name) ?? limit.countMax
            return limit.countMax > 0 ? limit : nil
        }
    }

    var codeSeconds: [EmailCodeRecord.Kind: Int64] {
        Dictionary(
            uniqueKeysWithValues: EmailCodeRecord.Kind.allCases.map { kind in
                (kind, integer("concord", "codeLifetimes", kind.rawValue) ?? Lifetimes.codeSeconds(kind))
            }
        )
    }

    var testPhoneNumbers: [PhoneNumber: String] {
        let stored = value(["signIn", "phoneNumber", "testPhoneNumbers"])?.object ?? [:]
        let numbers = stored.compactMap { number, code in
            PhoneNumber(number).flatMap { number in code.string.map { (number, $0) } }
        }
        return Dictionary(numbers) { first, _ in first }
    }

    /// Both states of an administrator's word for second factors count as "on".
    private func isAsked(_ state: JSONValue?) -> Bool { ["ENABLED", "MANDATORY"].contains(state?.string) }

    var asksSecondFactor: Bool { isAsked(value(["mfa", "state"])) }

    var totpConfig: JSONValue? {
        value(["mfa", "providerConfigs"])?.array?.first { $0["totpProviderConfig"] != nil }
    }

    var enrollableSecondFactors: Set<SecondFactorKind> {
        guard asksSecondFactor else { return [] }
        var kinds: Set<SecondFactorKind> = []
        if value(["mfa", "enabledProviders"])?.array?.contains(.string("PHONE_SMS")) ?? false { kinds.insert(.phone) }
        if isAsked(totpConfig?["state"]) { kinds.insert(.totp) }
        return kinds
    }
}

extension ProviderConfigRecord {
    /// The trust that the registration gives its provider, enabled or not: proof at the domains that it names. It says
    /// nothing about other domains, including sub-domains.
    fileprivate var emailTrust: [EmailTrustRule] {
        emailDomains.map { EmailTrustRule(.init(.only(provider), .any, .only($0)), .authoritative) }
    }
}
