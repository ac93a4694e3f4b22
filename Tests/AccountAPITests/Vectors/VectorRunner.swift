import AccountTestSupport
import HTTPTypes
import JSON
import Testing

@testable import AccountOperations

/// Plays the client of a journey against the API, and compares each answer.
struct VectorRunner {
    private let api: TestAPI
    private var values = VectorValues()
    /// The last time step of each authenticator app that a code was computed for.
    private var usedSteps: [String: Int64] = [:]

    private static let project = "/v1/projects/\(TestService.projectID)"

    static func play(_ journey: VectorJourney, on api: TestAPI) async throws {
        var runner = VectorRunner(api: api)
        if let settings = journey.setup["settings"] { try await runner.change(settings) }
        for account in journey.setup["accounts"]?.array ?? [] { try await api.create(account) }
        for (number, step) in journey.steps.enumerated() {
            // Time passes between two calls of an app.
            api.service.clock.advance(seconds: 1)
            switch step {
            case .event(let event, let members):
                try await runner.take(event, members)
            case .call(let operation, let exchanges, let count):
                for _ in 0..<count {
                    for exchange in exchanges {
                        try await runner.send(exchange, "step \(number + 1), \(operation)")
                    }
                }
            }
        }
    }

    private init(api: TestAPI) { self.api = api }

    // MARK: Exchanges

    private mutating func send(_ exchange: VectorExchange, _ place: String) async throws {
        let request = exchange.request
        var path = try values.path(exchange.path)
        if let query = request["query"]?.object { path += "?" + (try values.form(query)) }
        var headers: HTTPFields = [.userAgent: "vectors"]
        for (name, value) in request["headers"]?.object ?? [:] {
            headers[try #require(HTTPField.Name(name))] = try values.text(of: value)
        }
        var body: [UInt8] = []
        if let form = request["form"]?.object {
            headers[.contentType] = "application/x-www-form-urlencoded"
            body = Array(try values.form(form).utf8)
        } else if let json = request["body"] {
            body = Array(try values.value(of: json).text.utf8)
        }
        let answer = try await api.wire.send(
            exchange.method,
            path,
            body,
            key: exchange.hasKey ? TestService.apiKey : nil,
            bearer: try request["bearer"].map(values.text),
            headers: headers,
            from: "192.0.2.1"
        )
        #expect(answer.status == exchange.status, "\(place): \(answer.text)")
        for (name, template) in exchange.headers {
            let found = HTTPField.Name(name).flatMap { answer.headers[$0] }.map(JSONValue.string) ?? .null
            values.save(found, by: template)
            #expect(values.differences(of: found, from: template, at: name) == [], "\(place)")
        }
        guard let template = exchange.body else { return }
        values.save(answer.json, by: template)
        #expect(values.differences(of: answer.json, from: template) == [], "\(place)")
    }

    // MARK: Events

    private mutating func take(_ event: String, _ members: JSONValue) async throws {
        switch event {
        case "mail":
            let message = try await message(to: members["to"], kind: members["kind"])
            if let language = members["language"]?.string { #expect(message["language"] == language) }
            for (part, name) in members["save"]?.object ?? [:] {
                values.save(
                    .string(try #require(message[part], "\(part) of \(message)")),
                    as: try #require(name.string)
                )
            }
        case "totp":
            let secret = try values.text(of: try #require(members["secret"]))
            let app = TOTP(secret: Base32.decoded(secret))
            let last = usedSteps[secret] ?? 0
            while TOTP.step(at: api.service.clock.now) <= last {
                api.service.clock.advance(seconds: TOTP.periodSeconds)
            }
            usedSteps[secret] = TOTP.step(at: api.service.clock.now)
            values.save(.string(api.code(of: app)), as: try #require(members["save"]?.string))
        case "time":
            api.service.clock.advance(seconds: try #require(members["seconds"]?.integer))
        case "account":
            let uid = try values.value(of: try #require(members["uid"]))
            let fields = try values.value(of: try #require(members["fields"]))
            let answer = try await api.admin("accounts:update", fields.with("localId", uid))
            #expect(answer.status == 200, "\(answer.text)")
        case "settings":
            try await change(try #require(members["settings"]))
        case "restart", "device":
            break
        default:
            Issue.record("there is no event \(event)")
        }
    }

    private func change(_ settings: JSONValue) async throws {
        let mask = try #require(settings["mask"]?.string)
        let body = try #require(settings["body"])
        let answer = try await api.send(
            .patch,
            "/admin/v2/projects/\(TestService.projectID)/config?updateMask=\(mask)",
            Array(body.text.utf8),
            key: nil,
            bearer: "owner"
        )
        #expect(answer.status == 200, "\(answer.text)")
    }

    /// The parts of the newest mail of a kind: its digits, its link with the code in it, and the secret of its link.
    private func message(to email: JSONValue?, kind: JSONValue?) async throws -> [String: String] {
        let messages = try await api.send(.get, "/inbox/messages", key: nil).json["messages"]?.array ?? []
        let newest = try #require(
            messages.first { $0["to"] == email && $0["type"] == kind },
            "no mail \(kind?.text ?? "") to \(email?.text ?? "")"
        )
        var parts: [String: String] = [:]
        parts["language"] = newest["language"]?.string
        parts["code"] = newest["code"]?.string?.filter { $0 != " " }
        for link in (newest["text"]?.string ?? "").matches(of: #/https?://[^\s<>"]+/#).map({ String($0.output) }) {
            if parts["link"] == nil, let code = link.firstMatch(of: #/[?&]oobCode=([^&#]+)/#) {
                parts["link"] = link
                parts["oobCode"] = String(code.1)
            }
            // A link may have a handle too, before the secret.
            let secret = link.firstMatch(of: #/[#&]proof=([^&]+)/#) ?? link.firstMatch(of: #/[#&]lookup=([^&]+)/#)
            if parts["secret"] == nil, let secret { parts["secret"] = String(secret.1) }
        }
        return parts
    }
}
