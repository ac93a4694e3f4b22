import AccountLinking
import AccountOperations
import AccountTestSupport
import Foundation
import HTTPTypes
import JSON
import Postgres
import Synchronization
import Testing

/// A project in which people act, through the routes that apps with unmodified SDKs and the hosted pages call. Mails are
/// read as the development inbox shows them.
struct World: Sendable {
    private let api: TestAPI
    let hasLinks: Bool

    static func with<Output: Sendable>(
        settings: JSONValue,
        hasLinks: Bool,
        _ body: @Sendable (World) async throws -> Output
    ) async throws -> Output {
        let settings = settings.setting(.bool(!hasLinks), at: ["signIn", "email", "passwordRequired"])
        let output = Mutex<Output?>(nil)
        try await TestAPI.withAdministrator(settings: settings) { api in
            let result = try await body(World(api: api, hasLinks: hasLinks))
            output.withLock { $0 = result }
        }
        return try #require(output.withLock { $0 })
    }

    // MARK: Before and after a journey

    /// Creates the accounts of `people`.
    func create(_ people: [Person]) async throws {
        for start in stride(from: 0, to: people.count, by: 500) {
            let rows = people[start..<min(start + 500, people.count)].map(\.imported)
            let body: JSONValue = ["hashAlgorithm": "SHA256", "rounds": 1, "users": .array(rows)]
            let answer = try await api.admin("accounts:batchCreate", body)
            #expect(answer.status == 200 && answer.json["error"]?.array ?? [] == [], "\(answer.text)")
        }
        // Only a sign-in makes the mailed link a method.
        for person in people where person.methods.contains(.emailLink) {
            try await api.service.change(person.email) { user in
                user.methodProofs[.emailLink] = .init(proof: .message, provenAt: api.service.clock.now)
            }
        }
    }

    /// Empties the inbox, and lets a minute pass.
    func beginJourney() async throws {
        _ = try await api.send(.delete, "/inbox/messages", key: nil)
        api.service.clock.advance(seconds: 60)
    }

    /// Signs in as `person` once, as before the journey. Returns the device's token, if the service issues one.
    func deviceToken(of person: Person) async throws -> String? {
        let more: [String: JSONValue] = ["returnDeviceToken": true]
        for method in Person.Method.allCases where person.methods.contains(method) {
            switch method {
            case .emailLink: continue
            case .password:
                let body = passwordRequest(person.email, Person.password).merging(more) { $1 }
                return try await api.post(Self.signInWithPassword, .object(body)).json["deviceToken"]?.string
            case .google, .github:
                let body = idpRequest(person.identity(method, of: person.email)).merging(more) { $1 }
                return try await api.post(TestAPI.signInWithIdp, .object(body)).json["deviceToken"]?.string
            case .phone:
                let sent = try await api.phoneCode(person.phoneNumber)
                let body: [String: JSONValue] = [
                    "sessionInfo": .string(sent.sessionInfo), "code": .string(sent.code),
                ]
                return try await api.post("/v1/accounts:signInWithPhoneNumber", .object(body.merging(more) { $1 }))
                    .json["deviceToken"]?.string
            }
        }
        return nil
    }

    /// The methods of the account before the journey that do not enter it any more. `password`: the one that the person
    /// knows now. `working`: the method that has just entered it.
    func lostMethods(
        of person: Person,
        password: String,
        working: Person.Method?
    ) async throws -> Set<Person.Method> {
        var lost: Set<Person.Method> = []
        for method in Person.Method.allCases where person.methods.contains(method) && method != working {
            let reply: Reply
            switch method {
            case .password: reply = try await perform(.password(person.email, password), by: person)
            case .google, .github: reply = try await perform(.provider(method, person.email), by: person)
            case .phone: reply = try await perform(.phone, by: person)
            case .emailLink:
                guard hasLinks else { continue }
                try await beginJourney()
                _ = try await perform(.askForLink(person.email), by: person)
                reply = try await perform(.openLink(person.email), by: person)
            }
            // A link that opens on another device works too.
            if reply.enteredAccount != person.localID, reply != .enteredElsewhere(person.localID) {
                lost.insert(method)
            }
        }
        return lost
    }

    /// Returns true if the owner of the mailbox can still enter the account by a reset of the password.
    func canReset(_ person: Person) async throws -> Bool {
        try await beginJourney()
        _ = try await perform(.askForReset(person.email), by: person)
        guard case .passwordSet = try await perform(.openReset(person.email), by: person) else { return false }
        let reply = try await perform(.password(person.email, Person.newPassword), by: person)
        return reply.enteredAccount == person.localID
    }

    func analyze() async throws { try await api.service.database.execute("ANALYZE") }

