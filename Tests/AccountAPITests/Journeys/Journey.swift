/// One person at one wrong door.
struct Journey: Sendable {
    /// Steps after the door, after which everyone stops.
    private static let stepsMax = 8

    let person: Person
    let door: Door
    let hasLinks: Bool
    let seed: UInt64

    /// `count` journeys, the same for the same seed. Every set of methods meets every wrong door on every device before
    /// a combination comes again.
    static func all(_ count: Int, seed: UInt64) -> [Journey] {
        precondition(count <= 10_000, "each has its own phone number")
        var random = SplitMix(state: seed)
        var journeys: [Journey] = []
        var left: [Combination] = []
        while journeys.count < count {
            if left.isEmpty { left = Combination.all.shuffled(using: &random) }
            let next = left.removeLast()
            let person = Person(
                number: journeys.count,
                methods: next.methods,
                device: next.device,
                isGmail: Bool.random(using: &random),
                isProven: Bool.random(using: &random)
            )
            journeys.append(
                Journey(
                    person: person,
                    door: next.door,
                    hasLinks: next.door.needsLinks ?? (Int.random(in: 0..<4, using: &random) > 0),
                    seed: random.next()
                )
            )
        }
        return journeys
    }

    struct Combination: Sendable, Hashable {
        let methods: Set<Person.Method>
        let door: Door
        let device: Person.Device

        static let all: [Combination] = Person.Method.sets.flatMap { methods in
            Door.allCases.filter { $0.isWrong(for: methods) }.flatMap { door in
                Person.Device.allCases.map { Combination(methods: methods, door: door, device: $0) }
            }
        }
    }

    var combination: Combination {
        Combination(methods: person.methods, door: door, device: person.device)
    }

    /// Goes through the door, and on until the person is in the right account or stops.
    func run(_ strategy: some Strategy, in world: World) async throws -> JourneyOutcome {
        var strategy = strategy
        var outcome = JourneyOutcome(journey: self)
        try await world.beginJourney()
        var action = strategy.begin()
        var freeSteps = 0
        var isAsked = false
        for step in 0...Self.stepsMax {
            let reply = try await world.perform(action, by: person)
            // A page on a known device asks by itself as soon as it opens, but the person answers its question.
            if case .ways = reply, !isAsked { freeSteps += 1 }
            if case .asksFirst = reply { isAsked = true } else { isAsked = false }
            if case .passwordSet(person.email) = reply { outcome.password = Person.newPassword }
            outcome.note(reply)
            if reply.enteredAccount == person.localID {
                outcome.steps = step - freeSteps
                if action.setsPassword { outcome.password = Person.newPassword }
                outcome.working = action.method
                // No step: the page sends the request as soon as it has the session.
                if let waiting = strategy.waiting, case .entered(_, let idToken) = reply {
                    try await world.link(waiting, to: idToken)
                    // One account has one identity of a provider. Another one stays a conflict.
                    if !person.methods.contains(waiting.provider) { outcome.brought = waiting }
                }
                break
            }
            guard let next = try await strategy.next(after: reply, in: world) else { break }
            action = next
        }
        return outcome
    }

