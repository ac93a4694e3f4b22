import Glibc
import Subprocess

/// An installed PostgreSQL server.
struct ServerBinaries: Equatable {
    /// The oldest supported major version.
    static let majorMin = 15

    /// The directory of `postgres`, `initdb`, `pg_ctl` and their companions.
    var directory: String
    /// The major version, such as 15.
    var major: Int

    /// Returns the path of one of its programs.
    func path(_ program: String) -> String {
        "\(directory)/\(program)"
    }

    /// Returns the server of the version that created the cluster; the newest server if there is no cluster.
    ///
    /// `directory`: the only directory to search; nil searches all usual ones. `clusterMajor`: the version that created
    /// the existing cluster; nil if there is none. `clusterDirectory`: for the error.
    /// - Throws: `serverNotInstalled` or `versionMismatch`.
    static func choose(
        in directory: String?,
        forClusterOf clusterMajor: Int?,
        at clusterDirectory: String
    ) async throws(PostgresClusterError) -> ServerBinaries {
        let searched = if let directory { [directory] } else { await usualDirectories() }
        var installed: [ServerBinaries] = []
        for candidate in searched {
            if let major = await serverMajor(in: candidate), major >= majorMin {
                installed.append(ServerBinaries(directory: candidate, major: major))
            }
        }
        installed.sort { $0.major > $1.major }
        guard let newest = installed.first else { throw .serverNotInstalled(searched: searched) }
        guard let clusterMajor else { return newest }
        if let same = installed.first(where: { $0.major == clusterMajor }) { return same }
        throw .versionMismatch(directory: clusterDirectory, found: clusterMajor, installed: installed.map(\.major))
    }

    /// The directory that `pg_config` names, then those of Debian, Ubuntu and Red Hat, without repetition.
    private static func usualDirectories() async -> [String] {
        var directories: [String] = []
        // With the caller's environment, so that a server in PATH is found. A missing pg_config is no error, because it
        // is part of the development files.
        if let result = try? await runChild("pg_config", ["--bindir"], environment: .inherit), result.succeeded {
            directories.append(result.output)
        }
        for (root, prefix) in [("/usr/lib/postgresql", ""), ("/usr", "pgsql-")] {
            let names = (try? directoryEntries(root)) ?? []
            directories += names.filter { $0.hasPrefix(prefix) && Int($0.dropFirst(prefix.count)) != nil }
                .sorted()
                .map { "\(root)/\($0)/bin" }
        }
        return directories.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// Returns the major version of the server in `directory`; nil if it is incomplete.
    private static func serverMajor(in directory: String) async -> Int? {
        let needed = ["postgres", "initdb", "pg_ctl", "pg_isready", "createdb"]
        guard needed.allSatisfy({ access("\(directory)/\($0)", X_OK) == 0 }),
            let result = try? await runChild("\(directory)/postgres", ["--version"]), result.succeeded
        else { return nil }
        return parseMajor(result.output)
    }

    /// Parses the major version in a line such as `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)` or `…
    /// 18beta1`.
    static func parseMajor(_ versionLine: String) -> Int? {
        guard let marker = versionLine.firstRange(of: "(PostgreSQL) ") else { return nil }
        return Int(versionLine[marker.upperBound...].prefix { $0.isASCII && $0.isNumber })
    }
}
