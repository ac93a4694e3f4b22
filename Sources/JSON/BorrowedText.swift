/// Text that a document can hold.
package protocol WritableText {
    /// Writes it as a value.
    func write(to writer: inout JSONWriter)
}

extension String: WritableText {
    package func write(to writer: inout JSONWriter) { writer.string(self) }
}

/// UTF-8 that lies in somebody else's memory, so that showing it costs no string.
///
/// Whoever makes one promises that it is UTF-8, and that the bytes stay where they are for as long as it is used.
package struct BorrowedText: WritableText {
    package let bytes: UnsafeRawBufferPointer

    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    package var string: String { String(decoding: bytes, as: UTF8.self) }

    package func write(to writer: inout JSONWriter) { writer.string(self) }
}
