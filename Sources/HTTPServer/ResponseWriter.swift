import HTTPTypes
import NIOCore

/// Puts answers into the form they have on the wire (RFC 9112 §4).
enum ResponseWriter {
    /// What an answer says about the connection where that is not what HTTP/1.1 takes for granted.
    enum Connection: String {
        case close
        case keepAlive = "keep-alive"
    }

    /// Head and body in one buffer: copying a body costs less than a second buffer does.
    static func bytes(
        of response: ServerResponse,
        isHead: Bool,
        _ connection: Connection?,
        _ allocator: ByteBufferAllocator
    ) -> ByteBuffer {
        // Neither has a body, so neither has a length (RFC 9110 §8.6).
        let isWithoutBody = response.status.code == 204 || response.status.code == 304
        let bodyLength = response.body.readableBytes
        var bytes = allocator.buffer(capacity: headCapacity + (isHead ? 0 : bodyLength))
        bytes.writeStaticString("HTTP/1.1 ")
        bytes.writeString(String(response.status.code))
        bytes.writeStaticString(" ")
        bytes.writeString(response.status.reasonPhrase)
        bytes.writeStaticString("\r\n")
        for (name, value) in response.headers where isFieldValue(value) { bytes.writeField(name, value) }
        bytes.writeField("Date", DateHeader.now())
        if !isWithoutBody { bytes.writeField("Content-Length", String(bodyLength)) }
        if let connection { bytes.writeField("Connection", connection.rawValue) }
        bytes.writeStaticString("\r\n")
        if !isHead, !isWithoutBody { bytes.writeImmutableBuffer(response.body) }
        return bytes
    }

    /// The answer to what is not HTTP.
    static func badRequest(_ allocator: ByteBufferAllocator) -> ByteBuffer {
        bytes(of: ServerResponse(status: .badRequest), isHead: false, .close, allocator)
    }

    private static let headCapacity = 512

    /// Whether `value` can stand in a field without ending it: what a request put into it must not begin another
    /// (RFC 9110 §5.5). A field that cannot is left out.
    private static func isFieldValue(_ value: String) -> Bool {
        !value.utf8.contains { $0 == 0x0D || $0 == 0x0A || $0 == 0 }
    }
}

extension ByteBuffer {
    fileprivate mutating func writeField(_ name: String, _ value: String) {
        writeString(name)
        writeStaticString(": ")
        writeString(value)
        writeStaticString("\r\n")
    }
}
