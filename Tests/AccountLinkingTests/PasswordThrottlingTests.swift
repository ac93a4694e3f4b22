import AccountLinking
import Testing

/// Tests over every possible count.
struct PasswordThrottlingTests {
    private let now = Timestamp(secondsSinceEpoch: 1_750_000_000)
    private let counts = 0...PasswordThrottling.failuresMax + 1

    private func wait(_ failures: Int) -> Int64 {
        seconds(PasswordThrottling.standing(afterFailures: failures, at: now))
    }

    /// Seconds of the wait; 0 for none.
    private func seconds(_ standing: PasswordThrottling.Standing) -> Int64 {
        standing.lockedUntil == PasswordThrottling.neverLocked ? 0 : standing.lockedUntil.seconds(since: now)
    }

    private func memory(_ failures: Int) -> Int64 {
        PasswordThrottling.standing(afterFailures: failures, at: now).forgottenAt.seconds(since: now)
    }

    @Test func `a few wrong passwords cause no wait`() {
        #expect((0...9).allSatisfy { wait($0) == 0 })
    }

    @Test func `an attempt without a wait causes none on a server whose clock is behind`() {
        for failures in 0...9 {
            let standing = PasswordThrottling.standing(afterFailures: failures, at: now)
            #expect(standing.lockedUntil.seconds(since: now) < -86_400)
        }
    }

    @Test func `after the free attempts the wait doubles from a minute to an hour`() {
        #expect((10...17).map(wait) == [60, 120, 240, 480, 960, 1920, 3600, 3600])
        #expect((16...99).allSatisfy { wait($0) == 3600 })
    }

    @Test func `after 100 in a row only a password change or a month without attempts helps`() {
        #expect((100...101).allSatisfy { wait($0) == 30 * 86_400 })
    }

    @Test func `more failures never shorten a wait or its record, and no wait outlasts its record`() {
        for failures in counts {
            #expect(wait(failures) <= memory(failures))
            #expect(wait(failures) <= wait(failures + 1))
            #expect(memory(failures) <= memory(failures + 1))
        }
    }

    @Test func `unknown callers together get more free attempts, then the same waits`() {
        func wait(_ failures: Int) -> Int64 {
            let freeMax = PasswordThrottling.freeMax(of: .strangers)
            return seconds(PasswordThrottling.standing(afterFailures: failures, at: now, freeMax: freeMax))
        }
        #expect((0...49).allSatisfy { wait($0) == 0 })
        #expect((50...57).map(wait) == [60, 120, 240, 480, 960, 1920, 3600, 3600])
        #expect((56...99).allSatisfy { wait($0) == 3600 })
        #expect((100...101).allSatisfy { wait($0) == 30 * 86_400 })
    }

    @Test(
        arguments: [
            (nil, false, AttemptOrigin.stranger),
            (nil, true, .knownNetwork),
            (FailedAttempts.none, false, .knownDevice),
            (FailedAttempts.none, true, .knownDevice),
            (FailedAttempts(failures: 9, isLocked: false), false, .knownDevice),
            (FailedAttempts(failures: 10, isLocked: true), false, .stranger),
            (FailedAttempts(failures: 10, isLocked: true), true, .knownNetwork),
        ] as [(FailedAttempts?, Bool, AttemptOrigin)]
    )
    func `a locked device counts as not presented`(
        device: FailedAttempts?,
        isNetworkKnown: Bool,
        caller: AttemptOrigin
    ) {
        #expect(PasswordThrottling.caller(device: device, isNetworkKnown: isNetworkKnown) == caller)
    }

    @Test func `each caller has counters that others do not change, and unknown callers share one`() {
        #expect(PasswordThrottling.counters(throttling: .knownDevice) == [.device])
        #expect(PasswordThrottling.counters(throttling: .knownNetwork) == [.network])
        #expect(PasswordThrottling.counters(throttling: .stranger) == [.network, .strangers])
        #expect(AttemptOrigin.allCases.allSatisfy { !PasswordThrottling.counters(throttling: $0).isEmpty })
        #expect(PasswordThrottling.freeMax(of: .device) == 9 && PasswordThrottling.freeMax(of: .network) == 9)
        #expect(PasswordThrottling.freeMax(of: .strangers) == 49)
    }

    @Test func `a guesser who respects the waits needs days for 100 attempts`() {
        let total = (1..<PasswordThrottling.failuresMax).map(wait).reduce(0, +)
        #expect(total > 3 * 86_400)
    }
}
