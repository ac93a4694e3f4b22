import Foundation
import Testing

@testable import concord

struct StartUpCodeTests {
    /// Kibibytes of the program's code that this process is charged for.
    private static func residentCode() throws -> Int {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        var (isCode, sum) = (false, 0)
        for line in try String(contentsOfFile: "/proc/self/smaps", encoding: .utf8).split(separator: "\n") {
            if line.contains("-") && !line.hasPrefix("VmFlags") && line.contains(" r-xp ") {
                isCode = line.hasSuffix(program)
            } else if line.hasPrefix("Rss:"), isCode {
                sum += Int(line.split(separator: " ")[1]) ?? 0
                isCode = false
            }
        }
        return sum
    }

    @Test func `code that has run is forgotten, and runs again`() throws {
        let before = try Self.residentCode()
        #expect(before > 0)
        #expect(StartUpCode.forget() > before * 1024)
        // Beside other tests, which run code meanwhile.
        let isLess = try (0..<100).contains { _ in
            StartUpCode.forget()
            return try Self.residentCode() < before
        }
        #expect(isLess, "\(before) KiB before")
        // Code that is still needed is loaded again automatically.
        #expect([3, 1, 2].sorted().description == "[1, 2, 3]")
    }
}
