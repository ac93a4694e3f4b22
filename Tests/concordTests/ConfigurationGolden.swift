import AccountTestSupport
import Testing

/// The golden files of this test target.
let golden = GoldenFiles([
    "config-print.json",
    "config-print.txt",
    "configuration-mistakes.txt",
    "migrate-status.json",
    "migrate-status.txt",
    // The next one goes here.
])

@Suite struct GoldenFilesTests {
    @Test func `every golden file is compared by a test`() throws {
        #expect(try golden.unreferencedFiles().isEmpty)
    }
}
