import FoundationEssentials
import Synchronization

/// Keeps a provider that does not answer from costing more than its own users.
///
/// Each host has its own count: so many calls at once and no more, and after so many failures in a row none for a while,
/// but for one that finds out whether it is back. Who is turned away is so at once. Documents pass as they are: their cache
/// remembers failures by itself.
///
/// A failure is a connection that breaks or an answer that does not come in time. An answer is no failure whatever it says:
/// a client chooses the codes and tokens that a provider is asked about, and a provider that answers 500 to a crafted one
/// would be switched off for everybody.
package final class ProviderGuard: HTTPFetching {
    package struct Limits: Sendable, Hashable {
        /// Calls under way at one host.
        package var callsMax = 256
        /// Failures in a row after which a host is left alone.
        package var failuresMax = 5
        /// How long it is left alone.
        package var pause = Duration.seconds(10)
        /// Hosts that are remembered.
        package var hostsMax = 1024

        package init() {}
    }

    private let http: any HTTPFetching
    private let limits: Limits
    private let now: @Sendable () -> ContinuousClock.Instant
    private let hosts = Mutex<[String: CircuitBreaker]>([:])

    /// - Parameters:
    ///   - http: how providers are reached.
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
            // A caller that went away says nothing of the host: else five of them could have it left alone.
            leave(host, wasAnswered: Task.isCancelled ? nil : error.isAnswer)
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

    /// Scheme, host and port.
    private static func host(of address: String) -> String? {
        guard let url = URL(string: address), let host = url.host(), let scheme = url.scheme else { return nil }
        return "\(scheme)://\(host):\(url.port ?? 0)"
    }
}

extension ProviderUnavailable {
    /// Whether the other end said something, if nothing of use; or whether it was never asked.
    fileprivate var isAnswer: Bool {
        switch self {
        case .unreachable, .timedOut: false
        case .unexpectedStatus, .addressNotAllowed, .networkNotAllowed, .redirected, .answerTooLarge, .malformedAnswer,
            .issuerMismatch,
            .noUsableKeys, .tooManyCalls, .suspended:
            true
        }
    }
}

/// What is known of one host.
struct CircuitBreaker: Sendable {
    private var callCount = 0
    private var failureCount = 0
    /// When somebody may try again; `nil` while nobody is kept from it.
    private var pausedUntil: ContinuousClock.Instant?
    private var isBeingTried = false

    /// Nothing is lost with it.
    var isIdle: Bool { callCount == 0 && failureCount == 0 }

    /// Counts a call in; the reason why it may not be made.
    mutating func enter(_ limits: ProviderGuard.Limits, at now: ContinuousClock.Instant) -> ProviderUnavailable? {
        if let pausedUntil, now < pausedUntil || isBeingTried { return .suspended }
        guard callCount < limits.callsMax else { return .tooManyCalls }
        isBeingTried = pausedUntil != nil
        callCount += 1
        return nil
    }

    /// Counts a call out; `wasAnswered` is `nil` where nobody waited to see.
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
