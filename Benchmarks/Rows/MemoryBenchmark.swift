import Glibc

extension Benchmark {
    /// The memory of a server that has just become ready.
    static let memory = Benchmark(
        name: "memory",
        summary: "concord serve, resident memory 30 s after it was ready, in MiB"
    ) { lab in
        lab.note("memory: 30 s after ready")
        let server = try await lab.serve()
        defer { server.process.stop() }
        try await Task.sleep(for: .seconds(30))
        let resident = Double(ProcessStatus.residentBytes(server.process.processID)) / 1_048_576
        return [
            Outcome(
                name: "memory",
                summary: "concord serve, resident memory 30 s after it was ready, in MiB",
                reference: "none",
                values: [resident]
            )
        ]
    }
}
