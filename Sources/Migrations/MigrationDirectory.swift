import FoundationEssentials

/// The directory that holds the migration files.
package struct MigrationDirectory: Sendable, Hashable {
    package let path: String

    package init(path: String) {
        self.path = path
    }

    /// Reads all migrations in the directory. The `defects` of the set name mistakes in single files.
    /// - Throws: `MigrationDirectoryError.unreadable`.
    package func read() throws(MigrationDirectoryError) -> MigrationSet {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
            throw .unreadable(path: path)
        }
        var files: [(name: String, bytes: [UInt8])] = []
        for name in names where name.hasSuffix(".sql") {
            guard let data = FileManager.default.contents(atPath: "\(path)/\(name)") else {
                throw .unreadable(path: "\(path)/\(name)")
            }
            files.append((name, Array(data)))
        }
        return MigrationSet(files: files)
    }

    /// Creates the next pair of files, each with a comment to replace. Overwrites no file.
    /// - Returns: the paths of the up and the down file.
    /// - Throws: `MigrationDirectoryError`.
    package func create(name: String) throws(MigrationDirectoryError) -> [String] {
        let version = try read().highestNumber + 1
        guard let up = MigrationFileName(version: version, name: name, direction: .up),
            let down = MigrationFileName(version: version, name: name, direction: .down)
        else { throw .nameNotAllowed(name) }
        let contents = [
            (up, "-- What this adds, and why. It must suit the version of Concord that runs now, too.\n"),
            (down, "-- Takes back \(up), in reverse order.\n"),
        ]
        var paths: [String] = []
        for (fileName, text) in contents {
            let filePath = "\(path)/\(fileName)"
            do {
                try Data(text.utf8).write(to: URL(filePath: filePath), options: .withoutOverwriting)
            } catch {
                throw .unwritable(path: filePath)
            }
            paths.append(filePath)
        }
        return paths
    }
}

/// The reason why the directory cannot be used.
package enum MigrationDirectoryError: Error, Sendable, Hashable {
    case unreadable(path: String)
    case unwritable(path: String)
    /// The name is not in snake case, or no number is left.
    case nameNotAllowed(String)
}

extension MigrationDirectoryError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unreadable(let path):
            "\(path): cannot be read; name the directory of the migration files with --migrations"
        case .unwritable(let path):
            "\(path): cannot be written"
        case .nameNotAllowed(let name):
            "\(name.debugDescription) cannot name a migration; use snake_case: a letter, then up to 63 of a-z, 0-9, _"
        }
    }
}
