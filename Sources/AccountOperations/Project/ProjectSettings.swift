package import AccountLinking
package import JSON

/// The project's settings as the rules and operations read them, from their wire form (`spec/01` §6).
package struct ProjectSettings: Sendable, Hashable {
    package let projectID: String
    package let projectNumber: Int64
    package let policy: LinkPolicy
    /// How long a conflict waits for its owner.
    package let conflictLifetimeSeconds: Int64
    /// How long a suspended method can come back; 0: nothing is suspended.
    package let quarantineSeconds: Int64
    /// How long events are kept, in seconds; `nil`: for good.
    package let eventRetentionSeconds: Int64?
    package let passwordPolicy: PasswordPolicy
    /// Hosts that links may lead back to, in lower case.
    package let authorizedDomains: [String]
    /// Domains whose links open the app, in lower case; the first unless a request names another.
    package let linkDomains: [String]
    private let codeSeconds: [EmailCodeRecord.Kind: Int64]
    /// The language of mails where a request asks for none: a BCP 47 tag.
    package let defaultLocale: String
    /// The stored settings, for answers that show them.
    package let stored: JSONValue

    ///
    /// `version`: of the stored settings. `trust`: whose word about an address is proof where the project has no rule of its
    /// own; a setting of the process.
    package init(projectID: String, projectNumber: Int64, stored: JSONValue, version: Int64, trust: EmailTrust) {
        self.projectID = projectID
        self.projectNumber = projectNumber
        self.stored = stored

        // Absent fields have the defaults of the one table of fields.
        func value(_ path: [String]) -> JSONValue? {
            stored[path] ?? ProjectConfigField.all.first { $0.path == path }?.byDefault
        }
        func isOn(_ path: String...) -> Bool { value(path)?.bool ?? false }
        var policy = LinkPolicy()
        policy.version = version
        let tables = StoredPolicy(version: version, settings: stored)
        policy.emailTrust = trust.adding(tables.emailTrust)
        policy.conflictProofRules = tables.conflictProofs
        policy.isOneAccountPerEmail = !isOn("signIn", "allowDuplicateEmails")
        policy.protectsEmailEnumeration = isOn("emailPrivacyConfig", "enableImprovedEmailPrivacy")
        policy.allowsPasswordSignIn = isOn("signIn", "email", "enabled")
        policy.allowsEmailLinkSignIn = policy.allowsPasswordSignIn && !isOn("signIn", "email", "passwordRequired")
        policy.allowsAnonymousSignUp = isOn("signIn", "anonymous", "enabled")
        policy.allowsClientSignUp = !isOn("client", "permissions", "disabledUserSignup")
        policy.allowsClientDeletion = !isOn("client", "permissions", "disabledUserDeletion")
        policy.passwordResetUnlinksProviders = isOn("concord", "passwordReset", "unlinksProviders")
        policy.keepsLastSignInMethod = isOn("concord", "keepsLastSignInMethod")
        if let seconds = value(["concord", "recentSignInSeconds"])?.integer { policy.recentSignInSeconds = seconds }
        self.policy = policy
        self.conflictLifetimeSeconds =
            value(["concord", "conflictLifetimeSeconds"])?.integer ?? Lifetimes.conflictSeconds
        self.quarantineSeconds = value(["concord", "quarantineSeconds"])?.integer ?? Lifetimes.quarantineSeconds
        let days = value(["concord", "decisionRetentionDays"])?.integer ?? Lifetimes.decisionDays
        self.eventRetentionSeconds = days == 0 ? nil : days * 86_400
        self.authorizedDomains =
            stored["authorizedDomains"]?.array?.compactMap { $0.string?.lowercased() }
            ?? Self.authorizedDomainsByDefault(projectID: projectID)
        self.linkDomains =
            value(["concord", "linkDomains"])?.array?.compactMap { $0.string?.lowercased() } ?? []
        self.codeSeconds = Dictionary(
            uniqueKeysWithValues: EmailCodeRecord.Kind.allCases.map { kind in
                (kind, value(["concord", "codeLifetimes", kind.rawValue])?.integer ?? Lifetimes.codeSeconds(kind))
            }
        )
        self.defaultLocale = value(["notification", "defaultLocale"])?.string ?? "en"
        self.passwordPolicy = PasswordPolicy(stored: stored["passwordPolicyConfig"])
    }

    /// How long a mailed code lives.
    package func codeSeconds(_ kind: EmailCodeRecord.Kind) -> Int64 {
        codeSeconds[kind] ?? Lifetimes.codeSeconds(kind)
    }

    /// iOS takes its authorization domain from this list, and fails without one of the two (`spec/01` §3.7).
    package static func authorizedDomainsByDefault(projectID: String) -> [String] {
        ["localhost", "\(projectID).firebaseapp.com", "\(projectID).web.app"]
    }

    /// What a new production project starts with: every method off until enabled, addresses protected.
    package static let productionDefaults: JSONValue = .object([:])

    /// What `concord dev` starts with: every method on, addresses not protected (docs/differences.md).
    package static let developmentDefaults: JSONValue = .object([
        "signIn": .object([
            "email": .object(["enabled": .bool(true), "passwordRequired": .bool(false)]),
            "phoneNumber": .object(["enabled": .bool(true)]),
            "anonymous": .object(["enabled": .bool(true)]),
            "allowDuplicateEmails": .bool(false),
        ]),
        "emailPrivacyConfig": .object(["enableImprovedEmailPrivacy": .bool(false)]),
    ])
}
