import Testing

@testable import AccountAPI

struct DeadlinesTests {
    @Test func `what ends in time gives its result, from any number at once`() async throws {
        let deadlines = Deadlines(timeout: .seconds(60))
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 1...1000 { group.addTask { try await deadlines.run { number } } }
            return try await group.reduce(0, +)
        }
        #expect(sum == 500_500)
    }

    @Test func `what does not is cancelled, again after a time in which nothing ran`() async throws {
        let deadlines = Deadlines(timeout: .milliseconds(20))
        for _ in 1...3 {
            await #expect(throws: CancellationError.self) {
                try await deadlines.run { try await Task.sleep(for: .seconds(3600)) }
            }
            // Longer than the watch goes on looking.
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    @Test func `whoever stops waiting stops the work`() async throws {
        let deadlines = Deadlines(timeout: .seconds(3600))
        let waiting = Task { try await deadlines.run { try await Task.sleep(for: .seconds(3600)) } }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test func `a failure is the work's own`() async throws {
        struct Broken: Error {}
        await #expect(throws: Broken.self) { try await Deadlines(timeout: .seconds(60)).run { throw Broken() } }
    }
}
