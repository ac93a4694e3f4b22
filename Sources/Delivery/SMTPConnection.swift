import CCurl
import Glibc
import HTTPClient
import Synchronization

/// A connection to a relay for one mail at a time. libcurl reuses the connection for the next mail.
final class SMTPConnection: Sendable {
    private let handle: Mutex<EasyHandle>

    init(_ configuration: SMTPConfiguration) {
        handle = Mutex(EasyHandle(configuration))
    }

    /// Blocks its thread.
    func send(_ content: [UInt8], from sender: String, to recipient: String, unless stop: StopFlag) -> DeliveryOutcome {
        handle.withLock { handle in
            var exchange = handle.perform(content, from: sender, to: recipient, unless: stop, isFresh: false)
            if exchange.hasFoundConnectionGone {
                exchange = handle.perform(content, from: sender, to: recipient, unless: stop, isFresh: true)
            }
            return exchange.outcome
        }
    }

    /// Connects, greets, starts TLS and logs in, as for a mail. Blocks its thread.
    func check() -> DeliveryOutcome {
        handle.withLock { $0.connect().outcome }
    }
}

/// libcurl's handle, which owns the connection.
private struct EasyHandle: ~Copyable {
    /// `nil` only if memory is exhausted.
    private let handle: UnsafeMutableRawPointer?
    /// The exchange that libcurl's callbacks write to. libcurl also calls them when it says QUIT, while it closes the
    /// connection.
    private let exchange: UnsafeMutablePointer<SMTPExchange>

    private static let isReady: Bool = {
        // With CURLOPT_NOSIGNAL, libcurl leaves this signal to the program.
        signal(SIGPIPE, SIG_IGN)
        return CurlLibrary.isReady
    }()

    init(_ configuration: SMTPConfiguration) {
        handle = Self.isReady ? curl_easy_init() : nil
        exchange = .allocate(capacity: 1)
        exchange.initialize(to: SMTPExchange(content: [], stop: StopFlag()))
        let scheme = configuration.security == .tls ? "smtps" : "smtp"
        let host = configuration.host.contains(":") ? "[\(configuration.host)]" : configuration.host
        set(CURLOPT_URL, "\(scheme)://\(host):\(configuration.port)")
        // libcurl would look for proxies in the environment.
        set(CURLOPT_PROXY, "")
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_UPLOAD, 1)
        let security = configuration.security == .startTLS ? CURLUSESSL_ALL : CURLUSESSL_NONE
        set(CURLOPT_USE_SSL, Int(security.rawValue))
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        if let path = configuration.certificateAuthoritiesPath {
            set(CURLOPT_CAINFO, path)
            set(CURLOPT_CAPATH, nil)
        }
        if let login = configuration.login {
            set(CURLOPT_USERNAME, login.user)
            set(CURLOPT_PASSWORD, login.password)
        }
        let (seconds, attoseconds) = configuration.timeout.components
        let milliseconds = Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
        set(CURLOPT_TIMEOUT_MS, milliseconds)
        set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds)
        // The callbacks read the commands and replies, which libcurl shows only in verbose mode.
        set(CURLOPT_VERBOSE, 1)
        set(CURLOPT_NOPROGRESS, 0)
        ccurl_set_pointer(handle, CURLOPT_READDATA, exchange)
        ccurl_set_pointer(handle, CURLOPT_DEBUGDATA, exchange)
        ccurl_set_pointer(handle, CURLOPT_XFERINFODATA, exchange)
        ccurl_set_debug(handle) { _, kind, bytes, count, exchange in
            guard let bytes, let exchange else { return 0 }
            let line = UnsafeRawBufferPointer(start: bytes, count: count)
            exchange.assumingMemoryBound(to: SMTPExchange.self).pointee.note(kind, line)
            return 0
        }
        ccurl_set_read(handle) { buffer, size, count, exchange in
            guard let buffer, let exchange else { return 0 }
            let space = UnsafeMutableRawBufferPointer(start: buffer, count: size * count)
            return exchange.assumingMemoryBound(to: SMTPExchange.self).pointee.copyContent(into: space)
        }
        ccurl_set_progress(handle) { exchange, _, _, _, _ in
            guard let exchange else { return 0 }
            return exchange.assumingMemoryBound(to: SMTPExchange.self).pointee.stop.isRaised ? 1 : 0
        }
    }

    deinit {
        // libcurl sends QUIT and waits for the answer, for minutes if none comes. Closing the socket ends the wait.
        var socket = curl_socket_t(-1)
        if ccurl_get_socket(handle, &socket) == CURLE_OK, socket != -1 { shutdown(socket, Int32(SHUT_RD)) }
        curl_easy_cleanup(handle)
        exchange.deinitialize(count: 1)
        exchange.deallocate()
    }

    private func set(_ option: CURLoption, _ value: String?) {
        ccurl_set_text(handle, option, value)
    }

    private func set(_ option: CURLoption, _ value: Int) {
        ccurl_set_long(handle, option, value)
    }

    /// Opens a connection and sends no mail.
    func connect() -> SMTPExchange {
        exchange.pointee = SMTPExchange(content: [], stop: StopFlag())
        set(CURLOPT_CONNECT_ONLY, 1)
        exchange.pointee.end(handle.map { curl_easy_perform($0) } ?? CURLE_OUT_OF_MEMORY, wasReused: false)
        return exchange.pointee
    }

    /// `isFresh`: use a new connection, even if one is open.
    func perform(
        _ content: [UInt8],
        from sender: String,
        to recipient: String,
        unless stop: StopFlag,
        isFresh: Bool
    ) -> SMTPExchange {
        exchange.pointee = SMTPExchange(content: content, stop: stop)
        guard let handle else {
            exchange.pointee.end(CURLE_OUT_OF_MEMORY, wasReused: false)
            return exchange.pointee
        }
        let recipients = curl_slist_append(nil, recipient)
        defer { curl_slist_free_all(recipients) }
        ccurl_set_recipients(handle, recipients)
        set(CURLOPT_MAIL_FROM, sender)
        ccurl_set_size(handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(content.count))
        set(CURLOPT_FRESH_CONNECT, isFresh ? 1 : 0)
        let code = curl_easy_perform(handle)
        var connections = 0
        ccurl_get_long(handle, CURLINFO_NUM_CONNECTS, &connections)
        exchange.pointee.end(code, wasReused: connections == 0)
        if code != CURLE_OK {
            // libcurl would reuse a connection with an outstanding answer, and wait two minutes for the answer to QUIT.
            var socket: curl_socket_t = -1
            ccurl_get_socket(handle, &socket)
            if socket != -1 { shutdown(socket, Int32(SHUT_RDWR)) }
        }
        return exchange.pointee
    }
}

