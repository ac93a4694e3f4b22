import CCurl
import Glibc

/// One request on its way: libcurl's easy handle, and the response as far as it has arrived. Lives on the driver's
/// thread.
///
/// libcurl's callbacks get an unretained pointer to this object, and write into `words`. Both outlive the handle: the
/// driver holds the object while the multi handle knows the easy handle, and `deinit` frees the handle before the rest.
/// libcurl calls back only inside of calls that the driver's thread makes, so nothing is written concurrently.
final class Transfer {
    private static let headBytesMax = 64 * 1024
    /// libcurl refuses timeouts beyond 2³¹ ms.
    private static let millisecondsMax: Int64 = 24 * 60 * 60 * 1000

    let job: Job
    let handle: UnsafeMutableRawPointer
    /// libcurl's description of a failure.
    private let words: UnsafeMutablePointer<CChar>
    /// Lists that libcurl reads during the transfer.
    private var lists: [UnsafeMutablePointer<curl_slist>] = []
    private var isRefused = false

    private var status = 0
    private var fields: [(name: String, value: String)] = []
    private var headBytes = 0
    private var isHeadComplete = false
    private var body: [UInt8] = []
    private var bodyBytesMax = 0
    /// True if the rest of the response is not wanted.
    private var isEnough = false
    private var isTooLarge = false

    /// Returns `nil` if libcurl does not accept an option. Then nothing is sent: each of them may be a protection.
    init?(_ job: Job, _ files: inout AuthorityFiles) {
        guard let handle = curl_easy_init() else { return nil }
        self.job = job
        self.handle = handle
        words = .allocate(capacity: Int(CURL_ERROR_SIZE))
        words.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        setLimits()
        setCallbacks()
        setDestination()
        setTLS(&files)
        setRequest()
        guard !isRefused else { return nil }
    }

    deinit {
        curl_easy_cleanup(handle)
        for list in lists { curl_slist_free_all(list) }
        words.deallocate()
    }

    // MARK: Options

    private func check(_ code: CURLcode) {
        if code != CURLE_OK { isRefused = true }
    }

    private func set(_ option: CURLoption, _ value: String?) {
        check(ccurl_set_text(handle, option, value))
    }

    private func set(_ option: CURLoption, _ value: Int) {
        check(ccurl_set_long(handle, option, value))
    }

    private func set(_ option: CURLoption, pem: [UInt8]) {
        check(ccurl_set_bytes(handle, option, pem, pem.count))
    }

    private func set(_ option: CURLoption, lines: [String]) {
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines {
            guard let longer = curl_slist_append(list, line) else {
                isRefused = true
                break
            }
            list = longer
        }
        if let list { lists.append(list) }
        check(ccurl_set_list(handle, option, list))
    }

    private func setLimits() {
        check(ccurl_allow_only_http(handle))
        ccurl_set_shortcuts(handle, AuthorityFiles.lifetimeSeconds)
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        // libcurl would look for proxies in the environment.
        set(CURLOPT_PROXY, "")
        set(CURLOPT_NOPROXY, "*")
        set(CURLOPT_SSL_SESSIONID_CACHE, 0)
        let left = ContinuousClock.now.duration(to: job.request.deadline).components
        let milliseconds = left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000
        // 0 means no limit to libcurl.
        let timeout = Int(min(max(milliseconds, 1), Self.millisecondsMax))
        set(CURLOPT_TIMEOUT_MS, timeout)
        set(CURLOPT_CONNECTTIMEOUT_MS, timeout)
    }

    private func setCallbacks() {
        let this = Unmanaged.passUnretained(self).toOpaque()
        check(ccurl_set_pointer(handle, CURLOPT_ERRORBUFFER, words))
        check(ccurl_set_pointer(handle, CURLOPT_HEADERDATA, this))
        check(ccurl_set_pointer(handle, CURLOPT_WRITEDATA, this))
        check(
            ccurl_set_write(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, transfer in
                guard let bytes, let transfer else { return 0 }
                let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
                return Unmanaged<Transfer>.fromOpaque(transfer).takeUnretainedValue().read(line) ? line.count : 0
            }
        )
        check(
            ccurl_set_write(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, transfer in
                guard let bytes, let transfer else { return 0 }
                let part = UnsafeRawBufferPointer(start: bytes, count: size * count)
                return Unmanaged<Transfer>.fromOpaque(transfer).takeUnretainedValue().collect(part) ? part.count : 0
            }
        )
    }

    private func setDestination() {
        switch job.request.destination {
        case .named: break
        case .address(let address, let port):
            // For every host and port: libcurl and the caller may read a URL differently.
            set(CURLOPT_CONNECT_TO, lines: ["::\(address.contains(":") ? "[\(address)]" : address):\(port)"])
        case .unixSocket(let path): set(CURLOPT_UNIX_SOCKET_PATH, path)
        }
        let connection = job.request.connection
        switch connection.version {
        case .http1: set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        case .http2:
            set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
            // Wait for the connection that another request opens, instead of opening one more.
            set(CURLOPT_PIPEWAIT, 1)
        }
        set(CURLOPT_FRESH_CONNECT, connection.isReused ? 0 : 1)
        set(CURLOPT_FORBID_REUSE, connection.isReused ? 0 : 1)
    }

