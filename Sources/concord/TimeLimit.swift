/// Runs `body` for at most `limit`, also if it waits for a call that cannot be cancelled, such as a name server's
/// answer.
/// - Returns: the result; `nil` if the time is over. `body` is then cancelled and left behind, so the process must end
///   soon.
func within<Output: Sendable>(
    _ limit: Duration,
    _ body: @escaping @Sendable () async throws -> Output
) async -> Result<Output, any Error>? {
    let (results, continuation) = AsyncStream.makeStream(of: Result<Output, any Error>.self)
    let work = Task {
        do {
            continuation.yield(.success(try await body()))
        } catch {
            continuation.yield(.failure(error))
        }
        continuation.finish()
    }
    let clock = Task {
        try? await Task.sleep(for: limit)
        continuation.finish()
    }
    defer {
        work.cancel()
        clock.cancel()
    }
    for await result in results { return result }
    return nil
}
