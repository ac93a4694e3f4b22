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

    /// The journeys that this client cannot play, with the reason.
    private static let skipped = [
        "a request without an API key": "the client refuses an empty key, and sends nothing",
        "the page of the conflict gives the app its session": "half of it is the browser's: `conflict.setReturn`",
        "the sign-in page gives the app its session": "half of it is the browser's: `signInPage.issueCode`",
    ]

    @Test func theFormatIsKnown() throws {
        #expect(try Vectors().file["format"] == 1)
    }

    @Test func journeysEndAsTheVectorsSay() async throws {
        let vectors = try Vectors()
        let names = vectors.journeys.compactMap { $0["name"]?.stringValue }
        #expect(names.count == vectors.journeys.count && names.count >= 70)
        #expect(Set(Self.skipped.keys).subtracting(names).isEmpty)
        for (name, journey) in zip(names, vectors.journeys) where Self.skipped[name] == nil {
            try await play(journey, vectors)
        }
    }

    /// Plays one journey, to its end or the first difference.
    private func play(_ journey: JSONValue, _ vectors: Vectors) async throws {
        let name = journey["name"]?.stringValue ?? ""
        let clock = Locked(Date(timeIntervalSince1970: 1_800_000_000))
        let server = VectorServer(mayAdd: vectors.mayAdd) { clock.with { $0 } }
        func app(_ store: any SessionStore) throws -> VectorApp {
            let rig = Rig(store: store, clock: clock)
            return VectorApp(rig: rig, auth: try rig.auth(transport: server))
        }
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
            current.others = apps.filter { $0.key != device }.values.map(\.auth)
            let repeated = Int(step["repeat"]?.integerValue ?? 1)
            let main: JSONValue? = step["request"] == nil ? nil : step
            server.expect(main, repeated: repeated, then: (step["then"]?.arrayValue ?? []).map(vectors.resolve))
            var outcome = Result<VectorResult, any Error>.success(VectorResult())
            for _ in 0..<repeated {
                do {
                    let arguments = server.values.fill(step["arguments"] ?? [:])
                    guard let result = try await current.run(operation, arguments) else {
                        Issue.record("\(name), step \(index + 1): the runner cannot run \(operation)")
                        return
                    }
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
            if !problems.isEmpty || !differences.isEmpty { return }
        }
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
        case "device": device = step["name"]?.stringValue ?? device
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
