import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Synchronization
import Testing

@testable import AccountAPI

/// The facts about an address or a number that each endpoint discloses to a client that does not own it.
struct DisclosureMatrix {
    /// The settings that decide what is disclosed.
    enum Preset: String, Sendable, CaseIterable {
        case unprotected = "protection off"
        case firebase = "`firebase`"
        case strict = "`strict`"
        case everything = "`strict`, `confirm`, `mailbox`"

        fileprivate var settings: JSONValue {
            switch self {
            case .unprotected: ProjectSettings.developmentDefaults
            case .firebase: protectedSettings.setting("firebase", at: ["linkPolicy", "preset"])
            case .strict: protectedSettings
            case .everything:
                protectedSettings
                    .setting("mailbox", at: ["concord", "signUp", "requires"])
                    .setting("confirm", at: ["linkPolicy", "unprovenAddress"])
            }
        }
    }

    /// Something that a client learns.
    enum Disclosure: String, Sendable, CaseIterable {
        case exists = "account"
        case methods
        case isDisabled = "disabled"
        case localID = "`localId`"

        static func text(_ found: Set<Disclosure>) -> String {
            found.isEmpty ? "nothing" : allCases.filter(found.contains).map(\.rawValue).joined(separator: ", ")
        }
    }

    /// The owner of the address that a client asks about.
    fileprivate enum Owner: String, CaseIterable {
        case nobody
        /// Asked about twice: two answers about addresses without an account differ in what is random only.
        case nobodyElse
        case withPassword
        case withGoogle
        case disabledAccount
    }

