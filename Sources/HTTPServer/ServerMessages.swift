package import HTTPTypes
package import NIOCore
package import NIOHTTP1

/// A request that has arrived in full.
package struct ServerRequest: Sendable {
    package enum Body: Sendable {
        /// Everything that was sent; empty where there was no body.
        case complete(ByteBuffer)
        /// More was sent than `ServerLimits.bodyBytesMax`, and thrown away.
        case tooLarge
    }

    package let method: HTTPRequest.Method
    /// The target as sent: a path with its query (RFC 9112 §3.2.1), or a whole URL (§3.2.2).
    package let target: String
    package let headers: HTTPHeaders
    package let body: Body
    /// The other end of the connection: a client, or a proxy. `nil` where it has no address.
    package let peer: SocketAddress?

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
    }
}

/// An answer. `Content-Length`, `Date` and `Connection` are the server's to add.
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

/// What a server answers with.
package protocol Responder: Sendable {
    /// Answers `request`, whatever it is. The task is cancelled when the request's time is over or the client has gone;
    /// an answer is expected soon after.
    func respond(to request: ServerRequest) async -> ServerResponse
}

/// Bounds on what a connection may cost.
package struct ServerLimits: Sendable {
    /// Bytes of a request's body.
    package var bodyBytesMax: Int
    /// From the first byte of a request to its last; again from there to its answer; and how long a connection may be
    /// silent between two requests or take none of an answer.
    package var requestTimeout: Duration

    package init(bodyBytesMax: Int, requestTimeout: Duration) {
        self.bodyBytesMax = bodyBytesMax
        self.requestTimeout = requestTimeout
    }

    /// Those of a connection that takes a spare place: it is to be soon over, and no body is read.
    var spare: ServerLimits { ServerLimits(bodyBytesMax: 0, requestTimeout: min(requestTimeout, .seconds(2))) }
}
