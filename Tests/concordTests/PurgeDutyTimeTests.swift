import Testing

@testable import concord

/// The time until another server may purge.
struct PurgeDutyTimeTests {
    @Test(arguments: [(1, 33), (60, 210), (200, 630), (201, 630), (3600, 630), (86_400, 630)])
    func `another server may purge after 3 pauses, at most 10 minutes, and 30 seconds`(_ interval: Int, _ time: Int64) {
        #expect(Core.dutySeconds(.seconds(interval)) == time)
    }
}
