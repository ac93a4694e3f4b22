import AccountTestSupport
import Testing

@testable import AccountOperations

/// Sequences of callers, and the invariants of the queue in each.
struct HashQueueTests {
    private typealias Ticket = HashQueue.Ticket
    private static let attacker = HashCaller(network: "198.51.100.1", isKnown: false)
    private static let stranger = HashCaller(network: "192.0.2.1", isKnown: false)
    private static let owner = HashCaller(network: "192.0.2.2", isKnown: true)

    /// A queue with its callers and its actions.
    private struct Conversation {
        var queue: HashQueue
        var running: [Ticket] = []
        var served: [Ticket] = []
        var refused: [Ticket: HashQueue.Refusal] = [:]
        private var next: UInt64 = 0

        init(threadCount: Int = 1, placesMax: Int = 16) {
            queue = HashQueue(threadCount: threadCount, placesMax: placesMax)
        }

        @discardableResult
        mutating func enter(_ caller: HashCaller) -> Ticket {
            next += 1
            let ticket = Ticket(number: next)
            take(queue.enter(ticket, caller))
            return ticket
        }

        /// Serves the caller that started first.
        mutating func serve() {
            let ticket = running.removeFirst()
            served.append(ticket)
            take(queue.finish(ticket))
        }

        private mutating func take(_ actions: [HashQueue.Action]) {
            for action in actions {
                switch action {
                case .start(let ticket): running.append(ticket)
                case .refuse(let ticket, let reason): refused[ticket] = reason
                }
            }
        }
    }

    @Test func `callers of one network are served in order, one for each thread at once`() {
        var queue = Conversation(threadCount: 2)
        let tickets = (0..<6).map { _ in queue.enter(Self.stranger) }
        #expect(queue.running == Array(tickets[..<2]) && queue.queue.waiting == 4)
        while !queue.running.isEmpty { queue.serve() }
        #expect(queue.served == tickets && queue.queue.waiting == 0 && queue.queue.running == 0)
    }

    @Test func `a flood from one network delays a stranger's password by one turn`() {
        var queue = Conversation()
        for _ in 0..<150 { queue.enter(Self.attacker) }
        for _ in 0..<40 {
            let ticket = queue.enter(Self.stranger)
            var hashes = 0
            while queue.running != [ticket] {
                #expect(queue.refused[ticket] == nil)
                queue.serve()
                queue.enter(Self.attacker)
                hashes += 1
            }
            #expect(hashes <= 2)
            queue.serve()
            queue.enter(Self.attacker)
        }
    }

    @Test func `when the queue is full, a new caller displaces the newest caller of the longest line`() {
        var queue = Conversation(placesMax: 4)
        let flood = (0..<3).map { _ in queue.enter(Self.attacker) }
        let more = queue.enter(Self.attacker)
        #expect(queue.refused == [more: .full], "one place is reserved for known callers")
        let ticket = queue.enter(Self.stranger)
        #expect(queue.refused == [more: .full, flood[2]: .displaced])
        queue.serve()
        queue.serve()
        #expect(queue.served == Array(flood[..<2]) && queue.running == [ticket])
    }

    @Test func `a single network can use all places of strangers`() {
        var queue = Conversation(placesMax: 64)
        for _ in 0..<48 { queue.enter(Self.attacker) }
        #expect(queue.refused == [:] && queue.queue.waiting == 47)
        let more = queue.enter(Self.attacker)
        #expect(queue.refused == [more: .full])
    }

    @Test func `strangers from many networks leave places for known callers, who are served next`() {
        var queue = Conversation(placesMax: 64)
        for number in 0..<100 { queue.enter(HashCaller(network: "network \(number)", isKnown: false)) }
        #expect(queue.refused.count == 52 && queue.refused.values.allSatisfy { $0 == .full })
        let ticket = queue.enter(Self.owner)
        queue.serve()
        #expect(queue.running == [ticket])
    }

    @Test func `an IPv6 site with many networks has one line, and others are served beside it`() {
        var queue = Conversation(placesMax: 64)
        for number in 0..<100 {
            let network = "20010db80001" + ["", "0", "00", "000"][4 - String(number).utf8.count] + String(number)
            queue.enter(HashCaller(network: network, isKnown: false))
        }
        let stranger = queue.enter(Self.stranger)
        let neighbour = queue.enter(HashCaller(network: "20010db800020001", isKnown: false))
        #expect(queue.refused[stranger] == nil && queue.refused[neighbour] == nil)
        for _ in 0..<3 { queue.serve() }
        #expect(queue.served.contains(stranger) && queue.running == [neighbour])
    }

