#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// Sends requests with `URLSession`: without cookies and cache, and without redirects to other hosts.
///
/// An answer of more than ``maximumAnswerBytes`` fails with `URLError.dataLengthExceedsMaximum`.
public final class URLSessionTransport: HTTPTransport {
    /// The longest answer that the transport accepts: 1 MB.
    public static let maximumAnswerBytes = 1 << 20

    private let session: URLSession
    private let answers = AnswerCollector()

    /// A transport with its own session.
    ///
    /// - Parameter configuration: Settings of the session, for example a proxy. The transport removes its cookies,
    ///   cache and stored credentials.
    public init(configuration: URLSessionConfiguration = .ephemeral) {
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        session = URLSession(configuration: configuration, delegate: answers, delegateQueue: nil)
    }

    deinit { session.finishTasksAndInvalidate() }

    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        var wire = URLRequest(url: request.url, timeoutInterval: request.timeout)
        wire.httpMethod = request.method
        wire.httpBody = request.body
        wire.httpShouldHandleCookies = false
        for (name, value) in request.headers { wire.setValue(value, forHTTPHeaderField: name) }
        let task = session.dataTask(with: wire)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                answers.begin(task, continuation)
                task.resume()
            }
        } onCancel: {
            task.cancel()
        }
    }
}

/// The delegate of the session. It collects bounded answers.
private final class AnswerCollector: NSObject, URLSessionDataDelegate {
    private struct Pending {
        let continuation: CheckedContinuation<HTTPResponse, any Error>
        var body = Data()
        var isTooLong = false
    }

    private let pending = Locked<[Int: Pending]>([:])

    func begin(_ task: URLSessionTask, _ continuation: CheckedContinuation<HTTPResponse, any Error>) {
        pending.with { $0[task.taskIdentifier] = Pending(continuation: continuation) }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isTooLong = pending.with { pending in
            guard var answer = pending[dataTask.taskIdentifier] else { return false }
            if answer.body.count + data.count > URLSessionTransport.maximumAnswerBytes {
                answer.isTooLong = true
            } else {
                answer.body.append(data)
            }
            pending[dataTask.taskIdentifier] = answer
            return answer.isTooLong
        }
        if isTooLong { dataTask.cancel() }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let answer = pending.with({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
        if answer.isTooLong {
            answer.continuation.resume(throwing: URLError(.dataLengthExceedsMaximum))
        } else if let error {
            answer.continuation.resume(throwing: error)
        } else if let response = task.response as? HTTPURLResponse {
            var headers: [String: String] = [:]
            for (name, value) in response.allHeaderFields {
                if let name = name as? String, let value = value as? String { headers[name] = value }
            }
            answer.continuation.resume(
                returning: HTTPResponse(status: response.statusCode, headers: headers, body: answer.body)
            )
        } else {
            answer.continuation.resume(throwing: URLError(.badServerResponse))
        }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        let from = task.originalRequest?.url
        let isSameOrigin =
            request.url?.host == from?.host && request.url?.port == from?.port && request.url?.scheme == from?.scheme
        completionHandler(isSameOrigin ? request : nil)
    }
}
