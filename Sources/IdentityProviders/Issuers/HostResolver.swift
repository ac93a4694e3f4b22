package import NIOCore
import NIOPosix
import Synchronization

/// Looks up the addresses of hosts, on separate threads.
///
/// The system's resolver blocks its thread, and continues long after the caller has given up. Therefore all callers
/// share one look-up of a host, a look-up without waiting callers does not begin, and a failure is cached for a few
/// seconds. A host with silent name servers blocks one thread, and delays no other host while threads are free.
package final class HostResolver: Sendable {
    /// Turns a host name and port into an address. Blocks.
    package typealias LookUp = @Sendable (_ host: String, _ port: Int) throws -> SocketAddress

    /// For providers, and for all else that is asked and waited for.
    package static let providers = HostResolver(threadCount: 16)
    /// For receivers of webhooks: a thread for each endpoint there may be, and none that a sign-in waits for.
    package static let webhooks = HostResolver(threadCount: 10)

    /// Hosts that are looked up or remembered at once. Only configuration names hosts, and those it names.
    private static let hostsMax = 256

    private struct Host: Hashable {
        let name: String
        let port: Int
    }

    /// A look-up that waits or runs, or one that has failed.
    private struct Entry {
        /// The waiting callers, by number.
        var waiters: [Int: EventLoopPromise<SocketAddress>] = [:]
        var failure: (error: any Error, at: ContinuousClock.Instant)?
    }

    private struct State {
        var entries: [Host: Entry] = [:]
        var waitersEver = 0
    }

    private enum Entrance {
        case begins
        case joins
        case fails(any Error)
    }

    private let threads: NIOThreadPool
    private let failureMemory: Duration
    private let lookUp: LookUp
    private let state = Mutex(State())

    /// - Parameters:
    ///   - threadCount: look-ups that run at once; the threads are started with the first.
    ///   - failureMemory: how long a failed look-up stands for the next ones.
    ///   - lookUp: the system's resolver, unless a test says otherwise.
    package init(
        threadCount: Int,
        failureMemory: Duration = .seconds(5),
        lookUp: @escaping LookUp = { host, port in try SocketAddress.makeAddressResolvingHost(host, port: port) }
    ) {
        threads = NIOThreadPool(numberOfThreads: threadCount)
        self.failureMemory = failureMemory
        self.lookUp = lookUp
    }

    deinit {
        threads.shutdownGracefully { _ in }
    }

    /// The address of `host` as of now.
    /// - Throws: `ProviderUnavailable.timedOut` at the deadline, and what looking it up threw.
    package func address(
        of host: String,
        port: Int,
        deadline: ContinuousClock.Instant
    ) async throws -> SocketAddress {
        let host = Host(name: host.lowercased(), port: port)
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        let promise = loop.makePromise(of: SocketAddress.self)
        let (number, entrance) = enter(host, promise)
        switch entrance {
        case .fails(let error): promise.fail(error)
        case .joins: break
        case .begins:
            threads.start()
            threads.submit { _ in self.run(host) }
        }
        let timeout = loop.scheduleTask(in: TimeAmount(ContinuousClock.now.duration(to: deadline))) {
            self.leave(host, number)
            promise.fail(ProviderUnavailable.timedOut)
        }
        defer { timeout.cancel() }
        return try await promise.futureResult.get()
    }

    private func enter(_ host: Host, _ promise: EventLoopPromise<SocketAddress>) -> (Int, Entrance) {
        state.withLock { state in
            state.waitersEver += 1
            let number = state.waitersEver
            if let entry = state.entries[host] {
                guard let failure = entry.failure else {
                    state.entries[host]?.waiters[number] = promise
                    return (number, .joins)
                }
                if failure.at.duration(to: .now) < failureMemory { return (number, .fails(failure.error)) }
            } else if state.entries.count >= Self.hostsMax {
                state.entries = state.entries.filter { $0.value.failure == nil }
                guard state.entries.count < Self.hostsMax else {
                    return (number, .fails(ProviderUnavailable.tooManyCalls))
                }
            }
            state.entries[host] = Entry(waiters: [number: promise])
            return (number, .begins)
        }
    }

    private func leave(_ host: Host, _ number: Int) {
        state.withLock { _ = $0.entries[host]?.waiters.removeValue(forKey: number) }
    }

    /// On a thread of the pool.
    private func run(_ host: Host) {
        let isWaitedFor = state.withLock { state in
            guard state.entries[host]?.waiters.isEmpty == false else {
                state.entries[host] = nil
                return false
            }
            return true
        }
        guard isWaitedFor else { return }
        let result = Result { try lookUp(host.name, host.port) }
        let waiters = state.withLock { state in
            let waiters = state.entries[host]?.waiters ?? [:]
            switch result {
            case .success: state.entries[host] = nil
            case .failure(let error): state.entries[host] = Entry(failure: (error, .now))
            }
            return waiters
        }
        for promise in waiters.values { promise.completeWith(result) }
    }
}
