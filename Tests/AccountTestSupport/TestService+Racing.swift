extension TestService {
    /// Runs `body` for `count` concurrent callers, alternately on this service and on `other`. The two act as two
    /// server processes on one database.
    package func race<Output: Sendable>(
        with other: TestService,
        count: Int = 64,
        _ body: @escaping @Sendable (TestService, _ caller: Int) async throws -> Output
    ) async throws -> [Output] {
        try await withThrowingTaskGroup { group in
            for caller in 0..<count {
                let service = caller.isMultiple(of: 2) ? self : other
                group.addTask { try await body(service, caller) }
            }
            var outputs: [Output] = []
            for try await output in group { outputs.append(output) }
            return outputs
        }
    }
}
