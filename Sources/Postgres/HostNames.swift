import Glibc
import Synchronization

/// Finds out the addresses of the database's hosts that are given by name, on threads of its own.
///
/// The system's resolver blocks for as long as name servers are silent, and libpq asks it on the thread that connects.
/// One look-up runs at a time, whoever waits for it. What is found when nobody waits any more serves those who ask a moment
/// later: where the first of two name servers is dead, each look-up takes longer than a connection may.
final class HostNames: Sendable {
    /// Turns a name into addresses. Blocks.
    typealias LookUp = @Sendable (_ name: String) throws(PostgresError) -> [String]
    /// The options `host`, `hostaddr` and `port`, as libpq takes them: with addresses it asks for no names, and checks
    /// certificates against the names all the same.
    typealias Answer = Result<[ConnectionParameter], PostgresError>

    private struct State {
        var isLookingUp = false
        var waiting: [HostsWanted] = []
        var late: (answer: Answer, at: Instant)?
    }

    /// Whether there is anything to look up.
    let areNeeded: Bool
    private let hosts: [DatabaseHost]
    private let lookUp: LookUp
    private let lateAnswerLasts: Duration
    private let state = Mutex(State())

    init(_ configuration: PostgresConfiguration) {
        hosts = DatabaseHost.all(of: configuration.parameters)
        areNeeded = hosts.contains(where: \.isName)
        lookUp = configuration.lookUp
        // As long as it takes until the next attempt.
        lateAnswerLasts = configuration.connectTimeout + configuration.reconnectDelayMax
    }

    /// Lets `wanted` have the answer. Returns at once.
    func find(_ wanted: HostsWanted) {
        let (late, begins): (Answer?, Bool) = state.withLock { state in
            if let late = state.late, late.at.duration(to: currentInstant()) < lateAnswerLasts {
                return (late.answer, false)
            }
            state.waiting.append(wanted)
            defer { state.isLookingUp = true }
            return (nil, !state.isLookingUp)
        }
        if let late { _ = wanted.give(late) }
        if begins { startThread { self.run() } }
    }

    /// The answer, for who may block.
    func find(until deadline: Instant) throws(PostgresError) -> [ConnectionParameter] {
        let wakeup = Wakeup()
        let wanted = HostsWanted { wakeup.signal() }
        find(wanted)
        while true {
            if let answer = wanted.take() { return try answer.get() }
            var descriptor = pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0)
            if poll(&descriptor, 1, currentInstant().millisecondsRoundedUp(until: deadline)) == 0 { break }
        }
        wanted.abandon()
        throw Self.tooSlow
    }

    /// For tests, which wait for it.
    var isLookingUp: Bool { state.withLock(\.isLookingUp) }

    static let tooSlow = PostgresError(.unavailable, "the host's name was not looked up in time")

    private func run() {
        let answer = Result { () throws(PostgresError) in try lookUpAll() }
        state.withLock { state in
            let takers = state.waiting.count { $0.give(answer) }
            if takers == 0, case .success = answer { state.late = (answer, currentInstant()) }
            state.waiting = []
            state.isLookingUp = false
        }
    }

    /// A host whose name is not found is left out while there are others, as libpq would go on to the next.
    private func lookUpAll() throws(PostgresError) -> [ConnectionParameter] {
        var found: [DatabaseHost] = []
        var failure: PostgresError?
        for host in hosts {
            guard host.isName else {
                found.append(host)
                continue
            }
            do throws(PostgresError) {
                found += try lookUp(host.name).map { DatabaseHost(name: host.name, address: $0, port: host.port) }
            } catch {
                failure = failure ?? error
            }
        }
        if found.isEmpty, let failure { throw failure }
        return DatabaseHost.parameters(of: found)
    }

    /// As libpq asks.
    static let system: LookUp = { name throws(PostgresError) in
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let outcome = getaddrinfo(name, nil, &hints, &list)
        defer { if let list { freeaddrinfo(list) } }
        var addresses: [String] = []
        var next = outcome == 0 ? list : nil
        while let entry = next?.pointee {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let length = socklen_t(text.count)
            if getnameinfo(entry.ai_addr, entry.ai_addrlen, &text, length, nil, 0, NI_NUMERICHOST) == 0 {
                addresses.append(String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
            }
            next = entry.ai_next
        }
        guard !addresses.isEmpty else {
            let reason = gai_strerror(outcome == 0 ? EAI_NONAME : outcome).map { String(cString: $0) } ?? ""
            throw PostgresError(.unavailable, "could not translate host name \"\(name)\" to address: \(reason)")
        }
        return addresses
    }
}

