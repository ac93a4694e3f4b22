/// The version of Concord, which `--version` prints and the ledger of migrations records.
enum ConcordVersion {
    static let current = "0.1.0"
}