    private func setTLS(_ files: inout AuthorityFiles) {
        let connection = job.request.connection
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        let verifies = connection.trust != .anything
        set(CURLOPT_SSL_VERIFYPEER, verifies ? 1 : 0)
        set(CURLOPT_SSL_VERIFYHOST, verifies ? 2 : 0)
        switch connection.trust {
        case .anything: break
        case .system(let additional) where additional.isEmpty:
            // libcurl caches the parsed file, if there is no folder beside it.
            if let path = CurlLibrary.authoritiesPath {
                set(CURLOPT_CAINFO, path)
                set(CURLOPT_CAPATH, nil)
            }
        case .system(let additional):
            if CurlLibrary.authoritiesPath != nil, let path = files.path(adding: additional) {
                set(CURLOPT_CAINFO, path)
                set(CURLOPT_CAPATH, nil)
            } else if let authorities = AuthorityFiles.authorities(adding: additional) {
                // The bytes replace the system's file, but not its folder.
                set(CURLOPT_CAINFO_BLOB, pem: authorities)
            } else {
                isRefused = true
            }
        case .only(let authorities):
            set(CURLOPT_CAINFO_BLOB, pem: authorities)
            set(CURLOPT_CAPATH, nil)
        }
        if !connection.identity.isEmpty {
            set(CURLOPT_SSLCERT_BLOB, pem: connection.identity)
            set(CURLOPT_SSLKEY_BLOB, pem: connection.identity)
            // OpenSSL would ask the terminal for the password of an encrypted key.
            set(CURLOPT_KEYPASSWD, "")
        }
    }

    private func setRequest() {
        let request = job.request
        set(CURLOPT_URL, request.url)
        set(CURLOPT_PATH_AS_IS, 1)
        if request.method == "HEAD" { set(CURLOPT_NOBODY, 1) }
        if !request.body.isEmpty || ["POST", "PUT", "PATCH"].contains(request.method) {
            check(ccurl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body.count)))
            // libcurl copies the body.
            request.body.withUnsafeBytes { bytes in
                let start = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
                if let start { check(ccurl_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, start)) }
            }
            if request.body.isEmpty { set(CURLOPT_COPYPOSTFIELDS, "") }
        }
        set(CURLOPT_CUSTOMREQUEST, request.method)
        let names = request.fields.map { $0.name.lowercased() }
        var lines = request.fields.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
        // Fields that libcurl adds unless they are named.
        for name in ["accept", "content-type", "expect"] where !names.contains(name) {
            lines.append("\(name):")
        }
        set(CURLOPT_HTTPHEADER, lines: lines)
    }

    // MARK: The response

    /// Reads a line of a head or of trailers. Returns false to end the transfer.
    private func read(_ line: UnsafeRawBufferPointer) -> Bool {
        headBytes += line.count
        guard headBytes <= Self.headBytesMax else {
            isTooLarge = true
            return false
        }
        guard !isHeadComplete else { return true }
        let text = String(decoding: line, as: UTF8.self)
        if text.hasPrefix("HTTP/") {
            // Interim responses come before the final one.
            fields = []
            status = text.split(separator: " ").dropFirst().first.flatMap { Int($0.prefix(3)) } ?? 0
        } else if let colon = text.firstIndex(of: ":") {
            let value = text[text.index(after: colon)...]
            fields.append((String(text[..<colon]), Self.trimmed(value)))
        } else if line.allSatisfy({ $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }), status >= 200 {
            isHeadComplete = true
            return beginBody()
        }
        return true
    }

    private static func trimmed(_ text: Substring) -> String {
        let isSpace = { (character: Character) in character.isWhitespace }
        let tail = text.drop(while: isSpace).reversed().drop(while: isSpace)
        return String(tail.reversed())
    }

    private func beginBody() -> Bool {
        switch job.request.responseBody {
        case .collected(let bytesMax, let statuses) where statuses.contains(status):
            bodyBytesMax = bytesMax
            let length = fields.first { $0.name.lowercased() == "content-length" }.flatMap { Int($0.value) } ?? 0
            isTooLarge = job.request.method != "HEAD" && length > bytesMax
            return !isTooLarge
        case .beginning(let bytesMax, let statuses) where statuses.contains(status):
            bodyBytesMax = bytesMax
            return true
        case .ignored, .collected, .beginning:
            isEnough = true
            return false
        }
    }

    private func collect(_ part: UnsafeRawBufferPointer) -> Bool {
        if case .beginning = job.request.responseBody, body.count + part.count > bodyBytesMax {
            body += part.prefix(bodyBytesMax - body.count)
            isEnough = true
            return false
        }
        guard body.count + part.count <= bodyBytesMax else {
            isTooLarge = true
            return false
        }
        body += part
        return true
    }

    /// The result of the transfer, which libcurl has ended with `code`.
    func result(of code: CURLcode) -> Result<HTTPTransport.Response, HTTPTransport.Failure> {
        if isTooLarge { return .failure(.responseTooLarge) }
        if isEnough || (code == CURLE_OK && isHeadComplete) {
            return .success(HTTPTransport.Response(status: status, fields: fields, body: body))
        }
        switch code {
        case CURLE_OPERATION_TIMEDOUT: return .failure(.timedOut)
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: return .failure(.invalidRequest)
        case CURLE_COULDNT_RESOLVE_HOST: return .failure(.unresolved)
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE,
            CURLE_SSL_CIPHER, CURLE_SSL_INVALIDCERTSTATUS:
            return .failure(.insecure(reason: reason(code)))
        default: return .failure(.unreachable(reason: reason(code)))
        }
    }

    /// The system's words for a failed connection, otherwise libcurl's.
    private func reason(_ code: CURLcode) -> String {
        var number = 0
        if code == CURLE_COULDNT_CONNECT, ccurl_get_long(handle, CURLINFO_OS_ERRNO, &number) == CURLE_OK, number != 0 {
            return String(cString: strerror(Int32(number))).lowercased()
        }
        let detail = String(cString: words)
        return detail.isEmpty ? curl_easy_strerror(code).map { String(cString: $0) } ?? "code \(code.rawValue)" : detail
    }
}
