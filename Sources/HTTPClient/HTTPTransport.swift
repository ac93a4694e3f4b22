/// Sends HTTP requests through libcurl. One thread drives all transfers; no thread waits for a request.
///
/// Proxies of the environment and the files of the user have no effect: no `.netrc`, no cookies. Redirects are not
/// followed, and only `http` and `https` are allowed.
///
/// OpenSSL reads `OPENSSL_CONF`. libcurl appends the keys of TLS connections to the file in `SSLKEYLOGFILE`, unless the
/// program has removed the variable before the first request, as `concord serve` does.
package final class HTTPTransport: Sendable {
    /// The transport for requests that need no separate connections. Its thread starts with the first request.
    package static let shared = HTTPTransport()

    private let driver: TransferDriver

    /// - Parameter transfersMax: number of requests in progress. More fail with `tooManyRequests`.
    package init(transfersMax: Int = 1024) {
        driver = TransferDriver(transfersMax: transfersMax)
    }

    deinit {
        driver.close()
    }

    /// Sends `request` and reads the response. Ends at the deadline, and soon after the task is cancelled.
    ///
    /// A request is sent once. Only if a reused connection turns out to be closed, libcurl sends it over a new one.
    /// - Returns: the response, with any status.
    package func response(to request: Request) async throws(Failure) -> Response {
        guard request.isValid else { throw .invalidRequest }
        guard request.deadline > .now else { throw .timedOut }
        let number = try driver.reserve()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { driver.add(Job(number: number, request: request, continuation: $0)) }
        } onCancel: {
            driver.cancel(number)
        }
        return try result.get()
    }

    /// Sets the number of requests in progress. Those that are already in progress continue.
    package func limit(transfersMax: Int) {
        driver.limit(transfersMax: transfersMax)
    }

    /// Closes the connections. Requests in progress and later ones fail with `closed`.
    package func shutDown() {
        driver.close()
    }
}

extension HTTPTransport {
    package struct Request: Sendable {
        /// A URL with the scheme `http` or `https`. Its path and query are sent as they are.
        package var url: String
        package var method: String
        package var fields: [(name: String, value: String)]
        package var body: [UInt8]
        package var destination = Destination.named
        package var connection: Connection
        package var responseBody: ResponseBody
        /// Time at which the request fails, counted over connection, request and response.
        package var deadline: ContinuousClock.Instant

        package init(
            _ method: String = "GET",
            _ url: String,
            fields: [(name: String, value: String)] = [],
            body: [UInt8] = [],
            connection: Connection = Connection(),
            responseBody: ResponseBody,
            deadline: ContinuousClock.Instant
        ) {
            self.method = method
            self.url = url
            self.fields = fields
            self.body = body
            self.connection = connection
            self.responseBody = responseBody
            self.deadline = deadline
        }

        /// False if a part would change the meaning of the request: a line break in a field would begin another one.
        fileprivate var isValid: Bool {
            !method.isEmpty && method.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
                && !url.utf8.contains(0)
                && fields.allSatisfy { field in
                    !field.name.isEmpty && field.name.utf8.allSatisfy(Self.isTokenByte)
                        && field.value.utf8.allSatisfy { $0 == UInt8(ascii: "\t") || ($0 >= 0x20 && $0 != 0x7F) }
                }
        }

        /// RFC 9110 §5.6.2.
        private static func isTokenByte(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
        }
    }

    /// The place to connect to. The certificate and the `Host` field always follow the URL.
    package enum Destination: Sendable, Hashable {
        /// The host of the URL, which libcurl resolves.
        case named
        /// A numeric address. No name is resolved, and the host and port of the URL do not count.
        case address(String, port: Int)
        case unixSocket(path: String)
    }

    /// The properties of the connection for a request.
    package struct Connection: Sendable, Hashable {
        package enum Version: Sendable, Hashable {
            case http1
            /// HTTP/2 over TLS, with concurrent requests on one connection; HTTP/1.1 if the server has no HTTP/2.
            case http2
        }

        package var version = Version.http1
        /// True if the request may use the connection of an earlier one with the same properties, and leaves its own
        /// open.
        package var isReused = false
        package var trust = Trust.system(additional: [])
        /// The client's certificates and its key, in PEM. Empty for none.
        package var identity: [UInt8] = []

        package init() {}
    }

    /// The authorities whose certificates are accepted, for the host of the URL. TLS 1.2 or newer.
    package enum Trust: Sendable, Hashable {
        /// The system's authorities, and those of a PEM text.
        case system(additional: [UInt8])
        /// Only the authorities of a PEM text.
        case only([UInt8])
        /// Any certificate, for any host.
        case anything
    }

    package enum ResponseBody: Sendable, Hashable {
        /// The response is complete with its head.
        case ignored
        /// The body of a response with one of these statuses. Other responses are complete with their head.
        case collected(bytesMax: Int, statuses: ClosedRange<Int> = 100...999)
        /// The first bytes of the body of a response with one of these statuses. The rest is not read.
        case beginning(bytesMax: Int, statuses: ClosedRange<Int> = 100...999)
    }

    package struct Response: Sendable {
        package let status: Int
        package let fields: [(name: String, value: String)]
        package let body: [UInt8]

        /// The values of all fields with this name, which is in lower case.
        package func values(of name: String) -> [String] {
            fields.filter { $0.name.lowercased() == name }.map(\.value)
        }
    }

    package enum Failure: Error, Sendable, Hashable, CustomStringConvertible {
        case timedOut
        case cancelled
        /// The transport has been shut down.
        case closed
        /// The maximum number of requests is in progress.
        case tooManyRequests
        /// The URL, method or fields cannot be sent.
        case invalidRequest
        /// The name of the host has no address.
        case unresolved
        /// No connection, or a lost one. The reason is in words, in lower case.
        case unreachable(reason: String)
        /// The handshake failed, or the certificate is not accepted. The reason is in libcurl's words.
        case insecure(reason: String)
        /// The body exceeds its limit, or the head exceeds 64 KiB.
        case responseTooLarge

        package var description: String {
            switch self {
            case .timedOut: "no answer in time"
            case .cancelled: "cancelled"
            case .closed: "the client is shut down"
            case .tooManyRequests: "too many requests in progress"
            case .invalidRequest: "the URL or a header field is not valid"
            case .unresolved: "the name has no address"
            case .unreachable(let reason), .insecure(let reason): reason
            case .responseTooLarge: "the answer is too large"
            }
        }
    }
}

/// A request and the caller that waits for its response.
struct Job: Sendable {
    let number: Int
    let request: HTTPTransport.Request
    let continuation: CheckedContinuation<Result<HTTPTransport.Response, HTTPTransport.Failure>, Never>
}
