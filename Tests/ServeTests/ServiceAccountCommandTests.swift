import AccountTestSupport
import Glibc
import JSON
import Postgres
import Subprocess
import SystemPackage
import Testing

/// `concord service-account create`, the real program: the destinations of a private key.
struct ServiceAccountCommandTests {
    private static let create = ["service-account", "create", "--name", "backend", "--base-url", "https://id.example"]
    private static let keys: Query<Int64?> = "SELECT count(*) FROM service_accounts"

    private static func mode(of path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    private static func withProject(_ body: @Sendable (TestDatabase, Folder) async throws -> Void) async throws {
        try await Folder.with { folder in
            try await TestDatabase.with { database in
                try await database.makeProject()
                try await body(database, folder)
            }
        }
    }

    @Test func `the output file is new, and only its owner can read it`() async throws {
        try await Self.withProject { database, folder in
            let path = folder.path("backend.json")
            let made = try await ConcordCommand.run(Self.create + ["--output", path], database)
            #expect(made.status == .exited(0), "\(made.error)")
            #expect(made.output.hasSuffix("its private key is in \(path)\n") && !made.output.contains("PRIVATE KEY"))
            #expect(Self.mode(of: path) == 0o600)
            #expect(try await database.count(Self.keys) == 1)
            let again = try await ConcordCommand.run(Self.create + ["--output", path], database)
            #expect(again.status == .exited(78) && again.error.contains("File exists"), "\(again.error)")
            #expect(try await database.count(Self.keys) == 1, "a key without a file is useless")
        }
    }

    @Test func `a terminal gets no private key unless it is forced`() async throws {
        try await Self.withProject { database, _ in
            let refused = try await ConcordCommand.atTerminal(Self.create, database)
            #expect(refused.status == .exited(64) && !refused.text.contains("PRIVATE KEY"))
            #expect(refused.text.contains("--output FILE"), "\(refused.text)")
            #expect(try await database.count(Self.keys) == 0)
            let forced = try await ConcordCommand.atTerminal(Self.create + ["--force-terminal"], database)
            #expect(forced.status == .exited(0) && forced.text.contains("PRIVATE KEY"))
        }
    }

    @Test func `a redirect needs a file that others cannot read`() async throws {
        try await Self.withProject { database, folder in
            for (permissions, status) in [
                (FilePermissions(rawValue: 0o644), 64), (FilePermissions(rawValue: 0o600), 0),
            ] {
                let path = folder.path("\(permissions.rawValue).json")
                let file = try FileDescriptor.open(path, .writeOnly, options: .create, permissions: permissions)
                guard fchmod(file.rawValue, permissions.rawValue) == 0 else { throw Errno(rawValue: errno) }
                let ending = try await ConcordCommand.run(Self.create, database, into: file)
                #expect(ending.status == .exited(TerminationStatus.Code(status)), "\(ending.error)")
                if status != 0 { #expect(ending.error.contains("mode 644"), "\(ending.error)") }
            }
            #expect(try await database.count(Self.keys) == 1)
        }
    }
}