    /// What is found for each probe, in the order of `Probe.all`.
    static func found(under preset: Preset) async throws -> [Set<Disclosure>] {
        let found = Mutex<[Int: Set<Disclosure>]>([:])
        for shut in Probe.Door.allCases {
            let settings = shut.path.map { preset.settings.setting(.bool(shut.isOn), at: $0) } ?? preset.settings
            try await TestAPI.withAdministrator(settings: settings) { api in
                for (number, probe) in Probe.all.enumerated() where probe.shut == shut {
                    let result = try await ask(probe, number, api)
                    found.withLock { $0[number] = result }
                }
            }
        }
        let all = found.withLock { $0 }
        return try Probe.all.indices.map { try #require(all[$0]) }
    }

    private static func ask(_ probe: Probe, _ number: Int, _ api: TestAPI) async throws -> Set<Disclosure> {
        var answers: [Owner: Observation] = [:]
        for owner in Owner.allCases {
            let subject = Subject(number, owner)
            if let account = subject.account { try await create(account, in: api) }
            let session =
                switch probe.session {
                case .none: JSONValue.null
                case .anonymous: try await api.signUpAnonymously()
                case .withAddress: try await signInAsStranger(to: subject, in: api)
                case .withProvenAddress: try await signInAsStranger(to: subject, isProven: true, in: api)
                }
            let answer = try await api.post(probe.path, probe.body(subject, session))
            #expect(answer.status < 500, "\(probe.route): \(answer.text)")
            answers[owner] = Observation(answer, about: subject)
        }
        return disclosures(in: answers)
    }

    private static func create(_ account: JSONValue, in api: TestAPI) async throws {
        let answer = try await api.admin(
            "accounts:batchCreate",
            ["hashAlgorithm": "SHA256", "rounds": 1, "users": [account]]
        )
        #expect(answer.status == 200 && answer.json["error"] == nil, "\(answer.text)")
    }

    /// A session of another account. It is imported, because a project may refuse sign-ups without a proven mailbox.
    private static func signInAsStranger(
        to subject: Subject,
        isProven: Bool = false,
        in api: TestAPI
    ) async throws -> JSONValue {
        let email = "stranger-\(subject.name)@example.org"
        let account: [String: JSONValue] = [
            "localId": .string("stranger-" + String(subject.name.reversed())), "email": .string(email),
            "emailVerified": .bool(isProven),
        ]
        try await create(.object(account.merging(Subject.passwordHash) { $1 }), in: api)
        let answer = try await api.post(
            "/v1/accounts:signInWithPassword",
            ["email": .string(email), "password": "password", "returnDeviceToken": true]
        )
        #expect(answer.status == 200 && answer.json["deviceToken"] != nil, "\(answer.text)")
        return answer.json
    }

    private static func disclosures(in answers: [Owner: Observation]) -> Set<Disclosure> {
        guard let nobody = answers[.nobody], let nobodyElse = answers[.nobodyElse],
            let password = answers[.withPassword], let google = answers[.withGoogle],
            let disabled = answers[.disabledAccount]
        else { return [] }
        let noise = nobody.differences(from: nobodyElse)
        func differ(_ first: Observation, _ second: Observation) -> Bool {
            first.masking(noise) != second.masking(noise)
        }
        // Between two accounts, other fields are random as well: only their presence and length counts.
        func differAsAccounts(_ first: Observation, _ second: Observation) -> Bool {
            first.masking(noise.merging(first.randomFields) { $1 })
                != second.masking(noise.merging(second.randomFields) { $1 })
        }
        var found: Set<Disclosure> = []
        if differ(password, nobody) || differ(google, nobody) { found.insert(.exists) }
        if differAsAccounts(password, google) { found.insert(.methods) }
        if differAsAccounts(password, disabled) { found.insert(.isDisabled) }
        if password.namesAccount || google.namesAccount || disabled.namesAccount { found.insert(.localID) }
        return found
    }

    /// An address and a number, and the account that has them.
    struct Subject: Sendable {
        /// The local part of the address. All have the same length.
        let name: String
        private let owner: Owner
        let phoneNumber: String

        fileprivate init(_ probe: Int, _ owner: Owner) {
            let index = Owner.allCases.firstIndex(of: owner) ?? 0
            name = "subject\(100 + probe)\(index)"
            phoneNumber = "+1650555\(1000 + probe * 10 + index)"
            self.owner = owner
        }

        /// The hash of `password`, which takes no time.
        fileprivate static let passwordHash: [String: JSONValue] = [
            "passwordHash": "sgq3SqJUn34ToOiGy0RxzC5w/NLOgHXA7mSDq7phMvM=", "salt": "TmFDbA==",
        ]

        var email: String { name + "@example.com" }
        fileprivate var localID: String { "id-of-" + String(name.reversed()) }

        /// The row that creates the account; `nil` if there is none.
        fileprivate var account: JSONValue? {
            var row: [String: JSONValue] = [
                "localId": .string(localID), "email": .string(email), "phoneNumber": .string(phoneNumber),
            ]
            switch owner {
            case .nobody, .nobodyElse: return nil
            case .withGoogle:
                row["emailVerified"] = true
                row["providerUserInfo"] = [
                    ["providerId": "google.com", "rawId": .string("google-" + name), "email": .string(email)]
                ]
            case .withPassword, .disabledAccount:
                row.merge(Self.passwordHash) { $1 }
                row["disabled"] = .bool(owner == .disabledAccount)
            }
            return .object(row)
        }

        /// A credential of a provider whose word for the address is no proof.
        fileprivate var unprovenCredential: JSONValue {
            let claims: JSONValue = ["sub": .string("github-" + name), "email": .string(email)]
            return .string("providerId=github.com&access_token=\(claims.text)")
        }
    }

    /// Status, headers and body of an answer, by name, with the subject's names replaced. The body is there twice: by
    /// member, and as its bytes, whose number is the size on the network.
    private struct Observation: Equatable {
        private var fields: [String: String] = [:]
        let namesAccount: Bool

        init(_ answer: TestAPI.Answer, about subject: Subject) {
            namesAccount = answer.text.contains(subject.localID)
            let idToken = answer.json["idToken"]?.string ?? ""
            let claims = Self.claims(of: idToken)
            func replaced(_ text: String) -> String {
                (idToken.isEmpty ? text : text.replacing(idToken, with: claims))
                    .replacing(subject.localID, with: "ID").replacing(subject.name, with: "NAME")
                    .replacing(subject.phoneNumber, with: "NUMBER")
            }
            fields["status"] = "\(answer.status)"
            for header in answer.headers where header.name != .contentLength {
                fields["header \(header.name.canonicalName)", default: ""] += replaced(header.value) + "\n"
            }
            fields["body"] = replaced(answer.text)
            if answer.json != .null { add(answer.json, at: "", replaced) }
        }

        /// The claims of an ID token, without the session's random numbers, whose digits vary in number.
        private static func claims(of idToken: String) -> String {
            let parts = idToken.split(separator: ".")
            guard parts.count > 1, let payload = Base64URL.decode(String(parts[1])),
                let claims = (try? JSONValue(parsing: payload))?.object
            else { return idToken }
            return JSONValue.object(claims.filter { $0.key != "concord" }).text
        }

        private mutating func add(_ value: JSONValue, at path: String, _ replaced: (String) -> String) {
            switch value {
            case .object(let members):
                for (name, member) in members { add(member, at: "\(path).\(name)", replaced) }
                fields[path + "{}"] = ""
            case .array(let elements):
                for (index, element) in elements.enumerated() { add(element, at: "\(path)[\(index)]", replaced) }
                fields[path + "[]"] = "\(elements.count)"
            case .string(let text): fields[path] = replaced(text)
            case .null, .bool, .integer, .double: fields[path] = value.text
            }
        }

        /// The fields that both have with different values. `true`: their lengths are the same.
        func differences(from other: Observation) -> [String: Bool] {
            fields.reduce(into: [:]) { differences, field in
                guard let value = other.fields[field.key], value != field.value else { return }
                differences[field.key] = value.utf8.count == field.value.utf8.count
            }
        }

        /// The fields that are random in each answer.
        var randomFields: [String: Bool] {
            let ofBody = [".pendingToken", ".idToken", ".refreshToken", ".sessionId"].filter { fields[$0] != nil }
            let others = ["header x-request-id", "header concord-decision"].filter { fields[$0] != nil }
            let found = ofBody + others + (ofBody.isEmpty ? [] : ["body"])
            return Dictionary(uniqueKeysWithValues: found.map { ($0, true) })
        }

        /// The observation without the values of `noise`, but with their lengths if those do not vary.
        func masking(_ noise: [String: Bool]) -> [String: String] {
            fields.reduce(into: [:]) { masked, field in
                switch noise[field.key] {
                case nil: masked[field.key] = field.value
                case true?: masked[field.key] = "\(field.value.utf8.count) bytes"
                case false?: masked[field.key] = "random"
                }
            }
        }
    }

    /// A request with an address or a number of someone else.
    struct Probe: Sendable {
        enum Session: Sendable {
            case none, anonymous, withAddress, withProvenAddress
        }

        /// The sign-in method that the project has switched off.
        enum Door: Sendable, CaseIterable {
            case none, passwords, links

            /// The setting that decides it.
            fileprivate var path: ArraySlice<String>? {
                switch self {
                case .none: nil
                case .passwords: ["signIn", "email", "enabled"]
                case .links: ["signIn", "email", "passwordRequired"]
                }
            }

            fileprivate var isOn: Bool { self == .links }
        }

        /// Method and path.
        let route: String
        let summary: String
        var session = Session.none
        var shut = Door.none
        /// - `session`: the answer to the client's own sign-in.
        let body: @Sendable (_ subject: Subject, _ session: JSONValue) -> JSONValue

        var path: String { String(route.split(separator: " ").last ?? "") }

        /// Every probe of a route that the service has. The next one goes here.
        static let all: [Probe] = (compatible + own).filter { probe in
            API.routes.contains { $0.name == probe.route }
        }

        private static let compatible: [Probe] = [
            Probe(route: "POST /v1/accounts:signUp", summary: "a password") { subject, _ in
                ["email": .string(subject.email), "password": "correct horse"]
            },
            Probe(
                route: "POST /v1/accounts:signUp",
                summary: "a password, in an anonymous session",
                session: .anonymous
            ) { subject, session in
                ["email": .string(subject.email), "password": "correct horse", "idToken": session["idToken"] ?? .null]
            },
            Probe(
                route: "POST /v1/accounts:signUp",
                summary: "a password, in a session with an address",
                session: .withAddress
            ) { subject, session in
                [
                    "email": .string(subject.email), "password": "correct horse",
                    "idToken": session["idToken"] ?? .null,
                ]
            },
            Probe(route: "POST /v1/accounts:signInWithPassword", summary: "a wrong password") { subject, _ in
                ["email": .string(subject.email), "password": "not the password"]
            },
            Probe(
                route: "POST /v1/accounts:signInWithPassword",
                summary: "the same, with the device token of another account",
                session: .withAddress
            ) { subject, session in
                [
                    "email": .string(subject.email), "password": "not the password",
                    "deviceToken": session["deviceToken"] ?? .null,
                ]
            },
            Probe(
                route: "POST /v1/accounts:signInWithPassword",
                summary: "a password, where passwords are off",
                shut: .passwords
            ) { subject, _ in
                ["email": .string(subject.email), "password": "not the password"]
            },
            Probe(
                route: "POST /v1/accounts:signInWithIdp",
                summary: "a provider's credential with the address, unproven"
            ) { subject, _ in
                ["requestUri": "http://localhost", "postBody": subject.unprovenCredential]
            },
            Probe(
                route: "POST /v1/accounts:signInWithIdp",
                summary: "the same, in an anonymous session",
                session: .anonymous
            ) { subject, session in
                [
                    "requestUri": "http://localhost", "postBody": subject.unprovenCredential,
                    "idToken": session["idToken"] ?? .null,
                ]
            },
            Probe(
                route: "POST /v1/accounts:signInWithIdp",
                summary: "the same, in a session with an address",
                session: .withAddress
            ) { subject, session in
                [
                    "requestUri": "http://localhost", "postBody": subject.unprovenCredential,
                    "idToken": session["idToken"] ?? .null,
                ]
            },
            Probe(
                route: "POST /v1/accounts:signInWithIdp",
                summary: "a provider's credential with the address, unproven, asking first"
            ) { subject, _ in
                ["requestUri": "http://localhost", "postBody": subject.unprovenCredential, "asksFirst": true]
            },
            Probe(route: "POST /v1/accounts:createAuthUri", summary: "the address") { subject, _ in
                ["identifier": .string(subject.email), "continueUri": "http://localhost"]
            },
            Probe(
                route: "POST /v1/accounts:createAuthUri",
                summary: "the address, with the device token of another account",
                session: .withAddress
            ) { subject, session in
                [
                    "identifier": .string(subject.email), "continueUri": "http://localhost",
                    "deviceToken": session["deviceToken"] ?? .null,
                ]
            },
            Probe(route: "POST /v1/accounts:createAuthUri", summary: "the address and a provider") { subject, _ in
                [
                    "identifier": .string(subject.email), "providerId": "google.com",
                    "continueUri": "http://localhost/__/auth/handler",
                ]
            },
            Probe(route: "POST /v1/accounts:lookup", summary: "the address, without a session") { subject, _ in
                ["email": [.string(subject.email)]]
            },
            Probe(route: "POST /v1/accounts:lookup", summary: "the number, without a session") { subject, _ in
                ["phoneNumber": [.string(subject.phoneNumber)]]
            },
            Probe(
                route: "POST /v1/accounts:update",
                summary: "the address as the new one of a session",
                session: .withAddress
            ) { subject, session in
                ["email": .string(subject.email), "idToken": session["idToken"] ?? .null]
            },
            Probe(
                route: "POST /v1/accounts:update",
                summary: "the address with a password, in a session with another address",
                session: .withAddress
            ) { subject, session in
                [
                    "email": .string(subject.email), "password": "correct horse",
                    "idToken": session["idToken"] ?? .null,
                ]
            },
            mail("PASSWORD_RESET"),
            mail("EMAIL_SIGNIN"),
            Probe(
                route: "POST /v1/accounts:sendOobCode",
                summary: "`EMAIL_SIGNIN`, where links are off",
                shut: .links
            ) { subject, _ in
                ["requestType": "EMAIL_SIGNIN", "email": .string(subject.email)]
            },
            Probe(route: "POST /v1/accounts:sendOobCode", summary: "`VERIFY_EMAIL`, without a session") { subject, _ in
                ["requestType": "VERIFY_EMAIL", "email": .string(subject.email)]
            },
            Probe(
                route: "POST /v1/accounts:sendOobCode",
                summary: "`VERIFY_AND_CHANGE_EMAIL` in a session",
                session: .withAddress
            ) { subject, session in
                [
                    "requestType": "VERIFY_AND_CHANGE_EMAIL", "newEmail": .string(subject.email),
                    "idToken": session["idToken"] ?? .null,
                ]
            },
            Probe(route: "POST /v1/accounts:resetPassword", summary: "a wrong old password") { subject, _ in
                [
                    "email": .string(subject.email), "oldPassword": "not the password",
                    "newPassword": "correct horse",
                ]
            },
            Probe(route: "POST /v1/accounts:signInWithEmailLink", summary: "a wrong code") { subject, _ in
                ["email": .string(subject.email), "oobCode": "not-a-code"]
            },
            Probe(route: "POST /v1/accounts:sendVerificationCode", summary: "the number") { subject, _ in
                ["phoneNumber": .string(subject.phoneNumber), "recaptchaToken": "app"]
            },
            Probe(
                route: "POST /v1/accounts:signInWithPhoneNumber",
                summary: "the number, with a wrong proof"
            ) { subject, _ in
                [
                    "phoneNumber": .string(subject.phoneNumber),
                    "temporaryProof": .string(String(repeating: "A", count: 64)),
                ]
            },
            Probe(
                route: "POST /v2/accounts/mfaEnrollment:start",
                summary: "the number as a second factor",
                session: .withProvenAddress
            ) { subject, session in
                [
                    "idToken": session["idToken"] ?? .null,
                    "phoneEnrollmentInfo": [
                        "phoneNumber": .string(subject.phoneNumber), "recaptchaToken": "app",
                    ],
                ]
            },
        ]

        private static let own: [Probe] = [
            shortCode("PASSWORD_RESET"),
            shortCode("EMAIL_SIGNIN"),
            shortCode("VERIFY_EMAIL"),
            shortCode("VERIFY_AND_CHANGE_EMAIL"),
            Probe(route: "POST /concord/v1/lookup", summary: "the address") { subject, _ in
                ["email": .string(subject.email), "continueUrl": "http://localhost/"]
            },
            Probe(
                route: "POST /concord/v1/lookup",
                summary: "the address, with the device token of another account",
                session: .withAddress
            ) { subject, session in
                ["email": .string(subject.email), "deviceToken": session["deviceToken"] ?? .null]
            },
            Probe(route: "POST /concord/v1/lookup:prove", summary: "a wrong code") { subject, _ in
                ["email": .string(subject.email), "code": "00000000"]
            },
        ]

        private static func mail(_ type: String) -> Probe {
            Probe(route: "POST /v1/accounts:sendOobCode", summary: "`\(type)`") { subject, _ in
                ["requestType": .string(type), "email": .string(subject.email)]
            }
        }

        private static func shortCode(_ type: String) -> Probe {
            Probe(route: "POST /concord/v1/shortCode:exchange", summary: "`\(type)`, a wrong code") { subject, _ in
                ["requestType": .string(type), "email": .string(subject.email), "code": "wrong"]
            }
        }
    }
}
