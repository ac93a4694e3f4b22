import Foundation
import Testing

@testable import concord

struct StartUpPagesTests {
    /// Resident pages of files, in KiB.
    private static func residentFilePages() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("RssFile:") }
        return try #require(line.flatMap { Int($0.split { !$0.isNumber }.joined()) })
    }

    @Test func `releasing pages lowers resident memory, and released code runs again`() throws {
        // Other tests run beside this one and map pages meanwhile.
        let isLower = try (0..<100).contains { _ in
            let before = try Self.residentFilePages()
            StartUpPages.release()
            return try Self.residentFilePages() < before
        }
        #expect(isLower)
        #expect([3, 1, 2].sorted().description == "[1, 2, 3]")
    }
}
