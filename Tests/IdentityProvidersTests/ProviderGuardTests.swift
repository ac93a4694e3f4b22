import Synchronization
import Testing

@testable import IdentityProviders

/// A provider that does not answer delays its own users for a limited time, and no other users.
struct ProviderGuardTests {
    private static let start = ContinuousClock.now

    private static let limits: ProviderGuard.Limits = {
        var limits = ProviderGuard.Limits()
        limits.callsMax = 4
        limits.failuresMax = 3
        limits.pause = .seconds(10)
        return limits
    }()

    /// Answers by host: `dead` never, `failing` with 500, `refusing` with 400, others with 200. Counts the requests.
    private final class Hosts: HTTPFetching {
        let reached = Mutex<[String]>([])
        let isBack = Mutex(false)
        /// The reason why no request leaves this machine; `nil` if requests do.
        let refusal = Mutex<ProviderUnavailable?>(nil)

        func document(
            at address: String,
            deadline: ContinuousClock.Instant
        ) async throws(ProviderUnavailable)
            -> HTTPDocument
        {
            throw .unreachable
        }

        func answer(
            to request: ProviderRequest,
            deadline: ContinuousClock.Instant
        ) async throws(ProviderUnavailable)
            -> ProviderAnswer
        {
            if let refusal = refusal.withLock(\.self) { throw refusal }
            reached.withLock { $0.append(request.address) }
            if isBack.withLock({ $0 }) { return ProviderAnswer(status: 200, body: []) }
            switch request.address {
            case "https://dead.example/token": throw .timedOut
            case "https://failing.example/token": return ProviderAnswer(status: 500, body: [])
            case "https://refusing.example/token": return ProviderAnswer(status: 400, body: [])
            default: return ProviderAnswer(status: 200, body: [])
            }
        }
    }

    private static func call(_ guarded: ProviderGuard, _ host: String) async -> ProviderUnavailable? {
        do throws(ProviderUnavailable) {
            _ = try await guarded.answer(
                to: .form([], to: "https://\(host).example/token"),
                deadline: .now + .seconds(1)
            )
            return nil
        } catch {
            return error
        }
    }

    @Test func `a host without answers is suspended, other hosts are not`() async {
        let host = "dead"
        let hosts = Hosts()
        let clock = Mutex(Self.start)
        let guarded = ProviderGuard(hosts, limits: Self.limits, now: { clock.withLock { $0 } })
        for _ in 1...3 { #expect(await Self.call(guarded, host) != .suspended) }
        for _ in 1...5 { #expect(await Self.call(guarded, host) == .suspended) }
        #expect(hosts.reached.withLock { $0.count } == 3)
        #expect(await Self.call(guarded, "other") == nil)

        // One call probes the host after the pause. If it fails, the host is suspended again.
        clock.withLock { $0 += .seconds(10) }
        #expect(await Self.call(guarded, host) != .suspended)
        #expect(await Self.call(guarded, host) == .suspended)
        #expect(hosts.reached.withLock { $0.count } == 5)

        hosts.isBack.withLock { $0 = true }
        clock.withLock { $0 += .seconds(10) }
        for _ in 1...5 { #expect(await Self.call(guarded, host) == nil) }
    }

    @Test func `cancelled calls do not suspend a host`() async {
        let hosts = Hosts()
        let guarded = ProviderGuard(hosts, limits: Self.limits)
        for _ in 1...10 {
            let caller = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return await Self.call(guarded, "dead")
            }
            #expect(await caller.value == .timedOut)
        }
        #expect(hosts.reached.withLock { $0.count } == 10)
    }

    @Test(arguments: [ProviderUnavailable.tooManyCalls, .networkNotAllowed, .addressNotAllowed])
    func `a call that does not reach the host neither suspends it nor ends its suspension`(
        _ refusal: ProviderUnavailable
    ) async {
        let hosts = Hosts()
        let clock = Mutex(Self.start)
        let guarded = ProviderGuard(hosts, limits: Self.limits, now: { clock.withLock { $0 } })
        hosts.refusal.withLock { $0 = refusal }
        for _ in 1...5 { #expect(await Self.call(guarded, "dead") == refusal) }
        hosts.refusal.withLock { $0 = nil }
        for _ in 1...3 { #expect(await Self.call(guarded, "dead") == .timedOut) }
        #expect(await Self.call(guarded, "dead") == .suspended)

        clock.withLock { $0 += .seconds(10) }
        hosts.refusal.withLock { $0 = refusal }
        #expect(await Self.call(guarded, "dead") == refusal)
        hosts.refusal.withLock { $0 = nil }
        #expect(await Self.call(guarded, "dead") == .timedOut, "the next call probes the host")
        #expect(await Self.call(guarded, "dead") == .suspended)
    }

    @Test func `a refusal counts as an answer`() async {
        let hosts = Hosts()
        let guarded = ProviderGuard(hosts, limits: Self.limits)
        for _ in 1...20 { #expect(await Self.call(guarded, "refusing") == nil) }
        #expect(hosts.reached.withLock { $0.count } == 20)
    }

    /// The client chooses the code, and some token endpoints answer 500 to a malformed one. So a user cannot disable a
    /// provider for others.
    @Test func `a status of 500 does not suspend a host`() async {
        let hosts = Hosts()
        let guarded = ProviderGuard(hosts, limits: Self.limits)
        for _ in 1...20 { #expect(await Self.call(guarded, "failing") == nil) }
        #expect(hosts.reached.withLock { $0.count } == 20)
    }

    @Test func `an answer resets the count of failures`() {
        var breaker = CircuitBreaker()
        for wasAnswered in [false, false, true, false, false, true] {
            #expect(breaker.enter(Self.limits, at: Self.start) == nil)
            breaker.leave(wasAnswered: wasAnswered, Self.limits, at: Self.start)
        }
        #expect(breaker.enter(Self.limits, at: Self.start) == nil)
    }

    @Test func `concurrent calls are limited, and one call probes a suspended host`() {
        var breaker = CircuitBreaker()
        for _ in 1...4 { #expect(breaker.enter(Self.limits, at: Self.start) == nil) }
        #expect(breaker.enter(Self.limits, at: Self.start) == .tooManyCalls)
        #expect(!breaker.isIdle)
        for _ in 1...4 { breaker.leave(wasAnswered: false, Self.limits, at: Self.start) }
        #expect(breaker.enter(Self.limits, at: Self.start + .seconds(9)) == .suspended)
        #expect(breaker.enter(Self.limits, at: Self.start + .seconds(10)) == nil)
        #expect(breaker.enter(Self.limits, at: Self.start + .seconds(11)) == .suspended, "one call probes the host")
        breaker.leave(wasAnswered: true, Self.limits, at: Self.start + .seconds(11))
        #expect(breaker.isIdle && breaker.enter(Self.limits, at: Self.start + .seconds(11)) == nil)
    }
}
