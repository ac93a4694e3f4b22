import Crypto
import Glibc
import Postgres

/// What a request cannot do without, each measured by itself: a server that did nothing else would be as fast as this machine
/// lets it be with a load of this kind.
///
/// Time to hand over between threads, to read JSON, to decide and to write JSON is no part of it: that is what there is to save.
enum Part: Sendable {
    /// HTTP there and back, the load's part of it included.
    case request
    /// A row by its key, PostgreSQL's part of it included.
    case row
    /// Checking an ES256 signature.
    case verification
    /// Making one.
    case signature
    /// The statements of the reference, PostgreSQL's part of it alone.
    case statements
}

extension Lab {
    /// How long each part is measured, in seconds.
    private static var partSeconds: Double { 2 }

    /// Microseconds of processor time that `parts` take together.
    ///
    /// - `statements`: those of the reference's.
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

    /// Microseconds of processor time that `work` takes.
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
    /// Microseconds of processor time for one, of everybody who takes part.
    fileprivate var costOfEach: Double { (product + load + postgres).total / Double(count) * 1e6 }
}
