/// The caller whose password is hashed.
package struct HashCaller: Sendable, Hashable {
    /// An IPv4 address, or the site of an IPv6 client, because one host may call from every network of a site. Its
    /// callers share one line, and so do callers of unknown networks.
    package let network: String
    /// True if the account was recently signed in to from this device or network, or if a session or code identifies
    /// the caller.
    package let isKnown: Bool
    package let isAdministrator: Bool

    /// An operator's request, or a command.
    package static let administrator = HashCaller(line: "administrator", isKnown: true, isAdministrator: true)

    /// - `network`: the network that limits count.
    package init(network: String, isKnown: Bool) {
        self.init(line: ClientSite(ofNetwork: network)?.name ?? network, isKnown: isKnown, isAdministrator: false)
    }

    private init(line: String, isKnown: Bool, isAdministrator: Bool) {
        self.network = line
        self.isKnown = isKnown
        self.isAdministrator = isAdministrator
    }
}

/// A bounded queue of passwords to hash, in which networks take turns.
///
/// Known callers and strangers have a lane each. The lanes take turns, and so do the networks of a lane, so a network
/// with many callers delays another's next caller by one turn. If the queue is full, the newest caller of the longest
/// line makes room for a network with fewer. Some places are reserved for known callers, a few for administrators.
///
/// The first caller of a network is never displaced, and is served after at most two turns of each waiting network.
///
/// Pure: functions return the actions of the shell, `PasswordHasher`.
package struct HashQueue: Sendable {
    package struct Ticket: Sendable, Hashable {
        package let number: UInt64
    }

    package enum Refusal: String, Sendable, Hashable, CaseIterable {
        /// No place is free, and no network has a longer line.
        case full
        /// The place went to a network with fewer callers.
        case displaced
    }

    package enum Action: Sendable, Hashable {
        case start(Ticket)
        case refuse(Ticket, Refusal)
    }

    private struct Lane: Sendable {
        /// Networks in the order of their turns. Each has a caller.
        var turns: [String] = []
        var lines: [String: [Ticket]] = [:]
        /// Waiting and served callers.
        var accepted = 0

        func waiting(from network: String) -> Int { lines[network]?.count ?? 0 }

        /// Among equals the network with the next turn.
        var longest: String? {
            var longest: String?
            for network in turns where waiting(from: network) > longest.map(waiting(from:)) ?? 0 { longest = network }
            return longest
        }

        mutating func append(_ ticket: Ticket, from network: String) {
            if lines[network] == nil { turns.append(network) }
            lines[network, default: []].append(ticket)
            accepted += 1
        }

        mutating func next() -> Ticket? {
            guard let network = turns.first else { return nil }
            turns.removeFirst()
            guard var line = lines.removeValue(forKey: network), !line.isEmpty else { return nil }
            let ticket = line.removeFirst()
            if !line.isEmpty {
                lines[network] = line
                turns.append(network)
            }
            return ticket
        }

        /// The newest caller if `ticket` is `nil`.
        mutating func remove(_ ticket: Ticket? = nil, from network: String) -> Ticket? {
            guard var line = lines[network],
                let index = ticket.map({ line.firstIndex(of: $0) }) ?? line.indices.last
            else { return nil }
            let removed = line.remove(at: index)
            lines[network] = line.isEmpty ? nil : line
            if line.isEmpty { turns.removeAll { $0 == network } }
            accepted -= 1
            return removed
        }
    }

    private let threadCount: Int
    private let placesMax: Int
    /// Places that strangers cannot use.
    package let reservedPlaces: Int
    /// Places for administrators only, because any caller can be known to their own account.
    package let administratorPlaces: Int
    private var known = Lane()
    private var strangers = Lane()
    private var isKnownNext = true
    private var callers: [Ticket: HashCaller] = [:]
    package private(set) var running = 0

    package var waiting: Int { known.accepted + strangers.accepted - running }

    /// - `threadCount`: callers served at once.
    /// - `placesMax`: callers that wait or are served.
    package init(threadCount: Int, placesMax: Int) {
        self.threadCount = threadCount
        self.placesMax = placesMax
        reservedPlaces = placesMax / 4
        administratorPlaces = placesMax / 16
    }

    package mutating func enter(_ ticket: Ticket, _ caller: HashCaller) -> [Action] {
        var actions: [Action] = []
        if !hasRoom(for: caller) {
            guard let displaced = displace(for: caller) else { return [.refuse(ticket, .full)] }
            callers[displaced] = nil
            actions.append(.refuse(displaced, .displaced))
        }
        callers[ticket] = caller
        self[keyPath: lane(of: caller)].append(ticket, from: caller.network)
        return actions + start()
    }

    package mutating func finish(_ ticket: Ticket) -> [Action] {
        guard let caller = callers.removeValue(forKey: ticket) else { return [] }
        self[keyPath: lane(of: caller)].accepted -= 1
        running -= 1
        return start()
    }

    /// - Returns: `false` if the caller does not wait.
    package mutating func leave(_ ticket: Ticket) -> Bool {
        guard let caller = callers[ticket],
            self[keyPath: lane(of: caller)].remove(ticket, from: caller.network) != nil
        else { return false }
        callers[ticket] = nil
        return true
    }

    private func lane(of caller: HashCaller) -> WritableKeyPath<Self, Lane> {
        caller.isKnown ? \.known : \.strangers
    }

    private func hasRoom(for caller: HashCaller) -> Bool {
        let free = placesMax - known.accepted - strangers.accepted
        guard free > (caller.isAdministrator ? 0 : administratorPlaces) else { return false }
        return caller.isKnown || strangers.accepted < placesMax - reservedPlaces
    }

    /// Removes the newest caller of the longest line, if the line of `caller` stays shorter. A stranger displaces no
    /// known caller.
    private mutating func displace(for caller: HashCaller) -> Ticket? {
        let waiting = self[keyPath: lane(of: caller)].waiting(from: caller.network)
        let ofStrangers = strangers.longest.map { (network: $0, count: strangers.waiting(from: $0)) }
        let ofKnown =
            caller.isKnown ? known.longest.map { (network: $0, count: known.waiting(from: $0)) } : nil
        if let ofStrangers, ofStrangers.count > waiting + 1, ofStrangers.count >= ofKnown?.count ?? 0 {
            return strangers.remove(from: ofStrangers.network)
        }
        guard let ofKnown, ofKnown.count > waiting + 1 else { return nil }
        return known.remove(from: ofKnown.network)
    }

    private mutating func start() -> [Action] {
        var actions: [Action] = []
        while running < threadCount, let ticket = next() {
            running += 1
            actions.append(.start(ticket))
        }
        return actions
    }

    private mutating func next() -> Ticket? {
        let isKnown = strangers.turns.isEmpty || isKnownNext && !known.turns.isEmpty
        isKnownNext = !isKnown
        return isKnown ? known.next() : strangers.next()
    }
}
