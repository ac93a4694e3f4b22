import Crypto
import Glibc
import Postgres

/// The indispensable parts of a request, each measured alone: a server that does nothing else is the fastest possible
/// on this machine with this load.
///
/// Switching threads, reading and writing JSON, and deciding are no parts of it: there time can be saved.
enum Part: Sendable {
    /// An HTTP request and its answer, with the load's work.
    case request
    /// Reading a row by its key, with PostgreSQL's work.
    case row
    /// Verifying an ES256 signature.
    case verification
    /// Making an ES256 signature.
    case signature
    /// PostgreSQL's work for the statements of the reference.
    case statements
}

extension Lab {
    /// Seconds for which each part is measured.
    private static var partSeconds: Double { 2 }

    /// Returns the microseconds of processor time that `parts` take together.
    /// - `statements`: those of the reference.
    func cost(of parts: [Part], statements: Double) async throws -> Double {
        var sum = 0.0
        for part in parts {
            switch part {
            case .request: sum += try await requestCost()
            case .row: sum += try await rowCost()
            case .verification: sum += try Self.verificationCost()
            case .signature: sum += try Self.signatureCost()
            case .statements: sum += statements
            }
        }
        return sum
    }

    private func requestCost() async throws -> Double {
        let server = try await serve()
        defer { server.process.stop() }
        return try measureFloor(server, seconds: Self.partSeconds).costOfEach
    }

    private func rowCost() async throws -> Double {
        let client = try await openClient()
        defer { client.shutDown() }
        return try await measurePointLookups(client, seconds: Self.partSeconds).costOfEach
    }

    private static func verificationCost() throws -> Double {
        let key = P256.Signing.PrivateKey()
        let text = [UInt8](repeating: 7, count: 500)
        let signature = try key.signature(for: text)
        return try processorTime {
            guard key.publicKey.isValidSignature(signature, for: text) else {
                throw BenchmarkFailure("a signature is not its key's")
            }
        }
    }

    private static func signatureCost() throws -> Double {
        let key = P256.Signing.PrivateKey()
        let text = [UInt8](repeating: 7, count: 500)
        return try processorTime { _ = try key.signature(for: text) }
    }

    /// Returns the microseconds of processor time that `work` takes.
    private static func processorTime(_ work: () throws -> Void) throws -> Double {
        let count = 5000
        func now() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
        }
        let start = now()
        for _ in 0..<count { try work() }
        return (now() - start) / Double(count)
    }
}

extension Sample {
    /// Microseconds of processor time for one request, in all processes.
    fileprivate var costOfEach: Double { (product + load + postgres).total / Double(count) * 1e6 }
}
