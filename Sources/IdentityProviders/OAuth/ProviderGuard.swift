import FoundationEssentials
import Synchronization

/// Limits the effect of an unresponsive provider to its own users.
///
/// Each host has a limit of concurrent calls and a circuit breaker: after several failures in a row it refuses calls
/// for a while, except one that tests the host. Refused calls fail at once. Documents are exempt, because their cache
/// stores failures itself.
///
/// A failure is a broken connection or an answer that does not arrive in time. An answer of any status is no failure:
/// clients choose the codes and tokens that a provider is asked about, and a crafted one that causes a 500 would turn
/// the provider off for all users.
package final class ProviderGuard: HTTPFetching {
    package struct Limits: Sendable, Hashable {
        /// Most concurrent calls to one host.
        package var callsMax = 256
        /// Failures in a row after which a host gets no calls for a while.
        package var failuresMax = 5
        /// The length of that pause.
        package var pause = Duration.seconds(10)
        /// Most hosts that are tracked.
        package var hostsMax = 1024

        package init() {}
    }

    private let http: any HTTPFetching
    private let limits: Limits
    private let now: @Sendable () -> ContinuousClock.Instant
    private let hosts = Mutex<[String: CircuitBreaker]>([:])

    /// - Parameters:
    ///   - http: sends the requests.
    ///   - limits: bounds for each host.
    ///   - now: the clock.
    package init(
        _ http: any HTTPFetching,
        limits: Limits = Limits(),
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.http = http
        self.limits = limits
        self.now = now
    }

    package func document(
        at address: String,
        deadline: ContinuousClock.Instant
    ) async throws(ProviderUnavailable) -> HTTPDocument {
        try await http.document(at: address, deadline: deadline)
    }

    package func answer(
        to request: ProviderRequest,
        deadline: ContinuousClock.Instant
    ) async throws(ProviderUnavailable) -> ProviderAnswer {
        guard let host = Self.host(of: request.address) else { throw .addressNotAllowed }
        if let refusal = enter(host) { throw refusal }
        do throws(ProviderUnavailable) {
            let answer = try await http.answer(to: request, deadline: deadline)
            leave(host, wasAnswered: true)
            return answer
        } catch {
            // A cancelled caller says nothing about the host. Otherwise five of them could pause it.
            leave(host, wasAnswered: Task.isCancelled ? nil : error.wasAnswered)
            throw error
        }
    }

    private func enter(_ host: String) -> ProviderUnavailable? {
        hosts.withLock { hosts in
            if hosts[host] == nil, hosts.count >= limits.hostsMax { hosts = hosts.filter { !$0.value.isIdle } }
            return hosts[host, default: CircuitBreaker()].enter(limits, at: now())
        }
    }

    private func leave(_ host: String, wasAnswered: Bool?) {
        hosts.withLock { $0[host]?.leave(wasAnswered: wasAnswered, limits, at: now()) }
    }

    /// Returns scheme, host and port.
    private static func host(of address: String) -> String? {
        guard let url = URL(string: address), let host = url.host(), let scheme = url.scheme else { return nil }
        return "\(scheme)://\(host):\(url.port ?? 0)"
    }
}

extension ProviderUnavailable {
    /// `true` if the host sent an answer, usable or not; `nil` if it was not asked.
    fileprivate var wasAnswered: Bool? {
        switch self {
        case .unreachable, .timedOut: false
        case .unexpectedStatus, .redirected, .answerTooLarge, .malformedAnswer, .issuerMismatch, .noUsableKeys: true
        case .addressNotAllowed, .networkNotAllowed, .tooManyCalls, .suspended: nil
        }
    }
}

/// The state of one host.
struct CircuitBreaker: Sendable {
    private var callCount = 0
    private var failureCount = 0
    /// The end of the pause; `nil` without a pause.
    private var pausedUntil: ContinuousClock.Instant?
    private var isBeingTried = false

    /// `true` if the state can be dropped.
    var isIdle: Bool { callCount == 0 && failureCount == 0 }

    /// Counts a call that begins. Returns the reason to refuse it.
    mutating func enter(_ limits: ProviderGuard.Limits, at now: ContinuousClock.Instant) -> ProviderUnavailable? {
        if let pausedUntil, now < pausedUntil || isBeingTried { return .suspended }
        guard callCount < limits.callsMax else { return .tooManyCalls }
        isBeingTried = pausedUntil != nil
        callCount += 1
        return nil
    }

    /// Counts a call that ends. `wasAnswered` is `nil` if the caller left before the answer, or the host
    /// was not asked.
    mutating func leave(wasAnswered: Bool?, _ limits: ProviderGuard.Limits, at now: ContinuousClock.Instant) {
        callCount -= 1
        isBeingTried = false
        guard let wasAnswered else { return }
        guard !wasAnswered else {
            failureCount = 0
            pausedUntil = nil
            return
        }
        failureCount += 1
        if failureCount >= limits.failuresMax { pausedUntil = now + limits.pause }
    }
}
