import Foundation

extension AuthError {
    /// The error of an answer that is not 2xx: a problem (RFC 9457) of Concord's own routes, `{error: {message}}` of
    /// the compatible API, or anything that a proxy sends.
    init(answer: HTTPResponse, at server: URL, now: Date) {
        let body = JSONValue.parse(answer.body)
        if let message = body?["error"]?["message"]?.stringValue {
            self.init(message: message, reasons: body?["error"]?["errors"]?.arrayValue ?? [], status: answer.status)
        } else if let type = body?["type"]?.stringValue, type.hasPrefix("urn:concord:problem:") {
            self.init(problem: String(type.dropFirst("urn:concord:problem:".count)), body?.objectValue ?? [:])
        } else if answer.status >= 500 || answer.status == 429 {
            // Concord answers plain text while it is unavailable, and so do proxies.
            self = .invalidAnswer(answer, "try again later", at: server)
            code = answer.status == 429 ? .tooManyRequests : .serverUnavailable
        } else {
            self = .invalidAnswer(answer, "no error of Concord", at: server)
        }
        decision = answer.header("Concord-Decision")
        retryAfter = answer.retryAfter(now: now)
    }

    /// The error that a message of the compatible API names: `CODE` or `CODE : text`.
    init(message: String, reasons: [JSONValue] = [], status: Int = 400) {
        let parts = message.split(separator: ":", maxSplits: 1)
        let name = parts.first.map { $0.trimmingCharacters(in: .whitespaces) } ?? ""
        let detail = parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
        let isName =
            !name.isEmpty && name.utf8.allSatisfy { (65...90).contains($0) || (48...57).contains($0) || $0 == 95 }
        if let code = AuthErrorCode(serverCode: name) {
            self.init(code, detail.isEmpty ? "the server refused with \(name)" : detail, serverCode: name)
        } else if reasons.contains(where: { $0["reason"]?.stringValue?.hasPrefix("keyInvalid") ?? false })
            || message.hasPrefix("API key not valid") || message.contains("missing a valid API key")
        {
            self.init(.invalidAPIKey, message)
        } else if reasons.contains(where: { $0["reason"]?.stringValue == "ipRefererBlocked" }) {
            self.init(.appNotAuthorized, message)
        } else if status == 503 {
            self.init(.serverUnavailable, message, serverCode: isName ? name : nil)
        } else {
            self.init(.internalError, message, serverCode: isName ? name : nil)
        }
    }

    private init(problem: String, _ members: [String: JSONValue]) {
        let text = members["detail"]?.stringValue ?? members["title"]?.stringValue ?? "the server refused"
        self.init(AuthErrorCode(problem: problem) ?? .internalError, text, serverCode: problem)
        details = members.filter { !["type", "title", "status", "detail"].contains($0.key) }
    }

    /// An answer that is none of Concord. The message says what arrived, and quotes nothing of it.
    static func invalidAnswer(_ answer: HTTPResponse, _ what: String, at server: URL) -> AuthError {
        let type = answer.header("Content-Type") ?? "no content type"
        let host = server.host ?? "the server"
        return AuthError(
            .invalidServerAnswer,
            "\(host) answered \(answer.status) with \(answer.body.count) bytes of \(type): \(what)"
        )
    }

    static func noAnswer(from url: URL, _ error: any Error) -> AuthError {
        if error is CancellationError || (error as? URLError)?.code == .cancelled { return .cancelled }
        if let error = error as? AuthError { return error }
        if (error as? URLError)?.code == .dataLengthExceedsMaximum {
            return AuthError(.invalidServerAnswer, "the answer of \(url.host ?? "") is too long", underlying: error)
        }
        // The reason, for example a certificate that is not trusted. It does not contain the address of the request.
        let host = url.host ?? "the server"
        return AuthError(.networkError, "no answer from \(host): \(error.localizedDescription)", underlying: error)
    }
}

extension HTTPResponse {
    /// Seconds of `Retry-After` (RFC 9110 §10.2.3).
    func retryAfter(now: Date) -> TimeInterval? {
        guard let text = header("Retry-After")?.trimmingCharacters(in: .whitespaces) else { return nil }
        if let seconds = UInt32(text) { return TimeInterval(seconds) }
        return HTTPDate.parse(text).map { max($0.timeIntervalSince(now), 0) }
    }
}

extension DecodingError {
    /// The fault and its place, without a value.
    var place: String {
        func path(_ context: Context, _ last: (any CodingKey)? = nil) -> String {
            let names = (context.codingPath + (last.map { [$0] } ?? [])).map(\.stringValue)
            return names.isEmpty ? "the answer" : "`" + names.joined(separator: ".") + "`"
        }
        switch self {
        case .keyNotFound(let key, let context): return "\(path(context, key)) is missing"
        case .typeMismatch(_, let context): return "\(path(context)) has another type"
        case .valueNotFound(_, let context): return "\(path(context)) is null"
        case .dataCorrupted(let context):
            return context.codingPath.isEmpty ? "no JSON" : "\(path(context)) is malformed"
        @unknown default: return "it cannot be read"
        }
    }
}
