import AccountTestSupport

/// The golden files of this test target.
let golden = GoldenFiles()
