/// Which Concord this is: shown by `--version`, recorded with each migration.
enum ConcordVersion {
    static let current = "0.1.0"
}