    /// Runs every journey, those with and without sign-in links beside each other.
    static func run<S: Strategy>(_ journeys: [Journey], as type: S.Type) async throws -> [JourneyOutcome] {
        try await withThrowingTaskGroup { group in
            for hasLinks in [true, false] {
                let part = journeys.filter { $0.hasLinks == hasLinks }
                group.addTask {
                    try await World.with(settings: S.settings, hasLinks: hasLinks) { world in
                        try await run(part, as: type, in: world)
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    private static func run<S: Strategy>(
        _ journeys: [Journey],
        as type: S.Type,
        in world: World
    ) async throws -> [JourneyOutcome] {
        try await world.create(journeys.map(\.person))
        var outcomes: [JourneyOutcome] = []
        for (number, next) in journeys.enumerated() {
            var journey = next
            // Tests run without autovacuum, so a plan for empty tables would stay.
            if number % 1_000 == 500 { try await world.analyze() }
            if S.asksForDeviceTokens, journey.person.device == .same {
                var person = journey.person
                person.deviceToken = try await world.deviceToken(of: person)
                journey = Journey(person: person, door: journey.door, hasLinks: journey.hasLinks, seed: journey.seed)
            }
            outcomes.append(try await journey.run(S(journey), in: world))
        }
        let created = try await world.accountCount() - Int64(journeys.count)
        // After the count, because a lost method may create an account.
        for index in outcomes.indices {
            let person = outcomes[index].journey.person
            if let brought = outcomes[index].brought {
                let next = try await world.perform(.provider(brought.provider, brought.email), by: person)
                outcomes[index].worksNextTime = next.enteredAccount == person.localID
            }
            let lost = try await world.lostMethods(
                of: person,
                password: outcomes[index].password,
                working: outcomes[index].working
            )
            outcomes[index].lostMethods = lost
            let usable = person.methods.filter { $0 != .emailLink || world.hasLinks }
            if lost.count == usable.count { outcomes[index].isLockedOut = try await !world.canReset(person) }
        }
        outcomes[0].createdAccounts = created
        return outcomes
    }
}

/// The end of a journey.
struct JourneyOutcome: Sendable {
    let journey: Journey
    /// Steps after the door until the person was in the right account; `nil` if the person stopped before.
    var steps: Int?
    /// The method by which the person got in.
    var working: Person.Method?
    /// Other accounts that the person entered, all of them created in the journey.
    private(set) var duplicates: Set<String> = []
    /// The password that the person knows at the end.
    var password = Person.password
    var lostMethods: Set<Person.Method> = []
    /// The provider that brought the person to the page, and that no account had.
    var brought: WaitingProvider?
    /// That provider enters the right account after the journey.
    var worksNextTime = false
    /// No method of the account enters it any more, nor does a reset.
    var isLockedOut = false
    /// The accounts that all journeys of the same world created, in the first outcome.
    var createdAccounts: Int64 = 0

    init(journey: Journey) { self.journey = journey }

    fileprivate mutating func note(_ reply: Reply) {
        switch reply {
        case .entered(let localID, idToken: _), .enteredElsewhere(let localID):
            if localID != journey.person.localID { duplicates.insert(localID) }
        case .mailed, .noMail, .passwordSet, .addressTaken, .asksFirst, .ways, .refused: break
        }
    }
}

/// The numbers of many journeys.
struct JourneyTally: Sendable {
    let count: Int
    let withinTwoSteps: Int
    let later: Int
    let duplicates: Int
    let lockOuts: Int
    let lostMethods: Int
    /// Providers that brought people to the page without an account, and those that enter the right account since then.
    let broughtProviders: Int
    let linkedProviders: Int

    init(_ outcomes: [JourneyOutcome]) {
        count = outcomes.count
        withinTwoSteps = outcomes.count { $0.steps.map { $0 <= 2 } ?? false }
        later = outcomes.count { $0.steps.map { $0 > 2 } ?? false }
        duplicates = outcomes.reduce(0) { $0 + $1.duplicates.count }
        lockOuts = outcomes.count(where: \.isLockedOut)
        lostMethods = outcomes.reduce(0) { $0 + $1.lostMethods.count }
        broughtProviders = outcomes.count { $0.brought != nil }
        linkedProviders = outcomes.count(where: \.worksNextTime)
    }

    /// A table with a row for each door, each device and all.
    static func table(of outcomes: [JourneyOutcome], _ name: String) -> String {
        let headings = [
            name, "journeys", "within 2 steps", "later", "never", "duplicates", "lock-outs", "methods lost",
            "provider works next time",
        ]
        var rows = [headings]
        for door in Door.allCases {
            rows.append(JourneyTally(outcomes.filter { $0.journey.door == door }).cells(door.rawValue))
        }
        for device in Person.Device.allCases {
            rows.append(JourneyTally(outcomes.filter { $0.journey.person.device == device }).cells(device.rawValue))
        }
        rows.append(JourneyTally(outcomes).cells("all"))
        let widths = headings.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            row.indices.map { column in
                let padding = String(repeating: " ", count: widths[column] - row[column].count)
                return column == 0 ? row[column] + padding : padding + row[column]
            }.joined(separator: "  ")
        }.joined(separator: "\n")
    }

    private func cells(_ name: String) -> [String] {
        let share = count == 0 ? "" : "\(withinTwoSteps * 1000 / count / 10).\(withinTwoSteps * 1000 / count % 10) %"
        return [
            name, "\(count)", share, "\(later)", "\(count - withinTwoSteps - later)", "\(duplicates)", "\(lockOuts)",
            "\(lostMethods)", broughtProviders == 0 ? "" : "\(linkedProviders) of \(broughtProviders)",
        ]
    }
}

/// A generator with a fixed sequence.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