/// What one attempt to connect waits for: given once, from any thread, unless the attempt is given up before.
final class HostsWanted: Sendable {
    private enum State {
        case wanted
        case given(HostNames.Answer)
        case over
    }

    private let state = Mutex(State.wanted)
    private let wake: @Sendable () -> Void

    /// `wake`: called once there is an answer; it must return at once.
    init(wake: @escaping @Sendable () -> Void) {
        self.wake = wake
    }

    /// Whether it was still wanted.
    func give(_ answer: HostNames.Answer) -> Bool {
        let isWanted = state.withLock { state in
            guard case .wanted = state else { return false }
            state = .given(answer)
            return true
        }
        if isWanted { wake() }
        return isWanted
    }

    /// The answer; once.
    func take() -> HostNames.Answer? {
        state.withLock { state in
            guard case .given(let answer) = state else { return nil }
            state = .over
            return answer
        }
    }

    func abandon() {
        state.withLock { $0 = .over }
    }
}

/// One of the servers in a connection string (PostgreSQL 15 documentation, section 34.1.1.3).
struct DatabaseHost: Sendable, Hashable {
    /// A name, a literal address, or the directory of a Unix socket.
    var name: String
    /// What to connect to instead of asking for `name`; empty for none.
    var address = ""
    /// Empty for the usual one.
    var port = ""

    /// Whether somebody has to be asked for its address.
    var isName: Bool {
        guard address.isEmpty, let first = name.first, first != "/", first != "@" else { return false }
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST
        var list: UnsafeMutablePointer<addrinfo>?
        defer { if let list { freeaddrinfo(list) } }
        return getaddrinfo(name, nil, &hints, &list) != 0
    }

    /// `db.example.com:5432`, or the path of a Unix socket.
    ///
    /// - Parameters:
    ///   - name: a name, an address, or the directory of a socket.
    ///   - port: empty for the usual one.
    /// - Returns: the place in words.
    static func place(_ name: String, port: String) -> String {
        let port = port.isEmpty ? "5432" : port
        if name.hasPrefix("/") || name.hasPrefix("@") { return "\(name)/.s.PGSQL.\(port)" }
        return name.contains(":") ? "[\(name)]:\(port)" : "\(name):\(port)"
    }

    /// None where libpq will find that the lists do not fit each other, or goes by its environment.
    static func all(of parameters: [ConnectionParameter]) -> [Self] {
        func list(_ keyword: String) -> [String] {
            let value = parameters.first { $0.keyword == keyword }?.value ?? ""
            return value.isEmpty
                ? [] : value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
        guard addresses.isEmpty || addresses.count == names.count, ports.count <= 1 || ports.count == names.count
        else { return [] }
        return names.indices.map { index in
            Self(
                name: names[index],
                address: addresses.isEmpty ? "" : addresses[index],
                port: ports.isEmpty ? "" : ports[ports.count == 1 ? 0 : index]
            )
        }
    }

    static func parameters(of hosts: [Self]) -> [ConnectionParameter] {
        func parameter(_ keyword: String, _ value: (Self) -> String) -> ConnectionParameter {
            ConnectionParameter(keyword: keyword, value: hosts.map(value).joined(separator: ","), isSecret: false)
        }
        return [parameter("host", \.name), parameter("hostaddr", \.address), parameter("port", \.port)]
    }
}
