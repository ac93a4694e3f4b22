import AccountTestSupport
import JSON
import Testing

/// The server's runner of `clients/vectors.json`: a change of the wire fails here and in both clients.
struct VectorTests {
    private static let journeys = Result { try VectorDocument().journeys }

    private static var journeysOfServers: [VectorJourney] {
        ((try? journeys.get()) ?? []).filter { !$0.isForClients }
    }

    @Test(arguments: journeysOfServers)
    func `the server answers as the vectors say`(_ journey: VectorJourney) async throws {
        try await TestAPI.withAdministrator { api in
            try await VectorRunner.play(journey, on: api)
        }
    }

    @Test func `the vectors have the format of the runner, and no name twice`() throws {
        let document = try VectorDocument()
        #expect(document.root["format"] == 1)
        let names = document.journeys.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(Self.journeysOfServers.count >= 30)
    }

    @Test func `the description names every operation, event and form`() throws {
        let description = try VectorDocument.text(of: "VECTORS.md")
        var described = Set(description.matches(of: #/`([A-Za-z.]+)`/#).map { String($0.1) })
        for group in description.matches(of: #/`([A-Za-z]+)\.\{([A-Za-z,\s]+)\}`/#) {
            for name in group.2.split(separator: ",") { described.insert("\(group.1).\(name)") }
        }
        for step in try VectorDocument().journeys.flatMap(\.steps) {
            let name =
                switch step {
                case .event(let event, _): event
                case .call(let operation, _, _): operation
                }
            #expect(described.contains(name), "\(name)")
        }
        for form in VectorForm.allCases { #expect(described.contains(form.rawValue), "\(form)") }
    }

    /// Routes that no journey calls, with the reason.
    private static let uncalled = [
        "GET /concord/v1/about": "The version differs in each build. A journey for clients has its form."
    ]

    @Test func `each route of Concord's own API for clients occurs in a journey`() throws {
        let journeys = try VectorDocument().journeys.filter { !$0.isForClients }
        let exchanges = journeys.flatMap(\.steps).flatMap { step in
            if case .call(_, let exchanges, _) = step { exchanges } else { [VectorExchange]() }
        }
        for operation in try OpenAPIDocument().operationsOfClients where Self.uncalled[operation] == nil {
            #expect(exchanges.contains { $0.isRequest(of: operation) }, "no journey calls \(operation)")
        }
    }
}

extension OpenAPIDocument {
    /// The operations that are not for operators alone, for example `GET /path`.
    fileprivate var operationsOfClients: [String] {
        (root["paths"]?.object ?? [:]).flatMap { path, item in
            (item.object ?? [:]).filter { $0.value["security"] != [["operator": []]] }
                .map { "\($0.key.uppercased()) \(path)" }
        }
        .sorted()
    }
}