    func accountCount() async throws -> Int64 { try await api.service.database.count("SELECT count(*) FROM users") }

    // MARK: A step

    private static let signInWithPassword = "/v1/accounts:signInWithPassword"

    func perform(_ action: Action, by person: Person) async throws -> Reply {
        api.service.clock.advance(seconds: 1)
        switch action {
        case .password(let email, let password):
            return reply(to: try await api.post(Self.signInWithPassword, .object(passwordRequest(email, password))))
        case .askForReset(let email): return try await askForMail("PASSWORD_RESET", email)
        case .askForLink(let email): return try await askForMail("EMAIL_SIGNIN", email)
        case .openReset(let email):
            guard let code = try await mailedCode("PASSWORD_RESET", to: email) else { return .noMail(email) }
            let answer = try await api.reset(code, to: Person.newPassword)
            return answer.status == 200 ? .passwordSet(email) : reply(to: answer)
        case .openLink(let email):
            guard let code = try await mailedCode("EMAIL_SIGNIN", to: email) else { return .noMail(email) }
            return reply(to: try await api.follow(code, as: email)).elsewhere(if: person.device == .mailElsewhere)
        case .signUp(let email):
            let body = passwordRequest(email, Person.newPassword)
            return reply(to: try await api.post("/v1/accounts:signUp", .object(body)))
        case .provider(let provider, let email):
            let body = idpRequest(person.identity(provider, of: email))
            return reply(to: try await api.post(TestAPI.signInWithIdp, .object(body)), email)
        case .phone:
            let sent = try await api.phoneCode(person.phoneNumber)
            return reply(to: try await api.signInByPhone(sent.sessionInfo, sent.code))
        case .lookUp(let email): return try await lookUp(email, deviceToken: person.deviceToken)
        case .lookUpBoth(let email, let other):
            let first = try await lookUp(email, deviceToken: nil)
            let second = try await lookUp(other, deviceToken: person.deviceToken)
            if case .ways = second { return second }
            return first
        case .askForWays(let email): return try await lookUp(email, deviceToken: nil)
        case .takeWay(let way, let mail): return try await take(way, of: mail, by: person)
        case .providerOnPage(let provider, let email):
            var body = idpRequest(person.identity(provider, of: email))
            body["asksFirst"] = true
            let answer = try await api.post(TestAPI.signInWithIdp, .object(body))
            if answer.json["asksFirst"] == true, let token = answer.json["pendingToken"]?.string {
                return .asksFirst(pendingToken: token)
            }
            return reply(to: answer, email)
        }
    }

    /// Links the credential that waits on the page to the account of its new session. The page does it by itself.
    func link(_ waiting: WaitingProvider, to idToken: String) async throws {
        let body: JSONValue = ["pendingToken": .string(waiting.pendingToken), "idToken": .string(idToken)]
        let answer = try await api.post(TestAPI.signInWithIdp, body)
        #expect(answer.status < 500, "\(answer.text)")
    }

    private func askForMail(_ type: String, _ email: String) async throws -> Reply {
        let body: JSONValue = ["requestType": .string(type), "email": .string(email)]
        let answer = try await api.post("/v1/accounts:sendOobCode", body)
        return answer.status == 200 ? .mailed(email) : reply(to: answer)
    }

    private func lookUp(_ email: String, deviceToken: String?) async throws -> Reply {
        var body: [String: JSONValue] = ["email": .string(email), "continueUrl": "http://localhost/"]
        body["deviceToken"] = deviceToken.map(JSONValue.string)
        let answer = try await api.post("/concord/v1/lookup", .object(body), key: nil)
        switch answer.status {
        case 202: return .mailed(email)
        case 200:
            let methods = answer.json["methods"]?.array ?? []
            return .ways(email, methods.filter { $0["works"] != false }.compactMap { $0["method"]?.string })
        default: return reply(to: answer)
        }
    }

    /// Presses a button of a mail, or types its code if the mail is on another device.
    private func take(_ way: WayInMail.Way, of mail: WayInMail, by person: Person) async throws -> Reply {
        var proof: [String: JSONValue] = [:]
        if person.device == .mailElsewhere, let code = mail.code {
            proof = ["email": .string(mail.to), "code": .string(code)]
        } else if let secret = way.secret {
            proof = ["linkSecret": .string(secret)]
        } else {
            return .noMail(mail.to)
        }
        let proven = try await api.post("/concord/v1/lookup:prove", .object(proof), key: nil)
        guard let proofToken = proven.json["proofToken"] else { return reply(to: proven) }
        let body: JSONValue = ["proofToken": proofToken, "way": way.setsPassword ? "setPassword" : "signIn"]
        let continued = try await api.post("/concord/v1/lookup:continue", body, key: nil)
        if way.setsPassword, let code = continued.json["oobCode"]?.string {
            let answer = try await api.reset(code, to: Person.newPassword)
            guard answer.status == 200 else { return reply(to: answer) }
            return try await perform(.password(mail.to, Person.newPassword), by: person)
        }
        let entered = reply(to: continued)
        return entered.elsewhere(if: person.device == .mailElsewhere && mail.code == nil)
    }

