import AccountLinking
import Testing

/// Every count there can be.
struct PasswordAttemptsTests {
    private let now = Timestamp(secondsSinceEpoch: 1_750_000_000)
    private let counts = 0...PasswordAttempts.failuresMax + 1

    private func wait(_ failures: Int) -> Int64 {
        seconds(PasswordAttempts.standing(afterFailures: failures, at: now))
    }

    /// Seconds of the wait; 0 for none.
    private func seconds(_ standing: PasswordAttempts.Standing) -> Int64 {
        standing.lockedUntil == PasswordAttempts.neverLocked ? 0 : standing.lockedUntil.seconds(since: now)
    }

    private func memory(_ failures: Int) -> Int64 {
        PasswordAttempts.standing(afterFailures: failures, at: now).forgottenAt.seconds(since: now)
    }

    @Test func `a few wrong passwords cost no wait`() {
        #expect((0...9).allSatisfy { wait($0) == 0 })
    }

    @Test func `what costs no wait costs none by the clock of another server either`() {
        for failures in 0...9 {
            let standing = PasswordAttempts.standing(afterFailures: failures, at: now)
            #expect(standing.lockedUntil.seconds(since: now) < -86_400)
        }
    }

    @Test func `then the wait doubles from a minute to an hour`() {
        #expect((10...17).map(wait) == [60, 120, 240, 480, 960, 1920, 3600, 3600])
        #expect((16...99).allSatisfy { wait($0) == 3600 })
    }

    @Test func `after a hundred in a row only setting the password anew helps, or a month of quiet`() {
        #expect((100...101).allSatisfy { wait($0) == 30 * 86_400 })
    }

    @Test func `more failures never shorten a wait or a memory, and no wait outlasts its memory`() {
        for failures in counts {
            #expect(wait(failures) <= memory(failures))
            #expect(wait(failures) <= wait(failures + 1))
            #expect(memory(failures) <= memory(failures + 1))
        }
    }

    @Test func `all strangers together get a few more, then wait alike`() {
        func wait(_ failures: Int) -> Int64 {
            let freeMax = PasswordAttempts.freeMax(of: .strangers)
            return seconds(PasswordAttempts.standing(afterFailures: failures, at: now, freeMax: freeMax))
        }
        #expect((0...49).allSatisfy { wait($0) == 0 })
        #expect((50...57).map(wait) == [60, 120, 240, 480, 960, 1920, 3600, 3600])
        #expect((56...99).allSatisfy { wait($0) == 3600 })
        #expect((100...101).allSatisfy { wait($0) == 30 * 86_400 })
    }

    @Test(
        arguments: [
            (nil, false, PasswordCaller.stranger),
            (nil, true, .knownNetwork),
            (CountedAttempts.none, false, .knownDevice),
            (CountedAttempts.none, true, .knownDevice),
            (CountedAttempts(failures: 9, isLocked: false), false, .knownDevice),
            (CountedAttempts(failures: 10, isLocked: true), false, .stranger),
            (CountedAttempts(failures: 10, isLocked: true), true, .knownNetwork),
        ] as [(CountedAttempts?, Bool, PasswordCaller)]
    )
    func `a device that is locked counts as not shown`(
        device: CountedAttempts?,
        isNetworkKnown: Bool,
        caller: PasswordCaller
    ) {
        #expect(PasswordAttempts.caller(device: device, isNetworkKnown: isNetworkKnown) == caller)
    }

    @Test func `each caller is held by counts that others do not move, and strangers also by all strangers'`() {
        #expect(PasswordAttempts.counts(holding: .knownDevice) == [.device])
        #expect(PasswordAttempts.counts(holding: .knownNetwork) == [.network])
        #expect(PasswordAttempts.counts(holding: .stranger) == [.network, .strangers])
        #expect(PasswordCaller.allCases.allSatisfy { !PasswordAttempts.counts(holding: $0).isEmpty })
        #expect(PasswordAttempts.freeMax(of: .device) == 9 && PasswordAttempts.freeMax(of: .network) == 9)
        #expect(PasswordAttempts.freeMax(of: .strangers) == 49)
    }

    @Test func `a guesser who waits as told needs days for a hundred`() {
        let total = (1..<PasswordAttempts.failuresMax).map(wait).reduce(0, +)
        #expect(total > 3 * 86_400)
    }
}
