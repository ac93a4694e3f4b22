import Foundation
import Testing

@testable import ConcordAuth

/// Plays the journeys of `clients/vectors.json`, which the web client and the server run too.
@Suite struct VectorTests {
    struct Vectors {
        let file: JSONValue

        init() throws {
            var url = URL(fileURLWithPath: #filePath)
            for _ in 0..<5 { url.deleteLastPathComponent() }
            let bytes = try Data(contentsOf: url.appendingPathComponent("vectors.json"))
            file = try JSONDecoder().decode(JSONValue.self, from: bytes)
        }

        var journeys: [JSONValue] { file["journeys"]?.arrayValue ?? [] }
        var mayAdd: [String: JSONValue] { file["mayAdd"]?.objectValue ?? [:] }

        /// A shared exchange, or the exchange itself.
        func resolve(_ exchange: JSONValue) -> JSONValue {
            exchange["$shared"]?.stringValue.flatMap { file["shared"]?[$0] } ?? exchange
        }
    }

    /// Operations that the client does not have, or has in another form: their journeys are skipped.
    private static let missing: Set<String> = [
        // Routes of Concord's pages.
        "conflict.setReturn", "signInPage.issueCode",
        // The client refuses an empty key itself, and refreshes with no other token than the session's.
        "a request without an API key", "token.refresh",
        // `AuthConflict.prove` also opens the conflict, and a merge takes a user of another client.
        "pendingSignUp.prove", "merge.preview",
    ]

    @Test func theFormatIsKnown() throws {
        #expect(try Vectors().file["format"] == 1)
    }

    @Test func journeysEndAsTheVectorsSay() async throws {
        let vectors = try Vectors()
        var played = 0
        var skipped: Set<String> = []
        for journey in vectors.journeys where journey["only"] != "server" {
            let name: Comment = "\(journey["name"]?.stringValue ?? "")"
            if let missing = try await play(journey, vectors) {
                skipped.insert(missing)
                #expect(Self.missing.contains(missing), name)
            } else {
                played += 1
            }
        }
        #expect(played >= 65)
        #expect(skipped == Self.missing)
    }

    /// Plays one journey.
    ///
    /// - Returns: The operation that this runner does not have; `nil` if the journey was played to its end.
    private func play(_ journey: JSONValue, _ vectors: Vectors) async throws -> String? {
        let name = journey["name"]?.stringValue ?? ""
        let clock = Locked(Date(timeIntervalSince1970: 1_800_000_000))
        let server = VectorServer(mayAdd: vectors.mayAdd) { clock.with { $0 } }
        let key = journey["client"]?["apiKey"]?.stringValue
        func app(_ store: any SessionStore) throws -> VectorApp {
            let rig = Rig(store: store, clock: clock)
            return VectorApp(rig: rig, auth: try rig.auth(apiKey: key ?? "key", transport: server))
        }
        // A client without a key refuses before it sends anything.
        if key == "" { return name }
        var device = "first"
        var apps = [device: try app(InMemorySessionStore())]
        for (index, step) in (journey["steps"]?.arrayValue ?? []).map(vectors.resolve).enumerated() {
            let place: Comment = "\(name), step \(index + 1)"
            if let event = step["event"]?.stringValue {
                try happen(event, step, server, clock, &device)
                if event == "restart" { apps[device] = try app(apps[device]?.rig.store ?? InMemorySessionStore()) }
                if apps[device] == nil { apps[device] = try app(InMemorySessionStore()) }
                continue
            }
            guard let operation = step["operation"]?.stringValue, var current = apps[device] else { continue }
            let repeated = Int(step["repeat"]?.integerValue ?? 1)
            let main: JSONValue? = step["request"] == nil ? nil : step
            server.expect(main, repeated: repeated, then: (step["then"]?.arrayValue ?? []).map(vectors.resolve))
            var outcome = Result<VectorResult, any Error>.success(VectorResult())
            for _ in 0..<repeated {
                do {
                    let arguments = server.values.fill(step["arguments"] ?? [:])
                    guard let result = try await current.run(operation, arguments) else { return operation }
                    outcome = .success(result)
                } catch {
                    outcome = .failure(error)
                }
            }
            let problems = server.problems(needsMain: main != nil)
            #expect(problems.isEmpty, place)
            let expected = server.values.fill(step["outcome"] ?? [:])
            let differences = try VectorOutcome.differences(outcome, expected, &current)
            #expect(differences.isEmpty, place)
            apps[device] = current
            if !problems.isEmpty || !differences.isEmpty { return nil }
        }
        return nil
    }

    private func happen(
        _ event: String,
        _ step: JSONValue,
        _ server: VectorServer,
        _ clock: Locked<Date>,
        _ device: inout String
    ) throws {
        var values = server.values
        switch event {
        case "time": clock.with { $0 += step["seconds"]?.numberValue ?? 0 }
        case "device":
            // Each device has its own session.
            for name in ["idToken", "refreshToken"] {
                values.saved["\(name) of \(device)"] = values.saved[name]
                let other = "\(name) of \(step["name"]?.stringValue ?? device)"
                values.saved[name] = values.saved[other] ?? values.saved[name]
            }
            device = step["name"]?.stringValue ?? device
        case "totp": values.saved[step["save"]?.stringValue ?? ""] = "123456"
        case "mail":
            let saves = step["save"]?.objectValue ?? [:]
            for (part, name) in saves.mapValues({ $0.stringValue ?? "" }) {
                let code = "mailed-\(UUID().uuidString)"
                values.saved[name] = part == "code" ? "12345678" : .string(code)
            }
            if let link = saves["link"]?.stringValue {
                let code = saves["oobCode"]?.stringValue.flatMap { values.saved[$0]?.stringValue } ?? "mailed"
                values.saved[link] = .string(
                    "https://id.example.com/__/auth/action?mode=signIn&oobCode=\(code)&apiKey=key"
                )
            }
        default: break
        }
        server.values = values
    }
}
