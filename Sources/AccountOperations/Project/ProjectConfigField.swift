import AccountLinking
package import JSON

/// One field of the project configuration: its path, the values that it may have, and its default.
package struct ProjectConfigField: Sendable, Hashable {
    /// The names from the top, each as declared on the wire.
    package let path: [String]
    package let type: ProjectConfigType
    /// What an absent field means under the preset `strict`; `nil` where absence is shown as absence.
    private let strictDefault: JSONValue?
    /// What an absent field means under the preset `firebase`, where that differs.
    private let firebaseDefault: JSONValue?
    /// One line for the manual.
    package let meaning: String

    init(
        _ path: String,
        _ type: ProjectConfigType,
        _ byDefault: JSONValue?,
        firebase: JSONValue? = nil,
        _ meaning: String
    ) {
        self.path = path.split(separator: ".").map(String.init)
        self.type = type
        self.strictDefault = byDefault
        self.firebaseDefault = firebase
        self.meaning = meaning
    }

    /// A field whose absence is shown as absence.
    init(_ path: String, _ type: ProjectConfigType, _ meaning: String) {
        self.init(path, type, nil, meaning)
    }

    package var name: String { path.joined(separator: ".") }

    /// The preset gives the value of the field where none is stored.
    package var followsPreset: Bool { firebaseDefault != nil }

    /// What an absent field means where `settings` are stored; `nil` where absence is shown as absence.
    package func byDefault(in settings: JSONValue) -> JSONValue? {
        switch LinkPolicyPreset(of: settings) {
        case .strict: strictDefault
        case .firebase: firebaseDefault ?? strictDefault
        }
    }

    /// The value of the field where `settings` are stored; `nil` where absence is shown as absence.
    package func value(in settings: JSONValue) -> JSONValue? { settings[path] ?? byDefault(in: settings) }

    /// Every field that can be written. Parsing, masks, defaults and `docs/project-configuration.md` come from here.
    package static let all: [ProjectConfigField] =
        signIn + client + mail + secondFactors + passwordPolicy + regions + recaptcha + other + linkPolicy + concord

    private static let presets = ProjectConfigType.choice(LinkPolicyPreset.allCases.map(\.rawValue))

    /// The rules in which Concord is safer than production. The preset gives the values that are not set here.
    private static let linkPolicy: [ProjectConfigField] = [
        .init(
            LinkPolicyPreset.path.joined(separator: "."),
            presets,
            .string(LinkPolicyPreset.strict.rawValue),
            "`strict` is safe; `firebase` does what production does. Gives the value of each rule that is not set itself."
        ),
        .init(
            "linkPolicy.emailTrust",
            presets,
            .string(LinkPolicyPreset.strict.rawValue),
            firebase: .string(LinkPolicyPreset.firebase.rawValue),
            "Table of providers whose word about an address is proof, where `concord.emailTrust` has no rule."
        ),
        .init(
            "linkPolicy.subjectChange",
            .choice(SubjectChange.allCases.map(\.rawValue)),
            .string(SubjectChange.conflict.rawValue),
            firebase: .string(SubjectChange.replace.rawValue),
            "Answer to a provider that names another subject for the address of a linked account."
        ),
        .init(
            "linkPolicy.linkingNeedsRecentSignIn",
            .bool,
            .bool(true),
            firebase: .bool(false),
            "Linking a provider, attaching a number or a mailbox and unlinking a working method need a recent sign-in."
        ),
        .init(
            "linkPolicy.secondFactorsNeedProvenAddress",
            .bool,
            .bool(true),
            firebase: .bool(false),
            "An account with second factors takes proven addresses only."
        ),
        .init(
            "linkPolicy.firstProofEndsSessions",
            .bool,
            .bool(true),
            firebase: .bool(false),
            "The first proof of an address by a mailed code ends sessions, unless it comes from the session that asked."
        ),
        .init(
            "linkPolicy.countsProviderAuthTime",
            .bool,
            .bool(true),
            firebase: .bool(false),
            "A sign-in with a provider is as old as the provider's own; an ID token reauthenticates once."
        ),
        .init(
            "linkPolicy.httpContinueURLs",
            .bool,
            .bool(false),
            firebase: .bool(true),
            "Codes and sessions may go to an authorized domain by `http` and at any port."
        ),
        .init(
            "linkPolicy.authorizesSubdomains",
            .bool,
            .bool(false),
            firebase: .bool(true),
            "The pages for sign-in by a provider take hosts below an authorized domain for authorized."
        ),
    ]

    private static let signIn: [ProjectConfigField] = [
        .init("signIn.email.enabled", .bool, .bool(false), "Sign-in with e-mail and password, or with a link."),
        .init("signIn.email.passwordRequired", .bool, .bool(true), "`false` allows e-mail links as well."),
        .init("signIn.phoneNumber.enabled", .bool, .bool(false), "Sign-in with a code sent to a phone."),
        .init(
            "signIn.phoneNumber.testPhoneNumbers",
            .testPhoneNumbers,
            "Fictional numbers with fixed codes. A number that an account owns is refused."
        ),
        .init("signIn.anonymous.enabled", .bool, .bool(false), "Accounts without any credential."),
        .init("signIn.allowDuplicateEmails", .bool, .bool(false), "Several accounts may have one address."),
    ]

    private static let client: [ProjectConfigField] = [
        .init(
            "authorizedDomains",
            .list(.authorizedDomain, countMax: 1000),
            .array([]),
            "Hosts of the project's web apps. Sign-in codes and sessions go to pages there and nowhere else."
        ),
        .init("client.permissions.disabledUserSignup", .bool, .bool(false), "Only administrators create accounts."),
        .init("client.permissions.disabledUserDeletion", .bool, .bool(false), "Only administrators delete accounts."),
        .init(
            "emailPrivacyConfig.enableImprovedEmailPrivacy",
            .bool,
            .bool(true),
            "Strangers do not learn which addresses have accounts."
        ),
    ]

    private static let template = ProjectConfigType.message([
        .init("senderLocalPart", .text(bytesMax: 64)),
        .init("senderDisplayName", .text(bytesMax: 256)),
        .init("replyTo", .text(bytesMax: 320)),
        .init("subject", .text(bytesMax: 998)),
        .init("body", .text(bytesMax: 65_536)),
        .init("bodyFormat", .choice(["BODY_FORMAT_UNSPECIFIED", "PLAIN_TEXT", "HTML"])),
    ])

    private static let mail: [ProjectConfigField] = [
        .init(
            "notification.sendEmail.method",
            .choice(["METHOD_UNSPECIFIED", "DEFAULT", "CUSTOM_SMTP"], unavailable: ["CUSTOM_SMTP"]),
            .string("DEFAULT"),
            "How mails leave. No effect: by the relay of the server's configuration, `mail.host`."
        ),
        .init(
            "notification.sendEmail.resetPasswordTemplate",
            template,
            "The mail with a code to reset a password. No effect: templates are the server's (docs/mail.md)."
        ),
        .init(
            "notification.sendEmail.verifyEmailTemplate",
            template,
            "The mail with a code to verify an address. No effect, as above."
        ),
        .init(
            "notification.sendEmail.changeEmailTemplate",
            template,
            "The mail that tells of a changed address. No effect, as above."
        ),
        .init("notification.sendEmail.legacyResetPasswordTemplate", template, "Kept for old consoles."),
        .init(
            "notification.sendEmail.revertSecondFactorAdditionTemplate",
            template,
            "The mail that tells of a new second factor. No effect, as above."
        ),
        .init(
            "notification.sendEmail.callbackUri",
            .text(bytesMax: 2048),
            "The page that action links lead to. No effect: it is `/__/auth/action` at `listen.public_url`."
        ),
        .init("notification.sendEmail.dnsInfo.useCustomDomain", .bool, .bool(false), "Kept for consoles."),
        .init("notification.sendEmail.smtp", .unavailable, "The relay belongs to the server's configuration."),
        .init(
            "notification.sendSms.useDeviceLocale",
            .bool,
            .bool(false),
            "Kept for consoles: messages are in the language that the client asks for, with or without it."
        ),
        .init(
            "notification.sendSms.smsTemplate",
            .message([.init("content", .text(bytesMax: 1024))]),
            "What messages say in every language, with `%LOGIN_CODE%` and `%APP_NAME%`; without the first it has no effect."
        ),
        .init(
            "notification.defaultLocale",
            .text(bytesMax: 35),
            .string("en"),
            "The language of mails, and of the links in them, by default."
        ),
    ]

    private static let factorState = ProjectConfigType.choice(["STATE_UNSPECIFIED", "DISABLED", "ENABLED", "MANDATORY"])

    private static let secondFactors: [ProjectConfigField] = [
        .init(
            "mfa.state",
            factorState,
            .string("DISABLED"),
            "Whether second factors can be enrolled, and those that are enrolled are asked for. `MANDATORY` is as `ENABLED`."
        ),
        .init(
            "mfa.enabledProviders",
            .list(.choice(["PROVIDER_UNSPECIFIED", "PHONE_SMS"]), countMax: 2),
            "`PHONE_SMS`: numbers can be enrolled."
        ),
        .init(
            "mfa.providerConfigs",
            .list(
                .message([
                    .init("state", factorState),
                    .init("totpProviderConfig", .message([.init("adjacentIntervals", .integer(0...10))])),
                ]),
                countMax: 4
            ),
            "One that has `totpProviderConfig`, and `state` `ENABLED`: apps can be enrolled. Codes of `adjacentIntervals` steps before and after the current one count, 1 unless given."
        ),
    ]

    private static let passwordPolicy: [ProjectConfigField] = [
        .init(
            "passwordPolicyConfig.passwordPolicyEnforcementState",
            .choice(["PASSWORD_POLICY_ENFORCEMENT_STATE_UNSPECIFIED", "OFF", "ENFORCE"]),
            .string("OFF"),
            "Whether new passwords have to meet the policy."
        ),
        .init(
            "passwordPolicyConfig.forceUpgradeOnSignin",
            .bool,
            .bool(false),
            "Whether a password that does not meet an enforced policy is refused at sign-in too."
        ),
        .init(
            "passwordPolicyConfig.passwordPolicyVersions",
            .list(
                .message([
                    .init(
                        "customStrengthOptions",
                        .message([
                            .init("minPasswordLength", .integer(6...30)),
                            .init("maxPasswordLength", .integer(30...4096)),
                            .init("containsLowercaseCharacter", .bool),
                            .init("containsUppercaseCharacter", .bool),
                            .init("containsNumericCharacter", .bool),
                            .init("containsNonAlphanumericCharacter", .bool),
                        ])
                    ),
                    .init("schemaVersion", .integer(0...1)),
                ]),
                countMax: 1
            ),
            "What a password needs."
        ),
    ]

    private static let regions: [ProjectConfigField] = [
        .init(
            "smsRegionConfig.allowByDefault.disallowedRegions",
            .list(.region, countMax: 300),
            "Messages go everywhere but there. Excludes `smsRegionConfig.allowlistOnly`."
        ),
        .init(
            "smsRegionConfig.allowlistOnly.allowedRegions",
            .list(.region, countMax: 300),
            "Messages go nowhere but there. Excludes `smsRegionConfig.allowByDefault`."
        ),
    ]

    /// Nothing here asks for a proof of being human, so that nothing may be told that it is enforced.
    private static let recaptchaState = ProjectConfigType.choice(
        ["RECAPTCHA_PROVIDER_ENFORCEMENT_STATE_UNSPECIFIED", "OFF", "AUDIT", "ENFORCE"],
        unavailable: ["AUDIT", "ENFORCE"]
    )

    private static let recaptcha: [ProjectConfigField] = [
        .init("recaptchaConfig.emailPasswordEnforcementState", recaptchaState, .string("OFF"), "Always off."),
        .init("recaptchaConfig.phoneEnforcementState", recaptchaState, .string("OFF"), "Always off."),
        .init(
            "recaptchaConfig.managedRules",
            .list(
                .message([
                    .init("endScore", .decimal(0...1)),
                    .init("action", .choice(["RECAPTCHA_ACTION_UNSPECIFIED", "BLOCK"])),
                ]),
                countMax: 100
            ),
            "Kept for consoles."
        ),
        .init(
            "recaptchaConfig.tollFraudManagedRules",
            .list(
                .message([
                    .init("startScore", .decimal(0...1)),
                    .init("action", .choice(["RECAPTCHA_ACTION_UNSPECIFIED", "BLOCK"])),
                ]),
                countMax: 100
            ),
            "Kept for consoles."
        ),
        .init("recaptchaConfig.useAccountDefender", .bool, .bool(false), "Kept for consoles."),
        .init("recaptchaConfig.useSmsBotScore", .bool, .bool(false), "Kept for consoles."),
        .init("recaptchaConfig.useSmsTollFraudProtection", .bool, .bool(false), "Kept for consoles."),
    ]

    private static let other: [ProjectConfigField] = [
        .init("autodeleteAnonymousUsers", .bool, .bool(false), "Kept for consoles."),
        .init("blockingFunctions.triggers", .unavailable, "Nothing would call them."),
        .init(
            "blockingFunctions.forwardInboundCredentials",
            .message([.init("idToken", .bool), .init("accessToken", .bool), .init("refreshToken", .bool)]),
            "Kept for consoles."
        ),
        .init("monitoring.requestLogging.enabled", .bool, .bool(false), "Kept for consoles."),
        .init("multiTenant.allowTenants", .bool, .bool(false), "Kept for consoles."),
        .init("multiTenant.defaultTenantLocation", .text(bytesMax: 256), "Kept for consoles."),
        .init(
            "mobileLinksConfig.domain",
            .choice(["DOMAIN_UNSPECIFIED", "FIREBASE_DYNAMIC_LINK_DOMAIN", "HOSTING_DOMAIN"]),
            .string("HOSTING_DOMAIN"),
            "Which host links that open an app are on. No effect here: `concord.linkDomains` says it."
        ),
        .init("quota.signUpQuotaConfig.quota", .longInteger(0...1_000_000_000), "Kept for consoles."),
        .init("quota.signUpQuotaConfig.startTime", .text(bytesMax: 64), "Kept for consoles."),
        .init("quota.signUpQuotaConfig.quotaDuration", .text(bytesMax: 64), "Kept for consoles."),
    ]

    private static let concord: [ProjectConfigField] =
        [
            .init(
                "concord.displayName",
                .text(bytesMax: 64),
                "What the app is called in messages. By default as `mail.from` is, else the project's id."
            ),
            .init(
                "concord.recentSignInSeconds",
                .integer(0...366 * 86_400),
                .integer(300),
                "The greatest age of a sign-in that a sensitive operation accepts; 0 asks every time."
            ),
            .init(
                "concord.conflictLifetimeSeconds",
                .integer(Lifetimes.conflictSecondsBounds),
                .integer(Lifetimes.conflictSeconds),
                "How long a conflict waits for its owner."
            ),
            .init(
                "concord.passwordReset.unlinksProviders",
                .bool,
                .bool(false),
                firebase: .bool(true),
                "A password reset unlinks every provider. Off: only where it is the first proof of the address."
            ),
            .init(
                "concord.passwords.lengthMin",
                .integer(6...30),
                .integer(8),
                firebase: .integer(6),
                "Characters that a new password has at least; `minPasswordLength` of an enforced policy takes its place."
            ),
            .init(
                "concord.passwords.refusesCommon",
                .bool,
                .bool(true),
                firebase: .bool(false),
                "A new password is none of the 10,000 commonest, nor the account's address or the app's name."
            ),
            .init(
                "concord.quarantineSeconds",
                .integer(Lifetimes.quarantineSecondsBounds),
                .integer(Lifetimes.quarantineSeconds),
                "How long a method that a takeover or a reset took off can come back; 0: it is gone at once."
            ),
            .init(
                "concord.revertSeconds",
                .integer(Lifetimes.revertSecondsBounds),
                .integer(Lifetimes.revertSeconds),
                "How long the mail about a changed sign-in method can undo the change; 0: no mail and no undoing."
            ),
            .init(
                "concord.merges.answerSeconds",
                .integer(Lifetimes.mergeAnswerSecondsBounds),
                .integer(Lifetimes.mergeAnswerSeconds),
                "How long the receivers of webhooks have to agree to a merge of two accounts; who says nothing does not."
            ),
            .init(
                "concord.merges.undoSeconds",
                .integer(Lifetimes.mergeUndoSecondsBounds),
                .integer(Lifetimes.mergeUndoSeconds),
                "How long a merge of two accounts can be undone; 0: not at all."
            ),
            .init(
                "concord.sessions.inactivitySeconds",
                .limit(Lifetimes.inactivitySecondsBounds),
                .integer(0),
                "How long a session goes on without a refresh; 0: for good. SDKs refresh once an hour while an app is in use."
            ),
            .init(
                "concord.sessions.absoluteSeconds",
                .limit(Lifetimes.sessionSecondsBounds),
                .integer(0),
                "How long after the sign-in a session ends, however it is used; 0: not by its age."
            ),
            .init(
                "concord.keepsLastSignInMethod",
                .bool,
                .bool(false),
                "The last way into an account that works now cannot be unlinked on the compatible routes."
            ),
            .init(
                "concord.emailTrust",
                .emailTrust,
                .array([]),
                "Whose word about an e-mail address is proof, beside what holds anyway."
            ),
            .init(
                "concord.conflictProofs",
                .conflictProofs,
                .array([]),
                "What conflicts may be settled by, pair by pair; every proof where no rule fits."
            ),
            .init(
                "concord.decisionRetentionDays",
                .integer(Lifetimes.decisionDaysBounds),
                .integer(Lifetimes.decisionDays),
                "For how many days the events of accounts are kept, and with them why it was decided so; 0 keeps them for good."
            ),
            .init(
                "concord.apps",
                .list(
                    .message([
                        .init("appId", .text(bytesMax: 256)), .init("bundleId", .text(bytesMax: 256)),
                        .init("packageName", .text(bytesMax: 256)),
                        .init("sha1Certs", .list(.text(bytesMax: 128), countMax: 20)),
                        .init("clientId", .text(bytesMax: 256)), .init("teamId", .text(bytesMax: 64)),
                        .init("appStoreId", .text(bytesMax: 64)),
                        .init("sha256Certs", .list(.text(bytesMax: 128), countMax: 20)),
                    ]),
                    countMax: 100
                ),
                "Native apps that a sign-in on a provider's page may lead back to, and that links in mails may open."
            ),
            .init("concord.linkDomains", .list(.domain, countMax: 100), "Hosts whose links open the app."),
            .init(
                "concord.sms.codeSeconds",
                .integer(Lifetimes.phoneCodeSecondsBounds),
                .integer(Lifetimes.phoneCodeSeconds),
                "How long a code sent to a phone lives."
            ),
            .init(
                "concord.sms.windowSeconds",
                .integer(Lifetimes.messageWindowSecondsBounds),
                .integer(Lifetimes.messageWindowSeconds),
                "For how long another request for a number is answered with the message that was sent."
            ),
        ] + messageLimits + [
            codeLifetime(.passwordReset),
            codeLifetime(.emailSignIn),
            codeLifetime(.verifyEmail),
            codeLifetime(.verifyAndChangeEmail),
            codeLifetime(.recoverEmail),
            codeLifetime(.revertSecondFactorAddition),
        ]

    private static let messageLimits =
        limits(MessageLimits.all, "concord.sms", "Messages with codes", recipient: "number")
        + limits(MessageLimits.ofMails, "concord.mail", "Mails that were asked for", recipient: "mailbox")
        + limits(
            MessageLimits.ofGuesses,
            "concord.shortCodes",
            "Wrong guesses at short codes",
            recipient: "mailbox and purpose"
        )
        + limits(MessageLimits.ofSignUps, "concord.signUps", "New accounts that clients make")
        + limits(MessageLimits.ofProviderFlows, "concord.providerFlows", "Sign-ins begun on providers' pages")
        + limits(MessageLimits.ofConflicts, "concord.conflicts", "Conflicts opened or met again")

    private static func limits(
        _ all: [(name: String, limit: MessageLimit)],
        _ path: String,
        _ what: String,
        recipient: String = ""
    ) -> [ProjectConfigField] {
        all.map { name, limit in
            let whom =
                switch limit.scope {
                case .recipient: "one \(recipient)"
                case .address: "one network address"
                case .project: "the whole project"
                }
            return ProjectConfigField(
                "\(path).\(name)",
                .integer(0...1_000_000_000),
                .integer(limit.countMax),
                "\(what) for \(whom) in \(limit.windowSeconds) seconds; 0: as many as are asked for."
            )
        }
    }

    private static func codeLifetime(_ kind: EmailCodeRecord.Kind) -> ProjectConfigField {
        ProjectConfigField(
            "concord.codeLifetimes.\(kind.rawValue)",
            .integer(Lifetimes.codeSecondsBounds),
            .integer(Lifetimes.codeSeconds(kind)),
            "How long a code of this kind lives, in seconds."
        )
    }

    /// Fields that are shown and never written; a mask may name them, as clients that send back what they read do.
    static let shownOnly: Set<String> = [
        "name", "subtype", "client.apiKey", "client.firebaseSubdomain", "signIn.hashConfig",
        "recaptchaConfig.recaptchaKeys", "passwordPolicyConfig.lastUpdateTime", "notification.sendEmail.dnsInfo",
    ]

    private var defaultText: String {
        let texts = [
            strictDefault.map { "`\($0.text)`" }, firebaseDefault.map { "preset `firebase`: `\($0.text)`" },
        ]
        return texts.compactMap(\.self).joined(separator: "; ")
    }

    /// The table of the manual.
    package static var markdown: String {
        let rows = all.map { field in
            "| `\(field.name)` | \(field.type.summary) | \(field.defaultText) | \(field.meaning) |"
        }
        return (["| Field | Value | Default | Meaning |", "|---|---|---|---|"] + rows).joined(separator: "\n")
    }
}

extension LinkPolicyPreset {
    static let path = ["linkPolicy", "preset"]

    /// The preset that stored settings follow.
    package init(of settings: JSONValue) {
        self = settings[Self.path]?.string.flatMap(Self.init(rawValue:)) ?? .strict
    }
}
