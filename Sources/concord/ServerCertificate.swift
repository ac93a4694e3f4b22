import FoundationEssentials
import Logging
import NIOSSL
import ServiceLifecycle
import Synchronization

/// The certificate of the listener and its key. It is reloaded when the files change, because certificates expire while
/// a server runs.
///
/// If the new files are unusable, the current certificate stays in use.
final class ServerCertificate: Service, CustomStringConvertible {
    /// The text that ServiceLifecycle logs.
    let description = "certificate"

    private struct State {
        var context: NIOSSLContext
        /// The files from which `context` was created.
        var files: TLSFiles
    }

    private let certificatePath: String
    private let keyPath: String
    private let state: Mutex<State>
    private let logger: Logger

    /// A long interval is enough: a new certificate arrives weeks before the old one expires.
    private static let interval = Duration.seconds(10)

    /// - Throws: `StartupFailure` if the files are unusable, which the configuration has already checked.
    init(certificatePath: String, keyPath: String, logger: Logger) throws {
        self.certificatePath = certificatePath
        self.keyPath = keyPath
        self.logger = logger
        do {
            let files = try TLSFiles(certificatePath: certificatePath, keyPath: keyPath)
            state = Mutex(State(context: try files.context(), files: files))
        } catch {
            throw StartupFailure("TLS: \(error)", .badConfiguration)
        }
    }

    /// Expiry of the current certificate, in seconds since 1970; `nil` if it cannot be read.
    var expirySecondsSinceEpoch: Int64? { state.withLock { $0.files }.expirySecondsSinceEpoch }

    /// Returns the current TLS context.
    var context: @Sendable () -> NIOSSLContext { { self.state.withLock { $0.context } } }

    func run() async throws {
        var outage = Outage(
            logger,
            failure: "the new TLS certificate cannot be used, the old one stays in use",
            recovery: "the TLS certificate can be used again"
        )
        var hasFailed = false
        while true {
            do {
                try await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.interval) }
            } catch {
                return
            }
            do throws(TLSFiles.Problem) {
                try look()
                outage.succeeded()
                hasFailed = false
            } catch {
                // The two files are not replaced at once. A mismatch may be over a moment later.
                if hasFailed { outage.failed(error) }
                hasFailed = true
            }
        }
    }

    private func look() throws(TLSFiles.Problem) {
        let files = try TLSFiles(certificatePath: certificatePath, keyPath: keyPath)
        guard files != state.withLock({ $0.files }) else { return }
        let context = try files.context()
        state.withLock { $0 = State(context: context, files: files) }
        logger.notice("a new TLS certificate is in use", metadata: ["expires": "\(files.expires ?? "unknown")"])
    }
}

/// The content of the certificate and key files.
struct TLSFiles: Equatable {
    enum Problem: String, Error, CustomStringConvertible {
        case unreadable = "a file cannot be read"
        case noCertificate = "the file holds no PEM certificate"
        case noKey = "the file holds no PEM private key"
        case noPair = "the key does not belong to the certificate"

        var description: String { rawValue }
    }

    private let certificate: [UInt8]
    private let key: [UInt8]

    init(certificate: [UInt8], key: [UInt8]) {
        self.certificate = certificate
        self.key = key
    }

    init(certificatePath: String, keyPath: String) throws(Problem) {
        guard let certificate = FileManager.default.contents(atPath: certificatePath),
            let key = FileManager.default.contents(atPath: keyPath)
        else { throw .unreadable }
        self.init(certificate: Array(certificate), key: Array(key))
    }

    /// The certificates of the chain, the server's first; `nil` if there is none.
    private var chain: [NIOSSLCertificate]? {
        guard let chain = try? NIOSSLCertificate.fromPEMBytes(certificate), !chain.isEmpty else { return nil }
        return chain
    }

    private var privateKey: NIOSSLPrivateKey? { try? NIOSSLPrivateKey(bytes: key, format: .pem) }

    func context() throws(Problem) -> NIOSSLContext {
        guard let chain else { throw .noCertificate }
        guard let privateKey else { throw .noKey }
        let configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(privateKey)
        )
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw .noPair
        }
    }

    /// The expiry of the server's certificate.
    var expires: String? { expiryDate?.formatted(.iso8601) }

    var expiryDate: Date? { expirySecondsSinceEpoch.map { Date(timeIntervalSince1970: TimeInterval($0)) } }

    /// The expiry of the server's certificate, in seconds since 1970.
    var expirySecondsSinceEpoch: Int64? { (chain?.first?.notValidAfter).map { Int64($0) } }
}