    @Test func `an administrator has a place when known callers fill the queue`() {
        var queue = Conversation(placesMax: 64)
        for number in 0..<100 { queue.enter(HashCaller(network: "192.0.2.\(number)", isKnown: true)) }
        #expect(queue.refused.count == 40 && queue.refused.values.allSatisfy { $0 == .full })
        let administrator = queue.enter(.administrator)
        #expect(queue.refused[administrator] == nil)
        // Strangers cannot use that place either.
        let stranger = queue.enter(Self.stranger)
        #expect(queue.refused[stranger] == .full)
    }

    @Test func `known callers of one network cannot crowd out others`() {
        var queue = Conversation(placesMax: 8)
        let flood = HashCaller(network: "198.51.100.1", isKnown: true)
        for _ in 0..<20 { queue.enter(flood) }
        let owner = queue.enter(Self.owner)
        #expect(queue.refused[owner] == nil && queue.refused.values.contains(.displaced))
        queue.serve()
        queue.serve()
        #expect(queue.running == [owner])
        // A stranger displaces no known caller. If a place is free, the stranger waits for one turn only.
        var other = Conversation(placesMax: 8)
        for _ in 0..<5 { other.enter(flood) }
        let stranger = other.enter(Self.stranger)
        other.serve()
        other.serve()
        #expect(other.served.contains(stranger) || other.running == [stranger])
    }

    @Test func `a caller that leaves frees its place, and its network keeps its turn`() {
        var queue = Conversation(placesMax: 4)
        let first = queue.enter(Self.attacker)
        let second = queue.enter(Self.attacker)
        let third = queue.enter(Self.stranger)
        let places = queue.queue.waiting
        let isGone = queue.queue.leave(first)
        #expect(!isGone, "it is being served")
        let left = queue.queue.leave(second)
        #expect(left && queue.queue.waiting == places - 1)
        let again = queue.queue.leave(second)
        #expect(!again)
        let fourth = queue.enter(Self.stranger)
        #expect(queue.refused == [:])
        while !queue.running.isEmpty { queue.serve() }
        #expect(queue.served == [first, third, fourth])
    }

    @Test(arguments: 0..<200)
    func `in every sequence the queue is bounded, loses no caller and starves none`(seed: UInt64) {
        var random = SplitMix(state: seed)
        let threadCount = Int.random(in: 1...3, using: &random)
        let placesMax = Int.random(in: threadCount...24, using: &random)
        var queue = HashQueue(threadCount: threadCount, placesMax: placesMax)
        var callers: [Ticket: HashCaller] = [:]
        var running: Set<Ticket> = []
        /// Waiting callers, with the number of callers served since each arrived.
        var waiting: [Ticket: Int] = [:]
        var strangers: Int { callers.values.count { !$0.isKnown } }
        func take(_ actions: [HashQueue.Action]) {
            for action in actions {
                switch action {
                case .start(let ticket):
                    #expect(waiting.removeValue(forKey: ticket) != nil)
                    #expect(running.insert(ticket).inserted)
                    for other in waiting.keys { waiting[other, default: 0] += 1 }
                case .refuse(let ticket, let reason):
                    #expect(waiting.removeValue(forKey: ticket) != nil)
                    let caller = callers.removeValue(forKey: ticket)
                    if reason == .displaced {
                        let older = callers.filter { waiting[$0.key] != nil && $0.value == caller }
                        #expect(!older.isEmpty, "the first caller of a network is never displaced")
                        #expect(older.keys.allSatisfy { $0.number < ticket.number })
                    }
                }
            }
        }
        for number in 1...400 as ClosedRange<UInt64> {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<6:
                let caller = HashCaller(
                    network: "network \(Int.random(in: 0..<6, using: &random))",
                    isKnown: Bool.random(using: &random)
                )
                callers[Ticket(number: number)] = caller
                waiting[Ticket(number: number)] = 0
                take(queue.enter(Ticket(number: number), caller))
            case 6..<9:
                guard let ticket = running.min(by: { $0.number < $1.number }) else { continue }
                running.remove(ticket)
                callers[ticket] = nil
                take(queue.finish(ticket))
            default:
                guard let ticket = callers.keys.min(by: { $0.number < $1.number }) else { continue }
                let left = queue.leave(ticket)
                #expect(left == (waiting[ticket] != nil))
                guard left else { continue }
                waiting[ticket] = nil
                callers[ticket] = nil
            }
            #expect(queue.running == running.count && queue.waiting == waiting.count)
            #expect(callers.count <= placesMax && strangers <= placesMax - queue.reservedPlaces)
            #expect(running.count == min(threadCount, callers.count), "no thread is idle while a caller waits")
            // At most 6 networks wait in each of 2 lanes, and at most `placesMax` callers of the same network are
            // ahead.
            #expect(waiting.values.allSatisfy { $0 <= 12 * placesMax })
        }
    }

    /// A generator with a seed, so that a failure can be repeated.
    private struct SplitMix: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }
}
