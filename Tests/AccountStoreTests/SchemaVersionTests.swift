import AccountStore
import AccountTestSupport
import Foundation
import Testing

struct SchemaVersionTests {
    @Test func `the program requires the newest migration`() throws {
        let numbers = try FileManager.default.contentsOfDirectory(atPath: Repository.root + "/migrations")
            .filter { $0.hasSuffix(".up.sql") }
            .compactMap { Int($0.prefix(4)) }
        #expect(numbers.max() == SchemaVersion.required)
    }
}
