import AccountLinking
import AccountStore
import AccountTestSupport
import Foundation
import JSON
import Testing

@testable import AccountOperations
@testable import concord

/// The file that a policy is proposed in.
struct PolicyFileTests {
    private static func read(_ text: String) throws -> PolicyFile {
        try PolicyFile(path: "etc/policy.yaml") { path in path == "etc/policy.yaml" ? Array(text.utf8) : nil }
    }

    private static func mistakes(_ text: String) throws -> ConfigurationMistakes {
        try #require(#expect(throws: ConfigurationMistakes.self) { _ = try read(text) })
    }

    private static func state(
        _ settings: JSONValue = .object([:]),
        _ providers: [ProviderConfigRecord] = []
    ) -> PolicyState {
        PolicyState(
            project: ProjectRecord(projectID: "demo-test", projectNumber: 1, settings: settings, version: 7),
            providers: providers
        )
    }

    @Test func `a file changes only the fields it names, nested or dotted`() throws {
        let file = try Self.read(
            """
            signIn:
              email: {enabled: true}
              allowDuplicateEmails: "true"
            concord.recentSignInSeconds: 60
            concord:
              emailTrust:
                - {provider: oidc.acme, domain: acme.example, trust: authoritative}
            recaptchaConfig.managedRules: [{endScore: 0.5, action: BLOCK}]
            providers:
              google.com: {enabled: false}
              github.com: removed
              oidc.acme:
                enabled: true
            """
        )
        let before: JSONValue = [
            "signIn": ["email": ["passwordRequired": false], "anonymous": ["enabled": true]],
            "concord": ["displayName": "Shop"],
        ]
        #expect(
            file.proposal.settings?.applied(to: before) == [
                "signIn": [
                    "email": ["enabled": true, "passwordRequired": false], "anonymous": ["enabled": true],
                    "allowDuplicateEmails": true,
                ],
                "concord": [
                    "displayName": "Shop", "recentSignInSeconds": 60,
                    "emailTrust": [
                        ["provider": "oidc.acme", "domain": "acme.example", "trust": "authoritative"]
                    ],
                ],
                "recaptchaConfig": ["managedRules": [["endScore": .double(0.5), "action": "BLOCK"]]],
            ]
        )
        let acme = try #require(ProviderID("oidc.acme"))
        #expect(file.proposal.providers == [.google: .off, .gitHub: .removed, acme: .on])
        #expect(try Self.read("providers: {google.com: {enabled: true}}").proposal.settings == nil)
    }

    @Test func `a mistyped group of fields gets a suggestion`() throws {
        let mistakes = try Self.mistakes("signIn:\n  emial:\n    enabled: true\n")
        #expect(mistakes.description.contains("signIn.emial: unknown field; did you mean signIn.email?"))
    }

    @Test func `all mistakes are reported together, with their lines`() throws {
        let mistakes = try Self.mistakes(
            """
            signIn:
              allowDuplicateEmail: true
              email:
                enabled: perhaps
              phoneNumber: on
            signIn.allowDuplicateEmails: true
            emailPrivacyConfig:
              enableImprovedEmailPrivacy:
            colour: blue
            concord:
              emailTrust:
                - {provider: google.com, trust: asserting}
                - {provider: google.com, trust: complete}
                - {provider: example, trust: asserting, domian: x}
              keepsLastSignInMethod: [true]
            mfa:
              providerConfigs:
                - {stat: ENABLED}
            notification.sendEmail.smtp: {host: x}
            providers:
              google.com: {enabled: perhaps}
              github.com: {enabled: true, clientId: x}
              not a provider: removed
              apple.com:
            """
        )
        #expect(
            mistakes.description.split(separator: "\n").map(String.init) == [
                "etc/policy.yaml:2: signIn.allowDuplicateEmail: unknown field; did you mean signIn.allowDuplicateEmails?",
                "etc/policy.yaml:4: signIn.email.enabled must be true or false",
                "etc/policy.yaml:5: signIn.phoneNumber: a group of fields; give its fields, indented, below it",
                "etc/policy.yaml:8: emailPrivacyConfig.enableImprovedEmailPrivacy: has no value; remove it or give one",
                "etc/policy.yaml:9: colour: unknown field; remove it",
                "etc/policy.yaml:13: concord.emailTrust[1].trust must be one of untrusted, asserting, verifying-new, verifying, authoritative",
                "etc/policy.yaml:14: concord.emailTrust[2].domian is not a member of a rule",
                "etc/policy.yaml:15: concord.keepsLastSignInMethod must be true or false",
                "etc/policy.yaml:17: mfa.providerConfigs.stat: unknown member; remove it",
                "etc/policy.yaml:19: notification.sendEmail.smtp is not implemented",
                "etc/policy.yaml:21: providers.google.com: \(Self.providerAdvice)",
                "etc/policy.yaml:22: providers.github.com: \(Self.providerAdvice)",
                "etc/policy.yaml:23: providers.not a provider: not the id of a provider",
                "etc/policy.yaml:24: providers.apple.com: \(Self.providerAdvice)",
            ]
        )
    }

    private static let providerAdvice = """
        give `{enabled: true}`, `{enabled: false}` or `removed`; anything else of a registration is changed with: \
        concord providers apply
        """

    @Test(arguments: [
        ("", "give what is to change"), ("[]", "give what is to change"), ("{}", "give what is to change"),
        ("signIn: [", "not YAML"), ("signIn: {}\nsignIn: {}", "given twice in one group: signIn"),
        ("signIn.allowDuplicateEmails: true\nsignIn: {allowDuplicateEmails: false}", "given twice; keep one"),
        ("providers: [google.com]", "give each provider by its id"), ("1: {}", "1: unknown field"),
        ("[a]: {}", "a key has to be a plain word"),
        (
            "smsRegionConfig: {allowlistOnly: {allowedRegions: [TW]}, allowByDefault: {disallowedRegions: [TH]}}",
            "exclude each other"
        ),
        (String(repeating: "#", count: YAMLValues.fileBytesMax + 1), "longer than 1 MiB"),
    ])
    func `a file of another kind is refused`(_ text: String, _ problem: String) throws {
        #expect(try Self.mistakes(text).description.contains(problem))
    }

    @Test func `a missing file is reported`() {
        let absent = #expect(throws: ConfigurationMistakes.self) { try PolicyFile(path: "gone.yaml") { _ in nil } }
        #expect(absent?.description == "gone.yaml: the file cannot be read; check its path and permissions")
    }

    @Test func `a small file that expands without limit is refused`() throws {
        var text = "concord:\n  apps: &a0 [x]\n  linkDomains:\n"
        for level in 1...10 {
            text += "    - &a\(level) [\((0..<9).map { _ in "*a\(level - 1)" }.joined(separator: ", "))]\n"
        }
        #expect(try Self.mistakes(text).description.contains("the file has too many values"))
    }

    @Test func `providers that are not registered are reported with their lines`() throws {
        let file = try Self.read("providers:\n  google.com: removed\n  github.com: {enabled: true}\n")
        let registered = ProviderConfigRecord(provider: .google, isEnabled: true)
        guard case .failure(let unregistered) = Self.state(.object([:]), [registered]).after(file.proposal) else {
            Issue.record("GitHub is registered")
            return
        }
        #expect(
            file.mistakes(about: unregistered.all).description
                == "etc/policy.yaml:3: providers.github.com: not registered; register it first, not enabled, with: concord providers apply"
        )
    }

    @Test(arguments: [ProjectSettings.productionDefaults, ProjectSettings.developmentDefaults])
    func `the shown policy is a file that changes nothing`(_ settings: JSONValue) throws {
        let providers = [
            ProviderConfigRecord(provider: .gitHub, isEnabled: true),
            ProviderConfigRecord(provider: .google, isEnabled: false),
        ]
        var settings = settings
        settings = settings.setting(
            [
                ["provider": "oidc.*", "trust": "asserting"],
                ["provider": "*", "issuer": "none", "trust": "untrusted"],
            ],
            at: ["concord", "emailTrust"]
        )
        settings = settings.setting("Ada's \"shop\": # 1", at: ["concord", "displayName"])
        settings = settings.setting(["+16505550001": "000000"], at: ["signIn", "phoneNumber", "testPhoneNumbers"])
        let state = Self.state(settings, providers)
        let text = PolicyText.yaml(state)
        let next = try state.after(Self.read(text).proposal).get()
        #expect(state.changes(to: next) == [], "\(text)")
        #expect(next.project.settings[["concord", "emailTrust"]] == settings[["concord", "emailTrust"]])
        #expect(text.contains("allowDuplicateEmails: false"))
    }

    @Test func `a change lists the old value, the new value and the affected part of a simulation`() throws {
        let registered = ProviderConfigRecord(provider: .google, isEnabled: true)
        let state = Self.state(["concord": ["recentSignInSeconds": 60]], [registered])
        let file = try Self.read(
            """
            signIn.allowDuplicateEmails: true
            concord: {recentSignInSeconds: 90, displayName: Shop, sessions: {inactivitySeconds: 7200}}
            linkPolicy: {firstProofEndsSessions: false}
            providers: {google.com: removed}
            """
        )
        let changes = state.changes(to: try state.after(file.proposal).get())
        #expect(
            changes.map { "\($0.name) \($0.before?.text ?? "-") \($0.after?.text ?? "-") \($0.judges)" } == [
                "signIn.allowDuplicateEmails false true accounts",
                "linkPolicy.firstProofEndsSessions true false requests",
                "concord.displayName - \"Shop\" nothing",
                "concord.recentSignInSeconds 60 90 nothing",
                "concord.sessions.inactivitySeconds 0 7200 sessions",
                "google.com \"enabled\" \"not registered\" accounts",
            ]
        )
    }

    private static func lines(_ before: JSONValue, _ after: JSONValue) -> [String] {
        PolicyText.lines(state(before).changes(to: state(after)))
    }

    @Test func `a change of a long list shows what is added and removed`() {
        let hosts = (0..<12).map { JSONValue.string("host-number-\($0).example.com") }
        #expect(
            Self.lines(
                ["authorizedDomains": .array(hosts)],
                ["authorizedDomains": .array(hosts.dropFirst() + ["evil.example"])]
            ) == [
                "authorizedDomains  12 → 12 entries", "    - host-number-0.example.com", "    + evil.example",
            ]
        )
        #expect(
            Self.lines(
                ["authorizedDomains": .array(hosts)],
                ["authorizedDomains": .array(hosts.reversed())]
            ) == ["authorizedDomains  12 → 12 entries, in another order"]
        )
    }

    @Test func `a change of a long text shows the place where it differs`() throws {
        let long = String(repeating: "a", count: 300)
        let lines = Self.lines(
            ["concord": ["displayName": .string(long)]],
            ["concord": ["displayName": .string(long + "b")]]
        )
        #expect(lines.count == 1)
        let sides = try #require(lines.first).components(separatedBy: " → ")
        #expect(sides.count == 2 && sides[0].hasSuffix("a") && sides[1].hasSuffix("ab") && sides[1].count < 40)
    }

    @Test func `a change cannot write control characters to the terminal`() {
        #expect(
            Self.lines([:], ["concord": ["displayName": "Shop\u{1B}[2K\r\nversion 9 \u{202E}x"]]) == [
                "concord.displayName  - → Shop\\u{1b}[2K\\u{d}\\u{a}version 9 \\u{202e}x"
            ]
        )
    }

    @Test func `a file that repeats the preset's values does not pin them`() throws {
        let firebase = Self.state(["linkPolicy": ["preset": "firebase"]])
        let shown = PolicyText.yaml(firebase)
        let strict = try firebase.after(Self.read("linkPolicy: {preset: strict}").proposal).get()
        let back = try strict.after(Self.read(shown).proposal).get()
        #expect(back.project.settings[["linkPolicy"]] == ["preset": "firebase"])
        let again = try back.after(Self.read("linkPolicy: {preset: strict}").proposal).get()
        #expect(again.project.settings[["linkPolicy"]] == ["preset": "strict"])
        // A value that differs from the preset's is stored, and stays when the preset moves to it.
        let own = try strict.after(Self.read("linkPolicy: {subjectChange: replace}").proposal).get()
        let moved = try own.after(Self.read("linkPolicy: {preset: firebase, subjectChange: replace}").proposal).get()
        #expect(moved.project.settings[["linkPolicy"]] == ["preset": "firebase", "subjectChange": "replace"])
    }

    @Test func `a change of the preset lists the values that a simulation reads`() throws {
        let strict = Self.state(["linkPolicy": ["preset": "strict"]])
        let firebase = try strict.after(Self.read("linkPolicy: {preset: firebase}").proposal).get()
        let changes = strict.changes(to: firebase)
        func judging(_ effect: PolicyState.Change.Effect) -> [String] {
            changes.filter { $0.judges == effect }.map(\.name)
        }
        #expect(
            judging(.accounts).contains("linkPolicy.preset") && judging(.accounts).contains("linkPolicy.emailTrust")
        )
        #expect(judging(.requests).contains("linkPolicy.linkingNeedsRecentSignIn"), "\(changes.map(\.name))")
        #expect(judging(.nothing).contains("linkPolicy.httpContinueURLs"))
    }

    @Test func `what a sign-up must prove is judged by recorded requests`() throws {
        let open = Self.state(["linkPolicy": ["preset": "strict"]])
        let file = "linkPolicy: {unprovenAddress: confirm}\nconcord: {signUp: {requires: mailbox}}"
        let closed = try open.after(Self.read(file).proposal).get()
        let changes = open.changes(to: closed)
        #expect(changes.map(\.name).sorted() == ["concord.signUp.requires", "linkPolicy.unprovenAddress"])
        #expect(changes.allSatisfy { $0.judges == .requests })
    }
}
