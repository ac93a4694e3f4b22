/// The schema this program is written for.
package enum SchemaVersion {
    /// The number of the last migration `serve` needs; a test compares it with `migrations/`.
    package static let required = 43
}
