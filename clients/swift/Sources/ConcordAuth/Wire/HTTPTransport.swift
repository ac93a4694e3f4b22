public import Foundation

/// One HTTP request of the client.
public struct HTTPRequest: Sendable {
    public var method: String
    public var url: URL
    /// Fields by name. Names differ in more than their case.
    public var headers: [String: String]
    public var body: Data?
    /// Seconds until the client stops waiting. Always positive: no call is without a deadline.
    public var timeout: TimeInterval

    public init(
        method: String,
        url: URL,
        headers: [String: String] = [:],
        body: Data? = nil,
        timeout: TimeInterval
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
    }
}

/// One HTTP answer.
public struct HTTPResponse: Sendable {
    public var status: Int
    /// Fields by name.
    public var headers: [String: String]
    public var body: Data

    public init(status: Int, headers: [String: String] = [:], body: Data = Data()) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The field with this name, in any case.
    public func header(_ name: String) -> String? {
        headers[name] ?? headers.first { $0.key.caseInsensitiveCompare(name) == .orderedSame }?.value
    }
}

// Header fields, bodies and queries have tokens and passwords, so descriptions show none of them.

extension HTTPRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String {
        "HTTPRequest(\(method) \(url.host ?? "")\(url.path), \(body?.count ?? 0) bytes)"
    }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "HTTPResponse(\(status), \(body.count) bytes)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Sends requests. ``URLSessionTransport`` is the implementation that ``AuthConfiguration`` uses unless an app brings
/// its own, for example to record requests in tests.
///
/// Rules for an implementation:
/// - It throws only if no complete answer arrived. Every status is an answer.
/// - It stops after ``HTTPRequest/timeout`` seconds. The client stops waiting then in any case.
/// - It stops if its task is cancelled.
/// - It follows no redirect to another host, stores no cookie, and caches nothing.
public protocol HTTPTransport: Sendable {
    func send(_ request: HTTPRequest) async throws -> HTTPResponse
}
