import AccountStore

/// The version of Concord, which `--version` prints and the ledger of migrations records.
enum ConcordVersion {
    static let current = "0.1.0"
    /// The commit from which the program was built, with `-modified` after it if files had changed; `unknown` if the
    /// build did not record it.
    static var commit: String { Build.commit }
    /// The time of that commit.
    static var commitDate: String { Build.commitDate }
    /// The version of the compiler.
    static var swift: String { Build.swift }
    /// The schema that the program needs.
    static var schema: Int { SchemaVersion.required }

    /// One line for `--version`.
    static var line: String { commit == Build.unknown ? current : "\(current) (\(commit))" }
}

/// The build of this program. `scripts/build-info` writes `BuildInfo.swift`, which git ignores and which extends this
/// type. Its members take precedence over the defaults below. Without the file, as in a plain clone or a tarball, the
/// program compiles all the same.
enum Build: BuildDefaults {}

protocol BuildDefaults {}

extension BuildDefaults {
    static var unknown: String { "unknown" }
    static var commit: String { unknown }
    static var commitDate: String { unknown }
    static var swift: String {
        #if compiler(>=6.4)
        "6.4 or newer"
        #else
        "6.3"
        #endif
    }
}
