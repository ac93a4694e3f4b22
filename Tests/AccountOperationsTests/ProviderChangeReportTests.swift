import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import Synchronization
import Testing

/// Changes of the project that a running server reports.
struct ProviderChangeReportTests {
    @Test func `each change of a provider's registration is reported once`() async throws {
        try await TestService.with { service in
            let reported = Reported()
            let cache = try #require(
                try await ProjectCache.load(
                    store: service.operations.store,
                    trust: .preset,
                    whenProvidersChanged: { reported.append($0) }
                )
            )
            try await cache.refresh()
            #expect(reported.all.isEmpty)
            var config = ProviderConfig(provider: .google)
            config.clientID = "first"
            config.isEnabled = true
            #expect(try await service.operations.addProviderConfig(config) == nil)
            for _ in 1...2 { try await cache.refresh() }
            #expect(reported.all == [[.google]])
            _ = try await service.operations.updateProviderConfig(.google) { $0.clientID = "second" }
            for _ in 1...2 { try await cache.refresh() }
            #expect(reported.all == [[.google], [.google]])
            #expect(try await service.operations.removeProviderConfig(.google) == nil)
            for _ in 1...2 { try await cache.refresh() }
            #expect(reported.all == [[.google], [.google], [.google]])
        }
    }
}

private final class Reported: Sendable {
    private let providers = Mutex<[[ProviderID]]>([])

    var all: [[ProviderID]] { providers.withLock { $0 } }

    func append(_ changed: [ProviderID]) { providers.withLock { $0.append(changed) } }
}
