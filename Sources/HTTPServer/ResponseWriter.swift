import HTTPTypes
import NIOCore
import NIOHTTP1

/// Serializes answers (RFC 9112 §4).
enum ResponseWriter {
    /// The `Connection` field, where the answer differs from HTTP/1.1's default.
    enum Connection: String {
        case close
        case keepAlive = "keep-alive"
    }

    /// Returns head and body in one buffer: copying a body costs less than a second buffer.
    static func bytes(
        of response: ServerResponse,
        isHead: Bool,
        _ connection: Connection?,
        _ allocator: ByteBufferAllocator
    ) -> ByteBuffer {
        // Neither has a body, so neither has a length (RFC 9110 §8.6).
        let isWithoutBody = response.status.code == 204 || response.status.code == 304
        let bodyLength = response.body.readableBytes
        // An array first, because a buffer checks its bounds and its owner for each piece.
        var head: [UInt8] = []
        head.reserveCapacity(headCapacity)
        head.append(contentsOf: "HTTP/1.1 ".utf8)
        head.append(contentsOf: String(response.status.code).utf8)
        head.append(UInt8(ascii: " "))
        head.append(contentsOf: response.status.reasonPhrase.utf8)
        head.append(contentsOf: "\r\n".utf8)
        for (name, value) in response.headers where isFieldValue(value) { append(name, value, to: &head) }
        append("Date", DateHeader.now(), to: &head)
        if !isWithoutBody { append("Content-Length", String(bodyLength), to: &head) }
        if let connection { append("Connection", connection.rawValue, to: &head) }
        head.append(contentsOf: "\r\n".utf8)
        var bytes = allocator.buffer(capacity: head.count + (isHead ? 0 : bodyLength))
        bytes.writeBytes(head)
        if !isHead, !isWithoutBody { bytes.writeImmutableBuffer(response.body) }
        return bytes
    }

    /// Returns the answer to bytes that are not HTTP.
    ///
    /// - `head`: the head of the request, if it was read; the answer carries its request id.
    static func badRequest(_ head: HTTPRequestHead?, _ allocator: ByteBufferAllocator) -> ByteBuffer {
        var response = ServerResponse(status: .badRequest)
        if let head { response.headers.add(name: RequestID.fieldName, value: RequestID(head.headers).text) }
        return bytes(of: response, isHead: false, .close, allocator)
    }

    private static let headCapacity = 512

    /// Returns `true` if `value` cannot end its field: a value from a request must not begin another field (RFC 9110
    /// §5.5). Other values are left out.
    private static func isFieldValue(_ value: String) -> Bool {
        !value.utf8.contains { $0 == 0x0D || $0 == 0x0A || $0 == 0 }
    }

    private static func append(_ name: String, _ value: String, to head: inout [UInt8]) {
        head.append(contentsOf: name.utf8)
        head.append(contentsOf: ": ".utf8)
        head.append(contentsOf: value.utf8)
        head.append(contentsOf: "\r\n".utf8)
    }
}
