/// Text that can be a value of a document.
package protocol WritableText {
    /// Writes the text as a value.
    func write(to writer: inout JSONWriter)
}

extension String: WritableText {
    package func write(to writer: inout JSONWriter) { writer.string(self) }
}

/// UTF-8 in memory that another value owns. It is written without creating a string.
///
/// The creator guarantees that the bytes are UTF-8 and stay in place for as long as the value is used.
package struct BorrowedText: WritableText {
    package let bytes: UnsafeRawBufferPointer

    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    package var string: String { String(decoding: bytes, as: UTF8.self) }

    package func write(to writer: inout JSONWriter) { writer.string(self) }
}
