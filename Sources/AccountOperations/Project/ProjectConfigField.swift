import AccountLinking
package import JSON

/// One field of the project configuration: its path, type and default.
package struct ProjectConfigField: Sendable, Hashable {
    /// Names from the top, as declared on the wire.
    package let path: [String]
    package let type: ProjectConfigType
    /// Default of the field under the preset `strict`; `nil` if the absent field is not shown.
    private let strictDefault: JSONValue?
    /// Default of the field under the preset `firebase`, if it differs.
    private let firebaseDefault: JSONValue?
    /// False for a field that Concord stores only because consoles send and show it.
    let hasEffect: Bool
    /// One line for the manual, which lists a field without effect by its name alone.
    let meaning: String

    init(
        _ path: String,
        _ type: ProjectConfigType,
        _ byDefault: JSONValue?,
        firebase: JSONValue? = nil,
        _ meaning: String
    ) {
        self.init(path, type, byDefault, firebase: firebase, hasEffect: true, meaning)
    }

    private init(
        _ path: String,
        _ type: ProjectConfigType,
        _ byDefault: JSONValue?,
        firebase: JSONValue?,
        hasEffect: Bool,
        _ meaning: String
    ) {
        self.path = path.split(separator: ".").map(String.init)
        self.type = type
        self.strictDefault = byDefault
        self.firebaseDefault = firebase
        self.hasEffect = hasEffect
        self.meaning = meaning
    }

    /// A field that is not shown while it is absent.
    init(_ path: String, _ type: ProjectConfigType, _ meaning: String) {
        self.init(path, type, nil, meaning)
    }

    /// A field without effect. It is not shown while it is absent, unless it has a default.
    static func withoutEffect(
        _ path: String,
        _ type: ProjectConfigType,
        _ byDefault: JSONValue? = nil
    ) -> ProjectConfigField {
        ProjectConfigField(path, type, byDefault, firebase: nil, hasEffect: false, "")
    }

    package var name: String { path.joined(separator: ".") }

    /// True if the preset determines the default of the field.
    package var followsPreset: Bool { firebaseDefault != nil }

    /// Default of the field under the preset of `settings`; `nil` if the absent field is not shown.
    package func byDefault(in settings: JSONValue) -> JSONValue? {
        switch LinkPolicyPreset(of: settings) {
        case .strict: strictDefault
        case .firebase: firebaseDefault ?? strictDefault
        }
    }

    /// The field's value in `settings`, or its default; `nil` if the absent field is not shown.
    package func value(in settings: JSONValue) -> JSONValue? { settings[path] ?? byDefault(in: settings) }

    /// Every writable field. Parsing, masks, defaults and `docs/reference/project-configuration.md` come from this
    /// list.
    package static let all: [ProjectConfigField] =
        signIn + client + mail + secondFactors + passwordPolicy + regions + recaptcha + other + linkPolicy + concord

    private static let presets = ProjectConfigType.choice(LinkPolicyPreset.allCases.map(\.rawValue))

    /// The rules in which Concord is safer than Firebase. The preset gives the values that are not set here.
    private static let linkPolicy: [ProjectConfigField] = [
        .init(
            LinkPolicyPreset.path.joined(separator: "."),
            presets,
            .string(LinkPolicyPreset.strict.rawValue),
            "Default of each rule that is not set: `strict` is safe, `firebase` does what Firebase does."
        ),
        .init(
            "linkPolicy.emailTrust",
            presets,
            .string(LinkPolicyPreset.strict.rawValue),
            firebase: .string(LinkPolicyPreset.firebase.rawValue),
            "Built-in table of providers that prove e-mail addresses. Rules of `concord.emailTrust` come first."
        ),
        .init(
            "linkPolicy.subjectChange",
            .choice(SubjectChange.allCases.map(\.rawValue)),
            .string(SubjectChange.conflict.rawValue),
            firebase: .string(SubjectChange.replace.rawValue),
            "Answer if a provider brings a new subject with the address of a linked account."
        ),
        .init(
            "linkPolicy.linkingNeedsRecentSignIn",
            .bool,
            .bool(true),
            firebase: .bool(false),
            "Requires a recent sign-in to link a provider, add a number or mailbox, or unlink a working method."
        ),
        .init(
            "linkPolicy.secondFactorsNeedProvenAddress",
            .bool,
            .bool(true),
            firebase: .bool(false),
            "An account with second factors accepts only proven addresses."
        ),
        .init(
            "linkPolicy.firstProofEndsSessions",
            .bool,
            .bool(true),
            firebase: .bool(false),
            "A first proof by mailed code ends all sessions, unless the session that requested it proves it."
        ),
        .init(
            "linkPolicy.countsProviderAuthTime",
            .bool,
            .bool(true),
            firebase: .bool(false),
            "A provider sign-in is as old as the sign-in at the provider. An ID token reauthenticates once."
        ),
        .init(
            "linkPolicy.unprovenAddress",
            .choice(UnprovenAddress.allCases.map(\.rawValue)),
            .string(UnprovenAddress.link.rawValue),
            firebase: .string(UnprovenAddress.link.rawValue),
            "`confirm` mails an unproven address of a provider, with or without an account. A new project has it."
        ),
        .init(
            "linkPolicy.httpContinueURLs",
            .bool,
            .bool(false),
            firebase: .bool(true),
            "Allows `http` and every port for authorized domains."
        ),
        .init(
            "linkPolicy.authorizesSubdomains",
            .bool,
            .bool(false),
            firebase: .bool(true),
            "Pages for provider sign-in also accept hosts below an authorized domain."
        ),
    ]

    private static let signIn: [ProjectConfigField] = [
        .init("signIn.email.enabled", .bool, .bool(false), "Sign-in with e-mail and password, or with a link."),
        .init("signIn.email.passwordRequired", .bool, .bool(true), "`false` also allows e-mail links."),
        .init("signIn.phoneNumber.enabled", .bool, .bool(false), "Sign-in with a code sent to a phone."),
        .init(
            "signIn.phoneNumber.testPhoneNumbers",
            .testPhoneNumbers,
            "Fictional numbers with fixed codes. Numbers of accounts are refused."
        ),
        .init("signIn.anonymous.enabled", .bool, .bool(false), "Accounts without any credential."),
        .init("signIn.allowDuplicateEmails", .bool, .bool(false), "Several accounts may have one address."),
    ]

    private static let client: [ProjectConfigField] = [
        .init(
            "authorizedDomains",
            .list(.authorizedDomain, countMax: 1000),
            .array([]),
            "Hosts of the project's web apps. Concord sends sign-in codes and sessions only to these."
        ),
        .init("client.permissions.disabledUserSignup", .bool, .bool(false), "Only administrators create accounts."),
        .init("client.permissions.disabledUserDeletion", .bool, .bool(false), "Only administrators delete accounts."),
        .init(
            "emailPrivacyConfig.enableImprovedEmailPrivacy",
            .bool,
            .bool(true),
            "Enumeration protection: hides from clients which addresses have accounts."
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
        // Mails go to the relay in `mail.host`.
        .withoutEffect(
            "notification.sendEmail.method",
            .choice(["METHOD_UNSPECIFIED", "DEFAULT", "CUSTOM_SMTP"], unavailable: ["CUSTOM_SMTP"]),
            .string("DEFAULT")
        ),
        // Templates belong to the server (docs/guides/mail.md).
        .withoutEffect("notification.sendEmail.resetPasswordTemplate", template),
        .withoutEffect("notification.sendEmail.verifyEmailTemplate", template),
        .withoutEffect("notification.sendEmail.changeEmailTemplate", template),
        .withoutEffect("notification.sendEmail.legacyResetPasswordTemplate", template),
        .withoutEffect("notification.sendEmail.revertSecondFactorAdditionTemplate", template),
        // Action links lead to `/__/auth/action` at `listen.public_url`.
        .withoutEffect("notification.sendEmail.callbackUri", .text(bytesMax: 2048)),
        .withoutEffect("notification.sendEmail.dnsInfo.useCustomDomain", .bool, .bool(false)),
        .init("notification.sendEmail.smtp", .unavailable, "The relay belongs to the server's configuration."),
        // Texts are always in the language that the client requests.
        .withoutEffect("notification.sendSms.useDeviceLocale", .bool, .bool(false)),
        .init(
            "notification.sendSms.smsTemplate",
            .message([.init("content", .text(bytesMax: 1024))]),
            "Text in every language, with `%LOGIN_CODE%` and `%APP_NAME%`. Ignored without `%LOGIN_CODE%`."
        ),
        .init(
            "notification.defaultLocale",
            .text(bytesMax: 35),
            .string("en"),
            "Default language of mails and their links."
        ),
    ]

    private static let factorState = ProjectConfigType.choice(["STATE_UNSPECIFIED", "DISABLED", "ENABLED", "MANDATORY"])

    private static let secondFactors: [ProjectConfigField] = [
        .init(
            "mfa.state",
            factorState,
            .string("DISABLED"),
            "Turns second factors on. `MANDATORY` means the same as `ENABLED`."
        ),
        .init(
            "mfa.enabledProviders",
            .list(.choice(["PROVIDER_UNSPECIFIED", "PHONE_SMS"]), countMax: 2),
            "`PHONE_SMS` allows users to enrol numbers."
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
            "`totpProviderConfig` with `ENABLED` allows authenticator apps. `adjacentIntervals`: steps accepted before and after the current one, default 1."
        ),
    ]

    private static let passwordPolicy: [ProjectConfigField] = [
        .init(
            "passwordPolicyConfig.passwordPolicyEnforcementState",
            .choice(["PASSWORD_POLICY_ENFORCEMENT_STATE_UNSPECIFIED", "OFF", "ENFORCE"]),
            .string("OFF"),
            "Whether new passwords must meet the policy."
        ),
        .init(
            "passwordPolicyConfig.forceUpgradeOnSignin",
            .bool,
            .bool(false),
            "Also refuses sign-in with a password that violates an enforced policy."
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
            "Requirements for passwords."
        ),
    ]

    private static let regions: [ProjectConfigField] = [
        .init(
            "smsRegionConfig.allowByDefault.disallowedRegions",
            .list(.region, countMax: 300),
            "Texts go everywhere except there. Excludes `smsRegionConfig.allowlistOnly`."
        ),
        .init(
            "smsRegionConfig.allowlistOnly.allowedRegions",
            .list(.region, countMax: 300),
            "Texts go only there. Excludes `smsRegionConfig.allowByDefault`."
        ),
    ]

    /// Concord enforces no reCAPTCHA here, so these states cannot be turned on.
    private static let recaptchaState = ProjectConfigType.choice(
        ["RECAPTCHA_PROVIDER_ENFORCEMENT_STATE_UNSPECIFIED", "OFF", "AUDIT", "ENFORCE"],
        unavailable: ["AUDIT", "ENFORCE"]
    )

    private static let recaptcha: [ProjectConfigField] = [
        .init("recaptchaConfig.emailPasswordEnforcementState", recaptchaState, .string("OFF"), "Always off."),
        .init("recaptchaConfig.phoneEnforcementState", recaptchaState, .string("OFF"), "Always off."),
        .withoutEffect(
            "recaptchaConfig.managedRules",
            .list(
                .message([
                    .init("endScore", .decimal(0...1)),
                    .init("action", .choice(["RECAPTCHA_ACTION_UNSPECIFIED", "BLOCK"])),
                ]),
                countMax: 100
            )
        ),
        .withoutEffect(
            "recaptchaConfig.tollFraudManagedRules",
            .list(
                .message([
                    .init("startScore", .decimal(0...1)),
                    .init("action", .choice(["RECAPTCHA_ACTION_UNSPECIFIED", "BLOCK"])),
                ]),
                countMax: 100
            )
        ),
        .withoutEffect("recaptchaConfig.useAccountDefender", .bool, .bool(false)),
        .withoutEffect("recaptchaConfig.useSmsBotScore", .bool, .bool(false)),
        .withoutEffect("recaptchaConfig.useSmsTollFraudProtection", .bool, .bool(false)),
    ]

    private static let other: [ProjectConfigField] = [
        .withoutEffect("autodeleteAnonymousUsers", .bool, .bool(false)),
        .init("blockingFunctions.triggers", .unavailable, "Concord has no blocking functions."),
        .withoutEffect(
            "blockingFunctions.forwardInboundCredentials",
            .message([.init("idToken", .bool), .init("accessToken", .bool), .init("refreshToken", .bool)])
        ),
        .withoutEffect("monitoring.requestLogging.enabled", .bool, .bool(false)),
        .withoutEffect("multiTenant.allowTenants", .bool, .bool(false)),
        .withoutEffect("multiTenant.defaultTenantLocation", .text(bytesMax: 256)),
        // `concord.linkDomains` lists the hosts.
        .withoutEffect(
            "mobileLinksConfig.domain",
            .choice(["DOMAIN_UNSPECIFIED", "FIREBASE_DYNAMIC_LINK_DOMAIN", "HOSTING_DOMAIN"]),
            .string("HOSTING_DOMAIN")
        ),
        .withoutEffect("quota.signUpQuotaConfig.quota", .longInteger(0...1_000_000_000)),
        .withoutEffect("quota.signUpQuotaConfig.startTime", .text(bytesMax: 64)),
        .withoutEffect("quota.signUpQuotaConfig.quotaDuration", .text(bytesMax: 64)),
    ]

    private static let concord: [ProjectConfigField] =
        [
            .init(
                "concord.displayName",
                .line(bytesMax: 64),
                "Name of the app on pages and in messages. Default in messages: the name in `mail.from`, else the project's id."
            )
        ] + branding + [
            .init(
                "concord.recentSignInSeconds",
                .integer(0...366 * 86_400),
                .integer(300),
                "Maximum age of a sign-in for sensitive operations; 0 requires a new one each time."
            ),
            .init(
                "concord.conflictLifetimeSeconds",
                .integer(Lifetimes.conflictSecondsBounds),
                .integer(Lifetimes.conflictSeconds),
                "Lifetime of a conflict."
            ),
            .init(
                "concord.signUp.requires",
                .choice(SignUpRequirement.allCases.map(\.rawValue)),
                .string(SignUpRequirement.none.rawValue),
                "`mailbox`: a sign-up with a password gets one answer for every address, and continues from a mail."
            ),
            .init(
                "concord.passwordReset.unlinksProviders",
                .bool,
                .bool(false),
                firebase: .bool(true),
                "A password reset unlinks every provider, not only one that is the first proof of the address."
            ),
            .init(
                "concord.passwords.lengthMin",
                .integer(6...30),
                .integer(8),
                firebase: .integer(6),
                "Minimum length of a new password. `minPasswordLength` of an enforced policy replaces it."
            ),
            .init(
                "concord.passwords.refusesCommon",
                .bool,
                .bool(true),
                firebase: .bool(false),
                "Refuses the 10,000 most common passwords, the account's address and the app's name."
            ),
            .init(
                "concord.quarantineSeconds",
                .integer(Lifetimes.quarantineSecondsBounds),
                .integer(Lifetimes.quarantineSeconds),
                "How long a suspended method can be restored; 0 deletes it at once."
            ),
            .init(
                "concord.revertSeconds",
                .integer(Lifetimes.revertSecondsBounds),
                .integer(Lifetimes.revertSeconds),
                "How long the mail about a changed sign-in method can undo the change; 0 turns the mail off."
            ),
            .init(
                "concord.merges.answerSeconds",
                .integer(Lifetimes.mergeAnswerSecondsBounds),
                .integer(Lifetimes.mergeAnswerSeconds),
                "How long webhook receivers have to approve a merge. No answer counts as a refusal."
            ),
            .init(
                "concord.merges.undoSeconds",
                .integer(Lifetimes.mergeUndoSecondsBounds),
                .integer(Lifetimes.mergeUndoSeconds),
                "How long a merge can be undone; 0: never."
            ),
            .init(
                "concord.sessions.inactivitySeconds",
                .limit(Lifetimes.inactivitySecondsBounds),
                .integer(0),
                "Maximum time between refreshes; 0: unlimited, as in Firebase. A new project has 15552000 (180 days). SDKs refresh once an hour while an app is in use."
            ),
            .init(
                "concord.sessions.absoluteSeconds",
                .limit(Lifetimes.sessionSecondsBounds),
                .integer(0),
                "Maximum age of a session; 0: unlimited."
            ),
            .init(
                "concord.devices.seconds",
                .integer(Lifetimes.deviceSecondsBounds),
                .integer(Lifetimes.deviceSeconds),
                "How long an account knows a device after its last use; 0: accounts know no devices."
            ),
            .init(
                "concord.keepsLastSignInMethod",
                .bool,
                .bool(false),
                "Compatible routes refuse to unlink the last working sign-in method."
            ),
            .init(
                "concord.emailTrust",
                .emailTrust,
                .array([]),
                "Additional rules for which providers prove an e-mail address."
            ),
            .init(
                "concord.conflictProofs",
                .conflictProofs,
                .array([]),
                "Proofs that may settle a conflict, for each pair of methods. Default: every proof."
            ),
            .init(
                "concord.decisionRetentionDays",
                .integer(Lifetimes.decisionDaysBounds),
                .integer(Lifetimes.decisionDays),
                "Retention of account events and recorded decisions in days, rounded up to whole months; 0: forever."
            ),
            .init(
                "concord.ordinaryFactsOneIn",
                .integer(0...1_000_000),
                .integer(0),
                "Facts are stored for one in this many ordinary sign-ins; 0: for none, 1: for each."
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
                "Native apps that provider sign-in may return to, and that links in mails may open."
            ),
            .init("concord.linkDomains", .list(.domain, countMax: 100), "Hosts whose links open the app."),
            .init(
                "concord.sms.codeSeconds",
                .integer(Lifetimes.phoneCodeSecondsBounds),
                .integer(Lifetimes.phoneCodeSeconds),
                "Lifetime of a phone code."
            ),
            .init(
                "concord.sms.windowSeconds",
                .integer(Lifetimes.messageWindowSecondsBounds),
                .integer(Lifetimes.messageWindowSeconds),
                "How long repeated requests for a number reuse the text that was sent."
            ),
        ] + messageLimits + [
            codeLifetime(.passwordReset),
            codeLifetime(.emailSignIn),
            codeLifetime(.verifyEmail),
            codeLifetime(.verifyAndChangeEmail),
            codeLifetime(.recoverEmail),
            codeLifetime(.revertSecondFactorAddition),
            codeLifetime(.lookUp),
            .init(
                "concord.lookup.mailsUnknownAddresses",
                .bool,
                .bool(true),
                "A lookup of an address without an account mails that there is none; off: it mails nothing."
            ),
            .init(
                "concord.accountPage.enabled",
                .bool,
                .bool(true),
                "People manage their account at `/account`; off: there is no such page."
            ),
            .init(
                "concord.wrongDoor.enabled",
                .bool,
                .bool(true),
                "After a refusal that does not say how to sign in, Concord mails it to the owner of the address."
            ),
            .init(
                "concord.wrongDoor.windowSeconds",
                .integer(Lifetimes.rightDoorSecondsBounds),
                .integer(Lifetimes.rightDoorSeconds),
                "How long an address gets no second mail of this kind."
            ),
        ]

    private static let branding: [ProjectConfigField] =
        [
            LogoPlace.light.field,
            LogoPlace.dark.field,
            .init(
                "concord.branding.accentColor",
                .accentColor(.light),
                "Colour of buttons and links on pages and in mails."
            ),
            .init(
                "concord.branding.accentColorDark",
                .accentColor(.dark),
                "The same in dark mode. Default: the nearest readable shade of `accentColor`."
            ),
            .init(
                "concord.branding.supportUrl",
                .link(allowsMail: true),
                "Support link at the end of pages and mails."
            ),
            .init(
                "concord.branding.privacyUrl",
                .link(allowsMail: false),
                "Link to the privacy policy at the end of pages and mails."
            ),
            .init(
                "concord.branding.termsUrl",
                .link(allowsMail: false),
                "Link to the terms at the end of pages and mails."
            ),
        ]
        + BrandingText.languages.flatMap { language -> [ProjectConfigField] in
            [
                .init(
                    "concord.branding.texts.\(language).greeting",
                    .plainText(lengthMax: 200),
                    "Line above each page. Default: the one in `en`."
                ),
                .init(
                    "concord.branding.texts.\(language).footer",
                    .plainText(lengthMax: 200),
                    "Line at the end of pages and mails. Default: the one in `en`."
                ),
            ]
        }

    private static let messageLimits =
        limits(MessageLimits.all, "concord.sms", "Texts", recipient: "number")
        + limits(MessageLimits.ofMails, "concord.mail", "Requested mails", recipient: "mailbox")
        + limits(
            MessageLimits.ofGuesses,
            "concord.shortCodes",
            "Wrong guesses at short codes",
            recipient: "mailbox and purpose"
        )
        + limits(MessageLimits.ofSignUps, "concord.signUps", "New accounts from clients")
        + limits(MessageLimits.ofProviderFlows, "concord.providerFlows", "Provider sign-ins begun")
        + limits(MessageLimits.ofConflicts, "concord.conflicts", "Conflicts")

    private static func limits(
        _ all: [(name: String, limit: MessageLimit)],
        _ path: String,
        _ what: String,
        recipient: String = ""
    ) -> [ProjectConfigField] {
        all.map { name, limit in
            let scope =
                switch limit.scope {
                case .recipient: "one \(recipient)"
                case .address: "one network address"
                case .project: "the project"
                }
            return ProjectConfigField(
                "\(path).\(name)",
                .integer(0...1_000_000_000),
                .integer(limit.countMax),
                "\(what) for \(scope)."
            )
        }
    }

    private static func codeLifetime(_ kind: EmailCodeRecord.Kind) -> ProjectConfigField {
        ProjectConfigField(
            "concord.codeLifetimes.\(kind.rawValue)",
            .integer(Lifetimes.codeSecondsBounds),
            .integer(Lifetimes.codeSeconds(kind)),
            "Lifetime of the code, in seconds."
        )
    }

    /// Fields that are shown and never written. A mask may name them, because clients send back what they read.
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
        let rows = all.filter(\.hasEffect).map { field in
            "| `\(field.name)` | \(field.type.summary) | \(field.defaultText) | \(field.meaning) |"
        }
        let others = all.filter { !$0.hasEffect }.map { "`\($0.name)`" }
        return (["| Field | Value | Default | Meaning |", "|---|---|---|---|"] + rows).joined(separator: "\n")
            + "\n\nStored and shown for consoles, without effect: " + others.joined(separator: ", ") + "."
    }
}

extension LinkPolicyPreset {
    static let path = ["linkPolicy", "preset"]

    package init(of settings: JSONValue) {
        self = settings[Self.path]?.string.flatMap(Self.init(rawValue:)) ?? .strict
    }
}
