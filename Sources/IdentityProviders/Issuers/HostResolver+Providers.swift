package import NIOCore
import NIOPosix
package import NameResolution

extension HostResolver {
    /// For providers and everything else that a request waits for.
    package static let providers = HostResolver(threadCount: 16)
    /// For receivers of webhooks: a thread for each endpoint. No sign-in waits for these threads.
    package static let webhooks = HostResolver(threadCount: 10)

    /// A resolver with its own threads. A host whose name servers do not answer blocks one of them, and delays no other
    /// host while threads are free.
    ///
    /// - Parameters:
    ///   - threadCount: look-ups that run at once. The threads start with the first.
    ///   - failureLifetime: time for which a failure is cached.
    ///   - lookUp: the system's resolver, except in tests.
    package convenience init(
        threadCount: Int,
        failureLifetime: Duration = .seconds(5),
        lookUp: @escaping LookUp = HostResolver.system
    ) {
        let threads = LookUpThreads(count: threadCount)
        self.init(
            failureLifetime: failureLifetime,
            lateAnswerLifetime: .zero,
            submit: { threads.run($0) },
            lookUp: lookUp
        )
    }

    /// Returns the current address of `host`.
    /// - Throws: `ProviderUnavailable.timedOut` at the deadline; `HostNotFound`; `CancellationError`.
    package func address(
        of host: String,
        port: Int,
        deadline: ContinuousClock.Instant
    ) async throws -> SocketAddress {
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        let promise = loop.makePromise(of: [String].self)
        let request = resolve(host) { promise.completeWith($0.mapError { $0 as any Error }) }
        let timeout = loop.scheduleTask(in: TimeAmount(ContinuousClock.now.duration(to: deadline))) {
            self.cancel(request)
            promise.fail(ProviderUnavailable.timedOut)
        }
        defer { timeout.cancel() }
        let addresses = try await withTaskCancellationHandler {
            try await promise.futureResult.get()
        } onCancel: {
            cancel(request)
            promise.fail(CancellationError())
        }
        for address in addresses {
            if let address = try? SocketAddress(ipAddress: address, port: port) { return address }
        }
        throw HostNotFound(reason: "no usable address")
    }
}

/// The threads of one resolver, which end with it.
private final class LookUpThreads: Sendable {
    private let pool: NIOThreadPool

    init(count: Int) {
        pool = NIOThreadPool(numberOfThreads: count)
    }

    deinit {
        pool.shutdownGracefully { _ in }
    }

    func run(_ lookUp: @escaping @Sendable () -> Void) {
        pool.start()
        pool.submit { _ in lookUp() }
    }
}
