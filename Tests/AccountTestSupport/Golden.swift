package import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The golden files of one test target: texts that people review as diffs.
///
/// `UPDATE_GOLDEN=1` rewrites every file that a test compares. `RepositoryTests` finds files that no test names after
/// `matches:`.
package struct GoldenFiles: Sendable {
    private let directory: String

    /// - Parameter sourceFile: a file of the test target. The golden files are in `Golden/` beside it.
    package init(beside sourceFile: StaticString = #filePath) {
        var path = "\(sourceFile)"
        if let slash = path.lastIndex(of: "/") { path = String(path[..<slash]) }
        self.directory = path + "/Golden"
    }

    /// Compares `text` with the golden file, or rewrites the file if `UPDATE_GOLDEN=1`.
    package func expect(
        _ text: String,
        matches name: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let path = directory + "/" + name
        if ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] == "1" {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: URL(filePath: path))
            return
        }
        guard let data = FileManager.default.contents(atPath: path) else {
            Issue.record("\(name) does not exist; UPDATE_GOLDEN=1 writes it", sourceLocation: sourceLocation)
            return
        }
        if let difference = firstDifference(between: String(decoding: data, as: UTF8.self), and: text) {
            Issue.record("\(name) differs; UPDATE_GOLDEN=1 rewrites it\n\(difference)", sourceLocation: sourceLocation)
        }
    }
}

private func firstDifference(between golden: String, and text: String) -> String? {
    if golden == text { return nil }
    let old = golden.split(separator: "\n", omittingEmptySubsequences: false)
    let new = text.split(separator: "\n", omittingEmptySubsequences: false)
    let line = zip(old, new).prefix { $0 == $1 }.count
    return """
        line \(line + 1)
        - \(line < old.count ? old[line] : "(end of file)")
        + \(line < new.count ? new[line] : "(end of text)")
        """
}
