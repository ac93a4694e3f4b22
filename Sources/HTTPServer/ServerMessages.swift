package import HTTPTypes
package import NIOCore
package import NIOHTTP1

/// A request that has arrived in full.
package struct ServerRequest: Sendable {
    package enum Body: Sendable {
        /// The whole body; empty if there was none.
        case complete(ByteBuffer)
        /// The body was larger than `ServerLimits.bodyBytesMax` and was dropped.
        case tooLarge
    }

    package let method: HTTPRequest.Method
    /// The target as sent: a path with its query (RFC 9112 §3.2.1), or a whole URL (§3.2.2).
    package let target: String
    package let headers: HTTPHeaders
    package let body: Body
    /// The other end of the connection: a client, or a proxy. `nil` if it has no address.
    package let peer: SocketAddress?
    package let id: RequestID

    package init(
        method: HTTPRequest.Method,
        target: String,
        headers: HTTPHeaders,
        body: Body,
        peer: SocketAddress?
    ) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.peer = peer
        id = RequestID(headers)
    }
}

/// An answer. The server adds `Content-Length`, `Date` and `Connection`.
package struct ServerResponse: Sendable {
    package var status: HTTPResponse.Status
    package var headers: HTTPHeaders
    package var body: ByteBuffer

    package init(status: HTTPResponse.Status, headers: HTTPHeaders = [:], body: ByteBuffer = ByteBuffer()) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Answers the requests of a server.
package protocol Responder: Sendable {
    /// Answers `request`, even if it is invalid. The task is cancelled if the request's time is over or the client has
    /// gone; an answer is expected soon after.
    func respond(to request: ServerRequest) async -> ServerResponse
}

/// Bounds on the cost of a connection.
package struct ServerLimits: Sendable {
    /// Most bytes of a request's body.
    package var bodyBytesMax: Int
    /// Longest time from a request's first byte to its last, and from there to its answer. Also the longest time that a
    /// connection may be idle between two requests, or that a client may accept no byte of an answer.
    package var requestTimeout: Duration

    package init(bodyBytesMax: Int, requestTimeout: Duration) {
        self.bodyBytesMax = bodyBytesMax
        self.requestTimeout = requestTimeout
    }

    /// The limits of a connection in a spare place: it ends soon, and no body is read.
    var spare: ServerLimits { ServerLimits(bodyBytesMax: 0, requestTimeout: min(requestTimeout, .seconds(2))) }
}
