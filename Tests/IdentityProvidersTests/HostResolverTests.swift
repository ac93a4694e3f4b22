import Glibc
import IdentityProviders
import NIOCore
import NameResolution
import Synchronization
import Testing

/// The effect of hosts with silent name servers on others.
struct HostResolverTests {
    /// Resolves every host, except those that begin with "unknown". Answers for those that begin with "silent" only
    /// after its release.
    private final class NameServer: Sendable {
        private let state = Mutex<(asked: [String], isReleased: Bool)>(([], false))

        var asked: [String] { state.withLock(\.asked) }

        func release() {
            state.withLock { $0.isReleased = true }
        }

        func lookUp(_ host: String) throws(HostResolver.HostNotFound) -> [String] {
            state.withLock { $0.asked.append(host) }
            while host.hasPrefix("silent"), !state.withLock(\.isReleased) { usleep(1000) }
            if host.hasPrefix("unknown") { throw HostResolver.HostNotFound(reason: "unknown") }
            return ["192.0.2.1"]
        }

        func wait(untilAsked host: String) async throws {
            for _ in 0..<6000 where !asked.contains(host) { try await Task.sleep(for: .milliseconds(20)) }
            try #require(asked.contains(host))
        }
    }

    private func address(
        of host: String,
        by resolver: HostResolver,
        within time: Duration = .seconds(120)
    ) async throws -> SocketAddress {
        try await resolver.address(of: host, port: 443, deadline: .now + time)
    }

    @Test func `a slow name server blocks one thread for each host, for any number of callers`() async throws {
        let names = NameServer()
        let resolver = HostResolver(threadCount: 2, lookUp: names.lookUp)
        async let patient = address(of: "silent.example", by: resolver)
        defer { names.release() }
        try await names.wait(untilAsked: "silent.example")
        await withTaskGroup { callers in
            for _ in 0..<16 {
                callers.addTask {
                    await #expect(throws: ProviderUnavailable.timedOut) {
                        try await address(of: "Silent.example", by: resolver, within: .milliseconds(50))
                    }
                }
            }
        }
        #expect(try await address(of: "healthy.example", by: resolver).port == 443)
        #expect(names.asked == ["silent.example", "healthy.example"])
        names.release()
        // The caller without a timeout gets the answer of the only look-up.
        #expect(try await patient.ipAddress == "192.0.2.1")
    }

    @Test func `a host that no caller waits for is not looked up`() async throws {
        let names = NameServer()
        let resolver = HostResolver(threadCount: 1, lookUp: names.lookUp)
        async let patient = address(of: "silent.example", by: resolver)
        defer { names.release() }
        try await names.wait(untilAsked: "silent.example")
        await #expect(throws: ProviderUnavailable.timedOut) {
            try await address(of: "late.example", by: resolver, within: .milliseconds(50))
        }
        names.release()
        _ = try await patient
        _ = try await address(of: "healthy.example", by: resolver)
        #expect(names.asked == ["silent.example", "healthy.example"])
        _ = try await address(of: "late.example", by: resolver)
        #expect(names.asked.last == "late.example")
    }

    @Test func `a cancelled caller does not wait for the look-up`() async throws {
        let names = NameServer()
        defer { names.release() }
        let resolver = HostResolver(threadCount: 1, lookUp: names.lookUp)
        let waiting = Task { try await address(of: "silent.example", by: resolver) }
        try await names.wait(untilAsked: "silent.example")
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test func `a failure is cached for a limited time, an address is not cached`() async throws {
        let names = NameServer()
        for (memory, count) in [(Duration.seconds(86_400), 1), (.zero, 2)] {
            let resolver = HostResolver(threadCount: 1, failureLifetime: memory, lookUp: names.lookUp)
            let host = "unknown-\(count).example"
            for _ in 0..<2 {
                await #expect(throws: HostResolver.HostNotFound.self) { try await address(of: host, by: resolver) }
                _ = try await address(of: "known-\(count).example", by: resolver)
            }
            #expect(names.asked.count { $0 == host } == count)
            #expect(names.asked.count { $0 == "known-\(count).example" } == 2)
        }
    }

    @Test func `cached failures do not count against the limit of pending hosts`() async throws {
        let names = NameServer()
        let resolver = HostResolver(threadCount: 1, failureLifetime: .seconds(86_400), lookUp: names.lookUp)
        for number in 0..<600 {
            await #expect(throws: HostResolver.HostNotFound.self) {
                try await address(of: "unknown-\(number).example", by: resolver)
            }
        }
        #expect(names.asked.count == 600)
    }
}
