import AccountTestSupport
import Foundation
import Testing

/// People at wrong doors: how many reach their own account, and how many steps it takes them.
///
/// Each run takes the first 200 journeys of the seed. `JOURNEYS=10000` takes all.
struct JourneyTests {
    private static let seed: UInt64 = 28
    private static let usualCount = 200

    private static var count: Int {
        ProcessInfo.processInfo.environment["JOURNEYS"].flatMap { Int($0) } ?? usualCount
    }

    @Test func `a seed gives the same journeys, and they meet every door with every set of methods on every device`() {
        let all = Journey.all(10_000, seed: Self.seed)
        #expect(Set(all.map(\.combination)) == Set(Journey.Combination.all))
        #expect(Person.Method.sets.count == 31 && Set(Person.Method.sets).count == 31)
        let again = Journey.all(10_000, seed: Self.seed)
        #expect(zip(all, again).allSatisfy { $0.combination == $1.combination && $0.seed == $1.seed })
        #expect(Journey.all(500, seed: Self.seed).map(\.seed) == all.prefix(500).map(\.seed))
    }

    @Test func `journeys with an unmodified app and no other help are counted`() async throws {
        let tally = JourneyTally(try await Self.run(Today.self))
        #expect(tally.count == Self.count)
        #expect(tally.lockOuts == 0 && tally.broughtProviders == 0)
        guard Self.count == Self.usualCount else { return }
        #expect(tally.withinTwoSteps == 54)
        #expect(tally.later == 104)
        #expect(tally.duplicates == 74)
        #expect(tally.lostMethods == 35)
    }

    @Test func `99 of 100 people reach their account within two steps of a wrong door`() async throws {
        let tally = JourneyTally(try await Self.run(TheWayIn.self))
        #expect(tally.count == Self.count)
        #expect(tally.withinTwoSteps * 100 >= tally.count * 99)
        #expect(tally.duplicates == 0)
        #expect(tally.lockOuts == 0)
        #expect(tally.linkedProviders == tally.broughtProviders)
        #expect(tally.broughtProviders * 100 >= tally.count * 15)
        // The first proof of the address suspends earlier methods. The person can restore them.
        #expect(tally.lostMethods * 100 <= tally.count * 2)
        guard Self.count == Self.usualCount else { return }
        #expect(tally.withinTwoSteps == 200)
        #expect(tally.broughtProviders == 53)
        #expect(tally.lostMethods == 4)
    }

    /// Runs the journeys and prints their table.
    private static func run<S: Strategy>(_ type: S.Type) async throws -> [JourneyOutcome] {
        let outcomes = try await Journey.run(Journey.all(count, seed: seed), as: type)
        print(JourneyTally.table(of: outcomes, S.name))
        // Everyone who creates an account enters it.
        #expect(
            outcomes.reduce(0) { $0 + $1.createdAccounts } == Int64(outcomes.reduce(0) { $0 + $1.duplicates.count })
        )
        return outcomes
    }
}
