package import AccountLinking
package import JSON

/// The project's settings as the rules and operations read them, from their wire form (`spec/01` §6).
package struct ProjectSettings: Sendable, Hashable {
    package let projectID: String
    package let projectNumber: Int64
    package let policy: LinkPolicy
    /// How long a conflict waits for its owner.
    package let conflictLifetimeSeconds: Int64
    /// Hosts that a link may lead on to, in lower case.
    package let authorizedDomains: Set<String>
    /// Domains whose links open the app, in lower case; the first unless a request names another.
    package let linkDomains: [String]
    package let codeLifetimes: CodeLifetimes
    /// The language of mails where a request asks for none: a BCP 47 tag.
    package let defaultLocale: String
    /// The stored settings, for answers that show them.
    package let stored: JSONValue

    ///
    /// `trust`: how far a provider's word about an e-mail goes; a setting of the process, not the project.
    package init(projectID: String, projectNumber: Int64, stored: JSONValue, trust: EmailTrust) {
        self.projectID = projectID
        self.projectNumber = projectNumber
        self.stored = stored

        let signIn = stored["signIn"]
        let permissions = stored["client"]?["permissions"]
        var policy = LinkPolicy()
        policy.emailTrust = trust
        policy.isOneAccountPerEmail = !(signIn?["allowDuplicateEmails"]?.bool ?? false)
        policy.protectsEmailEnumeration = stored["emailPrivacyConfig"]?["enableImprovedEmailPrivacy"]?.bool ?? true
        policy.allowsPasswordSignIn = signIn?["email"]?["enabled"]?.bool ?? false
        policy.allowsEmailLinkSignIn =
            policy.allowsPasswordSignIn && !(signIn?["email"]?["passwordRequired"]?.bool ?? true)
        policy.allowsAnonymousSignUp = signIn?["anonymous"]?["enabled"]?.bool ?? false
        policy.allowsClientSignUp = !(permissions?["disabledUserSignup"]?.bool ?? false)
        policy.allowsClientDeletion = !(permissions?["disabledUserDeletion"]?.bool ?? false)
        let concord = stored["concord"]
        policy.passwordResetUnlinksProviders = concord?["passwordReset"]?["unlinksProviders"]?.bool ?? true
        policy.keepsLastSignInMethod = concord?["keepsLastSignInMethod"]?.bool ?? false
        if let seconds = concord?["recentSignInSeconds"]?.integer { policy.recentSignInSeconds = seconds }
        self.policy = policy
        self.conflictLifetimeSeconds = concord?["conflictLifetimeSeconds"]?.integer ?? 3600

        let domains = stored["authorizedDomains"]?.array?.compactMap { $0.string?.lowercased() }
        self.authorizedDomains = Set(
            domains ?? ["localhost", "\(projectID).firebaseapp.com", "\(projectID).web.app"]
        )
        self.linkDomains = concord?["linkDomains"]?.array?.compactMap { $0.string?.lowercased() } ?? []
        self.codeLifetimes = CodeLifetimes(stored: concord?["codeLifetimes"])
        self.defaultLocale = stored["notification"]?["defaultLocale"]?.string ?? "en"
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