/// The commands and replies between Concord and the relay for one mail.
struct SMTPExchange {
    /// The phase of the conversation (RFC 5321 §3.3).
    private enum Phase {
        /// Connecting, TLS, greeting and login, before the mail.
        case opening
        case sender
        case recipient
        case content
    }

    /// A reply that refuses the command.
    private struct Refusal {
        let code: Int
        /// The reply with the enhanced code (RFC 3463), if there is one.
        let text: String
    }

    let stop: StopFlag
    private var unsent: ArraySlice<UInt8>
    private var phase = Phase.opening
    /// The refusal of the last command.
    private var refusal: Refusal?
    private var code = CURLE_OK
    private var wasReused = false

    init(content: [UInt8], stop: StopFlag) {
        unsent = content[...]
        self.stop = stop
    }

    mutating func note(_ kind: curl_infotype, _ line: UnsafeRawBufferPointer) {
        switch kind {
        case CURLINFO_HEADER_OUT: sent(line)
        case CURLINFO_HEADER_IN: received(line)
        default: break
        }
    }

    /// Reads only the verb: a login passes here too.
    private mutating func sent(_ command: UnsafeRawBufferPointer) {
        switch String(decoding: command.prefix(4), as: UTF8.self) {
        case "MAIL": phase = .sender
        case "RCPT": phase = .recipient
        case "DATA": phase = .content
        // QUIT keeps the refusal of an earlier command.
        case "QUIT": return
        default: break
        }
        refusal = nil
    }

    private mutating func received(_ line: UnsafeRawBufferPointer) {
        guard line.count >= 3, let code = Int(String(decoding: line.prefix(3), as: UTF8.self)),
            (400..<600).contains(code)
        else { return }
        let enhanced = line.dropFirst(4).prefix(12).prefix { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: ".")
        }
        let text = String(decoding: enhanced, as: UTF8.self)
        let isStatus = text.split(separator: ".", omittingEmptySubsequences: false).filter { !$0.isEmpty }.count == 3
        refusal = Refusal(code: code, text: isStatus ? "\(code) \(text)" : "\(code)")
    }

    mutating func copyContent(into space: UnsafeMutableRawBufferPointer) -> Int {
        let part = unsent.prefix(space.count)
        space.copyBytes(from: part)
        unsent = unsent.dropFirst(part.count)
        return part.count
    }

    mutating func end(_ code: CURLcode, wasReused: Bool) {
        self.code = code
        self.wasReused = wasReused
    }

    /// True if the relay had closed the reused connection, so that it never received the mail.
    var hasFoundConnectionGone: Bool {
        guard wasReused, phase == .opening || phase == .sender else { return false }
        switch code {
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_WEIRD_SERVER_REPLY:
            return refusal == nil || refusal?.code == 421
        default: return false
        }
    }

    /// A failure before the recipient was named is a failure of the relay or of Concord, for any mail; a later failure
    /// is this mail's. So no mail can block the others, and an unreachable relay costs no mail an attempt.
    var outcome: DeliveryOutcome {
        if code == CURLE_OK { return .delivered }
        switch phase {
        case .opening: return .unavailable(reason: reason)
        case .sender:
            // The two properties of a mail that its sender's line contains: its size and SMTPUTF8.
            if let refusal, refusal.code == 552 || refusal.code == 555 { return .refused(reason: refusal.text) }
            return .unavailable(reason: reason)
        case .recipient, .content:
            if let refusal { return refusal.code >= 500 ? .refused(reason: reason) : .deferred(reason: reason) }
            return .deferred(reason: phase == .content && unsent.isEmpty ? "answer-lost" : reason)
        }
    }

    private var reason: String {
        if let refusal { return refusal.text }
        return switch code {
        case CURLE_COULDNT_RESOLVE_HOST: "unresolved"
        case CURLE_COULDNT_CONNECT: "unreachable"
        case CURLE_OPERATION_TIMEDOUT: "timeout"
        case CURLE_PEER_FAILED_VERIFICATION: "certificate"
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CACERT_BADFILE: "tls"
        case CURLE_USE_SSL_FAILED: "no-starttls"
        case CURLE_LOGIN_DENIED: "login"
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING: "connection-lost"
        case CURLE_WEIRD_SERVER_REPLY: "not-smtp"
        case CURLE_ABORTED_BY_CALLBACK: "stopped"
        default: "curl-\(code.rawValue)"
        }
    }
}
