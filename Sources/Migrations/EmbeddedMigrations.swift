import EmbeddedFiles

extension MigrationSet {
    /// The migrations of the repository's folder `migrations`, which the program contains.
    package static let embedded = MigrationSet(
        files: EmbeddedFile.all(in: "migrations").map { ($0.name, $0.bytes) }
    )
}
