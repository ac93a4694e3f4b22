import Foundation

/// A folder that is gone after the test.
struct Folder: Sendable {
    private let url: URL

    static func with(_ body: @Sendable (Folder) async throws -> Void) async throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "concord-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: url) }
        try await body(Folder(url: url))
    }

    func path(_ name: String) -> String { url.appending(path: name).path() }

    func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: url.appending(path: name))
    }
}
