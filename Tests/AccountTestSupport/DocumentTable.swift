import FoundationEssentials
package import Testing

/// A generated table in a document, between two comments.
package enum DocumentTable {
    /// Compares `table` with the table `name` in the document, or writes it if `UPDATE_GOLDEN=1`.
    ///
    /// - `path`: relative to the top of the repository.
    package static func expect(
        _ table: String,
        as name: String,
        in path: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let document = URL(filePath: Repository.root).appending(path: path)
        var text = String(decoding: try Data(contentsOf: document), as: UTF8.self)
        let (begin, end) = ("<!-- begin: \(name) -->\n", "\n<!-- end: \(name) -->")
        let start = try #require(text.firstRange(of: begin)?.upperBound, sourceLocation: sourceLocation)
        let stop = try #require(text.firstRange(of: end)?.lowerBound, sourceLocation: sourceLocation)
        if ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] == "1" {
            text.replaceSubrange(start..<stop, with: table)
            try Data(text.utf8).write(to: document)
        } else {
            #expect(text[start..<stop] == table, "make golden writes it", sourceLocation: sourceLocation)
        }
    }
}
