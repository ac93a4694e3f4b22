import Foundation

/// The end of the public function that runs: one for all requests that it sends.
enum Deadline {
    /// In seconds of ``Uptime``; `nil` outside such a function.
    @TaskLocal static var end: TimeInterval?

    /// True if the time is over.
    static var isOver: Bool { end.map { Uptime.now() >= $0 } ?? false }

    /// Runs `operation` with a deadline. An operation inside another one has the deadline of the outer one.
    static func limit<Result: Sendable>(
        _ seconds: TimeInterval,
        _ operation: () async throws(AuthError) -> Result
    ) async throws(AuthError) -> Result {
        if end != nil { return try await operation() }
        let result: Swift.Result<Result, AuthError> = await $end.withValue(Uptime.now() + seconds) {
            do throws(AuthError) { return .success(try await operation()) } catch { return .failure(error) }
        }
        return try result.get()
    }
}

extension AuthError {
    static let deadlineOver = AuthError(
        .networkError,
        "the time of the call is over (`requestTimeout`)",
        underlying: URLError(.timedOut)
    )
}
