package enum SchemaVersion {
    /// Number of the last migration that `serve` needs. A test compares it with `migrations/`.
    package static let required = 59
}
