import Synchronization

/// Looks up the addresses of hosts where it may block, for callers that must not.
///
/// The system's resolver blocks its thread, and continues long after a caller has given up. Therefore all callers share
/// one look-up of a host, and a look-up without waiting callers does not begin. A failure is cached for a while. An
/// address is cached only if it arrives after every caller has given up: if the first of two name servers is dead, each
/// look-up takes longer than a caller waits.
package final class HostResolver: Sendable {
    package struct HostNotFound: Error, Sendable, Hashable {
        /// The reason in words. Does not name the host.
        package let reason: String

        package init(reason: String) {
            self.reason = reason
        }
    }

    /// Numeric addresses, in the order in which to try them; never empty.
    package typealias Answer = Result<[String], HostNotFound>
    /// Returns the addresses of a host. Blocks.
    package typealias LookUp = @Sendable (_ host: String) throws(HostNotFound) -> [String]
    /// Runs a look-up on a thread that it may block. Returns at once.
    package typealias Submit = @Sendable (_ lookUp: @escaping @Sendable () -> Void) -> Void

    /// A caller that waits.
    package struct Request: Sendable {
        fileprivate let host: String
        fileprivate let number: Int
    }

    /// A look-up that waits or runs, or the cached answer of one that has ended.
    private struct Entry {
        var waiters: [Int: @Sendable (Answer) -> Void] = [:]
        var cached: (answer: Answer, until: ContinuousClock.Instant)?
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var requestsEver = 0
    }

    private enum NextStep {
        case begin
        case wait
        case answer(Answer)
    }

    /// Hosts that are looked up or cached at once. Only configuration names hosts.
    private static let hostsMax = 256

    private let failureLifetime: Duration
    private let lateAnswerLifetime: Duration
    private let submit: Submit
    private let lookUp: LookUp
    private let state = Mutex(State())

    /// - Parameters:
    ///   - failureLifetime: time for which a failure is cached.
    ///   - lateAnswerLifetime: time for which an address is cached that no caller waited for.
    ///   - submit: runs a look-up on a thread that it may block.
    ///   - lookUp: the system's resolver, except in tests.
    package init(
        failureLifetime: Duration,
        lateAnswerLifetime: Duration,
        submit: @escaping Submit,
        lookUp: @escaping LookUp
    ) {
        self.failureLifetime = failureLifetime
        self.lateAnswerLifetime = lateAnswerLifetime
        self.submit = submit
        self.lookUp = lookUp
    }

    /// Looks up `host`. Returns at once.
    ///
    /// `receive` is called once, unless `cancel` comes first: before this returns if the answer is cached, otherwise on
    /// the look-up's thread. It must not block.
    @discardableResult
    package func resolve(_ host: String, _ receive: @escaping @Sendable (Answer) -> Void) -> Request {
        let host = host.lowercased()
        let (number, step) = enter(host, receive)
        switch step {
        case .begin: submit { self.run(host) }
        case .wait: break
        case .answer(let answer): receive(answer)
        }
        return Request(host: host, number: number)
    }

    package func cancel(_ request: Request) {
        state.withLock { _ = $0.entries[request.host]?.waiters.removeValue(forKey: request.number) }
    }

    /// `true` while a look-up waits or runs. For tests.
    var isLookingUp: Bool {
        state.withLock { $0.entries.values.contains { $0.cached == nil } }
    }

    private func enter(_ host: String, _ receive: @escaping @Sendable (Answer) -> Void) -> (Int, NextStep) {
        state.withLock { state in
            state.requestsEver += 1
            let number = state.requestsEver
            if let entry = state.entries[host] {
                guard let cached = entry.cached else {
                    state.entries[host]?.waiters[number] = receive
                    return (number, .wait)
                }
                if .now < cached.until { return (number, .answer(cached.answer)) }
            } else if state.entries.count >= Self.hostsMax {
                state.entries = state.entries.filter { $0.value.cached == nil }
                guard state.entries.count < Self.hostsMax else {
                    return (number, .answer(.failure(HostNotFound(reason: "too many hosts are looked up"))))
                }
            }
            state.entries[host] = Entry(waiters: [number: receive])
            return (number, .begin)
        }
    }

    private func run(_ host: String) {
        let isWaitedFor = state.withLock { state in
            guard state.entries[host]?.waiters.isEmpty == false else {
                state.entries[host] = nil
                return false
            }
            return true
        }
        guard isWaitedFor else { return }
        let answer = Result { () throws(HostNotFound) in try lookUp(host) }
        let waiters = state.withLock { state in
            let waiters = state.entries[host]?.waiters ?? [:]
            let lifetime =
                switch answer {
                case .failure: failureLifetime
                case .success: waiters.isEmpty ? lateAnswerLifetime : .zero
                }
            state.entries[host] = lifetime > .zero ? Entry(cached: (answer, .now + lifetime)) : nil
            return waiters
        }
        for receive in waiters.values { receive(answer) }
    }
}
