import Glibc
import NameResolution
import Synchronization

/// Finds the addresses of the database's hosts that are given by name.
///
/// libpq would call the system's resolver on the thread that connects, which blocks while name servers do not answer.
/// With addresses in `hostaddr` libpq looks up nothing, and checks certificates against the names all the same.
final class DatabaseHosts: Sendable {
    /// `true` if a host has to be looked up.
    let needLookUp: Bool
    let resolver: HostResolver
    private let hosts: [DatabaseHost]

    init(_ configuration: PostgresConfiguration) {
        hosts = DatabaseHost.all(of: configuration.parameters)
        needLookUp = hosts.contains(where: \.isName)
        resolver = HostResolver(
            failureLifetime: .zero,
            // Until the next attempt to connect.
            lateAnswerLifetime: configuration.connectTimeout + configuration.reconnectDelayMax,
            // The threads are as many as the hosts, because callers share the look-up of a host.
            submit: { startThread($0) },
            lookUp: configuration.lookUp
        )
    }

    /// Starts the look-up for one attempt to connect. Returns at once.
    ///
    /// `wake` is called once `take` has an answer, from any thread. It must return at once.
    func lookUp(wake: @escaping @Sendable () -> Void) -> HostsLookUp {
        HostsLookUp(hosts, resolver, wake: wake)
    }

    /// Looks up the hosts, and blocks until then.
    func lookUp(until deadline: Instant) throws(PostgresError) -> [ConnectionParameter] {
        let wakeup = Wakeup()
        let lookUp = lookUp { wakeup.signal() }
        while true {
            if let answer = lookUp.take() { return try answer.get() }
            var descriptor = pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0)
            if poll(&descriptor, 1, currentInstant().millisecondsRoundedUp(until: deadline)) == 0 { break }
        }
        lookUp.abandon()
        throw Self.tooSlow
    }

    static let tooSlow = PostgresError(.unavailable, "the host's name was not looked up in time")
}

/// The look-up of all hosts for one attempt to connect.
final class HostsLookUp: Sendable {
    private let hosts: [DatabaseHost]
    private let names: Set<String>
    private let resolver: HostResolver
    private let wake: @Sendable () -> Void
    private let answers = Mutex<[String: HostResolver.Answer]>([:])
    private let requests = Mutex<[HostResolver.Request]>([])

    init(_ hosts: [DatabaseHost], _ resolver: HostResolver, wake: @escaping @Sendable () -> Void) {
        self.hosts = hosts
        self.resolver = resolver
        self.wake = wake
        names = Set(hosts.filter(\.isName).map(\.name))
        let requests = names.map { name in resolver.resolve(name) { self.receive($0, for: name) } }
        self.requests.withLock { $0 = requests }
    }

    private func receive(_ answer: HostResolver.Answer, for name: String) {
        let isComplete = answers.withLock { answers in
            answers[name] = answer
            return answers.count == names.count
        }
        if isComplete { wake() }
    }

    /// Returns the options `host`, `hostaddr` and `port` for libpq; `nil` while a look-up runs.
    ///
    /// A host whose name is not found is left out while there are others: libpq would also go on to the next.
    func take() -> Result<[ConnectionParameter], PostgresError>? {
        let answers = answers.withLock(\.self)
        guard answers.count == names.count else { return nil }
        var found: [DatabaseHost] = []
        var failure: PostgresError?
        for host in hosts {
            guard host.isName, let answer = answers[host.name] else {
                found.append(host)
                continue
            }
            switch answer {
            case .success(let addresses):
                found += addresses.map { DatabaseHost(name: host.name, address: $0, port: host.port) }
            case .failure(let error):
                let text = "could not translate host name \"\(host.name)\" to address: \(error.reason)"
                failure = failure ?? PostgresError(.unavailable, text)
            }
        }
        if found.isEmpty, let failure { return .failure(failure) }
        return .success(DatabaseHost.parameters(of: found))
    }

    /// Gives up: other callers still get their answers.
    func abandon() {
        for request in requests.withLock(\.self) { resolver.cancel(request) }
    }
}