    private func passwordRequest(_ email: String, _ password: String) -> [String: JSONValue] {
        ["email": .string(email), "password": .string(password), "returnSecureToken": true]
    }

    private func idpRequest(_ identity: Person.Identity) -> [String: JSONValue] {
        let claims: JSONValue = [
            "sub": .string(identity.subject), "email": .string(identity.email), "email_verified": true,
        ]
        let field = identity.provider == .google ? "id_token" : "access_token"
        return [
            "requestUri": "http://localhost", "returnSecureToken": true, "returnIdpCredential": true,
            "postBody": .string("providerId=\(identity.provider.rawValue)&\(field)=\(claims.text)"),
        ]
    }

    private func reply(to answer: TestAPI.Answer, _ email: String = "") -> Reply {
        if let localID = answer.json["localId"]?.string, let idToken = answer.json["idToken"]?.string {
            return .entered(localID, idToken: idToken)
        }
        if answer.json["needConfirmation"] == true {
            return .addressTaken(email, pendingToken: answer.json["pendingToken"]?.string)
        }
        let reason = answer.errorMessage ?? answer.json["errorMessage"]?.string ?? answer.json["type"]?.string
        if answer.status >= 500 || reason == nil { Issue.record("\(answer.status) \(answer.text)") }
        return .refused(reason ?? "\(answer.status)")
    }

    // MARK: Mails

    /// The mails in a mailbox, the newest first.
    private func mails(to email: String) async throws -> [JSONValue] {
        let messages = try await api.send(.get, "/inbox/messages", key: nil).json["messages"]?.array ?? []
        return messages.filter { $0["kind"] == "mail" && $0["to"] == .string(email) }
    }

    /// The code in the link of the newest mail of a type.
    private func mailedCode(_ type: String, to email: String) async throws -> String? {
        try await mails(to: email).first { $0["type"] == .string(type) }.flatMap { mail in
            mail["text"]?.string?.split(separator: "oobCode=").dropFirst().first?
                .prefix { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" }
        }.map(String.init)
    }

    /// The newest mail that lists sign-in methods; `nil` if the mailbox has none.
    func wayInMail(at email: String) async throws -> WayInMail? {
        try await mails(to: email).lazy.compactMap(WayInMail.init).first
    }
}

/// A mail that says how an account is entered.
struct WayInMail: Sendable, Hashable {
    /// A button.
    struct Way: Sendable, Hashable {
        /// The name of a method, or `setPassword`.
        let name: String
        let secret: String?

        /// The person who takes the way of the password has forgotten it, or has none.
        var setsPassword: Bool { name == Person.Method.password.rawValue || name == "setPassword" }
    }

    static let types: Set = ["LOOKUP", "WRONG_DOOR", "PASSWORD_RESET", "SIGN_UP_MAILBOX"]

    let to: String
    /// The code for another device.
    let code: String?
    /// Empty if the address has no account.
    let ways: [Way]

    /// `nil` if the message lists no sign-in methods: a reset's mail before the list existed, or a notice.
    init?(_ message: JSONValue) {
        guard let type = message["type"]?.string, Self.types.contains(type), let to = message["to"]?.string,
            let text = message["text"]?.string
        else { return nil }
        self.to = to
        code = message["code"]?.string
        ways = text.split(separator: "/signin#").dropFirst().compactMap { rest in
            let link = "?" + rest.prefix { !$0.isWhitespace && $0 != ">" }
            let items = URLComponents(string: link)?.queryItems ?? []
            guard let name = items.first(where: { $0.name == "way" })?.value else { return nil }
            return Way(name: name, secret: items.first { $0.name == "lookup" }?.value)
        }
        if ways.isEmpty, type != "LOOKUP", type != "WRONG_DOOR" { return nil }
    }
}

extension Reply {
    /// The account of the session on the person's device.
    var enteredAccount: String? {
        if case .entered(let localID, idToken: _) = self { localID } else { nil }
    }

    fileprivate func elsewhere(if isElsewhere: Bool) -> Reply {
        if isElsewhere, case .entered(let localID, idToken: _) = self { .enteredElsewhere(localID) } else { self }
    }
}
