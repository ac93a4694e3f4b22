/// The result of one check of `concord doctor`.
struct Diagnosis: Sendable, Hashable {
    enum Status: String, Sendable, Hashable, CaseIterable {
        case ok
        /// The server runs, but something is missing or soon fails.
        case warning
        /// The server does not start, or does not do its work.
        case failure
    }

    let check: String
    let status: Status
    /// The finding.
    let finding: String
    /// The next step; `nil` if there is none.
    let remedy: String?

    static func ok(_ check: String, _ finding: String) -> Diagnosis {
        Diagnosis(check: check, status: .ok, finding: finding, remedy: nil)
    }

    static func warning(_ check: String, _ finding: String, _ remedy: String? = nil) -> Diagnosis {
        Diagnosis(check: check, status: .warning, finding: finding, remedy: remedy)
    }

    static func failure(_ check: String, _ finding: String, _ remedy: String? = nil) -> Diagnosis {
        Diagnosis(check: check, status: .failure, finding: finding, remedy: remedy)
    }
}

/// A question about the installation. A check may report several findings.
struct DoctorCheck: Sendable {
    /// The name of its finding if it fails or takes too long.
    let name: String
    let run: @Sendable () async throws -> [Diagnosis]

    init(_ name: String, _ run: @escaping @Sendable () async throws -> [Diagnosis]) {
        self.name = name
        self.run = run
    }

    /// Time for one check.
    static let timeout = Duration.seconds(5)

    /// Runs all checks at once, each for at most `timeout`.
    /// - Returns: the findings in the order of the checks.
    static func run(_ checks: [DoctorCheck], timeout: Duration = Self.timeout) async -> [Diagnosis] {
        await withTaskGroup(of: (Int, [Diagnosis]).self) { group in
            for (index, check) in checks.enumerated() {
                group.addTask { (index, await check.findings(within: timeout)) }
            }
            var findings: [Int: [Diagnosis]] = [:]
            for await (index, found) in group { findings[index] = found }
            return checks.indices.flatMap { findings[$0] ?? [] }
        }
    }

    private func findings(within timeout: Duration) async -> [Diagnosis] {
        switch await within(timeout, run) {
        case .success(let findings): findings
        case .failure(let error): [.failure(name, words(for: error))]
        case nil: [.failure(name, "no answer within \(timeout.components.seconds) s")]
        }
    }
}
