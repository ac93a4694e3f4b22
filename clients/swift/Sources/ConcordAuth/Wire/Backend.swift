import Foundation

/// Sends calls to the server, with a deadline for each, and turns failures into ``AuthError``.
///
/// A call is sent again, at most twice, if no answer arrived or the answer is 503 with `Retry-After`; and only if
/// ``Call/mayBeSentAgain``: reads, refreshes, and calls with an idempotency key.
struct Backend: Sendable {
    /// The version of the client. It is the server's version of the same release.
    static let version = "0.1.0"
    private static let longestAnswer = URLSessionTransport.maximumAnswerBytes
    private static let mostAttempts = 3

    let configuration: AuthConfiguration
    let language: Locked<String?>
    /// Waits between attempts. Tests replace it.
    var pause: @Sendable (_ seconds: TimeInterval) async throws -> Void = { seconds in
        try await Task.sleep(nanoseconds: UInt64(seconds * 1_000_000_000))
    }

    init(_ configuration: AuthConfiguration) {
        self.configuration = configuration
        language = Locked(configuration.languageCode)
    }

    /// The decoded answer of a call.
    ///
    /// - Throws: ``AuthError``. ``AuthErrorCode/taskCancelled`` if the task is cancelled, at once.
    func call<Answer>(_ call: Call<Answer>) async throws(AuthError) -> Answer { try await send(call).value }

    /// The decoded answer of a call, with status and header fields.
    func send<Answer>(_ call: Call<Answer>) async throws(AuthError) -> Answered<Answer> {
        let answer = try await answer(to: call)
        guard (200..<300).contains(answer.status) else {
            throw AuthError(answer: answer, at: configuration.server, now: configuration.now())
        }
        return Answered(
            value: try decode(Answer.self, answer),
            status: answer.status,
            entityTag: answer.header("ETag"),
            decision: answer.header("Concord-Decision"),
            serverTime: answer.header("Date").flatMap(HTTPDate.parse)
        )
    }

    private func decode<Answer: Decodable>(_: Answer.Type, _ answer: HTTPResponse) throws(AuthError) -> Answer {
        if Answer.self == Nothing.self, let nothing = Nothing() as? Answer { return nothing }
        guard answer.body.count <= Self.longestAnswer else {
            throw .invalidAnswer(answer, "an answer of \(answer.body.count) bytes", at: configuration.server)
        }
        do {
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .custom(HTTPDate.decodeTimestamp)
            return try decoder.decode(Answer.self, from: answer.body)
        } catch let error as DecodingError {
            throw .invalidAnswer(answer, error.place, at: configuration.server)
        } catch {
            throw .invalidAnswer(answer, "no JSON", at: configuration.server)
        }
    }

    /// The first complete answer, after as many attempts as the call allows.
    private func answer<Answer>(to call: Call<Answer>) async throws(AuthError) -> HTTPResponse {
        if Deadline.isOver { throw .deadlineOver }
        let end = min(Uptime.now() + configuration.requestTimeout, Deadline.end ?? .infinity)
        var attempt = 1
        while true {
            let mayTryAgain = call.mayBeSentAgain && attempt < Self.mostAttempts
            let wait: TimeInterval
            do {
                let answer = try await attemptOnce(request(for: call, timeout: max(end - Uptime.now(), 0.001)))
                guard mayTryAgain, answer.status == 503, let after = answer.retryAfter(now: configuration.now()) else {
                    return answer
                }
                guard Uptime.now() + after < end else { return answer }
                wait = max(after, Self.pauseBefore(attempt + 1))
            } catch {
                wait = Self.pauseBefore(attempt + 1)
                guard mayTryAgain, error.code == .networkError, Uptime.now() + wait < end else { throw error }
            }
            do { try await pause(wait) } catch { throw .cancelled }
            attempt += 1
        }
    }

    /// Growing pauses with a random part, so that clients that lost the same server do not return together.
    private static func pauseBefore(_ attempt: Int) -> TimeInterval {
        Double.random(in: 0.5...1) * (attempt == 2 ? 0.4 : 1.6)
    }

    /// One attempt. It ends after the request's timeout even if the transport does not, and at once if the task is
    /// cancelled.
    private func attemptOnce(_ request: HTTPRequest) async throws(AuthError) -> HTTPResponse {
        let answer = Promise<HTTPResponse>()
        let transport = configuration.transport
        let sending = Task {
            do {
                answer.settle(.success(try await transport.send(request)))
            } catch {
                answer.settle(.failure(.noAnswer(from: request.url, error)))
            }
        }
        let timer = Task {
            try await Task.sleep(nanoseconds: UInt64(min(request.timeout, 1e9) * 1_000_000_000))
            answer.settle(.failure(.noAnswer(from: request.url, URLError(.timedOut))))
        }
        defer {
            sending.cancel()
            timer.cancel()
        }
        return try await answer.value()
    }

    private func request<Answer>(
        for call: Call<Answer>,
        timeout: TimeInterval
    ) throws(AuthError) -> HTTPRequest {
        var headers = call.headers
        headers["Accept"] = "application/json"
        headers["X-Goog-Api-Key"] = configuration.apiKey
        headers["X-Client-Version"] = "Swift/ConcordAuth/\(Self.version)/ConcordAuth"
        headers["X-Ios-Bundle-Identifier"] = configuration.bundleID
        headers["X-Firebase-GMPID"] = configuration.appID
        headers["X-Firebase-Locale"] = language.with { $0 }
        headers["Idempotency-Key"] = call.idempotencyKey
        if let bearer = call.bearer { headers["Authorization"] = "Bearer \(bearer)" }
        var body: Data?
        if let form = call.form {
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            body = Data(FormEncoding.text(form.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }).utf8)
        } else if let value = call.body {
            headers["Content-Type"] = "application/json"
            do { body = try JSONEncoder().encode(value) } catch {
                throw AuthError(.invalidArgument, "a number in the request is not finite", underlying: error)
            }
        }
        return HTTPRequest(
            method: call.method.rawValue,
            url: try url(of: call),
            headers: headers,
            body: body,
            timeout: timeout
        )
    }

    private func url<Answer>(of call: Call<Answer>) throws(AuthError) -> URL {
        guard var components = URLComponents(url: configuration.server, resolvingAgainstBaseURL: false) else {
            throw AuthError(.invalidArgument, "`server` is no URL")
        }
        let base = components.percentEncodedPath
        components.percentEncodedPath = (base.hasSuffix("/") ? String(base.dropLast()) : base) + call.path
        if !call.query.isEmpty {
            components.queryItems = call.query
            // A server reads "+" as a blank.
            let query = components.percentEncodedQuery?.replacingOccurrences(of: "+", with: "%2B")
            components.percentEncodedQuery = query
        }
        guard let url = components.url else {
            throw AuthError(.invalidArgument, "the path \(call.path) makes no URL")
        }
        return url
    }
}
